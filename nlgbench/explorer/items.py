"""An item with all its outputs, one per column of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer.tables import format_numbers, numeric, searchable
from nlgbench.explorer.view import clean, describe_table, written
from nlgbench.study import Study

#: The largest number of outputs of an item that are shown side by side.
N_SHOWN = 40
#: The largest number of characters shown of a text; the CSV file contains all.
N_CHARACTERS = 20_000
#: The largest numbers of judgments and of votes that are listed for one output.
N_LISTED, N_VOTES = 12, 60
#: More rows of scores and other columns are shown below all texts and judgments.
N_FURTHER = 5


def describe_item(study: Study, measured: pd.DataFrame, chosen: Iterable[int]) -> dict[str, Any]:
    """Describe the item of one or two outputs; its outputs have the same order in each item."""
    chosen, outputs = list(chosen), study.outputs
    item = outputs["item_id"].iloc[chosen[0]]
    positions = np.flatnonzero((outputs["item_id"] == item).to_numpy())
    systems, is_human = pd.factorize(outputs["system"])[0], outputs["is_human"].to_numpy()
    positions = positions[np.lexsort((systems[positions], ~is_human[positions]))]
    is_chosen = np.isin(positions, chosen)
    order = positions[is_chosen | (np.cumsum(~is_chosen) <= N_SHOWN - is_chosen.sum())]
    columns = outputs.iloc[order]
    contexts = columns["context"].unique()
    inputs = [("Input", truncate(contexts[0]))] if len(contexts) == 1 and contexts[0] else []
    texts = (
        {"text": columns["text"]}
        if inputs
        else {"input": columns["context"], "text": columns["text"]}
    )
    rows: list[dict[str, Any]] = [
        {"name": name, "kind": "text", "cells": [truncate(text) for text in column]}
        for name, column in texts.items()
        if any(column)
    ]
    rows += _judgments(study, columns["output_id"])
    further = _list_numbers(measured.iloc[order], outputs)
    if len(further) <= N_FURTHER:
        rows, further = [*rows, *further], []
    more = len(positions) - len(order)
    return {
        "type": "item",
        "title": f"Item {clean(item)}",
        "note": f"Further outputs, not shown: {more}." if more > 0 else "",
        "given": [*inputs, *_references(study, item)],
        "columns": [study.label(str(name)) for name in columns["system"]],
        "chosen": np.flatnonzero(np.isin(order, chosen)).tolist(),
        "tables": [rows, further],
        "votes": _votes(study, outputs["output_id"].iloc[chosen]),
    }


def _list_numbers(measured: pd.DataFrame, outputs: pd.DataFrame) -> list[dict[str, Any]]:
    """List shares of votes, scores, and the further columns of outputs."""
    rows = []
    for name in numeric(measured):
        kind, _, judge = name.partition(": ")
        if kind in ("won", "score") or name in outputs:
            cells = format_numbers(measured[name])
            if kind == "won":
                n = measured[f"n: {judge}"].fillna(0).astype(int)
                cells = [f"{cell} (n = {k})" if k else "" for cell, k in zip(cells, n, strict=True)]
            rows.append({"name": name.replace("_", " "), "cells": cells})
    for name in searchable(measured):
        if name not in ("item_id", "context", "is_human") and name not in numeric(measured):
            cells = [truncate(value) for value in measured[name]]
            rows.append({"name": name.replace("_", " "), "cells": cells})
    return rows


def truncate(text: object, n: int = N_CHARACTERS) -> str:
    """Keep the beginning of a long text; with the default n, also state its length."""
    text = str(text)
    length = f" ({len(text):,} characters)" if n == N_CHARACTERS else ""
    return text if len(text) <= n else f"{text[:n]}…{length}"


def _references(study: Study, item: str) -> list[tuple[str, str]]:
    if study.references is None:
        return []
    rows = study.references[study.references["item_id"] == item].itertuples()
    return [(f"Reference {row.reference_id}", truncate(row.text)) for row in rows]


def _judgments(study: Study, ids: pd.Series) -> list[dict[str, Any]]:
    if study.judgments is None:
        return []
    judgments = _by_annotator(study.judgments[study.judgments["output_id"].isin(ids)])
    texts = {key: _listed(rows) for key, rows in judgments.groupby(["dimension", "output_id"])}
    rows = {key: [texts.get((key, name), "") for name in ids] for key in study.dimensions}
    names = {dimension: dimension.replace("_", " ") for dimension in rows}
    return [{"name": names[key], "cells": cells} for key, cells in rows.items() if any(cells)]


def _by_annotator(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by annotator, numbers in names by their value."""
    key = rows["annotator_id"].map(lambda name: re.sub(r"\d+", lambda n: n[0].zfill(9), name))
    return rows.loc[key.sort_values(kind="stable").index]


def _listed(rows: pd.DataFrame) -> str:
    """Write the mean of an output's judgments, and each judgment."""
    mean = written(rows["value"].mean())
    judgments = [f"{row.annotator_id} {row.value:z.4g}" for row in rows.itertuples()]
    more = ["..."] if len(judgments) > N_LISTED else []
    return f"{mean} ({', '.join(judgments[:N_LISTED] + more)})" if len(judgments) > 1 else mean


def _votes(study: Study, chosen: pd.Series) -> dict[str, Any] | None:
    """List the votes on the open outputs."""
    votes = study.preferences
    if votes is None:
        return None
    output_votes = votes[votes["output_a"].isin(chosen) | votes["output_b"].isin(chosen)]
    systems = study.outputs.set_index("output_id")["system"]
    rows = []
    for row in _by_annotator(output_votes).head(N_VOTES).to_dict("records"):
        a, b = (study.label(str(systems[row[side]])) for side in ("output_a", "output_b"))
        picked = {"a": a, "b": b}.get(row["choice"], "tie")
        rows.append([row["annotator_id"], row["dimension"], a, b, picked])
    columns = ["annotator", "dimension", "shown first", "shown second", "chosen"]
    caption = f"Votes: {len(rows):,} of {len(output_votes):,}"
    return describe_table(caption, columns, rows, kinds=None) if rows else None
