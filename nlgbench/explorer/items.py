"""An item with all its outputs, one per column of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer.tables import format_number, numeric, searchable
from nlgbench.explorer.view import clean, describe_table, written
from nlgbench.study import Study

#: The largest number of outputs of an item that are shown side by side.
N_SHOWN = 40
#: The largest number of characters shown of a text; the CSV file contains all.
N_CHARACTERS = 20_000
#: The largest numbers of judgments and of votes that are listed for one output.
N_LISTED, N_VOTES = 12, 60


def describe_item(study: Study, measured: pd.DataFrame, chosen: Iterable[int]) -> dict[str, Any]:
    """Describe the item of one or two outputs, which are listed before its other outputs."""
    chosen = list(chosen)
    outputs = study.outputs
    item = outputs["item_id"].iloc[chosen[0]]
    positions = np.flatnonzero((outputs["item_id"] == item).to_numpy())
    positions = positions[np.argsort(~outputs["is_human"].to_numpy()[positions], kind="stable")]
    order = list(dict.fromkeys([*chosen, *positions.tolist()]))
    columns = outputs.iloc[order[:N_SHOWN]]
    rows = [{"name": "text", "kind": "text", "cells": [truncate(text) for text in columns["text"]]}]
    contexts = columns["context"].unique()
    inputs = [("Input", truncate(contexts[0]))] if len(contexts) == 1 and contexts[0] else []
    if not inputs and any(contexts):
        cells = [truncate(text) for text in columns["context"]]
        rows.append({"name": "input", "kind": "text", "cells": cells})
    rows += _judgments(study, columns["output_id"])
    numbers = measured.iloc[order[:N_SHOWN]]
    for name in numeric(measured):
        kind, _, judge = name.partition(": ")
        if kind in ("won", "score") or name in outputs:
            cells = [format_number(value) for value in numbers[name].astype(float)]
            if kind == "won":
                n = numbers[f"n: {judge}"].fillna(0).astype(int)
                cells = [f"{cell} (n = {k})" if k else "" for cell, k in zip(cells, n, strict=True)]
            rows.append({"name": name, "cells": cells})
    for name in searchable(measured):
        if name not in ("item_id", "context", "is_human") and name not in numeric(measured):
            rows.append({"name": name, "cells": [truncate(value) for value in numbers[name]]})
    more = len(order) - N_SHOWN
    return {
        "type": "item",
        "title": f"Item {clean(item)}",
        "note": f"Further outputs, not shown: {more}." if more > 0 else "",
        "given": [*inputs, *_references(study, item)],
        "columns": [study.label(str(name)) for name in columns["system"]],
        "chosen": len(chosen),
        "rows": rows,
        "votes": _votes(study, outputs["output_id"].iloc[chosen]),
    }


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
    judgments = study.judgments[study.judgments["output_id"].isin(ids)]
    texts = {key: _listed(rows) for key, rows in judgments.groupby(["dimension", "output_id"])}
    rows = {key: [texts.get((key, name), "") for name in ids] for key in study.dimensions}
    return [{"name": dimension, "cells": cells} for dimension, cells in rows.items() if any(cells)]


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
    for row in output_votes.head(N_VOTES).to_dict("records"):
        a, b = (study.label(str(systems[row[side]])) for side in ("output_a", "output_b"))
        picked = {"a": a, "b": b}.get(row["choice"], "tie")
        rows.append([row["annotator_id"], row["dimension"], a, b, picked])
    columns = ["annotator", "dimension", "shown first", "shown second", "chosen"]
    caption = f"Votes: {len(rows):,} of {len(output_votes):,}"
    return describe_table(caption, columns, rows) if rows else None
