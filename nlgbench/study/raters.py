"""Tell people from models among those who judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgbench.study.column_names import has_word, plain_name
from nlgbench.study.overview import PLACEHOLDER
from nlgbench.study.schema import RawTables
from nlgbench.text import listed

#: Parts of models' names. Short ones are whole words, because ids of crowd workers are random.
MODEL = re.compile(
    r"(?<![a-z\d])(?:chat)?gpt|(?<![a-z\d])(?:llm|ai|g-?eval)(?![a-z])|claude|llama|gemini|mistral|"
    r"mixtral|qwen|prometheus|deepseek|gemma|autorater",
    re.IGNORECASE,
)
#: Models that are called like persons, if nothing follows the name.
_FIRST_NAMES = {"Claude", "Gemma"}
_PEOPLE = re.compile(
    r"human|people|person|crowd|worker|expert|annotator|turker|m_?turk|prolific|student|author|"
    r"volunteer|lay|professional|linguist"
)
#: The most kinds of annotators in a column.
_MOST_KINDS = 12
_MACHINES = "machine|model|auto|automatic|automated|bot|judge|metric"
_RATERS = "[a-z]+ed_by|rater|annotator|judge|evaluator|worker|labell?er|coder|reviewer|"
_RATERS += "grader|scorer"
#: Table of people's answers -> that of models, and its column with their names.
OF_MODELS = {"judgments": ("scores", "evaluator"), "preferences": ("comparisons", "comparator")}
#: Our columns that only people's answers have.
_PEOPLES = ("dimension", "group_id")


def models(names: Iterable[str]) -> list[str]:
    """List the names that are clearly those of models."""
    return [name for name in names if MODEL.search(name) and name not in _FIRST_NAMES]


def machine_kinds(cells: pd.Series) -> list[str]:
    """List the cells that mean models in a column that separates people from models."""
    kinds = list(cells.unique())
    if len(kinds) > _MOST_KINDS:
        return []
    machines = [kind for kind in kinds if MODEL.search(kind) or has_word(kind, _MACHINES)]
    people = [kind for kind in kinds if kind not in machines and _PEOPLE.search(plain_name(kind))]
    return machines if people and len(machines) + len(people) == len(kinds) else []


def separating(frame: pd.DataFrame, names: Iterable[str], who: str = "") -> dict[str, list[str]]:
    """Find the column that separates people from models: its name, and the cells of models."""
    for name in names:
        machines = machine_kinds(frame[name])
        is_telling = has_word(name, _RATERS)
        if machines and who and not is_telling:  # the kind must belong to the annotator
            is_telling = frame[name].groupby(frame[who].to_numpy()).nunique().max() == 1
        if machines and is_telling:
            return {name: machines}
    machines = models(frame[who].unique()) if who else []
    return {who: machines} if machines and len(machines) < frame[who].nunique() else {}


def split(
    table: str, spec: Mapping[str, Any], frame: pd.DataFrame, names: Iterable[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Split a table whose annotators include models into two: humans and models; else empty.

    `names` are columns that may separate people from models. Tables are as in study.yml.
    """
    columns, constants = spec["columns"], spec.get("constants", {})
    who = columns.get("annotator_id", "")
    has_names = bool(who) or constants.get("annotator_id", PLACEHOLDER) in (PLACEHOLDER, "{row}")
    if table not in OF_MODELS or not has_names:
        return []
    machines = separating(frame, names, who if who in frame else "")
    if not machines:
        return []
    target, rater = OF_MODELS[table]
    theirs = {"annotator_id": rater, "value": "score"}  # our columns for models' answers
    entries: dict[str, Any] = {}
    for key in ("columns", "constants", "only", "values"):
        lines = {our: entry for our, entry in spec.get(key, {}).items() if our not in _PEOPLES}
        entries[key] = {theirs.get(our, our): entry for our, entry in lines.items()}
    entries["only"] |= machines
    entries["columns"][rater] = who = who or next(iter(machines))
    entries["constants"].pop(rater, None)
    measure = columns.get("value", "")
    dimension = constants.get("dimension", "")
    if "dimension" in columns:
        dimension = f"{{{columns['dimension']}}}"
    elif isinstance(measure, list):
        dimension = "{evaluator}"  # the name of each column
    elif not dimension and "{dimension}" in measure:
        dimension = "{dimension}"
    if dimension:
        entries["constants"][rater] = f"{{{entries['columns'].pop(rater)}}} {dimension}"
    entries = entries | dict(spec) | entries
    entries["lists"] = [theirs.get(our, our) for our in spec.get("lists", [])]
    models_spec = {key: entry for key, entry in entries.items() if entry}
    return [(table, {**spec, "skip": machines}), (target, models_spec)]


def pooled(raws: RawTables) -> list[str]:
    """Describe annotators who seem to be models."""
    doubts = []
    for table in OF_MODELS:
        who = raws[table].frame.get("annotator_id", ()) if table in raws else ()
        if names := [name for name in dict.fromkeys(map(str, who)) if MODEL.search(name)]:
            more = [f"{len(names) - 5} more"] * (len(names) > 5)
            raters_listed = listed([*map(repr, names[:5]), *more])
            doubts.append(advice(f"{raws[table].where}: annotators {raters_listed}", table))
    return doubts


def advice(raters: str, table: str) -> str:
    """Describe annotators who seem to be models, and how to read them."""
    return (
        f"{raters} seem to be models, but count as people in {table}: read their rows as "
        f"{OF_MODELS[table][0]} (docs/own-study.md: A crowd and a judge in one file)."
    )
