"""Intervals and p-values from resamples and permutations."""

import math
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from nlgbench.analysis.coefficients.pair_statistics import Floats

#: Up to this many permutations or swaps, all are gone through.
MOST_EXACT = 65_536


def bootstrap_interval(
    values: Floats, estimate: float, confidence: float
) -> dict[str, float | int | str]:
    """Take an interval from the quantiles of resamples: ends, reason, counts.

    `values` are of the resamples, NaN where undefined; these are left aside and counted.
    """
    defined = values[np.isfinite(values)]
    reason = ""
    if not np.isfinite(estimate):
        reason = "undefined: scores or judgments do not vary, or there are no two to compare"
    elif not len(values):
        reason = "nothing was resampled"
    elif len(defined) < 2:
        reason = f"{len(values) - len(defined)} of {len(values)} resamples are undefined"
    tail = (1 - confidence) / 2
    low, high = (np.nan, np.nan) if reason else np.quantile(defined, [tail, 1 - tail])
    return {
        "ci_low": float(low),
        "ci_high": float(high),
        "n_undefined_resamples": len(values) - len(defined),
        "reason": reason,
    }


def orders_of(
    n: int, n_permutations: int, seed: int | np.random.Generator
) -> tuple[NDArray[np.int64], bool]:
    """List all orders of n things, or draw some where there are too many.

    Parameters
    ----------
    n : int
        Things.
    n_permutations : int
        How many to draw where there are more than 65,536, that is from nine things on.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    ndarray of int of shape (orders, n)
        The first of all is the given order.
    bool
        Whether these are all.

    Examples
    --------
    >>> orders_of(2, 10, seed=0)[0].tolist()
    [[0, 1], [1, 0]]
    """
    if math.factorial(n) <= MOST_EXACT:
        return np.array(list(permutations(range(n)))), True
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(n), (n_permutations, 1)), axis=1), False


def permutation_p(values: Floats, observed: Floats, *, exact: bool, two_sided: bool) -> Floats:
    """Compare an observed value with those of permuted data.

    Parameters
    ----------
    values : ndarray of shape (..., r)
        Of the permutations; undefined ones count as not beyond.
    observed : ndarray of shape (..., 1)
        Of the data.
    exact : bool
        Whether `values` are of all permutations, the data's own among them; otherwise it is added.
    two_sided : bool
        Whether values as far below 0 count, too.

    Returns
    -------
    ndarray of shape (...,)
        The share at least as far out, above 0; NaN where `observed` is.

    Examples
    --------
    >>> values = np.array([0.5, -0.5, 0.1, 0.2])
    >>> permutation_p(values, np.array([0.5]), exact=True, two_sided=True)
    array(0.5)
    """
    if two_sided:
        values, observed = np.abs(values), np.abs(observed)
    # Equal values may differ in their last bits.
    beyond = (values >= observed - 1e-12).sum(axis=-1)
    p = beyond / values.shape[-1] if exact else (1 + beyond) / (1 + values.shape[-1])
    return np.where(np.isfinite(observed[..., 0]), p, np.nan)
