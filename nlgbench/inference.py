"""Half-samples, bootstraps and permutations, what they give, and many tests at once."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import nct, norm
from scipy.stats import t as student

from nlgbench.text import check_n

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def half_samples(
    strata: int | ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    fraction: float = 0.5,
    per_stratum: int | None = None,
    n_resamples: int = 1000,
    seed: int | np.random.Generator,
) -> Bools:
    """Draw subsamples without replacement, stratified, of rows or of whole clusters.

    `strata` labels rows, or is their number (one stratum); `clusters` labels rows that are drawn
    together, and a cluster's stratum is the set of its rows' strata. A `fraction` of each stratum
    is drawn, or `per_stratum` clusters. True where a row is in the subsample, shape
    (n_resamples, n). Where ``fraction`` times a stratum's size is no whole number, the size drawn
    is rounded down or up at random, so that its mean is exact; roundings are balanced over the
    strata, so that the number drawn in all is off by less than one.
    """
    check_n(n_resamples, "n_resamples")
    rows = np.zeros(strata) if isinstance(strata, int) else np.asarray(strata)
    label = pd.factorize(rows)[0]
    of = np.arange(len(label)) if clusters is None else pd.factorize(np.asarray(clusters))[0]
    rng = np.random.default_rng(seed)
    # A cluster's stratum is the set of its rows' labels.
    holds = np.zeros((of.max() + 1, label.max() + 1), dtype=bool)
    holds[of, label] = True
    stratum = np.unique(holds, axis=0, return_inverse=True)[1]
    sizes = np.bincount(stratum)
    if per_stratum is not None and not 1 <= per_stratum <= sizes.min():
        raise ValueError(
            f"per_stratum must be between 1 and the smallest stratum's size, {sizes.min()}. "
            f"Got {per_stratum}."
        )
    # Cumulated shares plus one uniform number, rounded down: the sum never drifts.
    upto = np.floor(np.append(0, np.cumsum(sizes)) * fraction + rng.random((n_resamples, 1)) + 1e-9)
    n_drawn = np.diff(upto, axis=1)
    drawn = np.empty((n_resamples, len(stratum)), dtype=bool)
    for number, size in enumerate(sizes):
        wanted = n_drawn[:, [number]] if per_stratum is None else per_stratum
        first = np.broadcast_to(np.arange(size) < wanted, (n_resamples, size))
        drawn[:, stratum == number] = rng.permuted(first, axis=1)
    return drawn[:, of]


def interval(
    replicates: ArrayLike,
    estimate: float,
    *,
    fraction: float = 0.5,
    df: float = math.inf,
    confidence: float = 0.95,
) -> dict[str, float | int | str]:
    """Make an interval around the full estimate from subsamples that hold a fraction.

    Student's t (`df`; normal by default) around `estimate`; ``center`` is the mean of the
    replicates, of which those undefined are counted; ``reason`` says why there is no interval.

    A subsample is biased otherwise than the full sample (fewer outputs, or noisier mean
    judgments), so its mean is no estimate of the full sample's: only its spread is used. A mean of
    ``f n`` of ``n`` values, drawn without replacement, has the variance ``(1 - f) / (f n)``, that
    of the full sample ``1 / n``, in units of the variance of one: hence ``sqrt(f / (1 - f))`` times
    the standard deviation (Politis, Romano and Wolf 1999, *Subsampling*,
    doi:10.1007/978-1-4612-1554-7, for root-n estimators).
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = values[np.isfinite(values) & np.isfinite(estimate)]
    n_undefined = len(values) - len(defined)
    center = float(defined.mean()) if len(defined) else float("nan")
    se, reason = float("nan"), _undefined(n_undefined, len(values), "subsamples")
    if len(defined) > 1:
        se, reason = math.sqrt(fraction / (1 - fraction)) * float(defined.std(ddof=1)), ""
    elif len(values) == 1:
        reason = "one subsample: its spread is unknown"
    counts = {"center": center, "n_resamples": len(values), "n_undefined": n_undefined}
    return _around(estimate, se, df, confidence, counts, reason)


def split_interval(
    halves: ArrayLike,
    others: ArrayLike,
    estimate: float,
    *,
    df: float,
    added: float = 0.0,
    confidence: float = 0.95,
) -> dict[str, float | int | str]:
    """Make an interval around the full estimate from splits into two halves.

    As `interval`; center is the mean of all halves, n_resamples counts splits, and n_undefined
    those of which a half is undefined: if any is, reason says so. `added` is variance that comes
    from elsewhere than what is split. ``se^2`` without it is the mean over splits
    of ``(half - other)^2 / 4``, the estimate of repeated half-samples and their complements
    (McCarthy 1969, *Review of the International Statistical Institute* 37, doi:10.2307/1402116;
    Wolter 2007, *Introduction to Variance Estimation*, chapter 3, doi:10.1007/978-0-387-35099-8).
    The halves of a split share nothing, so over studies the difference is that of two independent
    studies of half the size: twice the variance at half the size, whatever the statistic, and four
    times that at the full size where variance is proportional to 1 / n. The spread of half-samples
    around their own mean (`interval`) is the same for a mean, but counts what depends on m rows
    together ``2 - 2^(1 - m)`` times, as half-samples of one study overlap less in sets of m rows
    than in rows.
    """
    values = np.array([halves, others], dtype=np.float64)
    defined = values[:, np.isfinite(values).all(axis=0)]
    n_resamples, n_defined = values.shape[1], defined.shape[1]
    n_undefined = n_resamples - n_defined
    se, center = float("nan"), float("nan")
    if n_defined:
        se = float(np.sqrt(((defined[0] - defined[1]) ** 2).mean() / 4 + added))
        center = float(defined.mean())
    reason = _undefined(n_undefined, n_resamples, "splits") if n_undefined else ""
    counts = {"center": center, "n_resamples": n_resamples, "n_undefined": n_undefined}
    return _around(estimate, se, df, confidence, counts, reason)


def _around(
    estimate: float, se: float, df: float, confidence: float, counts: dict[str, float], reason: str
) -> dict[str, float | int | str]:
    """Lay an interval out; there is none where nothing varies."""
    half_width = float(student.ppf(0.5 + confidence / 2, df)) * se
    if se < 1e-12:
        half_width, reason = np.nan, "all subsamples give the same: their spread is unknown"
    return laid_out(estimate, se, half_width, confidence) | counts | {"reason": reason}


def laid_out(estimate: float, se: float, half_width: float, confidence: float) -> dict[str, Any]:
    """Give an interval the columns that it has in every table."""
    return {
        "estimate": float(estimate),
        "se": float(se),
        "ci_low": float(estimate - half_width),
        "ci_high": float(estimate + half_width),
        "confidence": confidence,
    }


def _undefined(n: int, of: int, what: str) -> str:
    return (
        f"{n} of {of} {what} are undefined: too few outputs for n_neighbors, a class is missing, "
        "or an output has no judgment left"
    )


def linked(one: ArrayLike, other: ArrayLike) -> NDArray[np.int64]:
    """Give each meeting of two things the number of the part that hangs together with it."""
    left, right = pd.factorize(np.asarray(one))[0], pd.factorize(np.asarray(other))[0]
    n = int(left.max(initial=-1)) + 1
    size = n + int(right.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(left)), (left, n + right)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][left], dtype=np.int64)


def ratio(part: Any, whole: Any) -> Any:
    """Divide sums over clusters, NaN where nothing is."""
    # Sums less one cluster's can leave a rounding error where nothing is.
    return part / np.where(np.abs(whole) > 1e-9, whole, np.nan)


def beyond(limit: Any, away: Any, df: Any) -> Floats:
    """Give the chance that a noncentral t lies beyond a limit, on either side: a test's power."""
    with np.errstate(all="ignore"):
        found = nct.sf(limit, df, away) + nct.cdf(-limit, df, away)
    # SciPy has no value far out.
    far = np.isnan(found) & np.isfinite(away)
    return np.clip(np.where(far, norm.sf(limit - away), found), 0, 1)


def bootstrap_counts(strata: ArrayLike, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw units with replacement within strata: how often each is in each (n_resamples, n)."""
    label = pd.factorize(np.asarray(strata))[0]
    counts = np.zeros((n_resamples, len(label)))
    for stratum in range(label.max() + 1):
        members = np.flatnonzero(label == stratum)
        drawn = rng.integers(len(members), size=(n_resamples, len(members)))
        drawn += len(members) * np.arange(n_resamples)[:, None]
        found = np.bincount(drawn.reshape(-1), minlength=n_resamples * len(members))
        counts[:, members] = found.reshape(n_resamples, -1)
    return counts


def adjust(p: ArrayLike) -> Floats:
    """Adjust p-values for their number by Holm's procedure (1979); NaN stays and is no test.

    The chance of any false rejection at all is held to the level.
    """
    values = np.asarray(p, dtype=np.float64)
    there = ~np.isnan(values)
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p must be between 0 and 1, or NaN: check what was passed.")
    found = np.full(values.shape, np.nan)
    # Not statsmodels' multipletests, which collects garbage anew at each call: that takes seconds
    # where a notebook holds much.
    order = np.argsort(values[there], kind="stable")
    steps = np.arange(len(order), 0, -1) * values[there][order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    found[there] = adjusted
    return found


def bootstrap_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    n_resamples: int = 1000,
    seed: int | np.random.Generator = 0,
) -> dict[str, float]:
    """Take the mean of values, with a 95% percentile interval over whole clusters drawn again.

    Clusters are drawn with replacement, each with all its values, so that the mean of a sample is
    a ratio: its sum over its number of values.
    """
    value = np.asarray(values, dtype=np.float64)
    of = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, sizes = np.bincount(of, value), np.bincount(of)
    n = len(sums)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    low, high = np.quantile(drawn @ sums / (drawn @ sizes), [0.025, 0.975])
    return {"value": float(value.mean()), "ci_low": float(low), "ci_high": float(high)}
