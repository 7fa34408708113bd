"""The settings of a study, and checks of their values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench.names import brief, unknown
from nlgbench.study import near_names, schema
from nlgbench.study.checks import fits, words
from nlgbench.study.schema import RawTables

#: Name -> the type of its value.
Rules = Mapping[str, Any]

SETTINGS: Rules = {
    "quality": str,
    "lower_is_better": list[str],
    "clusters": str,
    "labels": Mapping,
    "extra": list[str],
    "scales": Mapping,
    "valid": Mapping,
    "missing": list[str] | Mapping[str, list[str]],
    "annotators": Literal["persons", "positions"],
    "votes": Literal["gold"],
    "keep_annotator_ids": bool,
    "same": Mapping[str, list[list[str]]],
    "distinct": Mapping[str, list[list[str]]],
}


#: The form of `same` and `distinct`.
_NAME_LISTS: Rules = dict.fromkeys(near_names.KINDS, list[list[str]])
#: Names of evaluators that a study need not have, because nlgbench computes them.
_COMPUTED = re.compile(
    "bleu|rouge|chrf|cider|meteor|distinct|entropy|perplexity|overlap|_meta|_individual|listener|"
    "literal|pragmatic|context|ensemble|longest|constant"
)


def right_of(
    written: Mapping[str, Any], rules: Rules, where: str, problems: list[str]
) -> dict[str, Any]:
    """Keep the known and valid entries, and list the problems of the others."""
    right = {}
    for key, value in written.items():
        if key not in rules:
            problems.append(f"{where}: {unknown(key, rules)}")
        elif not fits(value, rules[key]) and not (value == [] and rules[key] == list[str]):
            problems.append(f"{where}: {key} must be {words(rules[key])}. Got {brief(value)}.")
        else:
            right[key] = value
    return right


def settled(
    settings: Mapping[str, Any], problems: list[str], where: str = "settings"
) -> dict[str, Any]:
    """Keep the valid settings, and list the problems of the others."""
    right = right_of(settings, SETTINGS, where, problems)
    for key in ("scales", "valid"):
        for dimension, ends in dict(right.get(key, {})).items():
            if rule := _wrong_ends(key, ends):
                problems.append(f"{where}: {key}: {dimension} {rule}. Got {brief(ends)}.")
                right[key] = {name: right[key][name] for name in right[key] if name != dimension}
    for key in ("same", "distinct"):
        if key not in right:
            continue
        right[key] = right_of(right[key], _NAME_LISTS, f"{where}: {key}", problems)
        for kind, lists in right[key].items() if key == "same" else ():
            listed = pd.Series([name for group in lists for name in {*group}])
            if (twice := listed[listed.duplicated()]).any():
                problems.append(f"{where}: same: {kind}: {twice.iloc[0]!r} is in two lists.")
    return right


def label_problems(labels: Mapping[str, Any], raws: RawTables) -> list[str]:
    """List labels that are empty, of names that no table has, or of two names."""
    frames = [raw.frame for raw in raws.values() if isinstance(raw.frame, pd.DataFrame)]
    systems, evaluators, judges = (
        list(dict.fromkeys(itertools.chain(*(frame.get(column, ()) for frame in frames))))
        for column in ("system", "evaluator", "comparator")
    )
    evaluators += judges
    problems = [f"{name} has no text" for name, label in labels.items() if not str(label).strip()]
    names = [*systems, *evaluators]
    lost = [name for name in labels if name not in names and not _COMPUTED.search(name)]
    problems += [unknown(name, names).rstrip(".") for name in lost]
    for names in (systems, evaluators):
        names_of_label: dict[str, list[str]] = {}
        for name in dict.fromkeys(names):
            names_of_label.setdefault(str(labels.get(name, name)), []).append(name)
        problems += [
            f"{label!r} is the label of {' and '.join(same)}, which look the same in figures"
            for label, same in names_of_label.items()
            if label and len(same) > 1
        ]
    return [f"settings: labels: {problem}: correct or remove that line." for problem in problems]


def _wrong_ends(key: str, ends: object) -> str:
    """Describe what is wrong with a scale, which needs both ends, or a range, which needs one."""
    needed = "min and max" if key == "scales" else "min, max or both"
    limits = dict(ends) if isinstance(ends, Mapping) else {}
    named = set(limits) - ({"excluded"} if key == "valid" else set())
    right = named == {"min", "max"} or (key == "valid" and named in ({"min"}, {"max"}))
    is_finite = [isinstance(end, Real) and math.isfinite(end) for end in limits.values()]
    if not right or not all(is_finite):
        return f"must have {needed}, each a finite number"
    return "must have min below max" if key == "scales" and limits["min"] >= limits["max"] else ""


def from_texts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the texts in the settings of a study.yml to numbers and Booleans."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: read(entry) for name, entry in value.items()}
        try:
            return float(value)
        except (TypeError, ValueError):
            return value

    converted = dict(settings)
    for key in ("scales", "valid"):
        if key in converted:
            converted[key] = read(converted[key])
    if converted.get("keep_annotator_ids") in ("true", "false"):
        converted["keep_annotator_ids"] = converted["keep_annotator_ids"] == "true"
    return converted


def exclude_invalid(
    judgments: pd.DataFrame, settings: dict[str, Any], problems: list[str]
) -> pd.DataFrame:
    """Exclude judgments outside `valid`, and record their number in the settings."""
    for dimension, ends in settings.get("valid", {}).items():
        rows = (judgments["dimension"] == dimension).to_numpy()
        inside = judgments["value"].between(ends.get("min", -np.inf), ends.get("max", np.inf))
        outside = rows & ~inside.to_numpy()
        if outside.any() and outside.sum() == rows.sum():
            problems.append(
                f"settings: valid: {dimension}: this range excludes every judgment: correct it."
            )
            continue
        judgments = judgments[~outside]
        # A study that is read again, or copied, has already lost the judgments that it counts.
        counted = {**ends, "excluded": int(max(outside.sum(), ends.get("excluded", 0)))}
        settings["valid"] = {**settings["valid"], dimension: counted}
    return judgments


def setting_problems(
    tables: Mapping[str, pd.DataFrame], raws: RawTables, settings: Mapping[str, Any]
) -> list[str]:
    """List settings that name something unknown, and judgments outside their scale."""
    problems = []
    scales = settings.get("scales", {})
    named = {str(settings["quality"]): "quality"} if "quality" in settings else {}
    for key in ("lower_is_better", "scales", "valid"):
        named = dict.fromkeys(map(str, settings.get(key, ())), key) | named
    judged = [table for table in ("judgments", "preferences") if table in raws]
    frames = {table: raws[table].frame for table in judged}
    written = {table: frame for table, frame in frames.items() if isinstance(frame, pd.DataFrame)}
    # As written, because all rows of a dimension may be invalid and left out.
    columns = (frame.get("dimension", ["quality"]) for frame in written.values())
    dimensions = {str(dimension): None for dimension in itertools.chain(*columns)}
    evaluators = {*tables.get("scores", pd.DataFrame()).get("evaluator", ())}
    misnamed = any(set(frame) - set(schema.columns(table)) for table, frame in written.items())
    for dimension, key in named.items() if not misnamed else ():
        if dimension not in dimensions and not (key == "scales" and dimension in evaluators):
            problems.append(f"settings: {key}: {unknown(dimension, dimensions)}")
    if "clusters" in settings and "outputs" in tables:
        names = [*map(str, tables["outputs"]), *["group_id"] * ("judgments" in tables)]
        clusters = settings["clusters"]
        reason = unknown(clusters, names)
        if any(clusters in raw.file_columns for raw in raws.values()):
            reason = f"{clusters!r} is not a column of outputs: "
            reason += f"add `settings: extra: [{clusters}]`."
        # Unknown columns of outputs, and unknown names in `extra`, are problems of their own.
        unread = getattr(raws["outputs"].frame, "columns", ())
        if clusters not in {*names, *unread, *settings.get("extra", ())}:
            problems.append(f"settings: clusters: {reason}")
    for name, ends in scales.items():
        rule = f"must be within its scale, {ends['min']:g} to {ends['max']:g}: fix the value, "
        rule += "or correct `settings: scales`"
        columns_of = {"judgments": ("dimension", "value"), "scores": ("evaluator", "score")}
        for table, (column, value) in columns_of.items():
            rows = tables.get(table, pd.DataFrame())
            if {column, value} <= set(rows):
                outside = (rows[value] < ends["min"]) | (rows[value] > ends["max"])
                bad = ((rows[column] == name) & outside).to_numpy()
                problems += schema.problem(raws[table], table, rows, bad, value, rule)
    return problems
