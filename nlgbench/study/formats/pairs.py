"""Votes on pairs of systems."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from nlgbench.study import column_names


def pairwise(frame: pd.DataFrame) -> column_names.Specs:
    """Map votes on pairs: a row per vote, with two systems and who won."""
    known = column_names.recognized(list(frame.columns))
    names = ["item_id", "system_a", "system_b", "annotator_id", "dimension", "choice"]
    spec: dict[str, Any] = {"columns": {one: known[one] for one in names if one in known}}
    if "choice" in known:
        a = {"left", "model_a", "system_a", "a", "1", "x", "model_x", "first"}
        b = {"right", "model_b", "system_b", "b", "2", "y", "model_y", "second"}
        seen = {
            one: "a"
            if column_names.plain_name(one) in a
            else "b"
            if column_names.plain_name(one) in b
            else "tie"
            for one in frame[known["choice"]].unique()
            if column_names.plain_name(one) in a | b
            or re.search("tie|draw|equal|same|both|neither", one.lower())
        }
        spec["values"] = {"choice": {one: mean for one, mean in seen.items() if one != mean}}
        if not spec["values"]["choice"]:
            del spec["values"]
    if "annotator_id" not in known:
        spec["constants"] = {"annotator_id": "all"}
    return {"preferences": spec}
