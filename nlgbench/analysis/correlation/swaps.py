"""Swapping two evaluators' scores system by system: differences of correlations under the null."""

import numpy as np
from numpy.typing import NDArray

from nlgbench.analysis.coefficients.pair_statistics import Floats, divide
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.inference import MOST_EXACT, permutation_p
from nlgbench.analysis.correlation.multiplicity import adjust, max_t


def ways_to_swap(
    n: int, n_permutations: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], bool]:
    """List which of n systems are swapped, none of them first, and say whether these are all ways.

    Of all ways it is half, since the others mirror them.
    """
    if 2**n <= MOST_EXACT:
        ways = np.arange(2 ** max(n - 1, 0))[:, None]
        return (ways >> np.arange(n)) % 2 == 1, True
    drawn = rng.random((n_permutations + 1, n)) < 0.5
    drawn[0] = False
    return drawn, False


def swapped_statistics(
    x: Floats, h: Floats, statistic: str, swaps: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Correlate pairs (2, m, n) with h: both estimates (2, m), test statistics under swaps (m, r).

    Pearson's is studentized; others' are differences over their root mean square.
    """
    m = x.shape[1]
    estimates, z = np.full((2, m), np.nan), np.full(x.shape, np.nan)
    found = np.full((m, len(swaps)), np.nan)
    whole = np.asarray(np.isfinite(x).all(axis=0))
    for there in np.unique(whole, axis=0):
        if there.sum() < 2:
            continue
        alike = np.flatnonzero((whole == there).all(axis=1))
        cells = np.ix_(np.arange(2), alike, there)
        correlations = coefficients(x[cells], h[there], statistics=[statistic])[statistic]
        estimates[:, alike] = correlations
        z[cells] = _standardized(x[cells])
        z[:, alike[~np.isfinite(correlations).all(axis=0)]] = np.nan
    # Scores of the two that are equal must be tied when they are mixed.
    z = np.round(z, 9)
    for at, there in enumerate(whole):
        if not np.isfinite(z[0, at]).any():
            continue
        (a, b), which = z[:, at, there], swaps[:, there]
        both = np.stack([np.where(which, b, a), np.where(which, a, b)])
        if statistic == "pearson":
            found[at] = _studentized(both, h[there])
        else:
            of_a, of_b = coefficients(both, h[there], statistics=[statistic])[statistic]
            size = np.sqrt(np.nan_to_num((of_a - of_b) ** 2).mean())
            found[at] = (of_a - of_b) / size if size > 0 else of_a - of_b
    return estimates, found


def _standardized(values: Floats) -> Floats:
    # As in coefficients, the first value off makes exact zeros of a constant.
    centered = values - values[..., :1]
    centered -= centered.mean(axis=-1, keepdims=True)
    return divide(centered, np.sqrt((centered**2).mean(axis=-1, keepdims=True)))


def _studentized(both: Floats, h: Floats) -> Floats:
    """Divide the difference of Fisher's z (2, r, n) by its standard error from influences."""
    z_h, z = _standardized(h), _standardized(both)
    r = np.clip((z @ z_h)[..., None] / len(h), -1 + 1e-9, 1 - 1e-9)
    influence = (z * z_h - r / 2 * (z**2 + z_h**2)) / (1 - r**2)
    error = np.sqrt(((influence[0] - influence[1]) ** 2).mean(axis=-1))
    gap = (np.arctanh(r[0]) - np.arctanh(r[1]))[:, 0]
    # Two evaluators that are one do not differ.
    return np.where(np.abs(gap) < 1e-9, 0, divide(gap, np.where(error > 1e-9, error, 0)))


def swap_p(swapped: Floats, *, named: bool) -> tuple[Floats, Floats, float]:
    """Give p, adjusted p (Holm for named pairs, else max-T) and the least that this could be."""
    # The first is the data as they are, so it is counted once, whether these are all or drawn.
    p = permutation_p(swapped, swapped[:, :1], exact=True, two_sided=True)
    size = np.abs(np.nan_to_num(swapped))
    if not named:
        return p, *max_t(swapped)
    farthest = size.max(axis=1, keepdims=True)
    each = permutation_p(size, farthest, exact=True, two_sided=True)[np.isfinite(p)]
    least = min(1.0, float(len(each) * each.min())) if len(each) else float("nan")
    return p, adjust(p), least
