"""What the crowd platform Mechanical Turk exports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgbench.study import column_names

_ODD = {"answer_comment", "answer_comments", "answer_feedback", "answer_hit_id"}


def mturk(frame: pd.DataFrame) -> column_names.Specs:
    """Map a Mechanical Turk batch: Input.* is what was shown, Answer.* what was answered."""
    columns = list(frame.columns)
    shown = _by_slot([name for name in columns if name.startswith("Input.")])
    said = _by_slot([name for name in columns if name.startswith("Answer.")])
    named = _of_inputs(shown)
    slotted = {name: theirs for name, theirs in said.items() if "{slot}" in name}
    answers = slotted if slotted else said
    values = [
        name
        for name, theirs in answers.items()
        if not column_names.personal([name]) and column_names.plain_name(name) not in _ODD
        if (_is_short if "{slot}" in name else _is_rating)(frame, theirs)
    ]
    if not said:
        return {}
    people = {"annotator_id": "WorkerId", "group_id": "HITId"}
    places = {our: their for our, their in named.items() if our != "text"}
    judged: dict[str, Any] = {our: one for our, one in people.items() if one in columns} | places
    if values:
        judged["value"] = values[0] if len(values) == 1 or slotted else values
    beside: dict[str, Any] = {}
    if "item_id" not in named:
        beside["constants"] = {"item_id": "{HITId}-{slot}" if slotted else "{HITId}"}
    tables: column_names.Specs = {}
    if {"system", "text"} <= set(named):
        tables["outputs"] = {"columns": named, **beside}
    only = {"only": counted} if (counted := column_names.counted(frame)) else {}
    return {**tables, "judgments": {**only, "columns": judged, **beside}}


def _by_slot(names: Sequence[str]) -> dict[str, list[str]]:
    """Gather columns whose names differ in one number alone, as a name with {slot}."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"\d+", "{slot}", name, count=1), []).append(name)
    return {
        (one if len(theirs) > 1 else theirs[0]): theirs
        for one, theirs in found.items()
        if "{" not in theirs[0]  # a field that a form left unfilled
    }


def _of_inputs(shown: dict[str, list[str]]) -> dict[str, str]:
    words = {
        "system": ("system", "model"),
        "text": ("text", "output", "response"),
        "item_id": ("item",),
    }
    found: dict[str, str] = {}
    for our, ways in words.items():
        fits = [one for one in shown if any(way in one.lower() for way in ways)]
        fits = [one for one in fits if one not in found.values()]
        if fits:
            found[our] = fits[0]
    return found


def _is_short(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    cells = frame[list(theirs)].stack()
    return bool(cells.str.strip().ne("").any()) and cells.str.len().max() < 30


def _is_rating(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    """Say whether an answer is a rating: what its form writes besides need be none."""
    cells = pd.Series(frame[list(theirs)].to_numpy().ravel(), dtype="str")
    numbers = pd.to_numeric(cells[cells.str.strip() != ""], errors="coerce")
    return bool(len(numbers)) and bool((numbers.between(-100, 100) & (numbers % 0.5 == 0)).all())
