"""One line for each table of a study: how much it has, of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from nlgbench.text import counted, listed

#: The annotator of judgments whose annotators are unknown.
PLACEHOLDER = "all"
#: The most names to list.
_NAMED = 6
#: Table -> what one row is, if it is not in the table's name.
_ROW = {"preferences": "vote", "logprobs": "log-probability", "contexts": "state"}
_ROW |= {"system_scores": "score"}
#: Dimension -> the ends of its scale.
Scales = Mapping[str, Mapping[str, Any]]


def overview(tables: Mapping[str, pd.DataFrame], scales: Scales) -> list[tuple[str, str]]:
    """Describe each table by its number of rows, its contents, and declared or observed ranges."""
    lines = []
    for table, frame in tables.items():
        count = counted(len(frame), _ROW.get(table, table[:-1])).replace("ys", "ies")
        content = _content(table, frame, tables["outputs"], scales) if len(frame) else ""
        lines.append((count, content))
    return lines


def _content(table: str, frame: pd.DataFrame, outputs: pd.DataFrame, scales: Scales) -> str:
    """Describe the contents of one table."""
    if table == "outputs":
        human = frame["is_human"].to_numpy(dtype=bool)
        phrases = [counted(n, "system")] if (n := frame.loc[~human, "system"].nunique()) else []
        phrases += ["human texts"] * bool(human.any())
        bare = "" if (frame["text"] != "").any() else ", without texts"
        return f"of {listed(phrases)}, {counted(frame['item_id'].nunique(), 'item')}{bare}"
    if table in ("judgments", "preferences"):
        ids = "output_id" if table == "judgments" else ["output_a", "output_b"]
        judged = outputs[outputs["output_id"].isin(frame[ids].to_numpy().ravel())]
        annotators = frame["annotator_id"].unique()
        subject = _ranges(frame, scales) if table == "judgments" else _some(frame["dimension"])
        phrases = [
            f"by {counted(len(annotators), 'annotator')}",
            counted(judged["system"].nunique(), "system"),
            counted(judged["item_id"].nunique(), "item"),
        ]
        if list(annotators) == [PLACEHOLDER]:
            phrases[0] = "by unknown annotators"
        keys = [*([ids] if isinstance(ids, str) else ids), "annotator_id", "dimension"]
        again = int(frame.duplicated(keys).sum())
        phrases += [f"{again:,} repeated"] * bool(again)
        if table == "preferences" and (ties := (frame["choice"] == "tie").mean()) > 0:
            phrases.append(f"{ties:.0%} ties")
        return f"{'of' if table == 'judgments' else 'on'} {subject} {', '.join(phrases)}"
    if table in ("scores", "system_scores"):
        unit = "output" if table == "scores" else "system"
        units = counted(frame[f"{unit}_id" if unit == "output" else unit].nunique(), unit)
        lacking = f", {n:,} undefined" if (n := frame["score"].isna().sum()) else ""
        return f"of {units} by {_some(frame['evaluator'])}{lacking}"
    if table == "comparisons":
        return f"by {_some(frame['comparator'])}"
    if table == "logprobs":
        return f"under {_some(frame['model'])}"
    return f"of {counted(frame['item_id'].nunique(), 'item')}"


def _ranges(judgments: pd.DataFrame, scales: Scales) -> str:
    """List dimensions with their ranges; those with the same range share it."""
    ends: dict[str, list[str]] = {}
    for dimension, values in judgments.groupby("dimension", sort=False)["value"]:
        scale = scales.get(str(dimension), {"min": values.min(), "max": values.max()})
        ends.setdefault(f"{scale['min']:.4g} to {scale['max']:.4g}", []).append(str(dimension))
    return listed(f"{_some(pd.Series(names))} ({span})" for span, names in ends.items())


def _some(names: pd.Series) -> str:
    """List a few names, and count the others."""
    unique = [str(name) for name in names.unique()]
    more = [f"{len(unique) - _NAMED} more"] if len(unique) > _NAMED else []
    return listed([*unique[: _NAMED if more else None], *more])
