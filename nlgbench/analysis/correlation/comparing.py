"""Whether one evaluator agrees better with humans than another."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.correlation.judged import judged_scores
from nlgbench.analysis.correlation.levels import (
    LEVELS,
    PLAIN,
    STATISTICS,
    epsilons_of,
    resampled,
)
from nlgbench.analysis.correlation.meta_evaluation import correlate
from nlgbench.analysis.correlation.multiplicity import cannot_answer, draws_needed
from nlgbench.analysis.correlation.samples import samples_of
from nlgbench.analysis.correlation.swaps import swap_p, swapped_statistics, ways_to_swap
from nlgbench.analysis.correlation.system_scores import wide_scores
from nlgbench.inference import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


def compare_evaluators(
    system_scores: pd.DataFrame,
    human_scores: pd.DataFrame,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    statistic: str = "pearson",
    alpha: float = 0.05,
    n_permutations: int = 9999,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Test for pairs of evaluators whether their correlations over systems differ.

    Parameters
    ----------
    system_scores, human_scores : DataFrame
        Tables ``system_scores`` of one dataset, printed or from `mean_system_scores`; the second
        with one "evaluator", the human scores.
    pairs : sequence of (str, str), optional
        The pairs that are asked about, chosen before looking: they are the family, under Holm.
        Default: all pairs, under a step-down max-T.
    statistic : str
        ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c`` or ``pairwise_accuracy``.
    alpha : float
        Family-wise level: `reason` says where no data of so many systems could reach it.
    n_permutations : int
        Random swaps from 17 systems on (more where Holm needs them, see `draws_needed`); up to 16
        all ``2^systems``, at most 65,536.
    seed : int or Generator
        Where random swaps come from.

    Returns
    -------
    DataFrame
        A row per pair: dataset, statistic, evaluator_a, evaluator_b, estimate_a, estimate_b (over
        the systems that both and the humans have scored), difference (a minus b), p (two-sided),
        p_adjusted (for the family), p_least (the least p_adjusted that the family could have),
        adjustment, p_method, n (systems), reason (why there is no answer, or "").

    Raises
    ------
    ValueError
        When a table breaks a rule, there are several human scores, one evaluator alone, a name is
        unknown, a pair is named twice or is of one evaluator, or a number out of range.

    Notes
    -----
    Scores whose signature says ``direction:lower`` are turned first.

    Under the null an evaluator's score of a system could as well be the other's, so scores are
    swapped system by system; p is the share of swaps whose statistic is at least as far from 0.
    Scores are standardized over the systems first (mean 0, variance 1), since evaluators have
    different units. This is in the way of the Perm-Systems of Deutsch, Dror and Roth (2021,
    doi:10.1162/tacl_a_00417) but is not it: theirs standardizes the scores of outputs, so that an
    evaluator whose systems' means lie close together keeps them close; here it is the means that
    are standardized, and printed scores suffice. Systems are the sample; that their scores are
    means of finitely many outputs is in the data, not in the test. `differences` resamples outputs.

    For Pearson the statistic is the difference of Fisher's z over its standard error, the root of
    the mean square of ``(z_a z_h - r_a (z_a^2 + z_h^2) / 2) / (1 - r_a^2)`` minus the same of b
    (after DiCiccio and Romano 2017, doi:10.1080/01621459.2016.1202117). For others it is the
    difference of the coefficients.

    The null is that the two are exchangeable, which is more than equal correlations, and
    standardizing makes even that approximate: with skewed scores and few systems the test rejects
    too often, as does Williams' (``benchmarks/comparing_level.py`` says by how much).

    All pairs share the swaps: in each the same systems are swapped for every pair, and statistics
    are on one scale, so that max-T (`multiplicity.max_t`) asks the same of every pair. It is
    **approximate**: swaps within a pair give its own null distribution; jointly those of several
    pairs among unequal evaluators are only nearly that of the data (subset pivotality does not hold
    exactly).

    With n systems p is at least ``2 / 2^n``, and Holm over m pairs makes that ``2 m / 2^n``: at
    twelve systems at most 102 pairs can reach .05.

    Examples
    --------
    >>> human = pd.DataFrame({"dataset": "d", "system": list("abcde"), "evaluator": "votes",
    ...     "score": [1.0, 2.0, 3.0, 4.0, 5.0], "signature": ""})
    >>> scores = pd.concat([human.assign(evaluator="e"),
    ...     human.assign(evaluator="f", score=[2.0, 1.0, 4.0, 5.0, 3.0])])
    >>> found = compare_evaluators(scores, human, statistic="spearman")
    >>> found[["estimate_a", "estimate_b", "p", "p_least"]].round(3).values.tolist()
    [[1.0, 0.6, 0.125, 0.062]]
    >>> found["reason"].iloc[0]
    'cannot be answered with 5 systems: the least adjusted p there is 0.0625'
    """
    known(statistic, PLAIN, "statistic")
    check_n(n_permutations, "n_permutations")
    check_coverage(alpha, "alpha")
    dataset, scores, human = wide_scores(system_scores, human_scores)
    if human.shape[1] != 1 or scores.shape[1] < 2:
        raise ValueError(
            "compare_evaluators needs one human score and at least two evaluators. Got "
            f"{human.shape[1]} ({', '.join(human.columns)}) and {scores.shape[1]}: filter by "
            "evaluator."
        )
    chosen = _named(pairs, list(scores.columns))
    there = human.iloc[:, 0].notna().to_numpy()
    h, values = human.iloc[there, 0].to_numpy(), scores[there].to_numpy().T
    needed = 0 if pairs is None else draws_needed(len(chosen), alpha=alpha)
    swaps, is_all = ways_to_swap(len(h), max(n_permutations, needed), np.random.default_rng(seed))
    x = values[np.array(chosen).T]  # (2, pairs, systems)
    estimates, swapped = swapped_statistics(x, h, statistic, swaps)
    p, adjusted, least = swap_p(swapped, named=pairs is not None)
    n = (np.isfinite(x).all(axis=0)).sum(axis=1)
    undefined = "undefined: fewer than two systems, or scores that do not vary"
    table = pd.DataFrame(
        {
            "dataset": dataset,
            "statistic": statistic,
            "evaluator_a": [scores.columns[a] for a, _ in chosen],
            "evaluator_b": [scores.columns[b] for _, b in chosen],
            "estimate_a": estimates[0],
            "estimate_b": estimates[1],
            "difference": estimates[0] - estimates[1],
            "p": p,
            "p_adjusted": adjusted,
            "p_least": least,
            "adjustment": "max-T over all pairs, approximate"
            if pairs is None
            else f"Holm over {int(np.isfinite(p).sum())} named pairs",
            "p_method": f"swaps, {'all' if is_all else f'{len(swaps) - 1} drawn'}",
            "n": n,
        }
    )
    table["reason"] = [
        cannot_answer(least, alpha, size) if np.isfinite(one) else undefined
        for one, size in zip(p, n, strict=True)
    ]
    return table


def _named(pairs: Sequence[tuple[str, str]] | None, names: list[str]) -> list[tuple[int, int]]:
    """Look the pairs up; all of them where none are named."""
    if pairs is None:
        return list(combinations(range(len(names)), 2))
    found = []
    for pair in pairs:
        a, b = (names.index(known(name, names, "pairs")) for name in pair)
        if a == b or (a, b) in found or (b, a) in found:
            raise ValueError(
                f"pairs must be of two evaluators, each pair once. Got {tuple(pair)!r}"
                + ("." if a == b else " twice.")
            )
        found.append((a, b))
    if not found:
        raise ValueError("pairs must name at least one pair; leave it out to compare all.")
    return found


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
        estimate_a, estimate_b, difference (a minus b), ci_low, ci_high (NaN with a reason),
        confidence, ci_method, n_resamples, n_undefined_resamples, reason (why there is no interval,
        or why to doubt it), p (two-sided), n_missing (outputs left out), n (systems), n_clusters
        (items where no clusters are named), resample (what was drawn, as `correlate` has it).

    Raises
    ------
    ValueError
        As `correlate`, or with one evaluator alone, or none that all have scored.

    Notes
    -----
    Only outputs that every evaluator has scored count. The interval is made of `correlate`'s
    intervals of each, and of the correlation rho of the two estimates over common resamples: it is
    where a minus b goes while the two deviate together, ``a`` by cos(t) times the reach of its
    interval on that side, ``b`` by (rho cos(t) + sqrt(1 - rho^2) sin(t)) times that of its own, for
    all t. For symmetric intervals or rho = 0 these are the limits of Zou (2007,
    doi:10.1037/1082-989X.12.4.399). So what is common to the errors of the two falls out, and
    their skewness does not. At the level of systems, where `correlate` takes the noise off the
    systems' means, a and b are without it, and so is what the interval is for.

    p is that of a normal deviate that has the interval's end on the side of 0 at its quantile.
    With ``clusters`` (HITs, pairs of contexts) whole clusters are drawn: the test that `williams`
    is not, as it takes every output for independent. ``benchmarks/comparing_level.py`` measures
    how often these intervals hold.

    Examples
    --------
    >>> from nlgbench import tables
    >>> outputs = pd.DataFrame(
    ...     [("d", f"{s}{n}", n, s, "", False, "") for s in "abc" for n in "1234"],
    ...     columns=tables.columns("outputs"),
    ... )
    >>> keys = outputs[["dataset", "output_id"]]
    >>> noise = np.random.default_rng(0).normal(size=(2, 12))
    >>> judgments = keys.assign(annotator_id="w", dimension="q", value=noise[0], group_id="")
    >>> scores = pd.concat([keys.assign(evaluator=name, score=score, signature="")
    ...     for name, score in (("e", noise.sum(axis=0)), ("f", -noise.sum(axis=0)))])
    >>> found = differences(outputs, scores, judgments, level="output", seed=0)
    >>> found[["estimate_a", "estimate_b", "difference", "n_clusters"]].round(2).values.tolist()
    [[0.56, -0.56, 1.11, 4.0]]
    >>> found["reason"].iloc[0]
    '4 clusters: hardly an interval from fewer than 10'
    """
    known(level, LEVELS, "level")
    known(resample, ("items", "systems", "both"), "resample")
    check_n(n_resamples, "n_resamples")
    if STATISTICS[known(statistic, list(STATISTICS), "statistic")] not in (None, level):
        raise ValueError(f"{statistic!r} is a statistic of level={STATISTICS[statistic]!r}.")
    check_coverage(confidence, "confidence")
    options = {"dimension": dimension, "clusters": clusters, "include_human": include_human}
    judged = judged_scores(outputs, scores, judgments, **options)  # type: ignore[arg-type]
    whole = judged.scores.notna().all(axis=1).to_numpy()
    if judged.scores.shape[1] < 2 or not whole.any():
        raise ValueError(
            f"{int(whole.sum())} judged outputs have a score of all {judged.scores.shape[1]} "
            "evaluators. A difference needs two evaluators that have scored the same outputs."
        )
    rng = np.random.default_rng(seed)
    common = scores[scores["output_id"].isin(judged.rows.loc[whole, "output_id"])]
    each = correlate(
        outputs,
        common,
        judgments,
        level=level,
        statistics=[statistic],
        resample=resample,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=rng,
        **options,  # type: ignore[arg-type]
    ).set_index("evaluator")
    judged = judged_scores(outputs, common, judgments, **options)  # type: ignore[arg-type]
    ((names, sample),) = samples_of(judged)
    epsilons = epsilons_of(sample, level, [statistic], rng)
    replicates = resampled(
        judged, sample, level, [statistic], epsilons, resample, n_resamples, rng
    )[statistic]
    n_clusters, n_systems = (len(np.unique(one)) for one in (sample.cluster, sample.system))
    rows = []
    for a, b in combinations(range(len(names)), 2):
        two = each.loc[[names[a], names[b]]]
        estimates = two["estimate"].to_numpy()
        gap, down, up = _joined(two, replicates[[a, b]])
        difference = float(estimates[0] - estimates[1])
        n_undefined = int(np.isnan(replicates[[a, b]]).any(axis=0).sum())
        reasons = list(two["reason"])
        if not (np.isfinite(gap) or any(reasons)):
            reasons = [f"{n_undefined} of {n_resamples} resamples are undefined"]
        rows.append(
            {
                "dataset": judged.dataset,
                "level": level,
                "statistic": statistic,
                "evaluator_a": names[a],
                "evaluator_b": names[b],
                "estimate_a": estimates[0],
                "estimate_b": estimates[1],
                "difference": difference,
                "ci_low": gap - down,
                "ci_high": gap + up,
                "confidence": confidence,
                "ci_method": "joint, " + " and ".join(dict.fromkeys(two["ci_method"])),
                "n_resamples": n_resamples,
                "n_undefined_resamples": n_undefined,
                "reason": "; ".join(dict.fromkeys(filter(None, reasons))),
                "p": _p_of_reach(gap, down if gap > 0 else up, confidence),
                "n_missing": judged.n_outputs - len(sample.y),
                "n": n_systems,
                "n_clusters": n_clusters,
                "resample": two["resample"].iloc[0],
            }
        )
    return pd.DataFrame(rows)


def _joined(two: pd.DataFrame, replicates: Floats) -> tuple[float, float, float]:
    """Give the difference of two rows of `correlate`, and how far its interval reaches down and up.

    The correlation of the estimates is that of resamples (2, r).
    """
    ends = two[["ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    center = two["estimate"].to_numpy(dtype=np.float64)
    if two["estimand"].str.contains("expectations").all():
        center = two["disattenuated"].fillna(two["estimate"]).to_numpy(dtype=np.float64)
    # Ends that noise was taken off may leave the raw estimate outside.
    center = np.clip(center, ends[:, 0], ends[:, 1])
    defined = replicates[:, np.isfinite(replicates).all(axis=0)]
    if not np.isfinite(ends).all() or defined.shape[1] < 2:
        return float("nan"), float("nan"), float("nan")
    apart = np.ptp(defined, axis=1) > 1e-12
    together = 0.0
    if np.ptp(defined[0] - defined[1]) <= 1e-12:
        together = 1.0
    elif apart.all():
        together = float(np.clip(np.asarray(np.corrcoef(defined))[0, 1], -1, 1))
    turn = np.linspace(0, 2 * np.pi, 721)
    first = np.cos(turn)
    second = together * first + np.sqrt(1 - together**2) * np.sin(turn)
    below, above = center - ends[:, 0], ends[:, 1] - center
    moved = (
        np.where(first > 0, above[0], below[0]) * first
        - np.where(second > 0, above[1], below[1]) * second
    )
    gap, down, up = float(center[0] - center[1]), float(-moved.min()), float(moved.max())
    return gap, down, up


def _p_of_reach(gap: float, reach: float, confidence: float) -> float:
    """Give the p of a normal deviate whose quantile at this confidence is the reach towards 0."""
    if gap == 0 or not reach > 0:
        return 1.0 if gap == 0 else float("nan")
    return float(2 * norm.sf(abs(gap) / reach * norm.ppf(0.5 + confidence / 2)))
