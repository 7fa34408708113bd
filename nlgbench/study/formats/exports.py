"""Formats of tables: Mechanical Turk, Toloka, Potato, MQM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from nlgbench.study import column_names, vote_words
from nlgbench.study.guessing import Guess, guess, with_context

_ODD = {"answer_comment", "answer_comments", "answer_feedback", "answer_hit_id"}

#: Severity -> weight of an error.
_WEIGHTS = {"critical": "25", "major": "5", "minor": "1", "neutral": "0", "no-error": "0"}


def mturk(frame: pd.DataFrame) -> column_names.Specs:
    """Map a Mechanical Turk batch: Input.* has stimuli, Answer.* responses."""
    columns = list(frame.columns)
    answered = _by_slot([name for name in columns if name.startswith("Answer.")])
    inputs = _of_inputs(_by_slot([name for name in columns if name.startswith("Input.")]))
    slotted = {name: theirs for name, theirs in answered.items() if "{slot}" in name}
    values = [
        name
        for name, theirs in (slotted or answered).items()
        if not column_names.personal([name]) and column_names.plain_name(name) not in _ODD
        if (_is_short if "{slot}" in name else _is_rating)(frame, theirs)
    ]
    if not answered:
        return {}
    people = {"annotator_id": "WorkerId", "group_id": "HITId"}
    judged: dict[str, Any] = {our: name for our, name in people.items() if name in columns}
    judged |= {our: name for our, name in inputs.items() if our != "text"}
    if values:
        judged["value"] = values[0] if len(values) == 1 or slotted else values
    fixed: dict[str, Any] = {}
    if "item_id" not in inputs:
        fixed["constants"] = {"item_id": "{HITId}-{slot}" if slotted else "{HITId}"}
    tables: column_names.Specs = {}
    if {"system", "text"} <= set(inputs):
        tables["outputs"] = {"columns": inputs, **fixed}
    only = {"only": counted} if (counted := column_names.counted(frame)) else {}
    return {**tables, "judgments": {**only, "columns": judged, **fixed}}


def _by_slot(names: Sequence[str]) -> dict[str, list[str]]:
    """Group columns whose names differ only in a number, under a name with {slot}."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"\d+", "{slot}", name, count=1), []).append(name)
    # A brace is in the name of a field that the form did not fill in.
    filled = {name: theirs for name, theirs in groups.items() if "{" not in theirs[0]}
    return {name if theirs[1:] else theirs[0]: theirs for name, theirs in filled.items()}


def _of_inputs(names: Iterable[str]) -> dict[str, str]:
    """Map our columns to the first inputs whose names contain a usual word."""
    usual = {"system": "system|model", "text": "text|output|response", "item_id": "item"}
    columns: dict[str, str] = {}
    for our, pattern in usual.items():
        fits = [name for name in names if re.search(pattern, name.lower())]
        fits = [name for name in fits if name not in columns.values()]
        if fits:
            columns[our] = fits[0]
    return columns


def _is_short(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    cells = frame[list(theirs)].stack()
    return bool(cells.str.strip().ne("").any()) and cells.str.len().max() < 30


def _is_rating(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    """Check whether a column contains ratings, not other data that forms record."""
    cells = pd.Series(frame[list(theirs)].to_numpy().ravel(), dtype="str")
    numbers = pd.to_numeric(cells[cells.str.strip() != ""], errors="coerce")
    return bool(len(numbers)) and bool((numbers.between(-100, 100) & (numbers % 0.5 == 0)).all())


def toloka(frame: pd.DataFrame) -> column_names.Specs:
    """Map a Toloka export: INPUT: has stimuli, OUTPUT: responses."""
    guessed = Guess(with_context(frame))
    guess_toloka(guessed, {})
    return dict(guessed.tables)


def guess_toloka(source: Guess, flags: Mapping[str, Sequence[str]]) -> None:
    """Guess what the columns of a Toloka export are, whose prefixes name answers and workers."""
    sides = column_names.recognized([*source.names, "choice"])
    our = "choice" if "system_a" in sides else "value"
    answers = [name for name in source.names if name.startswith("OUTPUT:")]
    answers = [name for name in answers if _is_answer(source, name, our)]
    if answers and not {"value", "score", "choice"} & {*flags}:
        several = len(answers) > 1 and our == "value"
        source.columns[our] = "OUTPUT:{dimension}" if several else answers[0]
        source.why[our] = "answers, in exports of Toloka"
        flags = {**flags, our: ()}  # other columns are not answers
    ids = [name for name in source.names if re.fullmatch("INPUT:.*_id", name)]
    if "item_id" not in sides and "item_id" not in flags and len(ids) == 1:
        source.set("item_id", ids[0], "the only id among the inputs")
    guess(source, flags)


def _is_answer(source: Guess, name: str, our: str) -> bool:
    cells = source.frame[name]
    votes = vote_words.choices(cells[cells != ""])
    return len(votes) == cells.nunique() if our == "choice" else source.kind(name) == "number"


def potato(frame: pd.DataFrame) -> column_names.Specs:
    """Map Potato's annotated_instances.jsonl, in a folder for each annotator, or its tables."""
    if {"instance_id", "user_id"} <= set(frame):  # from version 2 on
        ids = {"output_id": "instance_id", "annotator_id": "user_id"}
        measured = Guess(frame, {**ids}).free("number", "list")
        value: Any = measured
        if any(str(name).startswith("labels.") for name in frame):
            value = "labels.{dimension}.{answer}"
        elif _are_choices(frame[measured]):
            value = "{dimension}.{answer}"
        return {"judgments": {"columns": {**ids, "value": value}}}
    if "instance_id" in frame:
        user = {"output_id": "instance_id", "annotator_id": "user"}
        return {"judgments": {"columns": {**user, "value": "{dimension}:::{answer}"}}}
    columns: dict[str, Any] = {"output_id": "id", "value": "label_annotations.{dimension}.{answer}"}
    return {"judgments": {"columns": columns, "constants": {"annotator_id": "{folder}"}}}


def _are_choices(frame: pd.DataFrame) -> bool:
    """Check whether columns such as flow.3 and flow.4 are the choices of one question."""
    questions = (frame != "").T.groupby([name.split(".")[0] for name in frame.columns]).sum()
    several = len(questions) < len(frame.columns) and all("." in name for name in frame.columns)
    return several and bool((questions <= 1).to_numpy().all())


def mqm(frame: pd.DataFrame) -> column_names.Specs:
    """Map errors as WMT publishes them: one row per error, weighted as in Freitag et al. (2021).

    The weights depend on severity and category: doi:10.1162/tacl_a_00437.
    """
    recognized = column_names.recognized(list(frame.columns))
    ours = ["output_id", "system", "annotator_id"]
    columns = {our: recognized[our] for our in ours if our in recognized}
    plain = {column_names.plain_name(name): name for name in frame.columns}
    constants = {"dimension": "mqm"}
    if {"doc", "seg_id"} <= set(plain):
        constants["item_id"] = f"{{{plain['doc']}}}/{{{plain['seg_id']}}}"
    elif "item_id" in recognized:
        columns["item_id"] = recognized["item_id"]
    severity = recognized.get("severity", "severity")
    category = recognized.get("category")
    constants["value"] = f"{{{severity}}}/{{{category}}}" if category else f"{{{severity}}}/"
    weights = {"*/Non-translation*": "25"}
    for name in pd.unique(frame.get(severity, pd.Series(dtype="str"))):
        if name.lower() == "minor":
            weights[f"{name}/Fluency/Punctuation"] = "0.1"
        if name.lower() in _WEIGHTS:
            weights[f"{name}/*"] = _WEIGHTS[name.lower()]
    spec = {"columns": columns, "constants": constants, "values": {"value": weights}, "sum": "true"}
    return {"judgments": spec}
