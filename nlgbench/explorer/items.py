"""An item with all its outputs, one per column of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer.tables import number, numeric, searchable
from nlgbench.explorer.view import clean, table, written
from nlgbench.study import Study

#: The largest number of outputs of an item that are shown side by side.
N_SHOWN = 40
#: The largest number of characters shown of a text; the CSV file contains all.
N_CHARACTERS = 20_000
#: The largest numbers of judgments and of votes that are listed for one output.
N_LISTED, N_VOTES = 12, 60


def item_of(study: Study, measured: pd.DataFrame, chosen: Iterable[int]) -> dict[str, Any]:
    """Describe the item of one or two outputs, which are listed before its other outputs."""
    chosen = list(chosen)
    outputs = study.outputs
    item = outputs["item_id"].iloc[chosen[0]]
    others = np.flatnonzero((outputs["item_id"] == item).to_numpy())
    others = others[np.argsort(~outputs["is_human"].to_numpy()[others], kind="stable")]
    places = list(dict.fromkeys([*chosen, *others.tolist()]))
    shown = outputs.iloc[places[:N_SHOWN]]
    rows = [{"name": "text", "kind": "text", "cells": [cut(one) for one in shown["text"]]}]
    contexts = shown["context"].unique()
    given = [("Input", cut(contexts[0]))] if len(contexts) == 1 and contexts[0] else []
    if not given and any(contexts):
        rows.append({"name": "input", "kind": "text", "cells": list(map(cut, shown["context"]))})
    rows += _judgments(study, shown["output_id"])
    numbers = measured.iloc[places[:N_SHOWN]]
    for name in numeric(measured):
        kind, _, what = name.partition(": ")
        if kind in ("won", "score") or name in outputs:
            cells = [number(one) for one in numbers[name].astype(float)]
            if kind == "won":
                n = numbers[f"n: {what}"].fillna(0).astype(int)
                cells = [f"{one} (n = {k})" if k else "" for one, k in zip(cells, n, strict=True)]
            rows.append({"name": name, "cells": cells})
    for name in searchable(measured):
        if name not in ("item_id", "context", "is_human") and name not in numeric(measured):
            rows.append({"name": name, "cells": [cut(one) for one in numbers[name]]})
    more = len(places) - N_SHOWN
    return {
        "type": "item",
        "title": f"Item {clean(item)}",
        "note": f"Further outputs, not shown: {more}." if more > 0 else "",
        "given": [*given, *_references(study, item)],
        "columns": [study.label(str(name)) for name in shown["system"]],
        "chosen": len(chosen),
        "rows": rows,
        "votes": _votes(study, outputs["output_id"].iloc[chosen]),
    }


def cut(text: object, n: int = N_CHARACTERS) -> str:
    """Keep the beginning of a long text; with the default n, also state its length."""
    text = str(text)
    length = f" ({len(text):,} characters)" if n == N_CHARACTERS else ""
    return text if len(text) <= n else f"{text[:n]}…{length}"


def _references(study: Study, item: str) -> list[tuple[str, str]]:
    if study.references is None:
        return []
    own = study.references[study.references["item_id"] == item]
    return [(f"Reference {row.reference_id}", cut(row.text)) for row in own.itertuples()]


def _judgments(study: Study, ids: pd.Series) -> list[dict[str, Any]]:
    if study.judgments is None:
        return []
    own = study.judgments[study.judgments["output_id"].isin(ids)]
    said = {key: _listed(rows) for key, rows in own.groupby(["dimension", "output_id"])}
    cells = {one: [said.get((one, name), "") for name in ids] for one in study.dimensions}
    return [{"name": one, "cells": row} for one, row in cells.items() if any(row)]


def _listed(rows: pd.DataFrame) -> str:
    """Write the mean of an output's judgments, and each judgment."""
    mean = written(rows["value"].mean())
    each = [f"{row.annotator_id} {row.value:z.4g}" for row in rows.itertuples()]
    more = ["..."] if len(each) > N_LISTED else []
    return f"{mean} ({', '.join(each[:N_LISTED] + more)})" if len(each) > 1 else mean


def _votes(study: Study, chosen: pd.Series) -> dict[str, Any] | None:
    """List the votes on the open outputs."""
    votes = study.preferences
    if votes is None:
        return None
    own = votes[votes["output_a"].isin(chosen) | votes["output_b"].isin(chosen)]
    systems = study.outputs.set_index("output_id")["system"]
    rows = []
    for row in own.head(N_VOTES).to_dict("records"):
        a, b = (study.label(str(systems[row[side]])) for side in ("output_a", "output_b"))
        picked = {"a": a, "b": b}.get(row["choice"], "tie")
        rows.append([row["annotator_id"], row["dimension"], a, b, picked])
    columns = ["annotator", "dimension", "shown first", "shown second", "chosen"]
    caption = f"Votes: {len(rows):,} of {len(own):,}"
    return table(caption, columns, rows) if rows else None
