"""Meta-evaluation: how well evaluators agree with human judgments, and how sure that is."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.coefficients.pairwise import calibrated_accuracies, pair_confidences
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.inference import (
    bootstrap_interval,
    bootstrap_p,
    orders_of,
    permutation_p,
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
    resampled,
)
from nlgbench.analysis.correlation.samples import Sample, item_grids, samples_of, system_means
from nlgbench.analysis.resampling import check_coverage
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
        The tables, of one dataset. Scores are taken as they are: higher should be better.
    level : {"system", "output", "item"}
        ``"system"``: over systems' means. ``"output"``: over all outputs at once. ``"item"``: over
        the systems of an item, averaged over the items where it is defined.
    statistics : sequence of str
        ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c`` (-1 to 1); ``pairwise_accuracy``,
        ``tie_calibrated`` (epsilon chosen in sample), ``tie_calibrated_held_out`` (chosen on the
        other half of the items; level ``"item"``), ``soft_pairwise`` (level ``"system"``) (0 to 1).
    resample : {"items", "systems", "both"} or None
        What the bootstrap draws: which other items, systems, or both there might have been.
    clusters : str, optional
        ``"group_id"`` (HIT) or a column of `outputs`, such as ``"context"``: drawn in place of
        items.
    dimension : str, optional
        Of the judgments; may be omitted where there is one.
    n_resamples : int
        Resamples, and random permutations.
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
        ci_high, confidence, ci_method, n_resamples, n_undefined_resamples (left aside), reason
        (why there is no estimate or no interval, or ""), p, p_method, n (systems, outputs or
        items), n_undefined (items without a value; 1 where the estimate is), n_missing (outputs
        left out for want of a score or a judgment), epsilon (threshold of tie calibration; the mean
        of two, held out), resample.

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

    Items drawn are drawn with all their outputs; where every item is of one system, within the
    system. ``"items"`` asks what other items would have given for *these* systems (the parameter is
    the correlation of their population means); ``"systems"`` and ``"both"`` ask about other systems
    of the kind (Deutsch, Dror and Roth 2021, doi:10.1162/tacl_a_00417), of which few are known:
    twelve systems are twelve points. To accuracies the copies of a drawn system or output are no
    pairs; to correlations they are ties.

    Means of few items are noisy, so a correlation of means is too low, and in resamples of the
    items lower still. Pearson's interval is corrected for that (bias-corrected percentile); those
    of ranks and pairs are plain quantiles, as the correction makes them worse. How often they
    hold is in `benchmarks/correlation_coverage.py`: with few items, or with four systems, too
    seldom. A threshold of tie calibration stays as it is in resamples: the interval is given
    epsilon, and leaves out that it was chosen.

    p: at the level of systems, of a permutation test in which the systems' judgments are dealt out
    anew (all ways up to 65,536, that is up to eight systems), two-sided for correlations, and of
    accuracies at least as high; epsilon is chosen anew. At the other levels, from the bootstrap:
    twice the share of resamples on the other side of 0, or of the accuracy that is expected by
    chance with these ties, so that it follows `resample` and `clusters`. None (NaN) for tie
    calibration there, as epsilon was chosen on the same judgments.

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
    computed = list(statistics)
    if "pairwise_accuracy" in statistics:
        computed.append("chance_accuracy")
    full = full_statistics(sample, level, statistics, epsilons)
    replicates = resampled(judged, sample, level, computed, epsilons, resample, n_resamples, rng)
    tested = {}
    if level == "system":
        tested = _permutation_tests(sample, statistics, full, n_resamples, rng)
    by_item = item_values(sample, statistics, epsilons, None) if level == "item" else full
    units = {"system": sample.system, "output": np.arange(len(sample.y)), "item": sample.item}
    rows = []
    for at, name in enumerate(names):
        for statistic in statistics:
            estimate, values = float(full[statistic][at, 0]), replicates[statistic][at]
            if statistic in tested:
                p, p_method = float(tested[statistic][0][at]), tested[statistic][1]
            elif statistic in PLAIN:
                is_accuracy = statistic in ACCURACIES
                chance = replicates["chance_accuracy"][at] if is_accuracy else 0.0
                p, p_method = bootstrap_p(values - chance), "bootstrap"
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
                    **bootstrap_interval(
                        values, estimate, confidence, corrected=statistic == "pearson"
                    ),
                    "p": p if np.isfinite(estimate) else float("nan"),
                    "p_method": p_method,
                    "n": len(np.unique(units[level])),
                    "n_undefined": int(np.isnan(by_item[statistic][at]).sum()),
                    "n_missing": judged.n_outputs - len(sample.y),
                    "epsilon": float(epsilon),
                }
            )
    return pd.DataFrame(rows)


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
