"""Resampling (half-samples, bootstrap), intervals from resamples, and multiple testing."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import nct, norm
from scipy.stats import t as student

from nlgbench.arrays import Bools, Floats
from nlgbench.status import OK, Status, estimate_columns, explain
from nlgbench.text import check_n


def half_samples(
    strata: int | ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    fraction: float = 0.5,
    per_stratum: int | None = None,
    n_resamples: int = 1000,
    seed: int | np.random.Generator,
) -> Bools:
    """Draw stratified subsamples of rows, or of whole clusters, without replacement.

    `strata` is a label for each row, or the number of rows (one stratum). `clusters` labels rows
    that are drawn together; a cluster's stratum is the set of its rows' strata. Each subsample
    takes a `fraction` of each stratum, or `per_stratum` clusters of it. The result has shape
    (n_resamples, n) and is True where a row is in the subsample. Fractional sizes are rounded down
    or up at random, balanced over strata, so that means are exact.
    """
    check_n(n_resamples, "n_resamples")
    rows = np.zeros(strata) if isinstance(strata, int) else np.asarray(strata)
    label = pd.factorize(rows)[0]
    cluster = np.arange(len(label)) if clusters is None else pd.factorize(np.asarray(clusters))[0]
    rng = np.random.default_rng(seed)
    # A cluster's stratum is the set of its rows' labels.
    has_label = np.zeros((cluster.max() + 1, label.max() + 1), dtype=bool)
    has_label[cluster, label] = True
    stratum = np.unique(has_label, axis=0, return_inverse=True)[1]
    sizes = np.bincount(stratum)
    if per_stratum is not None and not 1 <= per_stratum <= sizes.min():
        raise ValueError(
            f"per_stratum must be between 1 and the smallest stratum's size, {sizes.min()}. "
            f"Got {per_stratum}."
        )
    # Rounding cumulative sizes, all shifted by one uniform number, keeps the total from drifting.
    total = np.append(0, np.cumsum(sizes)) * fraction
    n_drawn = np.diff(np.floor(total + rng.random((n_resamples, 1)) + 1e-9), axis=1)
    drawn = np.empty((n_resamples, len(stratum)), dtype=bool)
    for number, size in enumerate(sizes):
        wanted = n_drawn[:, [number]] if per_stratum is None else per_stratum
        first = np.broadcast_to(np.arange(size) < wanted, (n_resamples, size))
        drawn[:, stratum == number] = rng.permuted(first, axis=1)
    return drawn[:, cluster]


def interval(
    replicates: ArrayLike,
    estimate: float,
    *,
    fraction: float = 0.5,
    df: float = math.inf,
    confidence: float = 0.95,
) -> dict[str, float | int | str]:
    """Compute an interval around the full sample's estimate from subsamples of a given fraction.

    It uses Student's t with `df` degrees of freedom (default: normal). A subsample's bias differs
    from the full sample's, so only the spread of replicates counts: the standard error is ``sqrt(f
    / (1 - f))`` times their standard deviation, with f the fraction (Politis, Romano and Wolf 1999,
    *Subsampling*, doi:10.1007/978-1-4612-1554-7). ``center`` is the mean of the replicates, and
    ``n_undefined`` counts the undefined ones.
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = values[np.isfinite(values) & np.isfinite(estimate)]
    n_undefined = len(values) - len(defined)
    center = float(defined.mean()) if len(defined) else float("nan")
    se, status = float("nan"), undefined(n_undefined, len(values), "subsamples")
    if len(defined) > 1:
        se, status = math.sqrt(fraction / (1 - fraction)) * float(defined.std(ddof=1)), OK
    elif len(values) == 1:
        status = explain("one_subsample")
    counts = {"center": center, "n_resamples": len(values), "n_undefined": n_undefined}
    return _interval(estimate, se, df, confidence, counts, status)


def split_interval(
    halves: ArrayLike,
    others: ArrayLike,
    estimate: float,
    *,
    df: float,
    added: float = 0.0,
    confidence: float = 0.95,
) -> dict[str, float | int | str]:
    """Compute an interval around the full sample's estimate from splits into two halves.

    As `interval`, except that center is the mean of all halves, and n_resamples and n_undefined
    count splits. `added` is variance from a source other than the split rows. Without it, ``se^2``
    is the mean over splits of ``(half - other)^2 / 4``, from repeated half-samples and their
    complements (McCarthy 1969, *Review of the International Statistical Institute* 37,
    doi:10.2307/1402116; Wolter 2007, *Introduction to Variance Estimation*, chapter 3,
    doi:10.1007/978-0-387-35099-8): the difference of two halves has four times the variance at full
    size, if variance is proportional to 1 / n.
    """
    values = np.array([halves, others], dtype=np.float64)
    defined = values[:, np.isfinite(values).all(axis=0)]
    n_resamples, n_defined = values.shape[1], defined.shape[1]
    n_undefined = n_resamples - n_defined
    se, center = float("nan"), float("nan")
    if n_defined:
        se = float(np.sqrt(((defined[0] - defined[1]) ** 2).mean() / 4 + added))
        center = float(defined.mean())
    status = undefined(n_undefined, n_resamples, "splits") if n_undefined else OK
    counts = {"center": center, "n_resamples": n_resamples, "n_undefined": n_undefined}
    return _interval(estimate, se, df, confidence, counts, status)


def _interval(
    estimate: float,
    se: float,
    df: float,
    confidence: float,
    counts: dict[str, float],
    status: Status,
) -> dict[str, float | int | str]:
    """Return an interval as columns; it is undefined if the replicates do not vary."""
    half_width = float(student.ppf(0.5 + confidence / 2, df)) * se
    if se <= 1e-12 * abs(estimate):
        half_width, status = np.nan, explain("constant_resamples")
    ends = estimate - half_width, estimate + half_width
    return estimate_columns(estimate, *ends, status, se=se, confidence=confidence, **counts)


def undefined(n: int, total: int, resamples: str) -> Status:
    """Explain that scores are undefined in some resamples."""
    return explain("undefined_resamples", n=n, total=total, resamples=resamples)


def linked(starts: ArrayLike, ends: ArrayLike) -> NDArray[np.int64]:
    """Return, for each edge of a bipartite graph, the number of its connected component."""
    start, end = pd.factorize(np.asarray(starts))[0], pd.factorize(np.asarray(ends))[0]
    n = int(start.max(initial=-1)) + 1
    size = n + int(end.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(start)), (start, n + end)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][start], dtype=np.int64)


def ratio(numerator: Any, denominator: Any) -> Any:
    """Divide sums over clusters; NaN where the second is 0."""
    # Subtracting a cluster's sum from the total can leave a rounding error in place of 0.
    return numerator / np.where(np.abs(denominator) > 1e-9, denominator, np.nan)


def beyond(limit: Any, away: Any, df: Any) -> Floats:
    """Return the power of a two-sided test: the chance that a noncentral t is beyond +-limit."""
    with np.errstate(all="ignore"):
        power = nct.sf(limit, df, away) + nct.cdf(-limit, df, away)
    # SciPy returns NaN in the far tails; the normal approximation is exact enough there.
    far = np.isnan(power) & ~np.isnan(away)
    return np.clip(np.where(far, norm.sf(limit - away), power), 0, 1)


def bootstrap_counts(strata: ArrayLike, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw units with replacement within strata; return their counts (n_resamples, n)."""
    label = pd.factorize(np.asarray(strata))[0]
    counts = np.zeros((n_resamples, len(label)))
    for stratum in range(label.max() + 1):
        members = np.flatnonzero(label == stratum)
        unit = rng.integers(len(members), size=(n_resamples, len(members)))
        unit += len(members) * np.arange(n_resamples)[:, None]
        times = np.bincount(unit.reshape(-1), minlength=n_resamples * len(members))
        counts[:, members] = times.reshape(n_resamples, -1)
    return counts


def adjust(p: ArrayLike) -> Floats:
    """Adjust p-values for multiple testing by Holm's procedure (1979); NaN does not count."""
    values = np.asarray(p, dtype=np.float64)
    defined = ~np.isnan(values)
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p must be between 0 and 1, or NaN. Check the values that you passed.")
    adjusted = np.full(values.shape, np.nan)
    # statsmodels' multipletests runs the garbage collector at each call, which takes seconds in a
    # notebook with many objects.
    order = np.flatnonzero(defined)[np.argsort(values[defined], kind="stable")]
    steps = np.arange(len(order), 0, -1) * values[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def bootstrap_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    n_resamples: int = 1000,
    seed: int | np.random.Generator = 0,
) -> dict[str, float]:
    """Compute the mean of values, with a 95% percentile interval from a cluster bootstrap.

    Clusters are drawn with replacement, each with all its values. The mean of a resample is a
    ratio: the sum of its values over their number.
    """
    value = np.asarray(values, dtype=np.float64)
    cluster = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, sizes = np.bincount(cluster, value), np.bincount(cluster)
    n = len(sums)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    low, high = np.quantile(counts @ sums / (counts @ sizes), [0.025, 0.975])
    return {"estimate": float(value.mean()), "ci_low": float(low), "ci_high": float(high)}
