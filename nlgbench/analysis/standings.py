"""Rank systems without human judgments: by judges' comparisons, or by evaluators' scores."""

from __future__ import annotations

import pandas as pd

from nlgbench.analysis.people import compare_systems
from nlgbench.analysis.ratings.bradley_terry import win_rates
from nlgbench.analysis.ratings.games import PROBABILITIES, read_games
from nlgbench.clustering import t_interval
from nlgbench.evaluators.names import label
from nlgbench.evaluators.score import score
from nlgbench.status import Unsupported, explain, first_status, split_status
from nlgbench.study import Study
from nlgbench.study.study import is_reversed, oriented

_COLUMNS = (
    *("evaluator", "system", "estimate", "ci_low", "ci_high", "confidence", "covers"),
    *("dimension", "better", "status", "reason"),
)
_OTHERS = "all other systems"


def add_sentinels(study: Study, *, dimension: str | None = None) -> Study:
    """Add sentinel scores: length, a constant and, with several systems, each system's mean."""
    if study.scores is None:
        return study
    names = ["length@sentinel", "constant@sentinel"]
    if len(study.systems) < 2:
        return score(study, names)
    options = {"system_mean@sentinel": {"dimension": dimension}}
    return score(study, [*names, *options], options=options)


def standings(study: Study, *, include_human: bool = False) -> pd.DataFrame:
    """Rank systems by judges' comparisons if the study has any, else by evaluators' scores."""
    if study.comparisons is not None:
        return overall_win_rates(study)
    return mean_scores(study, include_human=include_human)


def overall_win_rates(study: Study) -> pd.DataFrame:
    """Compute each system's overall win rate in each judge's comparisons.

    Intervals are those of `nlgbench.win_rates` for a system against all its opponents combined. The
    columns are those of `mean_scores` without the ranks, plus n_games.
    """
    played = read_games(study, of="comparisons")
    played = played.rename(columns=dict(zip(("win", "tie", "loss"), PROBABILITIES, strict=True)))
    tables = []
    for system in sorted({*played["system_a"], *played["system_b"]}):
        is_system = played[["system_a", "system_b"]] == system
        sides = played[["system_a", "system_b"]].where(is_system, _OTHERS)
        rates = win_rates(played.assign(**sides)[is_system.any(axis=1)])
        tables.append(rates[rates["system"] == system])
    table = pd.concat(tables).rename(columns={"comparator": "evaluator"})
    table = table.assign(dimension="win rate", better="higher", covers="other " + table["covers"])
    keys = ["evaluator", "estimate"]
    table = table.sort_values(keys, ascending=[True, False], ignore_index=True)
    return table[[*_COLUMNS, "n_games"]]


def mean_scores(study: Study, *, include_human: bool = False) -> pd.DataFrame:
    """Compute each system's mean score by each evaluator, with intervals over items.

    The analysis is that of `nlgbench.compare_systems`. Columns: evaluator, system, estimate,
    ci_low, ci_high, confidence, covers, dimension (the evaluator's name in figures), better (higher
    or lower), status, reason, rank_low, rank_high (simultaneous for all systems of an evaluator). A
    single system has no ranks.
    """
    if not include_human:
        study = study.only(is_human=False)
    if study.scores is None and study.system_scores is not None:
        return _system_scores(study.system_scores)
    outputs = study.outputs.set_index("output_id")[["item_id", "system"]]
    scores = None if study.scores is None else study.scores.dropna(subset="score")
    if scores is None or scores.empty:
        raise Unsupported("no_scores", f"{study.name} has no scores: compute them with nb.score.")
    scores = scores.join(outputs, on="output_id")
    tables = []
    for evaluator, scored in scores.groupby("evaluator", sort=False):
        lower = bool(is_reversed(scored).any())
        if len(scored["system"].unique()) > 1:
            table = compare_systems(study, evaluator=str(evaluator), include_human=True).systems
        else:
            by_item = scored.groupby("item_id")["score"].mean()
            interval = t_interval(by_item.mean(), by_item.sem(), len(by_item), units="items")
            table = pd.DataFrame([{"system": scored["system"].iloc[0], **interval}])
        named = {"evaluator": evaluator, "dimension": label(str(evaluator))}
        better = "lower" if lower else "higher"
        tables.append(table.assign(**named, better=better, covers="other items", confidence=0.95))
    table = pd.concat(tables, ignore_index=True)
    return table.reindex(columns=[*_COLUMNS, "rank_low", "rank_high"])


def _system_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """List scores of whole systems, best first, in the columns of `mean_scores`."""
    defined = scores.dropna(subset="score")
    table = defined.assign(
        estimate=defined["score"],
        rank=-oriented(defined)["score"],
        dimension=defined["evaluator"].map(label),
        better=is_reversed(defined).map({True: "lower", False: "higher"}),
        covers="other items",
        confidence=0.95,
        status=first_status(len(defined), (True, explain("one_score"))),
    ).sort_values(["evaluator", "rank"], kind="stable", ignore_index=True)
    return split_status(table).reindex(columns=[*_COLUMNS, "rank_low", "rank_high"])
