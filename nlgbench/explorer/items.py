"""An item with all that was written for it: a table with a column for each output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer.tables import number, numeric, searchable
from nlgbench.explorer.view import clean, written
from nlgbench.study import Study

#: Outputs of an item that are shown side by side.
N_SHOWN = 40
#: Characters of a text that are shown; the CSV has all.
N_CHARACTERS = 20_000
#: Judgments of one output, and votes on one item, that are listed.
N_LISTED = 12


def item_of(study: Study, table: pd.DataFrame, chosen: Iterable[int]) -> dict[str, Any]:
    """Lay out the item of one or two outputs, which come first, beside those of other systems."""
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
    numbers = table.iloc[places[:N_SHOWN]]
    for name in numeric(table):
        kind, _, what = name.partition(": ")
        if kind in ("won", "score") or name in outputs:
            cells = [number(one) for one in numbers[name].astype(float)]
            if kind == "won":
                n = numbers[f"n: {what}"].fillna(0).astype(int)
                cells = [f"{one} of {k}" if k else "" for one, k in zip(cells, n, strict=True)]
            rows.append({"name": name, "cells": cells})
    for name in searchable(table):
        if name not in ("item_id", "context", "is_human") and name not in numeric(table):
            rows.append({"name": name, "cells": [cut(one) for one in numbers[name]]})
    more = len(places) - N_SHOWN
    return {
        "type": "item",
        "title": f"Item {clean(item)}",
        "note": f"{more} more outputs are not shown." if more > 0 else "",
        "given": [*given, *_references(study, item)],
        "columns": [study.label(str(name)) for name in shown["system"]],
        "chosen": len(chosen),
        "rows": rows,
        "votes": _votes(study, set(outputs["output_id"].iloc[places])),
    }


def cut(text: object, n: int = N_CHARACTERS) -> str:
    """Keep the beginning of a long text, and say how long it is."""
    text = str(text)
    return text if len(text) <= n else f"{text[:n]}… ({len(text):,} characters)"


def _references(study: Study, item: str) -> list[tuple[str, str]]:
    table = study.references
    if table is None:
        return []
    own = table[table["item_id"] == item]
    return [(f"Reference {row.reference_id}", cut(row.text)) for row in own.itertuples()]


def _judgments(study: Study, ids: pd.Series) -> list[dict[str, Any]]:
    if study.judgments is None:
        return []
    own = study.judgments[study.judgments["output_id"].isin(ids)]
    rows = []
    for dimension in study.dimensions:
        part = own[own["dimension"] == dimension].groupby("output_id")
        cells = []
        for name in ids:
            if name not in part.groups:
                cells.append("")
                continue
            each = part.get_group(name)
            listed = [f"{row.annotator_id} {row.value:.4g}" for row in each.itertuples()]
            more = ["..."] if len(listed) > N_LISTED else []
            words = f" ({', '.join(listed[:N_LISTED] + more)})" if len(listed) > 1 else ""
            cells.append(f"{written(each['value'].mean())}{words}")
        if any(cells):
            rows.append({"name": dimension, "cells": cells})
    return rows


def _votes(study: Study, ids: set[str]) -> dict[str, Any] | None:
    """List the votes on an item's outputs."""
    table = study.preferences
    if table is None:
        return None
    own = table[table["output_a"].isin(ids) & table["output_b"].isin(ids)]
    of = study.outputs[study.outputs["output_id"].isin(ids)].set_index("output_id")["system"]
    label = {name: study.label(str(name)) for name in of.unique()}
    rows = []
    for row in own.head(10 * N_LISTED).to_dict("records"):
        a, b = label[of[row["output_a"]]], label[of[row["output_b"]]]
        chosen = {"a": a, "b": b}.get(row["choice"], "tie")
        rows.append([row["annotator_id"], row["dimension"], a, b, chosen])
    more = len(own) - len(rows)
    caption = f"Votes on this item ({more} more are not shown)" if more else "Votes on this item"
    columns = ["annotator", "dimension", "shown first", "shown second", "chosen"]
    return {"caption": caption, "columns": columns, "rows": rows} if rows else None
