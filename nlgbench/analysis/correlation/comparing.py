"""Tests of whether one evaluator agrees better with human judgments than another.

Use `compare_evaluators` by default. `williams_tests` runs the classical test, and
`partial_correlations` controls for a third evaluator.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import t as student

from nlgbench.analysis.correlation import correlations, samples
from nlgbench.analysis.correlation.coefficients import (
    coefficients,
    divide,
    p_values_of_sums,
    pair_p_values,
    pair_sums,
)
from nlgbench.analysis.correlation.intervals import Options, explain_undefined, interval_of_systems
from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.clustering import effective_size
from nlgbench.inference import adjust, bootstrap_counts
from nlgbench.names import known
from nlgbench.status import OK, Status, Unsupported, estimate_columns, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

#: Permutations that correspond to Holm's strictest level, so that p has a relative error of .1.
_BEYOND = 100
#: The most resampled counts of outputs in memory at once.
_AT_ONCE = 1 << 23
_SWAPS_AT_ONCE = 1000
#: Correlations of a few hundred units have rounding errors of about 1e-15.
_ROUNDING = 1e-12
#: A determinant below minus this is impossible for the correlations of three variables.
_IMPOSSIBLE = 1e-9


@checked
def compare_evaluators(
    study: Study,
    *,
    evaluators: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    against: pd.DataFrame | None = None,
    granularity: correlations.Granularity = "system",
    statistic: str = "pearson",
    dimension: str | None = None,
    clusters: str | None = None,
    n_resamples: int | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Test whether the two evaluators of each pair agree equally well with human judgments.

    Parameters
    ----------
    study, granularity, dimension, clusters, seed
        As in `correlate`. Human texts are excluded.
    against : DataFrame, optional
        At granularity "system": human scores of systems, in place of the study's judgments.
    evaluators : sequence of str or of (str, str), optional
        Names of evaluators, to compare all pairs of them, or pairs of names that you chose before
        seeing the data. p is adjusted over the compared pairs. Default: all evaluators.
    statistic : str
        The measure of agreement: ``pearson``, ``spearman``, ``kendall_b``, ``pairwise_accuracy``
        or, at granularity "system", ``soft_pairwise``.
    n_resamples : int, optional
        Number of bootstrap samples (default 1,000) or, at granularity "system", of random swaps
        (default 9,999; more if Holm's method needs them). For up to 16 systems, all swaps are used.
    confidence : float
        Confidence level of intervals, between 0 and 1. ``status`` warns if there are too few
        systems for any adjusted p to be as small as 1 - confidence.

    Returns
    -------
    DataFrame
        A row per dimension and pair: evaluator_a, evaluator_b, dimension, granularity, statistic,
        estimate (a minus b), ci_low, ci_high (NaN for swaps), estimate_a, estimate_b (of the
        statistic), confidence, ci_method, status (a code; ``ok``), reason (its text: why a result
        is missing or doubtful), p, p_adjusted (over all pairs), p_least (for swaps, the smallest
        possible p_adjusted), adjustment, p_method, n (systems), n_clusters (0 for swaps), n_missing
        (excluded outputs), resample (the resampled units).

    Raises
    ------
    ValueError
        Under the same conditions as `correlate`, or when there is only one evaluator, no output has
        a score of every evaluator, or a pair is repeated or names one evaluator twice.

    Notes
    -----
    **Swaps** (granularity "system"). Under the null hypothesis, the two standardized scores of each
    system are exchangeable. p is the share of swaps (all, or random ones) whose test statistic is
    at least as extreme as the observed one. For Pearson, the test statistic is the studentized
    difference of Fisher's z (after DiCiccio and Romano 2017, doi:10.1080/01621459.2016.1202117);
    otherwise, the difference of the coefficients. Means are over the outputs that all evaluators
    have scored; with `against`, each evaluator's are over all its outputs. For ``soft_pairwise``,
    items (or `clusters`) swap their scores, not systems. With skewed scores and few systems, the
    test rejects too often.

    All pairs use the same swaps. p is adjusted by a step-down max-T procedure, which is approximate
    (it requires subset pivotality), or by Holm's method for m pairs that you name. With n systems,
    adjusted p is at least ``2 / 2^n``, or ``2 m / 2^n`` with Holm's method.

    **Resampling** (outputs, items). Only outputs that all evaluators have scored are used. The
    interval combines both evaluators' intervals, given the correlation rho of their estimates in
    common resamples of clusters. It is the range of u - v over all angles t, where u is estimate_a
    plus cos(t) times its interval's half-width, and v is estimate_b plus (rho cos(t) + sqrt(1 -
    rho^2) sin(t)) times its interval's half-width. If both intervals are symmetric, this is Zou's
    method (2007, doi:10.1037/1082-989X.12.4.399). p is from a t test whose standard error
    is the half-width toward 0, divided by Student's quantile. Its degrees of freedom are the
    effective number of clusters, ``(sum n)^2 / sum n^2`` for n outputs each, minus 1 (or minus the
    number of systems, if each cluster has only one). p is adjusted by Holm's method.

    Examples
    --------
    >>> systems = list("abcde")
    >>> study = Study(pd.DataFrame({"output_id": systems, "item_id": "1", "system": systems}),
    ...     system_scores=pd.DataFrame({"system": systems * 2, "evaluator": ["e"] * 5 + ["f"] * 5,
    ...     "score": [1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 1.0, 4.0, 5.0, 3.0]}))
    >>> votes = pd.DataFrame({"system": systems, "evaluator": "votes", "score": [1, 2, 3, 4, 5.0]})
    >>> found = compare_evaluators(study, against=votes, statistic="spearman")
    >>> found[["estimate_a", "estimate_b", "p", "p_least"]].round(3).values.tolist()
    [[1.0, 0.6, 0.125, 0.062]]
    >>> found["reason"].iloc[0]
    'cannot be significant with 5 systems: the smallest possible adjusted p is 0.0625'
    """
    swaps = granularity == "system"
    is_soft = swaps and statistic == "soft_pairwise"
    known(statistic, (*correlations.PLAIN, *(["soft_pairwise"] if swaps else [])), "statistic")
    if is_soft and against is not None:
        raise ValueError(
            "statistic 'soft_pairwise' needs judgments of outputs: leave out against=."
        )
    n_resamples = n_resamples or (9999 if swaps else 1000)
    check_n(n_resamples, "n_resamples")
    names = [name for name in evaluators or () if isinstance(name, str)] or None
    pairs = [pair for pair in evaluators or () if not isinstance(pair, str)] or None
    if pairs is not None:
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
    tables = []
    test = partial(
        _test_swaps,
        pairs=pairs,
        statistic=statistic,
        n_permutations=n_resamples,
        alpha=1 - confidence,
        seed=seed,
    )
    if is_soft:
        chosen = list(samples.chosen_evaluators(study, names, "output"))
        for criterion in samples.dimensions_of(study, dimension):
            judged = samples.judged_outputs(study, criterion, clusters, include_human=False)
            columns, sample = _common_sample(study, chosen, judged)
            units = samples.clusters_of_items(sample)
            table = test(columns, *samples.item_grids(sample), units)
            n_missing = judged.n_outputs - len(sample.y)
            tables.append(table.assign(dimension=criterion, n_missing=n_missing))
    elif swaps:
        for criterion, scores, human, n_missing in _system_scores(study, names, against, dimension):
            x, h = scores[human.notna()].to_numpy().T, human.dropna().to_numpy()
            table = test(list(scores.columns), x, h, np.arange(len(h)))
            tables.append(table.assign(dimension=criterion, n_missing=n_missing))
    elif against is not None:
        raise ValueError(f"against= needs granularity='system'. Got {granularity!r}.")
    else:
        options = Options(granularity, [statistic], "items", n_resamples, confidence)
        for criterion in samples.dimensions_of(study, dimension):
            judged = samples.judged_outputs(study, criterion, clusters, include_human=False)
            chosen = list(samples.chosen_evaluators(study, names, granularity))
            comparisons = resampled_differences(study, chosen, pairs, judged, options, seed)
            tables.append(comparisons.assign(dimension=criterion))
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(granularity=granularity, statistic=statistic, confidence=confidence)
    # Columns that one of the two methods lacks are NaN.
    return table.reindex(columns=list(COLUMNS))


COLUMNS = (
    *("evaluator_a", "evaluator_b", "dimension", "granularity", "statistic"),
    *("estimate", "ci_low", "ci_high", "estimate_a", "estimate_b", "confidence", "ci_method"),
    *("status", "reason", "p", "p_adjusted", "p_least", "adjustment", "p_method"),
    *("n", "n_clusters", "n_missing", "resample"),
)


def _system_scores(
    study: Study,
    evaluators: Sequence[str] | None,
    against: pd.DataFrame | None,
    dimension: str | None,
) -> Iterator[tuple[str, pd.DataFrame, pd.Series, int]]:
    """Yield evaluators' and human scores of systems, for each dimension or column of `against`."""
    names = samples.chosen_evaluators(study, evaluators, "system")
    if against is not None:
        human = correlations.human_system_scores(study, against, False)
        scores, human = correlations.side_by_side(correlations.systems_scores(study, names), human)
        for criterion in human.columns:
            yield str(criterion), scores, human[criterion], 0
        return
    of_systems = {name: table for name, table in names.items() if table == "system_scores"}
    for name in samples.dimensions_of(study, dimension):
        judged, n_missing, tables = samples.judged_outputs(study, name, None, False), 0, []
        if len(of_systems) < len(names):
            chosen = [name for name in names if name not in of_systems]
            of_outputs = samples.output_scores(study, judged, chosen)
            complete = _scored_by_all(of_outputs)
            rows, n_missing = judged.rows[complete], judged.n_outputs - int(complete.sum())
            judged = judged._replace(rows=rows)
            tables.append(of_outputs[complete].groupby(rows["system"], sort=False).mean())
        if of_systems:
            tables.append(correlations.systems_scores(study, of_systems))
        means = judged.average_by_system(name)
        scores, human = correlations.side_by_side(pd.concat(tables, axis=1), means)
        yield name, scores, human[name], n_missing


def _scored_by_all(scores: pd.DataFrame) -> NDArray[np.bool_]:
    complete = scores.notna().all(axis=1).to_numpy()
    if not complete.any():
        raise Unsupported(
            "no_scores",
            "no judged output has scores from all evaluators: leave out evaluators that scored "
            "other outputs.",
        )
    return complete


def _find_pairs(pairs: Sequence[tuple[str, str]] | None, names: list[str]) -> list[tuple[int, int]]:
    """Return the positions of the named pairs, by default of all pairs."""
    if pairs is None and len(names) < 2:
        message = f"a comparison needs two evaluators. Got only {', '.join(names)}."
        raise Unsupported("one_evaluator", message)
    if pairs is None:
        return list(combinations(range(len(names)), 2))
    positions = []
    for pair in pairs:
        a, b = (names.index(known(name, names, "evaluators")) for name in pair)
        if a == b or (a, b) in positions or (b, a) in positions:
            raise ValueError(
                f"pairs must be of two different evaluators, and occur once. Got {tuple(pair)!r}"
                + ("." if a == b else " twice.")
            )
        positions.append((a, b))
    return positions


# Swaps ---------------------------------------------------------------------------------------


def _test_swaps(
    names: list[str],
    x: Floats,
    human: Floats,
    units: Ints,
    pairs: Sequence[tuple[str, str]] | None,
    statistic: str,
    n_permutations: int,
    alpha: float,
    seed: Seed,
) -> pd.DataFrame:
    """Test pairs of evaluators with scores (m, systems) or, for soft accuracy, (m, items, systems).

    `units` are the numbers of the units that are swapped: systems, or clusters of items.
    """
    chosen = _find_pairs(pairs, names)
    needed = 0 if pairs is None else permutations_needed(len(chosen), alpha=alpha)
    n_permutations = max(n_permutations, needed)
    labels, units = np.unique(units, return_inverse=True)
    swaps, is_all = ways_to_swap(len(labels), n_permutations, np.random.default_rng(seed))
    x = x[np.array(chosen).T]  # (2, pairs, ...)
    if statistic == "soft_pairwise":
        has = np.isfinite(human).any(axis=0)
        estimates, swapped = _swapped_soft(x[..., has], human[:, has], units, swaps)
        n = np.full(len(chosen), has.sum())
    else:
        estimates, swapped = swapped_statistics(x, human, statistic, swaps)
        n = (np.isfinite(x).all(axis=0)).sum(axis=1)
    p, adjusted, least = swap_p(swapped, named=pairs is not None)
    n_tests = int(np.isfinite(p).sum())
    kind, n_swapped = "systems", n
    if statistic == "soft_pairwise":
        kind, n_swapped = "items or clusters", np.full(len(n), len(labels))
    statuses = [
        explain_undefined("system", size).status
        if np.isnan(value)
        # In floating point, 1 - .95 is slightly more than .05.
        else explain("few_swaps", n=n_units, units=kind, least=least)
        if least > alpha + 1e-12
        else explain("swaps")
        for size, n_units, value in zip(n, n_swapped, p, strict=True)
    ]
    table = pd.DataFrame(
        {
            "evaluator_a": [names[a] for a, _ in chosen],
            "evaluator_b": [names[b] for _, b in chosen],
            "estimate_a": estimates[0],
            "estimate_b": estimates[1],
            "estimate": estimates[0] - estimates[1],
            "ci_method": "none",
            "status": statuses,
            "p": p,
            "p_adjusted": adjusted,
            "p_least": least,
            "adjustment": "max-T over all pairs, approximate"
            if pairs is None
            else f"Holm over {n_tests} named pair{'s' * (n_tests != 1)}",
            "p_method": f"swaps, {'all' if is_all else f'{len(swaps) - 1} drawn'}",
            "n": n,
            "n_clusters": 0,
            "resample": "none",
        }
    )
    return split_status(table)


def ways_to_swap(n: int, n_permutations: int, rng: Generator) -> tuple[NDArray[np.bool_], bool]:
    """List ways to swap n systems, the first without a swap, and report whether all are listed.

    Half of all ways are enough, because the other half mirrors them.
    """
    if 2**n <= correlations.MOST_EXACT:
        ways = np.arange(2 ** max(n - 1, 0))[:, None]
        return (ways >> np.arange(n)) % 2 == 1, True
    swaps = rng.random((n_permutations + 1, n)) < 0.5
    swaps[0] = False
    return swaps, False


def swapped_statistics(
    x: Floats, h: Floats, statistic: str, swaps: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Correlate pairs (2, m, n) with h; return estimates (2, m) and statistics under swaps (m, r).

    Pearson's statistic is studentized; the others are divided by their root mean square.
    """
    m = x.shape[1]
    estimates, under_swaps = np.full((2, m), np.nan), np.full((m, len(swaps)), np.nan)
    for row, defined in enumerate(np.asarray(np.isfinite(x).all(axis=0))):
        if defined.sum() < 2:
            continue
        judgments, pair = h[defined], x[:, row, defined]
        estimates[:, row] = coefficients(pair, judgments, statistics=[statistic])[statistic]
        if not np.isfinite(estimates[:, row]).all():
            continue
        # Equal scores of the two evaluators must stay tied when they are swapped.
        (a, b), swapped = np.round(_standardized(pair), 9), swaps[:, defined]
        exchanged = np.stack([np.where(swapped, b, a), np.where(swapped, a, b)])
        if statistic == "pearson":
            under_swaps[row] = _studentized(exchanged, judgments)
        else:
            of_a, of_b = coefficients(exchanged, judgments, statistics=[statistic])[statistic]
            size = np.sqrt(np.nan_to_num((of_a - of_b) ** 2).mean())
            under_swaps[row] = (of_a - of_b) / size if size > 0 else of_a - of_b
    return estimates, under_swaps


def _swapped_soft(
    x: Floats, y: Floats, cluster: Ints, swaps: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Compute soft accuracy of pairs (2, m, items, systems), and differences (m, r) under swaps."""
    human, n_systems = pair_p_values(y), y.shape[1]
    estimates, under_swaps = np.empty(x.shape[:2]), np.empty((x.shape[1], len(swaps)))
    by_cluster = (np.arange(swaps.shape[1])[:, None] == cluster).astype(np.float64)
    for row in range(x.shape[1]):
        sums = []
        for scores in x[:, row]:
            sd = float(np.nanstd(scores)) or 1.0
            sums.append(by_cluster @ pair_sums(scores / sd))
        a, total = sums[0].sum(axis=0), sums[0].sum(axis=0) + sums[1].sum(axis=0)
        for start in range(0, len(swaps), _SWAPS_AT_ONCE):
            block = slice(start, start + _SWAPS_AT_ONCE)
            of_a = a + swaps[block].astype(np.float64) @ (sums[1] - sums[0])
            soft = np.stack(
                [
                    1 - np.abs(p_values_of_sums(of_one, n_systems, 1e-9) - human).mean(axis=1)
                    for of_one in (of_a, total - of_a)
                ]
            )
            under_swaps[row, block] = soft[0] - soft[1]
            if start == 0:
                estimates[:, row] = soft[:, 0]
        size = float(np.sqrt(np.nan_to_num(under_swaps[row] ** 2).mean()))
        under_swaps[row] /= size if size > 0 else 1
    return estimates, under_swaps


def _standardized(values: Floats) -> Floats:
    # As in coefficients, subtracting the first value turns a constant into exact zeros.
    centered = values - values[..., :1]
    centered -= centered.mean(axis=-1, keepdims=True)
    return divide(centered, np.sqrt((centered**2).mean(axis=-1, keepdims=True)))


def _studentized(exchanged: Floats, h: Floats) -> Floats:
    """Divide the difference of Fisher's z of `exchanged` (2, r, n) by its influence-based error."""
    z_h, z = _standardized(h), _standardized(exchanged)
    r = np.clip((z @ z_h)[..., None] / len(h), -1 + 1e-9, 1 - 1e-9)
    influence = (z * z_h - r / 2 * (z**2 + z_h**2)) / (1 - r**2)
    error = np.sqrt(((influence[0] - influence[1]) ** 2).mean(axis=-1))
    gap = (np.arctanh(r[0]) - np.arctanh(r[1]))[:, 0]
    # Two identical evaluators do not differ.
    return np.where(np.abs(gap) < 1e-9, 0, divide(gap, np.where(error > 1e-9, error, 0)))


def swap_p(swapped: Floats, *, named: bool) -> tuple[Floats, Floats, float]:
    """Return p, adjusted p (Holm for named pairs, else max-T) and its smallest possible value."""
    # The first swap is the observed data, so `exact` counts it once even for random swaps.
    p = correlations.permutation_p(swapped, swapped[:, :1], exact=True, two_sided=True)
    size = np.abs(np.nan_to_num(swapped))
    if not named:
        return p, *max_t(swapped)
    farthest = size.max(axis=1, keepdims=True)
    p_least = correlations.permutation_p(size, farthest, exact=True, two_sided=True)
    p_least = p_least[np.isfinite(p)]
    least = min(1.0, float(len(p_least) * p_least.min())) if len(p_least) else float("nan")
    return p, adjust(p), least


def max_t(values: Floats) -> tuple[Floats, float]:
    """Adjust p of m tests (m, r) by step-down max-T; also return the smallest possible adjusted p.

    The first of r common permutations is the observed data. With tests sorted by |t|, descending,
    the adjusted p of the j-th is the share of permutations in which the maximum over the j-th to
    the last test is at least its |t|, and at least that of the test before (Westfall and Young
    1993, *Resampling-Based Multiple Testing*, algorithm 4.1; Romano and Wolf 2005,
    doi:10.1198/016214504000000539). It controls the family-wise error under subset pivotality.
    """
    p = np.full(len(values), np.nan)
    size = np.abs(np.where(np.isfinite(values), values, 0))
    order = np.flatnonzero(np.isfinite(values[:, 0]))
    if not len(order):
        return p, float("nan")
    largest = np.zeros(values.shape[1])
    # In ascending order; the comparison below allows for equal values that differ in rounding.
    order = order[np.argsort(size[order, 0], kind="stable")]
    for row in order:
        np.maximum(largest, size[row], out=largest)
        p[row] = (largest >= size[row, 0] - 1e-9).mean()
    p[order[::-1]] = np.maximum.accumulate(p[order[::-1]])
    return p, float((largest >= largest.max() - 1e-9).mean())


def permutations_needed(n_tests: int, *, alpha: float) -> int:
    """Compute how many random permutations a family of tests needs with Holm's adjustment.

    A p of ``alpha / n_tests``, Holm's strictest level, then corresponds to 100 permutations, so
    the smallest possible p is a hundredth of it.
    """
    return round(_BEYOND * n_tests / alpha)


# Resampling ----------------------------------------------------------------------------------


def _common_sample(
    study: Study, evaluators: Sequence[str], judged: samples.JudgedOutputs
) -> tuple[list[str], samples.Sample]:
    """Return the judged outputs that all evaluators have scored, and the evaluators in order."""
    scores = samples.output_scores(study, judged, evaluators)
    scores.loc[~_scored_by_all(scores)] = np.nan
    ((names, sample),) = samples.samples_of(judged, scores)
    return names, sample


def resampled_differences(
    study: Study,
    evaluators: Sequence[str],
    pairs: Sequence[tuple[str, str]] | None,
    judged: samples.JudgedOutputs,
    options: Options,
    seed: Seed,
) -> pd.DataFrame:
    """Compute intervals of differences from `correlate`'s intervals and common resamples."""
    rng = np.random.default_rng(seed)
    names, sample = _common_sample(study, evaluators, judged)
    chosen = _find_pairs(pairs, names)
    table = correlations.correlate_sample(judged, names, sample, options, rng)
    correlated = table.set_index("evaluator").loc[names]
    cluster, system = (pd.factorize(judged.rows[name])[0] for name in ("cluster", "system"))
    strata, step = correlations.strata_of(cluster, system), max(1, _AT_ONCE // len(cluster))
    (statistic,) = options.statistics
    replicates = []
    for start in range(0, options.n_resamples, step):
        counts = bootstrap_counts(strata, min(step, options.n_resamples - start), rng)
        values = correlations.statistics_of(sample, options.granularity, [statistic], counts)
        replicates.append(values[statistic])
    estimates = np.concatenate(replicates, axis=1)
    n_strata = len(np.unique(strata[np.unique(sample.cluster)]))
    degrees = max(1.0, effective_size(sample.cluster) - n_strata)
    intervals = correlated[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    methods = correlated["ci_method"].to_numpy()
    statuses = correlated[["status", "reason"]].to_numpy()
    rows = []
    for first, second in chosen:
        # Join in the order of positions, so that (a, b) and (b, a) give the same interval.
        a, b = sorted((first, second))
        gap, down, up = _joint_interval(intervals[[a, b]], estimates[[a, b]])
        constant = explain("no_variation") if down + up <= 1e-9 else OK
        if constant:  # identical evaluators, whose estimates may differ by rounding
            gap, down, up = round(gap, 9), float("nan"), float("nan")
        ends, sign = (gap - down, gap + up), 1 if a == first else -1
        status = Status(*statuses[a]) + Status(*statuses[b]) + constant
        if not (np.isfinite(gap) or status):
            n_undefined = int(np.isnan(estimates[[a, b]]).any(axis=0).sum())
            status = explain("undefined_bootstrap", n=n_undefined, total=options.n_resamples)
        rows.append(
            {
                "evaluator_a": names[first],
                "evaluator_b": names[second],
                "estimate_a": intervals[first, 0],
                "estimate_b": intervals[second, 0],
                "estimate": intervals[first, 0] - intervals[second, 0],
                "ci_low": min(sign * ends[0], sign * ends[1]),
                "ci_high": max(sign * ends[0], sign * ends[1]),
                "ci_method": "joint, " + " and ".join(dict.fromkeys([methods[a], methods[b]])),
                "status": status,
                "p": _p_from_half_width(gap, down if gap > 0 else up, options.confidence, degrees),
                "p_method": "from the interval, by Student's t",
                "n": len(np.unique(sample.system)),
                "n_clusters": len(np.unique(sample.cluster)),
                "n_missing": judged.n_outputs - len(sample.y),
                "resample": judged.describe_units(options),
            }
        )
    table = pd.DataFrame(rows)
    n_tests = int(table["p"].notna().sum())
    adjustment = f"Holm over {n_tests} pair{'s' * (n_tests != 1)}"
    return split_status(table.assign(p_adjusted=adjust(table["p"]), adjustment=adjustment))


def _joint_interval(intervals: Floats, replicates: Floats) -> tuple[float, float, float]:
    """Return the difference of two estimates, and its lower and upper half-widths.

    Each row of `intervals` is an estimate and its ends. The correlation of the two estimates is
    that of their resamples (2, r).
    """
    center, ends = intervals[:, 0], intervals[:, 1:]
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


def _p_from_half_width(gap: float, reach: float, confidence: float, degrees: float) -> float:
    """Compute p of a t test from the half-width of its interval toward 0.

    A normal test with the same half-width, or clusters of unequal size that count alike, would be
    too liberal at the small levels of Holm's method.
    """
    if gap == 0 or not reach > 0:
        return 1.0 if gap == 0 else float("nan")
    quantile = student.ppf(0.5 + confidence / 2, degrees)
    return float(2 * student.sf(abs(gap) / reach * quantile, degrees))


# Classical tests -----------------------------------------------------------------------------


@checked
def partial_correlations(
    study: Study,
    *,
    given: str,
    evaluators: Sequence[str] | None = None,
    against: pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Correlate evaluators with human judgments over systems, controlling for another evaluator.

    `given` is the evaluator to control for; the others are as in `correlate`.

    Returns
    -------
    DataFrame
        A row per dimension and evaluator except `given`, over the systems with scores by both and
        human scores: evaluator, dimension, given, with_human, with_given, given_with_human
        (the three Pearson correlations), estimate (the partial correlation), ci_low, ci_high,
        status (a code; ``ok``), reason (its text: why the estimate or interval is undefined),
        confidence, n (systems).

    Notes
    -----
    The partial correlation r of x and y given g is ``(r_xy - r_xg r_yg) / sqrt((1 - r_xg^2) (1 -
    r_yg^2))``. Its interval is that for one system fewer, ``tanh(atanh(r) -+ z / sqrt(n - 4))``
    (Fisher 1924, *Metron* 3, 329-332). It treats systems as a sample of a normal population, and
    their scores as exact.
    """
    if evaluators is not None and given not in evaluators:
        evaluators = [*evaluators, given]
    rows = []
    for criterion, scores, human, _ in _system_scores(study, evaluators, against, None):
        known(given, list(scores.columns), "given")
        if scores.shape[1] < 2:
            message = f"nothing to correlate: {given!r} is the only evaluator. Add another."
            raise Unsupported("one_evaluator", message)
        for evaluator in scores.columns.drop(given):
            three = np.stack([scores[evaluator], human, scores[given]]).astype(np.float64)
            three = three[:, np.isfinite(three).all(axis=0)]
            n, estimate = three.shape[1], float("nan")
            xy, xg, yg = _pearson_of_three(three)
            unexplained = (1 - xg**2) * (1 - yg**2)
            if n > 3 and unexplained > 1e-12:
                # Only rounding errors exceed 1.
                estimate = float(np.clip((xy - xg * yg) / np.sqrt(unexplained), -1, 1))
            interval = interval_of_systems("pearson", estimate, n, confidence, n_given=1)
            rows.append(
                {
                    "evaluator": evaluator,
                    "dimension": criterion,
                    "given": given,
                    "with_human": xy,
                    "with_given": xg,
                    "given_with_human": yg,
                    **estimate_columns(estimate, *interval[:2], interval.status),
                    "confidence": confidence,
                    "n": n,
                }
            )
    return pd.DataFrame(rows)


@checked
def williams_tests(
    study: Study, *, evaluators: Sequence[str] | None = None, dimension: str | None = None
) -> pd.DataFrame:
    """Test whether the correlations of two evaluators with judgments differ (Williams' test).

    Returns
    -------
    DataFrame
        A row per dimension and pair, over the outputs that all evaluators have scored: evaluator_a,
        evaluator_b, dimension, estimate_a, estimate_b (Pearson's r with the judgments), correlation
        (of the two evaluators), estimate (a minus b), status (a code; ``ok``), reason (its text:
        why the test is undefined), t, p (two-sided), n (outputs).

    Notes
    -----
    The test (`williams`) assumes independent outputs and normal variables. It rejects too often
    where variables are skewed, or where several outputs share a context or an annotator.
    """
    names = list(samples.chosen_evaluators(study, evaluators, "output"))
    rows = []
    for criterion in samples.dimensions_of(study, dimension):
        judged = samples.judged_outputs(study, criterion, None, include_human=False)
        scores = samples.output_scores(study, judged, names)
        order = list(scores.columns) if evaluators is None else names
        complete = _scored_by_all(scores)
        scores, human = scores[complete], judged.rows.loc[complete, "judgment"]
        for first, second in _find_pairs(None, order):
            three = np.stack([human, scores[order[first]], scores[order[second]]])
            n, t, p = three.shape[1], float("nan"), float("nan")
            r12, r13, r23 = _pearson_of_three(three)
            status = explain("constant", within="") if n >= 4 else explain("few_tested", n=n)
            if n >= 4 and np.isfinite([r12, r13, r23]).all():
                t, p = williams(r12, r13, r23, n)
                status = OK if np.isfinite(p) else explain("identical")
            rows.append(
                {
                    "evaluator_a": order[first],
                    "evaluator_b": order[second],
                    "dimension": criterion,
                    "estimate_a": r12,
                    "estimate_b": r13,
                    "correlation": r23,
                    "estimate": r12 - r13,
                    "status": status.code,
                    "reason": status.reason,
                    "t": t,
                    "p": p,
                    "n": n,
                }
            )
    return pd.DataFrame(rows)


def _pearson_of_three(three: Floats) -> tuple[float, float, float]:
    """Correlate variables 1 and 2, 1 and 3, 2 and 3; NaN for fewer than two units."""
    if three.shape[1] < 2:
        return float("nan"), float("nan"), float("nan")
    pairs = three[[0, 0, 1]], three[[1, 2, 2]]
    first, second, third = coefficients(*pairs, statistics=["pearson"])["pearson"].tolist()
    return first, second, third


@checked
def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Test whether two correlations that share a variable differ.

    r12 and r13 are Pearson correlations of two evaluators with the human judgments, r23 that of the
    two evaluators, and n the number of units (outputs or systems), at least 4.

    Returns t, positive where r12 is larger, and its two-sided p with n - 3 degrees of freedom, both
    NaN where the variance is 0 to within 1e-12: the evaluators are identical or opposite, or
    judgments are proportional to the difference of their standardized scores.

    Notes
    -----
    ``t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 K (n - 1)/(n - 3) + m^2 (1 - r23)^3))``, with ``K =
    1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23`` and ``m = (r12 + r13) / 2`` (Williams 1959,
    J. R. Stat. Soc. B 21, 396-399; Steiger 1980, equation 7,
    doi:10.1037/0033-2909.87.2.245; for metrics, Graham and Baldwin 2014, doi:10.3115/v1/D14-1020).

    Examples
    --------
    >>> t, p = williams(0.5, 0.1, 0.7, 30)
    >>> round(t, 2), round(p, 4)
    (3.38, 0.0022)
    """
    if not all(abs(r) <= 1 for r in (r12, r13, r23)) or n < 4:
        raise ValueError(
            "correlations must be between -1 and 1, and n at least 4. Got "
            f"r12={r12}, r13={r13}, r23={r23}, n={n}."
        )
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -_IMPOSSIBLE:
        raise ValueError(f"r12={r12}, r13={r13}, r23={r23} cannot all hold: check their order.")
    mean = (r12 + r13) / 2
    below = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if 1 - abs(r23) < _ROUNDING or below < _ROUNDING:
        return float("nan"), float("nan")
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below)
    return float(t), float(2 * student.sf(abs(t), n - 3))
