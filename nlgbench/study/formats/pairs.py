"""Votes on pairs of systems."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from nlgbench.study import column_names

#: What votes for the first and for the second are called.
_A = {"left", "model_a", "system_a", "a", "1", "x", "model_x", "first", "output_a", "response_a"}
_B = {"right", "model_b", "system_b", "b", "2", "y", "model_y", "second", "output_b", "response_b"}


def choices(cells: pd.Series) -> dict[str, str]:
    """Map what votes are called to a, b and tie, as far as it is clear."""
    found = {}
    for one in cells.unique():
        plain = column_names.plain_name(one)
        if plain in _A | _B:
            found[one] = "a" if plain in _A else "b"
        elif re.search("tie|draw|equal|same|both|neither", one.lower()) and len(one) < 30:
            found[one] = "tie"
    return found


def pairwise(frame: pd.DataFrame) -> column_names.Specs:
    """Map votes on pairs: a row per vote, with two systems and who won."""
    known = column_names.recognized(list(frame.columns))
    names = ["item_id", "system_a", "system_b", "annotator_id", "dimension", "choice"]
    spec: dict[str, Any] = {"columns": {one: known[one] for one in names if one in known}}
    if "choice" in known:
        seen = choices(frame[known["choice"]])
        if changed := {one: vote for one, vote in seen.items() if one != vote}:
            spec["values"] = {"choice": changed}
    if "annotator_id" not in known:
        spec["constants"] = {"annotator_id": "all"}
    return {"preferences": spec}
