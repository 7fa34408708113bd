"""Evaluators against humans where only a score per system is known, as in printed tables."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats

from nlgbench import tables
from nlgbench.analysis.coefficients.pair_statistics import Floats, equalized
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.inference import orders_of, permutation_p
from nlgbench.analysis.correlation.judged import judged_scores
from nlgbench.analysis.correlation.levels import ACCURACIES, PLAIN
from nlgbench.inference import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


def correlate_systems(
    system_scores: pd.DataFrame,
    human_scores: pd.DataFrame,
    *,
    statistics: Sequence[str] = ("pearson", "spearman", "kendall_b"),
    p_method: Literal["scipy", "permutation"] = "scipy",
    n_permutations: int = 9999,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Correlate evaluators' scores of systems with humans' scores of the same systems.

    Parameters
    ----------
    system_scores, human_scores : DataFrame
        Tables ``system_scores``, of one dataset; the "evaluators" of `human_scores` are ways to sum
        up human judgments, and each is set against each evaluator. Higher should be better in both;
        scores whose signature says ``direction:lower`` are turned.
    statistics : sequence of str
        ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c``, ``pairwise_accuracy``.
    p_method : {"scipy", "permutation"}
        SciPy's p, as papers print it: t for Pearson and Spearman; for Kendall exact up to 33
        systems without ties, otherwise normal. Or of a permutation test: all orders up to
        eight systems, `n_permutations` random ones from nine on.
    n_permutations : int
        Random orders.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where random orders come from.

    Returns
    -------
    DataFrame
        A row per evaluator, human score and statistic: dataset, evaluator, human, statistic,
        estimate, ci_low, ci_high, confidence, p, p_method, n (systems that both have scored),
        n_missing (systems that only one has, or whose score is NaN), turned (whether lower was
        better), reason (why there is no estimate or no interval, or "").

    Raises
    ------
    ValueError
        When a table breaks a rule, datasets differ, a name is unknown, or a number out of range.

    Notes
    -----
    Intervals take the systems as a sample of systems, which they seldom are, and their scores as
    exact. On Fisher's z scale the standard error is ``1 / sqrt(n - 3)`` (Pearson; normal data),
    ``sqrt((1 + r^2 / 2) / (n - 3))`` (Spearman; Bonett and Wright 2000, doi:10.1007/BF02294183),
    ``sqrt(.437 / (n - 4))`` (tau-b; Fieller, Hartley and Pearson 1957,
    doi:10.1093/biomet/44.3-4.470; without ties). Others have none; `correlation.correlate`
    resamples outputs where they are known.

    Examples
    --------
    >>> scores = pd.DataFrame({"dataset": "d", "system": list("abcde"), "evaluator": "e",
    ...     "score": [1.0, 2.0, 3.0, 4.0, 5.0], "signature": ""})
    >>> human = scores.assign(evaluator="votes", score=[1.0, 3.0, 2.0, 5.0, 4.0])
    >>> correlate_systems(scores, human)[["statistic", "estimate", "n"]].round(3).values.tolist()
    [['pearson', 0.8, 5], ['spearman', 0.8, 5], ['kendall_b', 0.6, 5]]
    """
    for name in statistics:
        known(name, PLAIN, "statistics")
    known(p_method, ("scipy", "permutation"), "p_method")
    check_n(n_permutations, "n_permutations")
    check_coverage(confidence, "confidence")
    rng = np.random.default_rng(seed)
    dataset, scores, human = wide_scores(system_scores, human_scores)
    turned = set(system_scores.loc[_lower_is_better(system_scores), "evaluator"])
    rows = []
    for evaluator in scores.columns:
        for by in human.columns:
            both = scores[evaluator].notna() & human[by].notna()
            either = scores[evaluator].notna() | human[by].notna()
            x, y = scores.loc[both, evaluator].to_numpy(), human.loc[both, by].to_numpy()
            for name in statistics:
                estimate = _coefficient(x, y, name)
                p, method = _p(x, y, name, estimate, p_method, n_permutations, rng)
                rows.append(
                    {
                        "dataset": dataset,
                        "evaluator": evaluator,
                        "human": by,
                        "statistic": name,
                        "estimate": estimate,
                        **fisher_interval(name, estimate, len(x), confidence),
                        "confidence": confidence,
                        "p": p,
                        "p_method": method,
                        "n": len(x),
                        "n_missing": int(either.sum() - both.sum()),
                        "turned": evaluator in turned,
                    }
                )
    return pd.DataFrame(rows)


def wide_scores(
    system_scores: pd.DataFrame, human_scores: pd.DataFrame
) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """Lay two tables of system scores out by system.

    Parameters
    ----------
    system_scores, human_scores : DataFrame
        As in `correlate_systems`.

    Returns
    -------
    tuple of (str, DataFrame, DataFrame)
        The dataset; for all systems of either table a column per evaluator, NaN where missing.
        Scores whose signature says ``direction:lower`` are negated, and values that differ by
        at most 1e-9 standard deviations made equal.

    Raises
    ------
    ValueError
        When a table breaks a rule, is empty, or datasets differ.
    """
    checked = [tables.check(one, "system_scores") for one in (system_scores, human_scores)]
    datasets = sorted({name for one in checked for name in one["dataset"]})
    if len(datasets) != 1 or any(one.empty for one in checked):
        raise ValueError(
            "system_scores and human_scores must have rows of one dataset. Got "
            f"{len(checked[0])} and {len(checked[1])} rows of {', '.join(datasets) or 'none'}."
        )
    systems = pd.concat(checked)["system"].unique()
    wide = []
    for one in checked:
        names = one["evaluator"].unique()
        one = one.assign(score=one["score"].where(~_lower_is_better(one), -one["score"]))
        table = one.pivot(index="system", columns="evaluator", values="score")
        table = table.reindex(index=systems, columns=names)
        # Equal means may differ in their last bits, and would not be tied.
        wide.append(table.apply(lambda column: equalized(column.to_numpy()), raw=False))
    return datasets[0], wide[0], wide[1]


def _lower_is_better(scores: pd.DataFrame) -> "pd.Series[bool]":
    return scores["signature"].str.contains("direction:lower", regex=False)


def mean_scores(outputs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Average each evaluator's scores by system, over the outputs that it has scored.

    Parameters
    ----------
    outputs, scores : DataFrame
        The tables, of one dataset.

    Returns
    -------
    DataFrame
        A table ``system_scores``; NaN where an evaluator has scored no output of a system. A
        signature's ``direction:lower`` is kept. Use `mean_system_scores` where judgments of the
        same outputs are to be averaged with them.

    Raises
    ------
    ValueError
        When a table breaks a rule, or a score is of an output that `outputs` does not have.

    Examples
    --------
    >>> outputs = pd.DataFrame({"dataset": "d", "output_id": ["a", "b", "c"], "item_id": "1",
    ...     "system": ["s", "s", "t"], "text": "", "is_human": False, "context": ""})
    >>> scores = outputs[["dataset", "output_id"]].assign(evaluator="e", score=[1.0, 2.0, 4.0],
    ...     signature="")
    >>> mean_scores(outputs, scores)[["system", "score"]].values.tolist()
    [['s', 1.5], ['t', 4.0]]
    """
    outputs, scores = tables.check(outputs, "outputs"), tables.check(scores, "scores")
    found = scores.merge(
        outputs[["dataset", "output_id", "system"]],
        on=["dataset", "output_id"],
        how="left",
        validate="many_to_one",
    )
    unknown = found.loc[found["system"].isna(), "output_id"].unique()
    if len(unknown):
        raise ValueError(
            f"scores has {len(unknown)} outputs that `outputs` does not have, such as "
            f"{unknown[0]!r}: drop them, or add them to `outputs`."
        )
    by = found.groupby(["dataset", "system", "evaluator"], sort=False)["score"]
    means = by.mean().reset_index()
    turned = means["evaluator"].isin(scores.loc[_lower_is_better(scores), "evaluator"])
    means["signature"] = "mean over outputs" + turned.map({True: "|direction:lower", False: ""})
    return tables.check(means[tables.columns("system_scores")], "system_scores")


def mean_system_scores(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    include_human: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Average scores and judgments of the same outputs by system.

    Parameters
    ----------
    outputs, scores, judgments, dimension, include_human
        As in `judged.judged_scores`.

    Returns
    -------
    tuple of DataFrame
        Two tables ``system_scores``: of the evaluators, and of the judgments (the evaluator's name
        is the dimension). Only outputs that every evaluator has scored count, so that all are
        averaged over the same; equal means are tied, whatever their last bits.

    Raises
    ------
    ValueError
        As `judged.judged_scores`, or when no output has all scores.

    Examples
    --------
    >>> outputs = pd.DataFrame({"dataset": "d", "output_id": ["a", "b"], "item_id": ["1", "1"],
    ...     "system": ["s", "t"], "text": "", "is_human": False, "context": ""})
    >>> keys = outputs[["dataset", "output_id"]]
    >>> scores = keys.assign(evaluator="e", score=[1.0, 2.0], signature="")
    >>> judgments = keys.assign(annotator_id="w", dimension="q", value=[3.0, 4.0], group_id="")
    >>> mean_system_scores(outputs, scores, judgments)[1]["score"].tolist()
    [3.0, 4.0]
    """
    judged = judged_scores(
        outputs, scores, judgments, dimension=dimension, include_human=include_human
    )
    whole = judged.scores.notna().all(axis=1)
    if not whole.any():
        raise ValueError(
            "no judged output has a score of every evaluator: leave out evaluators that have "
            "scored others."
        )
    if dimension is None:
        dimension = str(judgments["dimension"].iloc[0])
    system = judged.rows.loc[whole, "system"]
    x = judged.scores[whole].groupby(system, sort=False).mean()
    y = judged.rows.loc[whole, ["judgment"]].groupby(system, sort=False).mean()
    found = []
    for means in (x, y.set_axis([dimension], axis=1)):
        # Equal means may differ in their last bits, and would not be tied.
        means = means.apply(lambda one: equalized(one.to_numpy()), raw=False)
        long = means.rename_axis("system").reset_index().melt("system", var_name="evaluator")
        long = long.rename(columns={"value": "score"}).assign(dataset=judged.dataset, signature="")
        found.append(tables.check(long[tables.columns("system_scores")], "system_scores"))
    return found[0], found[1]


def _coefficient(x: Floats, y: Floats, name: str) -> float:
    return float(coefficients(x, y, statistics=[name])[name]) if len(x) > 1 else float("nan")


def _p(
    x: Floats,
    y: Floats,
    name: str,
    estimate: float,
    p_method: str,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[float, str]:
    if not np.isfinite(estimate):
        return float("nan"), p_method
    if p_method == "permutation":
        orders, is_all = orders_of(len(y), n_permutations, rng)
        values = coefficients(x, y[orders], statistics=[name])[name]
        two_sided = name not in ACCURACIES
        p = permutation_p(values, np.array([estimate]), exact=is_all, two_sided=two_sided)
        return float(p), "permutation, " + ("all" if is_all else f"{len(orders)} drawn")
    if name in ACCURACIES:
        return float("nan"), "none: SciPy has no test, use p_method='permutation'"
    tests = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall_b": stats.kendalltau,
        "kendall_c": lambda a, b: stats.kendalltau(a, b, variant="c"),
    }
    return float(tests[name](x, y).pvalue), "scipy"


def fisher_interval(
    name: str, estimate: float, n: int, confidence: float, *, n_given: int = 0
) -> dict[str, float | str]:
    """Put an interval around a (partial) correlation on the scale of Fisher's z."""
    few = (4 if name == "kendall_b" else 3) + n_given
    reason = ""
    if n < 2 + 2 * n_given:
        reason = f"undefined: {n} systems have all scores"
    elif not np.isfinite(estimate):
        reason = "undefined: scores that do not vary" + (
            ", or that the one held constant determines" if n_given else ""
        )
    elif name not in ("pearson", "spearman", "kendall_b"):
        reason = "no closed form: resample outputs with correlate"
    elif n <= few:
        reason = f"{n} systems: an interval needs at least {few + 1}"
    elif 1 - abs(estimate) < 1e-12:
        reason = "perfect correlation: the standard error of z is undefined"
    if reason:
        return {"ci_low": float("nan"), "ci_high": float("nan"), "reason": reason}
    variance = {"pearson": 1.0, "spearman": 1 + estimate**2 / 2, "kendall_b": 0.437}[name]
    half = stats.norm.ppf(0.5 + confidence / 2) * np.sqrt(variance / (n - few))
    low, high = np.tanh(np.arctanh(estimate) + np.array([-half, half]))
    return {"ci_low": float(low), "ci_high": float(high), "reason": ""}
