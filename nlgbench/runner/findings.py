"""A study's findings in three sentences: systems, evaluators, and the limits of the design."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nlgbench.crossed import FEWEST, THESE_ANNOTATORS
from nlgbench.evaluators.names import label
from nlgbench.evaluators.sentinels import LENGTH
from nlgbench.study import Study

#: The most names that a sentence lists.
_MOST_NAMES = 3
Results = Mapping[str, pd.DataFrame]


def findings(study: Study, results: Results) -> pd.DataFrame:
    """Write what notebook 08 found, in sentences: about, finding, study, data.

    `results` are tables by name, without those that the study does not support. ``about`` is
    systems, evaluators or limits; ``study`` and ``data`` are the study's name and size.
    """
    found = {"systems": _systems, "evaluators": _evaluators, "limits": _limits}
    said = [find(study, results) for find in found.values()]
    outputs = study.outputs
    data = f"{len(outputs):,} outputs of {outputs['system'].nunique():,} systems on "
    data += f"{outputs['item_id'].nunique():,} items"
    return pd.DataFrame({"about": [*found], "finding": said, "study": study.name, "data": data})


def _systems(study: Study, results: Results) -> str:
    """Report which systems are distinguishable, by judgments, votes or evaluators."""
    if "compare_systems" in results:
        by = f"By annotators' judgments of {results['pairs']['dimension'].iloc[0]}"
        return _ranking(study, results["compare_systems"], by, "adjusted mean")
    if "rate" in results:
        table = results["rate"].rename(columns={"rating": "estimate"})
        return _ranking(study, table, "By annotators' votes", "Bradley-Terry rating")
    if "standings" in results:
        return _without_annotators(study, results["standings"])
    return "No ranking of systems is possible with what the study has."


def _without_annotators(study: Study, table: pd.DataFrame) -> str:
    """Report how the first judge or evaluator ranks systems, and how many others agree."""
    evaluator, compared = table["evaluator"].iloc[0], "n_games" in table
    of = "comparisons of the judge" if compared else "the scores of"
    by = f"By {of} {label(str(evaluator))}, not by annotators"
    own = table[table["evaluator"] == evaluator]
    said = _ranking(study, own, by, "win rate" if compared else "mean score")
    first = table.drop_duplicates("evaluator")["system"]
    if len(first) == 1 or len(first) == len(table):
        return said
    same = int((first == first.iloc[0]).sum())
    return f"{said} Evaluators that rank this system first: {same} of {len(first)}."


def _ranking(study: Study, table: pd.DataFrame, by: str, value: str) -> str:
    """Report which system ranks first, and how many pairs are distinguishable."""
    rows = table.dropna(subset="estimate")
    if rows.empty:
        return f"{by}, the order of systems is undefined: {table['reason'].iloc[0]}."
    tested = "rank_low" in rows
    if not tested:
        rows = rows.sort_values("estimate", ascending=False, kind="stable")
    name, n = study.label(rows["system"].iloc[0]), len(rows)
    number = _number(rows.iloc[0], digits=0 if "rating" in value else 2)
    if n == 1:
        return f"{by}, {name} has the {value} {number}; it is the only system."
    said = f"{by}, {name} ranks first of {n} systems, {value} {number}."
    missing = rows["ci_low"].isna()
    if missing.all():
        return f"{said} Whether systems differ is inconclusive: {_why(rows)}."
    if tested:
        low, how = rows["rank_low"], "differ significantly (Holm-adjusted tests)"
    else:
        # Systems whose intervals overlap may also differ: this criterion is conservative.
        beaten_by = rows["ci_low"].to_numpy()[None] > rows["ci_high"].to_numpy()[:, None]
        low = pd.Series(1 + beaten_by.sum(axis=1), rows.index)
        how = "have intervals that do not overlap"
    pairs = f"; {int((low - 1).sum())} of {n * (n - 1) // 2} pairs of systems {how}" * (n > 2)
    pairs += f"; systems without an interval: {int(missing.sum())}" * bool(missing.any())
    first = [study.label(name) for name in rows.loc[low == 1, "system"]]
    if len(first) == 1:
        return f"{said} It is distinguishable from {'all others' if n > 2 else 'the other'}{pairs}."
    best = f"{_listed(first)} may each be the best"
    return f"{said} Which is best is inconclusive: {best}{pairs}."


def _evaluators(study: Study, results: Results) -> str:
    """Report which evaluators agree with annotators, and which of them beat text length."""
    if "correlate" in results:
        table = results["correlate"].query("granularity == 'output' and statistic == 'spearman'")
        words, chance = "correlate with annotators' judgments over outputs (Spearman)", 0.0
    elif "vote_accuracy" in results:
        table = results["vote_accuracy"]
        table = table.query("measure == 'accuracy_decided' and against == 'votes'")
        words, chance = "agree with more than half of annotators' votes, ties left out", 0.5
    else:
        table, words, chance = pd.DataFrame(columns=["evaluator"]), "", 0.0
    own = table[~table["evaluator"].str.endswith("@sentinel") & (table["evaluator"] != "people")]
    if own.empty:
        human = study.judgments is not None or study.preferences is not None
        lacking = "has no judgments or votes" if not human else "has no scores that fit them"
        return f"Whether evaluators agree with annotators is unknown: the study {lacking}."
    own = own.sort_values("estimate", ascending=False, kind="stable")
    agree, n = own[own["ci_low"] > chance], len(own)
    if agree.empty:
        why = f": {_why(own)}" if own["ci_low"].isna().all() else ""
        known = own.dropna(subset="estimate")
        shown = f" The highest: {_estimates(known)}." if len(known) else ""
        return f"No evaluator of {n} is shown to {words}{why}.{shown}"
    said = f"Of {n} evaluators, {len(agree)} {words}: {_estimates(agree)}."
    length = table[table["evaluator"] == LENGTH]
    if length[["ci_low", "ci_high"]].isna().any(axis=None) or length.empty:
        return f"{said} The length of the text has no interval to compare them with."
    row = length.iloc[0]
    # A length with a negative correlation predicts judgments equally well if negated.
    better = agree[agree["ci_low"] > max(row["ci_high"], 2 * chance - row["ci_low"])]
    than = f"the length of the text ({_number(row)})"
    if better.empty:
        return f"{said} Whether any beats {than} is inconclusive, as intervals overlap."
    names = _listed([label(str(name)) for name in better["evaluator"]])
    return f"{said} Shown to beat {than}: {names}."


def _limits(study: Study, results: Results) -> str:
    """Report what the design cannot show."""
    limits = []
    covers = [one["covers"] for one in results.values() if "covers" in one]
    if covers and pd.concat(covers).eq(THESE_ANNOTATORS).any():
        tables = [one for one in (study.judgments, study.preferences) if one is not None]
        n = pd.concat([one["annotator_id"] for one in tables]).nunique()
        limits.append(f"what other annotators than these {n} would say")
    if study.judgments is None and study.preferences is None:
        limits.append("what annotators would say")
    if "agreement" in results and results["agreement"]["estimate"].isna().all():
        limits.append("how far annotators agree, as no output has two judgments")
    if "correlate" in results and (n := len(study.systems)) < FEWEST:
        limits.append(f"whether evaluators would rank other systems as well as these {n}")
    limits.append("how systems do on other kinds of input than these items")
    return f"This design cannot show {'; '.join(limits)}."


def _why(rows: pd.DataFrame) -> str:
    """Return the reason for a missing interval."""
    reasons = rows.loc[rows["ci_low"].isna(), "reason"].fillna("")
    return next((one for one in reasons if one), "intervals are undefined")


def _number(row: pd.Series, digits: int = 2) -> str:
    """Write an estimate with its interval."""
    values = [row["estimate"], row["ci_low"], row["ci_high"]]
    value, low, high = (f"{one:.{digits}f}".replace("-", "−") for one in values)
    return f"{value} [{low}, {high}]" if np.isfinite(values[1:]).all() else f"{value} (no interval)"


def _estimates(rows: pd.DataFrame) -> str:
    return _listed([f"{label(str(row['evaluator']))} {_number(row)}" for _, row in rows.iterrows()])


def _listed(names: list[str]) -> str:
    """Join names, at most three."""
    left = len(names) - _MOST_NAMES
    if left > 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {left} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
