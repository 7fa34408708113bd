"""Write findings as sentences: estimates with their intervals, and the source of the data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from nlgbench.crossed import FEWEST, THESE_ANNOTATORS
from nlgbench.datasets.published import cite
from nlgbench.evaluators.names import label
from nlgbench.evaluators.sentinels import LENGTH
from nlgbench.study import Study
from nlgbench.text import counted, listed

#: The most names that a sentence lists.
_MOST_NAMES = 3
Results = Mapping[str, pd.DataFrame]


def say(
    start: str,
    rows: pd.DataFrame | None,
    each: str = "{number}",
    *,
    value: str = "estimate",
    null: float | None = None,
    where: str = "",
    rest: str = "",
) -> str:
    """Write a sentence about a table's first rows; without any estimate, return an empty string.

    The template `each` describes a row. It may name columns and ``{number}``, which is the `value`
    with its interval, marked as inconclusive if the interval contains `null`. `where` selects rows,
    as in ``DataFrame.query``. `rest` describes the ``{n}`` rows that are not shown.

    >>> table = pd.DataFrame({"system": ["s_1"], "estimate": 0.1, "ci_low": -0.2, "ci_high": 0.4})
    >>> say("The difference is", table, "{number} for {system}", null=0)
    'The difference is 0.10 [−0.20, 0.40] (inconclusive) for s 1.'
    """
    rows = pd.DataFrame({value: []}) if rows is None else rows.query(where) if where else rows
    if (known := rows.dropna(subset=value)).empty:
        return ""
    n_shown = _MOST_NAMES if len(known) > _MOST_NAMES + 1 else len(known)
    shown = []
    for _, row in known.head(n_shown).iterrows():
        words = {str(key): _name(str(key), one) for key, one in row.items()}
        number = _number(row, value)
        if null is not None and not (row["ci_low"] > null or row["ci_high"] < null):
            number += " (inconclusive)"
        shown.append(each.format(**words, number=number))
    more = rest.format(n=len(known) - n_shown) if n_shown < len(known) else ""
    if more and not more.startswith(";"):
        shown.append(more)
        more = ""
    several = f"{', '.join(shown[:-1])}, and {shown[-1]}" if shown[2:] else " and ".join(shown)
    return re.sub(r"(?<![\w-])-(?=\d)", "−", f"{start} {several}{more}.")


def _name(column: str, value: object) -> object:
    """Write a name as it appears in a sentence, and leave a number as it is."""
    if not isinstance(value, str):
        return value
    if column.startswith("evaluator"):
        return label(value).replace(", ", " with ")
    return value.replace("_", " ")


def describe_source(studies: Study | Mapping[str, Study] | str, source: str) -> dict[str, str]:
    """Describe the study (name), its source (in full) and, for a single study, its size."""
    if isinstance(studies, str):
        return {"study": "", "source": studies, "data": ""}
    opened = [studies] if isinstance(studies, Study) else list(studies.values())
    released = source == "released"
    called = ((released and one.origin.partition(":")[2]) or one.name for one in opened)
    names = list(dict.fromkeys(called))
    name = names[0] if len(names) == 1 else f"{len(opened)} studies"
    if released:
        known = f"released data of {listed(dict.fromkeys(map(cite, names)))}"
    elif source == "simulated":
        worlds = listed(map(repr, names))
        known = f"simulated world{'s' * (len(names) > 1)} {worlds}, whose truth is known"
    else:
        known = f"your study {name}"
    outputs = opened[0].outputs
    n_systems, n_human = len(opened[0].systems), int(outputs["is_human"].sum())
    by_system = f"{counted(len(outputs) - n_human, 'output')} of {counted(n_systems, 'system')}"
    kinds = [by_system] * bool(n_systems) + [counted(n_human, "human output")] * bool(n_human)
    size = f"{listed(kinds)} on {counted(outputs['item_id'].nunique(), 'item')}"
    return {"study": name, "source": known, "data": size if len(names) == 1 else ""}


def findings(study: Study, results: Results) -> dict[str, str]:
    """Write the findings of notebook 08 on systems, evaluators, and limits of the study's design.

    `results` maps analyses to tables, without analyses that the study does not support.
    """
    found = {"systems": _systems, "evaluators": _evaluators, "limits": _limits}
    return {about: find(study, results) for about, find in found.items()}


def _systems(study: Study, results: Results) -> str:
    """Report which systems are distinguishable, by the best evidence that the study has."""
    if "compare_systems" in results:
        by = f"By annotators' judgments of {results['pairs']['dimension'].iloc[0]}"
        return _ranking(study, results["compare_systems"], by, "adjusted mean")
    if "rate" in results:
        table = results["rate"].rename(columns={"rating": "estimate"})
        return _ranking(study, table, "By annotators' votes", "Bradley-Terry rating")
    if "standings" in results:
        return _without_annotators(study, results["standings"])
    return "The study has no data to rank systems by."


def _without_annotators(study: Study, table: pd.DataFrame) -> str:
    """Report the first judge's or evaluator's ranking, and how many others agree on the best."""
    evaluator, compared = table["evaluator"].iloc[0], "n_games" in table
    by = f"According to {label(str(evaluator))}, not annotators"
    own = table[table["evaluator"] == evaluator]
    said = _ranking(study, own, by, "win rate" if compared else "mean score")
    first = table.drop_duplicates("evaluator")["system"]
    if len(first) == 1 or len(first) == len(table):
        return said
    same = int((first == first.iloc[0]).sum())
    return f"{said} Evaluators that rank this system first: {same} of {len(first)}."


def _ranking(study: Study, table: pd.DataFrame, by: str, value: str) -> str:
    """Report which system ranks first, and how many pairs of systems are distinguishable."""
    rows = table.dropna(subset="estimate")
    if rows.empty:
        return f"{by}, the order of systems is undefined: {table['reason'].iloc[0]}."
    tested = "rank_low" in rows
    if not tested:
        rows = rows.sort_values("estimate", ascending=False, kind="stable")
    name, n = study.label(rows["system"].iloc[0]), len(rows)
    number = _number(rows.iloc[0])
    if n == 1:
        return f"{by}, {name} is the only system ({value} {number})."
    said = f"{by}, {name} ranks first of {n} systems ({value} {number})."
    missing = rows["ci_low"].isna()
    if missing.all():
        return f"{said} The data do not show whether systems differ: {_why(rows)}."
    doubtful = ~missing & rows["reason"].fillna("").ne("")
    if doubtful.any():
        why = "; ".join(dict.fromkeys(map(_few, rows.loc[doubtful, "reason"])))
        said += f" Unreliable intervals: {doubtful.sum()} of {n} ({why})."
    which = "reliable " * bool(doubtful.any())
    if tested:
        low, how = rows["rank_low"], "of systems differ significantly (Holm-adjusted tests)"
    else:
        rows = rows[~missing & ~doubtful]
        if (n := len(rows)) < 2:
            return f"{said} The data do not show whether systems differ."
        beaten_by = rows["ci_low"].to_numpy()[None] > rows["ci_high"].to_numpy()[:, None]
        low = pd.Series(1 + beaten_by.sum(axis=1), rows.index)
        how = f"of {which}intervals do not overlap (a description, not a test)"
    if (n_differ := int((low - 1).sum())) == 1:
        how = how.replace(" differ ", " differs ").replace(" do ", " does ")
    pairs = f"; {n_differ} of {n * (n - 1) // 2} pairs {how}" * (n > 2)
    pairs += f"; systems without an interval: {int(missing.sum())}" * bool(missing.any())
    first = [study.label(name) for name in rows.loc[low == 1, "system"]]
    if len(first) == 1:
        others = "all others" if n > 2 else "the other"
        best = f"The {which}interval of {first[0]} lies entirely above {others}"
        return f"{said} {f'It is distinguishable from {others}' if tested else best}{pairs}."
    best = f"{_listed(first)} are not significantly worse than any other system"
    if not tested:
        best = f"no {which}interval lies entirely above those of {_listed(first)}"
    return f"{said} The data do not show which system is best: {best}{pairs}."


def _evaluators(study: Study, results: Results) -> str:
    """Report which evaluators agree with annotators, and which of them beat text length."""
    if "correlate" in results:
        table = results["correlate"].query("granularity == 'output' and statistic == 'spearman'")
        words, chance = "correlate positively with human judgments over outputs (Spearman)", 0.0
    elif "vote_accuracy" in results:
        table = results["vote_accuracy"]
        table = table.query("measure == 'accuracy_decided' and against == 'votes'")
        words, chance = "agree with more than half of annotators' votes (without ties)", 0.5
    else:
        table, words, chance = pd.DataFrame(columns=["evaluator"]), "", 0.0
    own = table[~table["evaluator"].str.endswith("@sentinel") & (table["evaluator"] != "people")]
    if own.empty:
        human = study.judgments is not None or study.preferences is not None
        if human and (study.scores is not None or study.system_scores is not None):
            return "The study's scores could not be compared with its judgments or votes."
        lacking = "no evaluator scores" if human else "no judgments or votes"
        return f"The study has {lacking}, so agreement of evaluators with annotators is untested."
    own = own.sort_values("estimate", ascending=False, kind="stable")
    agree = own[own["ci_low"] > chance]
    if agree.empty:
        why = f": {_why(own)}" if own["ci_low"].isna().all() else ""
        known = own.dropna(subset="estimate")
        shown = f" The highest estimates: {_estimates(known)}." if len(known) else ""
        return f"No evaluator is shown to {words}{why}.{shown}"
    words = re.sub(r"^\w+", r"\g<0>s", words) if len(agree) == 1 else words
    said = f"Of {counted(len(own), 'evaluator')}, {len(agree)} {words}: {_estimates(agree)}."
    length = table[table["evaluator"] == LENGTH]
    if length.empty:
        return said
    if length[["ci_low", "ci_high"]].isna().any(axis=None):
        return f"{said} Text length cannot be compared, because its estimate has no interval."
    row = length.iloc[0]
    # If length correlates negatively with judgments, its negative predicts them equally well.
    better = agree[agree["ci_low"] > max(row["ci_high"], 2 * chance - row["ci_low"])]
    than = f"Text length ({_number(row)})"
    if better.empty:
        return f"{said} {than} may do as well, because the intervals overlap."
    names = _listed([label(str(name)) for name in better["evaluator"]])
    return f"{said} {than} is beaten by {names}."


def _limits(study: Study, results: Results) -> str:
    """Report what the design cannot show."""
    limits = []
    covers = [one["covers"] for one in results.values() if "covers" in one]
    if covers and pd.concat(covers).eq(THESE_ANNOTATORS).any():
        tables = [one for one in (study.judgments, study.preferences) if one is not None]
        n = pd.concat([one["annotator_id"] for one in tables]).nunique()
        limits.append(f"how annotators other than these {n} would judge the outputs")
    if study.judgments is None and study.preferences is None:
        limits.append("how annotators would judge the outputs")
    if "agreement" in results and results["agreement"]["estimate"].isna().all():
        limits.append("how far annotators agree (no output has two judgments)")
    if "correlate" in results and (n := len(study.systems)) < FEWEST:
        limits.append(f"how well evaluators would rank systems other than these {n}")
    limits.append("how systems perform on other kinds of input")
    return f"This design cannot show {', or '.join(limits)}."


def _why(rows: pd.DataFrame) -> str:
    """Return the first reason why an interval is missing."""
    reasons = rows.loc[rows["ci_low"].isna(), "reason"].fillna("")
    return next((one for one in reasons if one), "intervals are undefined")


def _few(reason: str) -> str:
    """Shorten the reason why an interval is unreliable, and explain an effective number."""
    why = re.sub(r"^only \d+ (.+): an interval.*", rf"fewer than {FEWEST} \1", reason)
    return re.sub(r"effective (\w+)$", r"effective \1: most data come from a few \1", why)


def _number(row: pd.Series, value: str = "estimate") -> str:
    """Write an estimate and its interval, rounded to two or three significant digits."""
    values = [row[value], row.get("ci_low", math.nan), row.get("ci_high", math.nan)]
    largest = np.nanmax(np.abs(values)) or 1.0
    exponent = math.floor(math.log10(largest))
    digits = max(0, 2 - exponent) if exponent >= 0 else 1 - exponent
    values = [round(one, digits) + 0.0 for one in values]  # adding 0 makes -0.00 positive
    shown, low, high = (f"{one:.{digits}f}".replace("-", "−") for one in values)
    return f"{shown} [{low}, {high}]" if np.isfinite(values[1:]).all() else f"{shown} (no interval)"


def _estimates(rows: pd.DataFrame) -> str:
    return _listed([f"{label(str(row['evaluator']))} {_number(row)}" for _, row in rows.iterrows()])


def _listed(names: list[str]) -> str:
    """Join names; of many, only the first, and the number of the others."""
    left = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], f"{left} others"] if left > 1 else names)
