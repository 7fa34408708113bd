"""Half-samples without replacement, and the intervals that they give."""

import math
from numbers import Integral

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from nlgbench.text import check_n

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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

    Parameters
    ----------
    strata : int or array-like of shape (n,)
        A label for each row, such as its class; or the number of rows, all in one stratum.
    clusters : array-like of shape (n,), optional
        A label for each row, such as its item: rows of one cluster are drawn together, and a
        cluster's stratum is the set of its rows' strata. Default: each row is a cluster.
    fraction : float
        Share drawn, between 0 and 1.
    per_stratum : int, optional
        How many clusters to draw from each stratum, in place of `fraction`.
    n_resamples : int
        Subsamples.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    ndarray of bool, shape (n_resamples, n)
        True where the row is in the subsample.

    Raises
    ------
    ValueError
        When a number is out of range, there is no row, or lengths disagree.

    Notes
    -----
    Where ``fraction`` times a stratum's size is no whole number, the size drawn is rounded down or
    up at random, so that its mean is exact; roundings are balanced over the strata, so that
    the number drawn in all is off by less than one.

    Examples
    --------
    >>> drawn = half_samples(["a", "a", "b", "b"], n_resamples=3, seed=0)
    >>> drawn[:, :2].sum(axis=1), drawn[:, 2:].sum(axis=1)
    (array([1, 1, 1]), array([1, 1, 1]))
    """
    check_n(n_resamples, "n_resamples")
    label = pd.factorize(np.zeros(strata) if isinstance(strata, Integral) else np.asarray(strata))[
        0
    ]
    of = np.arange(len(label)) if clusters is None else pd.factorize(np.asarray(clusters))[0]
    if not len(label) or len(of) != len(label) or not 0 < fraction < 1:
        raise ValueError(
            "there must be rows, a cluster for each, and a fraction between 0 and 1. Got "
            f"{len(label)} rows, {len(of)} clusters' labels, fraction = {fraction}."
        )
    rng = np.random.default_rng(seed)
    stratum = _strata_of_clusters(label, of)
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


def _strata_of_clusters(label: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a stratum for each cluster: which labels its rows have."""
    holds = np.zeros((of.max() + 1, label.max() + 1), dtype=bool)
    holds[of, label] = True
    return np.unique(holds, axis=0, return_inverse=True)[1].reshape(-1)


def recenter(replicates: ArrayLike, estimate: float, *, fraction: float = 0.5) -> Floats:
    """Move replicates to the full estimate, and stretch them to the full sample's spread.

    Parameters
    ----------
    replicates : array-like
        Values on subsamples; NaN where undefined.
    estimate : float
        The value on the full sample.
    fraction : float
        Share that each subsample holds.

    Returns
    -------
    ndarray
        ``estimate + sqrt(f / (1 - f)) * (replicates - their mean)``; NaN stays NaN.

    Notes
    -----
    A subsample is biased otherwise than the full sample (fewer outputs, or noisier mean
    judgments), so its mean is no estimate of the full sample's: only its spread is used. A mean of
    ``f n`` of ``n`` values, drawn without replacement, has the variance ``(1 - f) / (f n)``, that
    of the full sample ``1 / n``, in units of the variance of one: hence the factor (Politis,
    Romano and Wolf 1999, *Subsampling*, doi:10.1007/978-1-4612-1554-7, for root-n estimators).

    Examples
    --------
    >>> recenter([0.4, 0.6], 0.7, fraction=0.2).round(2)
    array([0.65, 0.75])
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = values[np.isfinite(values)]
    center = defined.mean() if len(defined) else float("nan")
    return estimate + math.sqrt(fraction / (1 - fraction)) * (values - center)


def interval(
    replicates: ArrayLike,
    estimate: float,
    *,
    fraction: float = 0.5,
    df: float = math.inf,
    level: float = 0.95,
) -> dict[str, float | int | str]:
    """Make an interval around the full estimate from subsamples.

    Parameters
    ----------
    replicates, estimate, fraction
        As in `recenter`.
    df : float
        Degrees of freedom of Student's t. Default: infinitely many, the normal distribution.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    dict
        estimate, se (standard deviation of the recentered replicates, ddof = 1), ci_low, ci_high
        (estimate -+ t se, not clipped), level, center (mean of the replicates as they are),
        n_resamples, n_undefined (replicates left aside), reason (why there is no interval, as where
        all replicates are the same; or "").

    Raises
    ------
    ValueError
        When `fraction` or `level` is not between 0 and 1.

    Examples
    --------
    >>> found = interval([0.4, 0.6, 0.5, float("nan")], 0.7)
    >>> round(found["se"], 3), round(found["ci_low"], 3), found["n_undefined"]
    (0.1, 0.504, 1)
    """
    if not (0 < fraction < 1 and 0 < level < 1):
        raise ValueError(
            f"fraction and level must be between 0 and 1. Got {fraction} and {level}: 0.5 and 0.95 "
            "are usual."
        )
    values = np.asarray(replicates, dtype=np.float64)
    moved = recenter(values, estimate, fraction=fraction)
    moved = moved[np.isfinite(moved)]
    n_undefined = len(values) - len(moved)
    se = float(moved.std(ddof=1)) if len(moved) > 1 else float("nan")
    reason = "" if len(moved) > 1 else _undefined(n_undefined, len(values), "subsamples")
    half_width, reason = _half_width(se, df, level, reason)
    return {
        "estimate": estimate,
        "se": se,
        "ci_low": float(estimate - half_width),
        "ci_high": float(estimate + half_width),
        "level": level,
        "center": float(values[np.isfinite(values)].mean()) if len(moved) else float("nan"),
        "n_resamples": len(values),
        "n_undefined": n_undefined,
        "reason": reason,
    }


def split_interval(
    halves: ArrayLike, others: ArrayLike, estimate: float, *, df: float, level: float = 0.95
) -> dict[str, float | int | str]:
    """Make an interval around the full estimate from splits into two halves.

    Parameters
    ----------
    halves, others : array-like of shape (n_resamples,)
        Values on half-samples, and on all that each leaves out; NaN where undefined.
    estimate : float
        The value on the full sample.
    df : float
        Degrees of freedom of Student's t, above 0.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    dict
        As `interval`; center is the mean of all halves, n_resamples counts splits, and n_undefined
        those of which a half is undefined. If any is, reason says so.

    Raises
    ------
    ValueError
        When `level` is not between 0 and 1, or `df` not above 0.

    Notes
    -----
    ``se^2`` is the mean over splits of ``(half - other)^2 / 4``, the estimate of repeated
    half-samples and their complements (McCarthy 1969, *Review of the International Statistical
    Institute* 37, doi:10.2307/1402116; Wolter 2007, *Introduction to Variance Estimation*, chapter
    3, doi:10.1007/978-0-387-35099-8). The halves of a split share nothing, so over studies the
    difference is that of two independent studies of half the size: twice the variance at half
    the size, whatever the statistic, and four times that at the full size where variance is
    proportional to 1 / n. The spread of half-samples around their own mean (`interval`) is the
    same for a mean, but counts what depends on m rows together ``2 - 2^(1 - m)`` times, as half-
    samples of one study overlap less in sets of m rows than in rows.

    Examples
    --------
    >>> found = split_interval([0.4, 0.6], [0.6, 0.4], 0.7, df=30)
    >>> round(found["se"], 3), round(found["ci_low"], 3), found["center"]
    (0.1, 0.496, 0.5)
    """
    check_coverage(level, "level")
    if not df > 0:
        raise ValueError(f"df must be above 0. Got {df}: a split needs at least two units.")
    values = np.array([halves, others], dtype=np.float64)
    defined = values[:, np.isfinite(values).all(axis=0)]
    n_resamples, n_defined = values.shape[1], defined.shape[1]
    n_undefined = n_resamples - n_defined
    se, center = float("nan"), float("nan")
    if n_defined:
        se = float(np.sqrt(((defined[0] - defined[1]) ** 2).mean()) / 2)
        center = float(defined.mean())
    reason = _undefined(n_undefined, n_resamples, "splits") if n_undefined else ""
    half_width, reason = _half_width(se, df, level, reason)
    return {
        "estimate": estimate,
        "se": se,
        "ci_low": estimate - half_width,
        "ci_high": estimate + half_width,
        "level": level,
        "center": center,
        "n_resamples": n_resamples,
        "n_undefined": n_undefined,
        "reason": reason,
    }


def _half_width(se: float, df: float, level: float, reason: str) -> tuple[float, str]:
    """Give half the width of an interval; none where nothing varies, and why."""
    if se < 1e-12:
        return float("nan"), "all subsamples give the same: their spread is unknown"
    return float(student.ppf(0.5 + level / 2, df)) * se, reason


def _undefined(n: int, of: int, what: str) -> str:
    return (
        f"{n} of {of} {what} are undefined: too few outputs for n_neighbors, a class is missing, "
        "or an output has no judgment left"
    )


def check_coverage(value: float, name: str) -> None:
    """Refuse a coverage outside 0 to 1.

    Parameters
    ----------
    value : float
        What was asked for.
    name : str
        For the message: level or confidence.

    Raises
    ------
    ValueError
        With the number.

    Examples
    --------
    >>> check_coverage(95, "level")
    Traceback (most recent call last):
    ValueError: level must be between 0 and 1. Got 95: 0.95 is usual.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1. Got {value}: 0.95 is usual.")
