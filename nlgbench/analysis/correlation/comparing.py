"""Whether one evaluator agrees better with humans than another."""

from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.inference import (
    MOST_EXACT,
    bootstrap_interval,
    bootstrap_p,
    permutation_p,
)
from nlgbench.analysis.correlation.judged import Judged, judged_scores
from nlgbench.analysis.correlation.levels import (
    LEVELS,
    PLAIN,
    STATISTICS,
    epsilons_of,
    full_statistics,
    resampled,
)
from nlgbench.analysis.correlation.samples import samples_of
from nlgbench.analysis.correlation.system_scores import wide_scores
from nlgbench.analysis.resampling import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


def compare_evaluators(
    system_scores: pd.DataFrame,
    human_scores: pd.DataFrame,
    *,
    statistic: str = "pearson",
    n_permutations: int = 9999,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Test for all pairs of evaluators whether their correlations over systems differ.

    Parameters
    ----------
    system_scores, human_scores : DataFrame
        Tables ``system_scores`` of one dataset, printed or from `mean_system_scores`; the second
        with one "evaluator", the human scores.
    statistic : str
        ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c`` or ``pairwise_accuracy``.
    n_permutations : int
        Random swaps from 17 systems on; up to 16 all ``2^systems``, at most 65,536.
    seed : int or Generator
        Where random swaps come from.

    Returns
    -------
    DataFrame
        A row per pair: dataset, statistic, evaluator_a, evaluator_b, estimate_a, estimate_b (over
        the systems that both and the humans have scored), difference (a minus b), p (two-sided),
        p_method, n (systems).

    Raises
    ------
    ValueError
        When a table breaks a rule, there are several human scores, one evaluator alone, or a name
        is unknown.

    Notes
    -----
    Under the null an evaluator's score of a system could as well be the other's, so scores are
    swapped system by system. They are standardized over the systems first (mean 0, variance 1),
    since evaluators have different units: the permutation test of Deutsch, Dror and Roth (2021,
    doi:10.1162/tacl_a_00417), on systems' scores. p is the share of swaps whose difference is
    at least as far from 0. Systems are the sample here; that their scores are means of finitely
    many outputs is in the data, not in the test. `differences` resamples outputs.

    Examples
    --------
    >>> human = pd.DataFrame({"dataset": "d", "system": list("abcde"), "evaluator": "votes",
    ...     "score": [1.0, 2.0, 3.0, 4.0, 5.0], "signature": ""})
    >>> scores = pd.concat([human.assign(evaluator="e"),
    ...     human.assign(evaluator="f", score=[2.0, 1.0, 4.0, 5.0, 3.0])])
    >>> found = compare_evaluators(scores, human, statistic="spearman")
    >>> found[["estimate_a", "estimate_b", "p"]].round(3).values.tolist()
    [[1.0, 0.6, 0.125]]
    """
    known(statistic, PLAIN, "statistic")
    check_n(n_permutations, "n_permutations")
    dataset, scores, human = wide_scores(system_scores, human_scores)
    if human.shape[1] != 1 or scores.shape[1] < 2:
        raise ValueError(
            "compare_evaluators needs one human score and at least two evaluators. Got "
            f"{human.shape[1]} ({', '.join(human.columns)}) and {scores.shape[1]}: filter by "
            "evaluator."
        )
    rng = np.random.default_rng(seed)
    h, values = human.iloc[:, 0].to_numpy(), scores.to_numpy()
    swaps: dict[int, Floats] = {}
    rows = []
    for a, b in combinations(range(values.shape[1]), 2):
        there = np.isfinite(h) & np.isfinite(values[:, a]) & np.isfinite(values[:, b])
        n = int(there.sum())
        if n not in swaps:
            swaps[n] = _swaps(n, n_permutations, rng)
        is_all = 2**n <= MOST_EXACT
        pair = values[there][:, [a, b]].T
        estimates, p = _swap_test(pair, h[there], statistic, swaps[n], is_all)
        rows.append(
            {
                "dataset": dataset,
                "statistic": statistic,
                "evaluator_a": scores.columns[a],
                "evaluator_b": scores.columns[b],
                "estimate_a": estimates[0],
                "estimate_b": estimates[1],
                "difference": estimates[0] - estimates[1],
                "p": p,
                "p_method": f"swaps, {'all' if is_all else f'{n_permutations} drawn'}",
                "n": n,
            }
        )
    return pd.DataFrame(rows)


def _swaps(n: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """List which of n systems are swapped; of all ways half, since the others mirror them."""
    if 2**n <= MOST_EXACT:
        ways = np.arange(2 ** max(n - 1, 0))[:, None]
        return (ways >> np.arange(n)) % 2 == 1
    return rng.random((n_permutations, n)) < 0.5


def _swap_test(
    pair: Floats, h: Floats, statistic: str, swaps: np.ndarray, is_all: bool
) -> tuple[Floats, float]:
    if len(h) < 2:
        return np.full(2, np.nan), float("nan")
    estimates = coefficients(pair, h, statistics=[statistic])[statistic]
    # As in coefficients, the first value off makes exact zeros of a constant.
    centered = pair - pair[:, :1]
    spread = centered.std(axis=1, keepdims=True)
    if not np.isfinite(estimates).all() or (spread == 0).any():
        return estimates, float("nan")
    a, b = (centered - centered.mean(axis=1, keepdims=True)) / spread
    swapped = np.stack([np.where(swaps, b, a), np.where(swaps, a, b)])
    of_a, of_b = coefficients(swapped, h, statistics=[statistic])[statistic]
    observed = np.array([estimates[0] - estimates[1]])
    return estimates, float(permutation_p(of_a - of_b, observed, exact=is_all, two_sided=True))


def differences(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    level: Literal["system", "output", "item"] = "system",
    statistic: str = "pearson",
    resample: Literal["items", "systems", "both"] = "items",
    clusters: str | None = None,
    dimension: str | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    include_human: bool = False,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Put intervals around the differences of evaluators' agreement with humans.

    Parameters
    ----------
    outputs, scores, judgments, level, resample, clusters, dimension, include_human
        As in `correlation.correlate`.
    statistic : str
        One of `correlate`'s.
    n_resamples : int
        Resamples.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per pair of evaluators: dataset, level, statistic, evaluator_a, evaluator_b,
        estimate_a, estimate_b, difference (a minus b), ci_low, ci_high, confidence, ci_method,
        n_resamples, n_undefined_resamples, reason, p (two-sided), n_missing (outputs left out),
        resample.

    Raises
    ------
    ValueError
        As `correlate`, or with one evaluator alone, or none that all have scored.

    Notes
    -----
    Both evaluators are scored on the same resamples, so that what is common to their errors falls
    out. Only outputs that every evaluator has scored count. With ``clusters`` (HITs, pairs of
    contexts) whole clusters are drawn: the test that `williams` is not, as it takes every output
    for independent. p is twice the share of resamples on the other side of 0.

    Examples
    --------
    >>> from nlgbench import tables
    >>> outputs = pd.DataFrame(
    ...     [("d", f"{s}{n}", n, s, "", False, "") for s in "abc" for n in "1234"],
    ...     columns=tables.columns("outputs"),
    ... )
    >>> keys = outputs[["dataset", "output_id"]]
    >>> noise = np.random.default_rng(0).normal(size=12)
    >>> judgments = keys.assign(annotator_id="w", dimension="q", value=noise, group_id="")
    >>> scores = pd.concat([keys.assign(evaluator=name, score=score, signature="")
    ...     for name, score in (("e", noise), ("f", -noise))])
    >>> found = differences(outputs, scores, judgments, level="output", seed=0)
    >>> round(float(found["difference"].iloc[0]), 6), bool(found["ci_low"].iloc[0] > 1.9)
    (2.0, True)
    """
    known(level, LEVELS, "level")
    known(resample, ("items", "systems", "both"), "resample")
    check_n(n_resamples, "n_resamples")
    if STATISTICS[known(statistic, list(STATISTICS), "statistic")] not in (None, level):
        raise ValueError(f"{statistic!r} is a statistic of level={STATISTICS[statistic]!r}.")
    check_coverage(confidence, "confidence")
    judged = judged_scores(
        outputs,
        scores,
        judgments,
        dimension=dimension,
        clusters=clusters,
        include_human=include_human,
    )
    whole = judged.scores.notna().all(axis=1).to_numpy()
    if judged.scores.shape[1] < 2 or not whole.any():
        raise ValueError(
            f"{int(whole.sum())} judged outputs have a score of all {judged.scores.shape[1]} "
            "evaluators. A difference needs two evaluators that have scored the same outputs."
        )
    judged = Judged(
        judged.dataset,
        judged.rows[whole].reset_index(drop=True),
        judged.scores[whole].reset_index(drop=True),
        judged.n_outputs,
    )
    rng = np.random.default_rng(seed)
    ((names, sample),) = samples_of(judged)
    epsilons = epsilons_of(sample, level, [statistic], rng)
    full = full_statistics(sample, level, [statistic], epsilons)[statistic][:, 0]
    replicates = resampled(
        judged, sample, level, [statistic], epsilons, resample, n_resamples, rng
    )[statistic]
    rows = []
    for a, b in combinations(range(len(names)), 2):
        difference, values = float(full[a] - full[b]), replicates[a] - replicates[b]
        rows.append(
            {
                "dataset": judged.dataset,
                "level": level,
                "statistic": statistic,
                "evaluator_a": names[a],
                "evaluator_b": names[b],
                "estimate_a": float(full[a]),
                "estimate_b": float(full[b]),
                "difference": difference,
                **bootstrap_interval(
                    values, difference, confidence, corrected=statistic == "pearson"
                ),
                "p": bootstrap_p(values) if np.isfinite(difference) else float("nan"),
                "n_missing": judged.n_outputs - len(sample.y),
                "resample": resample if clusters is None else f"clusters of {clusters}",
            }
        )
    return pd.DataFrame(rows)
