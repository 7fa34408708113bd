"""Meta-evaluation: how well evaluators agree with human judgments, and how sure that is."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.coefficients.pairwise import calibrated_accuracies, pair_confidences
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.expectations import expectations
from nlgbench.analysis.correlation.inference import orders_of, permutation_p
from nlgbench.analysis.correlation.intervals import (
    Interval,
    doubts,
    of_outputs,
    of_systems,
    p_value,
)
from nlgbench.analysis.correlation.judged import Judged, judged_scores
from nlgbench.analysis.correlation.levels import (
    ACCURACIES,
    LEVELS,
    PLAIN,
    STATISTICS,
    epsilons_of,
    full_statistics,
    item_values,
)
from nlgbench.analysis.correlation.samples import Sample, item_grids, samples_of, system_means
from nlgbench.inference import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


def correlate(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    level: Literal["system", "output", "item"] = "system",
    statistics: Sequence[str] = ("pearson", "spearman", "kendall_b"),
    resample: Literal["items", "systems", "both"] | None = "items",
    clusters: str | None = None,
    dimension: str | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    include_human: bool = False,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Correlate evaluators' scores with human judgments.

    Parameters
    ----------
    outputs, scores, judgments : DataFrame
        The tables, of one dataset. Higher scores should be better; those whose signature says
        ``direction:lower`` are turned.
    level : {"system", "output", "item"}
        ``"system"``: over systems' means. ``"output"``: over all outputs at once. ``"item"``: over
        the systems of an item, averaged over the items where it is defined.
    statistics : sequence of str
        ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c`` (-1 to 1); ``pairwise_accuracy``,
        ``tie_calibrated`` (epsilon chosen in sample), ``tie_calibrated_held_out`` (chosen on the
        other half of the items; level ``"item"``), ``soft_pairwise`` (level ``"system"``) (0 to 1).
    resample : {"items", "systems", "both"} or None
        What the interval is about: other items, systems, or both that there might have been.
    clusters : str, optional
        ``"group_id"`` (HIT) or a column of `outputs`, such as ``"context"``: drawn in place of
        items.
    dimension : str, optional
        Of the judgments; may be omitted where there is one.
    n_resamples : int
        Draws, where an interval is made of them, and random permutations.
    confidence : float
        Coverage asked for, between 0 and 1.
    include_human : bool
        Whether humans are systems, too.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per evaluator and statistic: dataset, evaluator, level, statistic, estimate, ci_low,
        ci_high, confidence, ci_method, estimand (what the interval is about), reason (why there is
        no estimate or no interval, or why to doubt it; or ""), n_resamples (draws; 0 where none are
        needed), n_undefined_resamples (left aside), p, p_method, n (systems, outputs or items),
        n_clusters, n_undefined (items without a value; 1 where the estimate is), n_missing (outputs
        left out for want of a score or a judgment), epsilon (threshold of tie calibration; the mean
        of two, held out), turned (whether scores were negated), resample; at the level of systems
        also disattenuated (Pearson's r of the systems' expectations), reliability_scores and
        reliability_judgments (share of the variance of means that is not noise).

    Raises
    ------
    ValueError
        As `judged.judged_scores`; when a name is unknown or a number out of range; when items lie
        in several clusters.

    Notes
    -----
    An output's judgments are averaged over annotators first; a system's mean is over its outputs.
    An output without a score or judgment is left out for that evaluator alone, on both sides.
    Undefined (a constant variable, a single system) is NaN and counted, never 0. Two systems give
    correlations of -1 or 1.

    Values that differ by at most 1e-9 standard deviations are equal, as in HUSE.

    **Systems' means.** Means of few items are noisy, and noise lowers correlations. ``"items"``
    and ``"both"`` are therefore about the systems' *expectations*, while the estimate is that of
    the means. Let C be the covariance of the means over systems, and N the part that is noise, from
    how clusters differ (``MS_int / n`` where every cluster has every system)::

        r_d = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))

    - ``"items"``, Pearson: r_d plus or minus Student's t times its delete-one-cluster jackknife
      standard error, cut at -1 and 1; clusters are deleted within systems where each is of one.
      Ranks: quantiles of the statistic of expectations drawn from their posterior, for systems
      that are a sample of a bivariate normal population with nothing known of it.
    - ``"systems"``, Pearson: jackknife over systems of Fisher's z, t with n - 2 degrees of freedom.
      Spearman: Bonett and Wright (2000, doi:10.1007/BF02294183). Kendall and pairwise accuracy:
      Fieller, Hartley and Pearson's variance (1957, doi:10.1093/biomet/44.3-4.470), with t.
    - ``"both"``: the interval over systems, its ends taken off the noise as r_d is (ranks by way of
      the r that a normal population with theirs has).
    - Tie calibration and soft accuracy: plain percentiles of a bootstrap.

    No interval where the reliability of the mean scores or judgments is below .5.

    **Outputs, items.** Delete-one jackknife over clusters (in at most 1,000 random groups), over
    systems, or the sum of both variances, with Student's t; over outputs on Fisher's z.

    Fewer than ten clusters, or systems where these are drawn, are marked in `reason`. How often
    intervals hold is in docs/meta-evaluation.md. A threshold of tie calibration stays as it is in
    resamples: the interval is given epsilon, and leaves out that it was chosen.

    p: at the level of systems, of a permutation test in which the systems' judgments are dealt out
    anew (all ways up to 65,536, that is up to eight systems), two-sided for correlations, and of
    accuracies at least as high; epsilon is chosen anew. At the other levels, Student's t of the
    jackknife against 0, or against the accuracy that is expected by chance with these ties, so that
    it follows `resample` and `clusters`. None (NaN) for tie calibration there, as epsilon was
    chosen on the same judgments.

    Examples
    --------
    >>> from nlgbench import tables
    >>> outputs = pd.DataFrame(
    ...     [("d", f"{s}{n}", n, s, "", False, "") for s in "abc" for n in "12"],
    ...     columns=tables.columns("outputs"),
    ... )
    >>> value = outputs["system"].map({"a": 0.0, "b": 1.0, "c": 2.0})
    >>> keys = outputs[["dataset", "output_id"]]
    >>> scores = keys.assign(evaluator="e", score=value, signature="")
    >>> judgments = keys.assign(annotator_id="w", dimension="q", value=value**2, group_id="")
    >>> found = correlate(outputs, scores, judgments, statistics=["spearman"], seed=0)
    >>> found[["evaluator", "estimate", "n"]].values.tolist()
    [['e', 1.0, 3]]
    """
    chosen = _checked(level, statistics, resample, n_resamples, confidence)
    rng = np.random.default_rng(seed)
    judged = judged_scores(
        outputs,
        scores,
        judgments,
        dimension=dimension,
        clusters=clusters,
        include_human=include_human,
    )
    tables = [
        _correlated(judged, names, sample, level, chosen, resample, n_resamples, confidence, rng)
        for names, sample in samples_of(judged)
    ]
    order = {name: place for place, name in enumerate(judged.scores.columns)}
    table = pd.concat(tables, ignore_index=True)
    table["resample"] = "none" if resample is None else _drawn(resample, clusters)
    return table.sort_values(
        "evaluator", key=lambda one: one.map(order), kind="stable", ignore_index=True
    )


def _correlated(
    judged: Judged,
    names: list[str],
    sample: Sample,
    level: str,
    statistics: list[str],
    resample: str | None,
    n_resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Correlate evaluators that have scored the same outputs."""
    epsilons = epsilons_of(sample, level, statistics, rng)
    full = full_statistics(sample, level, statistics, epsilons)
    tested = {}
    beside: dict[str, Floats] = {}
    intervals: dict[tuple[int, str], Interval] = {}
    if level == "system":
        tested = _permutation_tests(sample, statistics, full, n_resamples, rng)
        found = expectations(sample)
        beside = {
            "disattenuated": found.r,
            "reliability_scores": found.reliability_scores,
            "reliability_judgments": found.reliability_judgments,
        }
        if resample is not None:
            intervals = of_systems(
                judged,
                sample,
                found,
                full,
                statistics,
                epsilons,
                resample,
                n_resamples,
                confidence,
                rng,
            )
    elif resample is not None:
        intervals = of_outputs(sample, level, full, statistics, epsilons, resample, confidence, rng)
    by_item = item_values(sample, statistics, epsilons, None) if level == "item" else full
    units = {"system": sample.system, "output": np.arange(len(sample.y)), "item": sample.item}
    nothing = Interval(float("nan"), float("nan"), "none", "nothing was resampled")
    rows = []
    for at, name in enumerate(names):
        for statistic in statistics:
            estimate = float(full[statistic][at, 0])
            interval = intervals.get((at, statistic), nothing)
            if statistic in tested:
                p, p_method = float(tested[statistic][0][at]), tested[statistic][1]
            elif statistic in PLAIN:
                p, p_method = p_value(interval), "jackknife, t"
            else:
                p, p_method = float("nan"), "none: epsilon was chosen on the same judgments"
            epsilon = epsilons[statistic][at].mean() if statistic in epsilons else float("nan")
            rows.append(
                {
                    "dataset": judged.dataset,
                    "evaluator": name,
                    "level": level,
                    "statistic": statistic,
                    "estimate": estimate,
                    "ci_low": interval.low,
                    "ci_high": interval.high,
                    "confidence": confidence,
                    "ci_method": interval.method,
                    "estimand": _estimand(level, resample, interval.method),
                    "reason": _reason(interval, sample, resample, statistic, level, float(epsilon)),
                    "n_resamples": interval.n_drawn,
                    "n_undefined_resamples": interval.n_undefined,
                    "p": p if np.isfinite(estimate) else float("nan"),
                    "p_method": p_method,
                    "n": len(np.unique(units[level])),
                    "n_clusters": len(np.unique(sample.cluster)),
                    "n_undefined": int(np.isnan(by_item[statistic][at]).sum()),
                    "n_missing": judged.n_outputs - len(sample.y),
                    "epsilon": float(epsilon),
                    "turned": name in judged.turned,
                    **{
                        column: float(values[at]) if statistic == "pearson" else float("nan")
                        for column, values in beside.items()
                    },
                }
            )
    return pd.DataFrame(rows)


def _estimand(level: str, resample: str | None, method: str) -> str:
    """Say what an interval is about."""
    if resample is None or method == "none":
        return ""
    noiseless = level == "system" and method != "percentile" and resample != "systems"
    return {
        "items": "these systems, other items",
        "systems": "other systems, these items",
        "both": "other systems, other items",
    }[resample] + (": expectations" if noiseless else "")


def _reason(
    interval: Interval,
    sample: Sample,
    resample: str | None,
    statistic: str,
    level: str,
    epsilon: float,
) -> str:
    """Say why there is no interval, or why to doubt it."""
    if resample is None or interval.reason:
        return interval.reason
    if statistic.startswith("tie_calibrated"):
        x = (
            system_means(sample, np.ones((1, sample.n_clusters)))[0][:, 0]
            if level == "system"
            else sample.x
        )
        if epsilon >= np.nanmax(np.nanmax(x, axis=1) - np.nanmin(x, axis=1)):
            return "the chosen threshold ties all scores"
    return doubts(interval, sample, resample)


def _checked(
    level: str, statistics: Sequence[str], resample: str | None, n: int, confidence: float
) -> list[str]:
    known(level, LEVELS, "level")
    if resample is not None:
        known(resample, ("items", "systems", "both"), "resample")
    check_n(n, "n_resamples")
    check_coverage(confidence, "confidence")
    if isinstance(statistics, str) or not len(statistics):
        raise ValueError(f"statistics must be a list of names. Got {statistics!r}.")
    for name in statistics:
        only = STATISTICS[known(name, list(STATISTICS), "statistics")]
        if only not in (None, level):
            raise ValueError(
                f"{name!r} is a statistic of level={only!r}. Got level={level!r}: change "
                "the level, or leave it out."
            )
    return list(dict.fromkeys(statistics))


def _drawn(resample: str, clusters: str | None) -> str:
    if clusters is None or resample == "systems":
        return resample
    return f"clusters of {clusters}" + (" and systems" if resample == "both" else "")


def _permutation_tests(
    sample: Sample,
    statistics: Sequence[str],
    full: dict[str, Floats],
    n_permutations: int,
    rng: np.random.Generator,
) -> dict[str, tuple[Floats, str]]:
    """Deal the systems' judgments out anew, and give p for each evaluator and statistic."""
    x, y, there = system_means(sample, np.ones((1, sample.n_clusters)))
    has = there[0]
    x, y = x[:, 0, has], y[0, has]
    orders, is_all = orders_of(len(y), n_permutations, rng)
    method = "permutation, " + ("all" if is_all else f"{len(orders)} drawn")
    plain = [name for name in statistics if name in PLAIN]
    each = [coefficients(one, y[orders], statistics=plain) if plain else {} for one in x]
    found = {name: np.stack([one[name] for one in each]) for name in plain}
    if "tie_calibrated" in statistics:
        found["tie_calibrated"] = np.full((len(x), len(orders)), np.nan)
        if len(y) > 1:
            found["tie_calibrated"] = np.stack([calibrated_accuracies(one, y[orders]) for one in x])
    if "soft_pairwise" in statistics:
        grid_x, grid_y = item_grids(sample)
        once = np.ones((1, len(grid_y)))
        i, j = np.triu_indices(len(y), 1)
        sure = np.zeros((len(y), len(y)))
        sure[i, j] = pair_confidences(grid_y[:, has], once)[0]
        sure[j, i] = 1 - sure[i, j]
        dealt = sure[orders[:, i], orders[:, j]]
        gaps = [np.abs(dealt - pair_confidences(one[:, has], once)) for one in grid_x]
        found["soft_pairwise"] = (
            np.stack([1 - gap.mean(axis=1) for gap in gaps])
            if len(i)
            else (np.full((len(x), len(orders)), np.nan))
        )
    return {
        name: (
            permutation_p(values, full[name], exact=is_all, two_sided=name not in ACCURACIES),
            method,
        )
        for name, values in found.items()
    }
