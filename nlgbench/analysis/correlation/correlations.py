"""`correlate`: how well evaluators agree with human judgments, with intervals.

Judgments and scores are joined into samples (`samples.py`), of which `statistics_of` computes
statistics of all data, and without each cluster. `correlate_system_scores` is used if only systems'
scores are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from nlgbench.analysis.correlation import intervals
from nlgbench.analysis.correlation.coefficients import (
    coefficients,
    divide,
    p_values_of_sums,
    pair_p_values,
    pair_sums,
    tolerance,
    weighted_coefficients,
)
from nlgbench.analysis.correlation.intervals import CHANCE, Interval, Options
from nlgbench.analysis.correlation.samples import (
    JudgedOutputs,
    Sample,
    chosen_evaluators,
    cluster_sums,
    clusters_of_items,
    dimensions_of,
    equalize_column,
    item_grids,
    judged_outputs,
    output_scores,
    samples_of,
    system_means,
)
from nlgbench.analysis.correlation.ties import CALIBRATED, calibrated_accuracy
from nlgbench.arrays import Floats, Seed
from nlgbench.clustering import few_clusters, group_items
from nlgbench.evaluators.sentinels import SENTINELS, SYSTEM_MEAN
from nlgbench.inference import adjust
from nlgbench.names import known
from nlgbench.status import Unsupported, estimate_columns, explain
from nlgbench.study import Study, oriented
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n

Granularity = Literal["system", "output", "item"]
Resample = Literal["items", "systems", "both"]

PLAIN = ("pearson", "spearman", "kendall_b", "pairwise_accuracy")
STATISTICS = (*PLAIN, "soft_pairwise", *CALIBRATED)
_NEEDED_GRANULARITY = {"soft_pairwise": "system", **dict.fromkeys(CALIBRATED, "item")}
#: The most clusters that the jackknife deletes one by one. More are deleted in random groups, which
#: are fewer, because each costs as much as all data.
_MOST_CLUSTERS, _N_GROUPS = 1000, 250
_NOTHING = Interval(float("nan"), float("nan"), "none", explain("not_requested"))


@checked
def correlate(
    study: Study,
    *,
    evaluators: Sequence[str] | None = None,
    by: str | None = None,
    granularity: Granularity = "system",
    statistics: Sequence[str] = ("pearson", "spearman", "kendall_b"),
    resample: Resample | None = "items",
    dimension: str | None = None,
    clusters: str | None = None,
    include_human: bool = False,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Correlate evaluators' scores with human judgments.

    Parameters
    ----------
    study : Study
        A study with judgments, and with scores (of outputs) or system_scores.
    evaluators : sequence of str, optional
        Names of evaluators. Default: all in ``scores`` and, at granularity "system", also those
        that are only in ``system_scores``.
    by : str, optional
        A column of outputs, constant within an item, such as a category: correlate within each
        group. All groups are one family of tests; under ten items, there is no interval and no p.
    granularity : {"system", "output", "item"}
        The units over which the statistic is computed: ``"system"``, systems' means; ``"output"``,
        all outputs; ``"item"``, systems within an item, averaged over items where it is defined.
    statistics : sequence of str
        ``pearson``, ``spearman``, ``kendall_b`` (-1 to 1), ``pairwise_accuracy`` (0 to 1); at
        granularity ``"system"`` also ``soft_pairwise``, at ``"item"`` ``pairwise_calibrated`` and
        ``pairwise_calibrated_same`` (0 to 1; see Notes).
    resample : {"items", "systems", "both"} or None
        What the interval generalizes to: other items or, at granularity "system", other systems or
        both. With only systems' scores, it is always other systems. None: no interval.
    dimension : str, optional
        A dimension of the judgments. Default: all of them, one after another.
    clusters : str, optional
        The clusters to resample instead of items: ``"group_id"`` (HIT) or a column of outputs.
        Default: ``settings["clusters"]``, or items.
    include_human : bool
        Whether human texts count as a system.
    n_resamples : int
        Number of posterior draws of the systems' expectations, and of random permutations.
    confidence : float
        Confidence level of intervals, between 0 and 1.
    seed : int or Generator
        Seed of the random numbers. An integer is used again for each dimension.

    Returns
    -------
    DataFrame
        A row per dimension, evaluator and statistic and, with `by`, per ``group`` in which the
        evaluator scored a judged output: evaluator, dimension, granularity, statistic, estimate,
        ci_low, ci_high, confidence, ci_method, estimand (what the interval covers), status (a code;
        ``ok``), reason (its text: why the estimate or interval is missing or doubtful), p,
        p_adjusted (by Holm's method, over the evaluators of a dimension and statistic; sentinels
        are no hypotheses, so theirs is NaN), p_method, n (systems, outputs or items), n_clusters (0
        where only systems' scores are used), n_undefined (number of items without a value or, for
        other granularities, 1 if the estimate is undefined), n_missing (outputs or systems without
        a score or a judgment), resample (units). With calibrated ties, also chance, always_tie
        (accuracy if all pairs were tied) and tie_threshold (of all items).

    Raises
    ------
    ValueError
        When the study lacks scores or judgments, a name is unknown, a number is out of range, an
        evaluator has scored no judged output, or an output or item belongs to several clusters.

    Notes
    -----
    Judgments are averaged by output, and outputs by system. An undefined statistic (a constant
    variable, a single system) is NaN, never 0. Values that differ by at most 1e-9 standard
    deviations count as equal.

    **Systems' means.** Noise in the means lowers correlations. The estimate is computed from the
    means, but intervals for ``"items"`` and ``"both"`` cover the correlation of the systems'
    *expectations*. With C the covariance of the means over systems, and N its part due to noise
    (estimated from differences between clusters), this correlation is estimated by::

        r_d = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))

    - ``"items"``, Pearson: r_d, plus or minus Student's t times its jackknife standard error over
      clusters. Other statistics: posterior quantiles of the statistic of the expectations, with
      systems as a sample of a bivariate normal population.
    - ``"systems"``, Pearson: jackknife of Fisher's z over systems, with Student's t. Others: the
      range of the statistic over all normal populations that fit the estimate (an inverted test).
    - ``"both"``: the interval over systems, with its ends corrected for noise as in r_d.

    An interval that excludes the estimate is extended to it. ``soft_pairwise`` has an interval only
    for ``"items"``, of its expectation with this number of items (jackknife). ``"items"`` and
    ``"both"`` require mean scores and judgments with reliabilities above .5. p is from permutations
    of systems' judgments (all if at most 8 systems), two-sided for correlations.

    **Systems' scores alone** count as exact. Intervals over systems use Fisher's z (Pearson) or the
    inverted test. p is from SciPy or, for accuracy, from permutations.

    **Outputs, items.** Intervals use a delete-one jackknife over clusters (if there are more than
    1,000, in 250 random groups), with Student's t; for correlations over outputs, on the scale of
    Fisher's z. p is from a jackknife t test against 0 or, for accuracy, against its expectation by
    chance given the ties.

    **Calibrated ties.** Scores that differ by at most a threshold count as tied. The threshold with
    the highest accuracy is found on nine tenths of the clusters, and used for the others. With
    ``pairwise_calibrated_same``, it is found and used on the same items, which flatters. Chance is
    the mean of 200 permutations of judgments within items, calibrated likewise.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": list("123456"), "item_id": list("121212"),
    ...     "system": list("aabbcc")})
    >>> keys = outputs[["output_id"]]
    >>> study = Study(outputs, keys.assign(annotator_id="w", value=[1, 2, 4, 4, 9, 8]),
    ...     scores=keys.assign(evaluator="e", score=[0.1, 0.1, 0.2, 0.3, 0.2, 0.4]))
    >>> found = correlate(study, statistics=["spearman"], seed=0)
    >>> found[["evaluator", "dimension", "estimate", "n"]].values.tolist()
    [['e', 'quality', 1.0, 3]]
    """
    options = check_options(granularity, statistics, resample, n_resamples, confidence)
    names = chosen_evaluators(study, evaluators, granularity)
    tables = []
    for criterion in dimensions_of(study, dimension):
        judged = judged_outputs(study, criterion, clusters, include_human)
        if by is None:
            table = _correlate_judged(study, judged, names, options, seed)
        else:
            table = _correlate_groups(study, judged, names, options, seed, by=by)
        tables.append(table.assign(dimension=criterion))
    return _join_tables(tables, options)


def _correlate_judged(
    study: Study, judged: JudgedOutputs, names: Mapping[str, str], options: Options, seed: Seed
) -> pd.DataFrame:
    """Correlate evaluators (with the table of their scores) with one dimension's judgments."""
    rng = np.random.default_rng(seed)
    of_systems = {name: table for name, table in names.items() if table != "scores"}
    tables = []
    # Sentinels have their own random numbers, so that they do not change other results.
    for sentinel, draws in ((False, rng), (True, np.random.default_rng(0))):
        chosen = [n for n in names if n not in of_systems and (n in SENTINELS) == sentinel]
        if chosen:
            scores = output_scores(study, judged, chosen)
            table = pd.concat(
                correlate_sample(judged, group, sample, options, draws)
                for group, sample in samples_of(judged, scores)
            )
            tables.append(table.sort_values("evaluator", kind="stable"))
    if of_systems:
        scores = systems_scores(study, of_systems, include_human=judged.include_human)
        means = judged.average_by_system("judgment")
        tables.append(correlate_system_scores(scores, means, options, rng))
    return pd.concat(tables)


def _correlate_groups(
    study: Study,
    judged: JudgedOutputs,
    names: Mapping[str, str],
    options: Options,
    seed: Seed,
    *,
    by: str,
) -> pd.DataFrame:
    """Correlate evaluators of outputs within each group of items."""
    group_of = group_items(study.outputs, by)
    outputs = study.outputs[judged.include_human | ~study.outputs["is_human"]]
    n_outputs = outputs["item_id"].map(group_of).value_counts()
    scored = study.scored([name for name, table in names.items() if table == "scores"])
    tables = []
    for group, rows in judged.rows.groupby(judged.rows["item_id"].map(group_of), sort=False):
        inside = judged._replace(rows=rows.reset_index(drop=True), n_outputs=n_outputs[group])
        scored_here = scored.loc[scored["output_id"].isin(rows["output_id"]), "evaluator"].unique()
        few = few_clusters(rows["item_id"].nunique(), "items")
        table = _correlate_judged(
            study,
            inside,
            dict.fromkeys(map(str, scored_here), "scores"),
            options._replace(resample=None) if few else options,
            seed,
        )
        if few:
            defined = table["estimate"].notna()
            table.loc[defined, "p"] = np.nan
            table.loc[defined, "status"], table.loc[defined, "reason"] = few.code, few.reason
        tables.append(table.assign(group=group))
    return pd.concat(tables)


@checked
def correlate_with_scores(
    study: Study,
    human: pd.DataFrame,
    *,
    evaluators: Sequence[str],
    statistics: Sequence[str] = ("pearson", "spearman", "kendall_b"),
    n_resamples: int = 1000,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Correlate evaluators with systems' scores (`human`) instead of judgments.

    Each evaluator of `human` is treated as a dimension.
    """
    options = check_options("system", statistics, "systems", n_resamples, 0.95)
    scores = systems_scores(study, chosen_evaluators(study, evaluators, "system"))
    human = human_system_scores(study, human, include_human=False)
    rng = np.random.default_rng(seed)
    return _join_tables([correlate_system_scores(scores, human, options, rng)], options)


def check_options(
    granularity: str, statistics: Sequence[str], resample: str | None, n: int, confidence: float
) -> Options:
    """Check the options of `correlate`."""
    if set(statistics) - set(STATISTICS):
        known(next(name for name in statistics if name not in STATISTICS), STATISTICS, "statistics")
    for name in statistics:
        if (needed := _NEEDED_GRANULARITY.get(name, granularity)) != granularity:
            raise ValueError(f"statistic {name!r} needs granularity={needed!r}.")
    if granularity != "system" and resample not in (None, "items"):
        raise ValueError(
            f"resample={resample!r} needs granularity='system'. "
            f"At granularity={granularity!r}, use resample='items'."
        )
    check_n(n, "n_resamples")
    return Options(granularity, list(dict.fromkeys(statistics)), resample, n, confidence)


_COLUMNS = (
    *("evaluator", "dimension", "granularity", "statistic", "estimate", "ci_low", "ci_high"),
    *("confidence", "ci_method", "estimand", "status", "reason", "p", "p_adjusted", "p_method"),
    *("n", "n_clusters", "n_undefined", "n_missing", "resample"),
)
#: Columns of accuracy with calibrated ties.
_TIE_COLUMNS = ["chance", "always_tie", "tie_threshold"]


def _join_tables(tables: list[pd.DataFrame], options: Options) -> pd.DataFrame:
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(granularity=options.granularity, confidence=options.confidence)
    table["p_adjusted"] = table["p"].mask(table["evaluator"].isin(SENTINELS))
    families = table.groupby(["dimension", "statistic"])["p_adjusted"]
    table["p_adjusted"] = families.transform(adjust)
    return table[[*_COLUMNS, *table.columns.intersection(["group", *_TIE_COLUMNS], sort=False)]]


# One sample's rows ---------------------------------------------------------------------------


def correlate_sample(
    judged: JudgedOutputs, names: list[str], sample: Sample, options: Options, rng: Generator
) -> pd.DataFrame:
    """Correlate evaluators that have scored the same outputs."""
    granularity, statistics, resample, *_ = options
    by_item = item_values(sample, statistics) if granularity == "item" else None
    if by_item is None:
        estimates = statistics_of(sample, granularity, statistics)
    else:
        estimates = _average_items(sample, by_item)
    p_values: dict[str, Floats] = {}
    method = "jackknife, t"
    intervals_of: dict[tuple[int, str], Interval] = {}
    if granularity == "system":
        p_values, method = _permutation_tests(sample, estimates, options, rng)
        if resample is not None:
            means = intervals.estimate_expectations(*cluster_sums(sample))
            intervals_of = intervals.system_intervals(means, estimates, options, rng)
        if resample == "items" and "soft_pairwise" in statistics:
            soft = options._replace(statistics=["soft_pairwise"])
            with suppress(Unsupported):  # an item is in several clusters
                intervals_of |= intervals_over_outputs(sample, soft, rng)
    elif resample is not None:
        intervals_of = intervals_over_outputs(sample, options, rng, by_item)
    values = estimates if by_item is None else by_item
    units = {"system": sample.system, "output": np.arange(len(sample.y)), "item": sample.item}
    n_clusters, n_systems = (len(np.unique(labels)) for labels in (sample.cluster, sample.system))
    rows = []
    for row, name in enumerate(names):
        for statistic in statistics:
            estimate = float(estimates[statistic][row, 0])
            interval = intervals_of.get((row, statistic), _NOTHING)
            if not np.isfinite(estimate):
                interval = intervals.explain_undefined(granularity, n_systems)
                if by_item is not None and _lacks_other_items(sample, by_item, statistic):
                    interval = interval._replace(status=explain("no_other_items"))
            status = interval.status
            if resample is not None and not status:
                status = intervals.warn_of_few(n_clusters, n_systems, resample, granularity)
                if not status and name == SYSTEM_MEAN:
                    status = explain("circular")
            p = float(p_values[statistic][row]) if statistic in p_values else interval.p
            rows.append(
                {
                    "evaluator": name,
                    "statistic": statistic,
                    **estimate_columns(estimate, *interval[:2], status),
                    "ci_method": interval.method,
                    "estimand": _estimand(granularity, resample, interval),
                    "p": p if np.isfinite(estimate) else float("nan"),
                    "p_method": method,
                    "n": len(np.unique(units[granularity])),
                    "n_clusters": n_clusters,
                    "n_undefined": int(np.isnan(values[statistic][row]).sum()),
                    "n_missing": judged.n_outputs - len(sample.y),
                    "resample": judged.describe_units(options),
                    **{
                        name: float(estimates[f"{name}_{statistic}"][row, 0])
                        for name in _TIE_COLUMNS
                        if statistic in CALIBRATED
                    },
                }
            )
    return pd.DataFrame(rows)


def _lacks_other_items(sample: Sample, by_item: dict[str, Floats], statistic: str) -> bool:
    """Return whether a threshold for ties is needed, but only one cluster has pairs of outputs."""
    if not CALIBRATED.get(statistic):
        return False
    has_pairs = np.isfinite(by_item[f"always_tie_{statistic}"][0])
    return len(np.unique(clusters_of_items(sample)[has_pairs])) == 1


def _estimand(granularity: str, resample: str | None, interval: Interval) -> str:
    """Describe the quantity that an interval covers."""
    if resample is None or interval.method == "none":
        return ""
    # Soft accuracy, which alone has a plain jackknife here, is not corrected for noise.
    noiseless = granularity == "system" and resample != "systems" and interval.method != "jackknife"
    return {
        "items": "these systems, other items",
        "systems": "other systems, these items",
        "both": "other systems, other items",
    }[resample] + (": expectations" if noiseless else "")


# Statistics of all data and of resamples -----------------------------------------------------


def statistics_of(
    sample: Sample, granularity: str, statistics: Iterable[str], counts: Floats | None = None
) -> dict[str, Floats]:
    """Compute statistics (m, r) of all data, or of r resamples with these counts of clusters."""
    plain = [name for name in statistics if name != "soft_pairwise"]
    if granularity == "system" and counts is not None:
        return {"soft_pairwise": _resampled_soft(sample, counts)}
    if granularity == "system":
        x, y = system_means(sample)
        values_of = {
            name: values[:, None] for name, values in coefficients(x, y, statistics=plain).items()
        }
        if "soft_pairwise" in statistics:
            values_of["soft_pairwise"] = _soft_pairwise(sample, np.arange(len(y))[None])
        return values_of
    if granularity == "item":
        return _average_items(sample, item_values(sample, plain), counts)
    of_clusters = np.ones((1, sample.n_clusters)) if counts is None else counts
    return weighted_coefficients(
        sample.x, sample.y, of_clusters[:, sample.cluster], statistics=plain
    )


def _average_items(
    sample: Sample, by_item: dict[str, Floats], counts: Floats | None = None
) -> dict[str, Floats]:
    """Average statistics of items (m, items), with each item counted as often as its cluster."""
    of_clusters = np.ones((1, sample.n_clusters)) if counts is None else counts
    times = of_clusters[:, clusters_of_items(sample)].T  # (items, r)
    return {
        name: divide(np.nan_to_num(values) @ times, np.isfinite(values) @ times)
        for name, values in by_item.items()
    }


def item_values(sample: Sample, statistics: Iterable[str]) -> dict[str, Floats]:
    """Compute statistics over the systems of each item (m, items); NaN for constant values.

    Accuracy counts items with constant values, unless no item varies in both variables. It comes
    with its level by chance and, if ties are calibrated, with `_TIE_COLUMNS`.
    """
    x, y = item_grids(sample)
    names = [name for name in statistics if name not in CALIBRATED]
    computed = {*names}
    if "pairwise_accuracy" in names:
        computed |= {"accuracy_with_constants", "kendall_b", CHANCE["pairwise_accuracy"]}
    values = coefficients(x, y, np.isfinite(y), statistics=computed)
    if "pairwise_accuracy" in names:
        some_vary = np.isfinite(values["kendall_b"]).any(axis=1, keepdims=True)
        accuracy = np.where(some_vary, values["accuracy_with_constants"], np.nan)
        values["pairwise_accuracy"] = accuracy
    for name in CALIBRATED.keys() & set(statistics):
        cluster, cross_fitted = clusters_of_items(sample), CALIBRATED[name]
        calibrated = calibrated_accuracy(x, y, cluster, cross_fitted=cross_fitted)
        values[name] = calibrated.pop("accuracy")
        values |= {f"{column}_{name}": of_items for column, of_items in calibrated.items()}
    return values


def _soft_pairwise(sample: Sample, orders: NDArray[np.int64]) -> Floats:
    """Return 1 minus the mean absolute difference between evaluators' and judgments' one-sided p.

    Each row of `orders` permutes the systems' judgments.
    """
    scores, judgments = item_grids(sample)
    judged = np.isfinite(judgments).any(axis=0)
    i, j = np.triu_indices(judged.sum(), 1)
    p_better = np.zeros((judged.sum(), judged.sum()))
    p_better[i, j] = pair_p_values(judgments[:, judged])
    p_better[j, i] = 1 - p_better[i, j]
    permuted = p_better[orders[:, i], orders[:, j]]
    gaps = [np.abs(permuted - pair_p_values(grid[:, judged])) for grid in scores]
    return 1 - divide(np.stack(gaps).sum(axis=2), np.array(len(i) * 1.0))


def _resampled_soft(sample: Sample, counts: Floats) -> Floats:
    """Compute soft pairwise accuracy (m, r) of r resamples with these counts of clusters."""
    x, y = item_grids(sample)
    has, times = np.isfinite(y).any(axis=0), counts[:, clusters_of_items(sample)]
    human, *evaluators = (
        p_values_of_sums(times @ pair_sums(values), values.shape[1], tolerance(values))
        for values in (y[:, has], *x[:, :, has])
    )
    gaps = np.abs(np.stack(evaluators) - human)
    return 1 - divide(gaps.sum(axis=2), np.array(gaps.shape[2] * 1.0))


def intervals_over_outputs(
    sample: Sample,
    options: Options,
    rng: Generator,
    by_item: dict[str, Floats] | None = None,
) -> dict[tuple[int, str], Interval]:
    """Compute jackknife intervals of statistics over outputs or items."""
    computed = list(options.statistics)
    if "pairwise_accuracy" in computed:
        computed.append(CHANCE["pairwise_accuracy"])
    if by_item is None and options.granularity == "item":
        by_item = item_values(sample, computed)

    def compute(counts: Floats | None = None) -> dict[str, Floats]:
        if by_item is not None:
            return _average_items(sample, by_item, counts)
        return statistics_of(sample, options.granularity, computed, counts)

    present = np.unique(sample.cluster)
    stratum = strata_of(sample.cluster, sample.system)[present]
    group = np.arange(len(present))
    if len(present) > _MOST_CLUSTERS:
        # Shuffle within strata, so that consecutive clusters form groups of one stratum.
        order = np.lexsort((rng.random(len(present)), stratum))
        group[order] = np.arange(len(present)) * _N_GROUPS // len(present)
    counts = np.ones((group.max() + 1, sample.n_clusters))
    counts[group, present] = 0
    return intervals.jackknife_intervals(
        compute(),
        compute(counts),
        pd.Series(stratum).groupby(group).first().to_numpy(),
        options,
    )


def strata_of(cluster: NDArray[np.int64], system: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each cluster's stratum: its system if every cluster has only one, else 0."""
    pairs = np.unique(np.stack([cluster, system]), axis=1)
    strata = np.zeros(cluster.max() + 1, dtype=np.int64)
    if pairs.shape[1] == len(np.unique(cluster)):
        strata[pairs[0]] = pairs[1]
    return strata


def _permutation_tests(
    sample: Sample, estimates: dict[str, Floats], options: Options, rng: Generator
) -> tuple[dict[str, Floats], str]:
    """Permute the systems' judgments, and compute p for each statistic and evaluator."""
    x, y = system_means(sample)
    orders, is_all = orders_of(len(y), options.n_resamples, rng)
    p_values = {}
    for name in options.statistics:
        if name == "soft_pairwise":
            null = _soft_pairwise(sample, orders)
        else:
            null = np.stack([coefficients(row, y[orders], statistics=[name])[name] for row in x])
        two_sided = name not in intervals.ACCURACIES
        p_values[name] = permutation_p(null, estimates[name], exact=is_all, two_sided=two_sided)
    return p_values, "permutation, " + ("all" if is_all else f"{len(orders)} drawn")


#: Up to this number of permutations or swaps, all are used.
MOST_EXACT = 65_536


def orders_of(n: int, n_permutations: int, rng: Generator) -> tuple[NDArray[np.int64], bool]:
    """List all orders of n units, or draw some if n > 8, and report whether these are all.

    If they are all, the first is the original order.
    """
    if math.factorial(n) <= MOST_EXACT:
        return np.array(list(permutations(range(n)))), True
    return rng.permuted(np.tile(np.arange(n), (n_permutations, 1)), axis=1), False


def permutation_p(values: Floats, observed: Floats, *, exact: bool, two_sided: bool) -> Floats:
    """Compute the share of permutations (..., r) at least as extreme as the data (..., 1).

    Undefined permutations do not count as extreme. `exact` means that `values` include the data;
    otherwise the data are added, so that p is above 0. NaN where the observed value is NaN.
    """
    if two_sided:
        values, observed = np.abs(values), np.abs(observed)
    # Equal values may differ by rounding.
    beyond = (values >= observed - 1e-12).sum(axis=-1)
    p = beyond / values.shape[-1] if exact else (1 + beyond) / (1 + values.shape[-1])
    return np.where(np.isfinite(observed[..., 0]), p, np.nan)


# Systems' scores alone -----------------------------------------------------------------------


def systems_scores(
    study: Study, evaluators: Mapping[str, str], *, include_human: bool = False
) -> pd.DataFrame:
    """Return evaluators' scores of systems: means over outputs, or from system_scores."""
    tables = []
    names = [name for name, where in evaluators.items() if where == "scores"]
    if names:
        systems = study.outputs[["output_id", "system"]]
        rows = study.scored(names).merge(systems, on="output_id", validate="many_to_one")
        means = rows.groupby(["system", "evaluator"], sort=False)["score"].mean()
        tables.append(means.reset_index())
    names = [name for name, where in evaluators.items() if where == "system_scores"]
    if names:
        tables.append(study.scored(names, of="system_scores"))
    wide = _by_system(study, pd.concat(tables, ignore_index=True), include_human)
    if wide.empty:
        raise Unsupported(
            "no_scores",
            f"no evaluator has scored a system of {study.name}."
            + ("" if include_human else " Human texts are excluded unless include_human=True."),
        )
    return wide


def human_system_scores(study: Study, against: pd.DataFrame, include_human: bool) -> pd.DataFrame:
    """Return the systems' scores that are used instead of judgments, a column per dimension."""
    against = read_table(against, "system evaluator score:number", "against has")
    doubled = against.duplicated(["system", "evaluator"])
    if doubled.any():
        system, evaluator = against.loc[doubled, ["system", "evaluator"]].iloc[0]
        raise ValueError(f"against has two scores of {system!r} by {evaluator!r}: keep one.")
    if "signature" in against:
        against = oriented(against)
    return _by_system(study, against, include_human)


def _by_system(study: Study, table: pd.DataFrame, include_human: bool) -> pd.DataFrame:
    """Pivot to a row per system and a column per evaluator, in order of appearance."""
    if not include_human:
        human = study.outputs.loc[study.outputs["is_human"], "system"].unique()
        table = table[~table["system"].isin(human)]
    wide = table.pivot(index="system", columns="evaluator", values="score")
    return wide.reindex(index=table["system"].unique(), columns=table["evaluator"].unique())


def side_by_side(scores: pd.DataFrame, human: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Align two tables of systems' scores; NaN where one lacks a system."""
    systems = pd.concat([scores.index.to_series(), human.index.to_series()]).unique()
    # Rounding must not break ties between equal means.
    scores, human = scores.reindex(systems), human.reindex(systems)
    return scores.apply(equalize_column), human.apply(equalize_column)


def correlate_system_scores(
    scores: pd.DataFrame, human: pd.DataFrame, options: Options, rng: Generator
) -> pd.DataFrame:
    """Correlate each evaluator with each column of human scores, over systems."""
    scores, human = side_by_side(scores, human)
    rows = []
    for evaluator in scores.columns:
        for criterion in human.columns:
            shared = scores[evaluator].notna() & human[criterion].notna()
            either = scores[evaluator].notna() | human[criterion].notna()
            x, y = scores.loc[shared, evaluator].to_numpy(), human.loc[shared, criterion].to_numpy()
            for name in options.statistics:
                estimate = float("nan")
                if len(x) > 1 and name in PLAIN:
                    estimate = float(coefficients(x, y, statistics=[name])[name])
                p, method = _p_of_systems(x, y, name, estimate, options.n_resamples, rng)
                interval = intervals.interval_of_systems(name, estimate, len(x), options.confidence)
                if name not in PLAIN:
                    interval = interval._replace(status=explain("needs_outputs"))
                elif options.resample is None and np.isfinite(estimate):
                    interval = _NOTHING
                rows.append(
                    {
                        "evaluator": str(evaluator),
                        "dimension": criterion,
                        "statistic": name,
                        **estimate_columns(estimate, *interval[:2], interval.status),
                        "ci_method": interval.method,
                        "n_clusters": 0,
                        "n_undefined": int(np.isnan(estimate)),
                        "estimand": "" if interval.method == "none" else "other systems",
                        "p": p,
                        "p_method": method,
                        "n": len(x),
                        "n_missing": int(either.sum() - shared.sum()),
                        "resample": "none" if options.resample is None else "systems",
                    }
                )
    return pd.DataFrame(rows)


def _p_of_systems(
    x: Floats, y: Floats, name: str, estimate: float, n: int, rng: Generator
) -> tuple[float, str]:
    """Return SciPy's p, as papers report it, or for accuracy that of a permutation test."""
    if not np.isfinite(estimate):
        return float("nan"), "none" if name in intervals.ACCURACIES else "scipy"
    if name in intervals.ACCURACIES:
        orders, is_all = orders_of(len(y), n, rng)
        values = coefficients(x, y[orders], statistics=[name])[name]
        p = permutation_p(values, np.array([estimate]), exact=is_all, two_sided=False)
        return float(p), "permutation, " + ("all" if is_all else f"{len(orders)} drawn")
    tests = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}
    return float(tests[name](x, y).pvalue), "scipy"
