"""Testing by betting: e-values and confidence sequences of bounded means, and many at once.

Against the mean m of values in [-1, 1] one bets a share c on a higher mean (c > 0) or a lower one:
wealth grows by ``1 + c (d - m) / (1 + m)`` or ``1 + c (d - m) / (1 - m)``, and does not on average
where m is the mean (Waudby-Smith and Ramdas 2024, doi:10.1093/jrsssb/qkad009). The e-value is the
mean wealth over shares. Its logarithm is convex in m: means that are not refuted are an interval.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from nlgbench.inference import Floats

#: Shares and their weights: a uniform mixture over (-1, 1), by Gauss and Legendre's rule. Votes
#: without ties so have Laplace's e-value ``2^n B(wins + 1, losses + 1)``, exactly up to 79 of them.
_nodes = np.polynomial.legendre.leggauss(40)
SHARES: Floats = _nodes[0]
LOG_WEIGHTS: Floats = np.log(_nodes[1] / 2)
#: Means that are tried for confidence sequences; their ends are rounded outward to these.
MEANS: Floats = np.linspace(-1, 1, 401)[1:-1]


def log_e_values(values: Floats, mean: float | Floats = 0.0) -> Floats:
    """Give log e-values against a mean after each value of streams (..., n); NaN is no value."""
    found = np.full(values.shape, -np.inf)
    for share, log_weight in zip(SHARES, LOG_WEIGHTS, strict=True):
        steps = np.log1p(share * (values - mean) / (1 + np.sign(share) * mean))
        wealth = np.nan_to_num(steps, copy=False, nan=0.0).cumsum(axis=-1)
        np.logaddexp(found, wealth + log_weight, out=found)
    return found


def least_n(log_threshold: float) -> int:
    """Give the fewest values that can reach a log e-value."""
    n = 1
    while logsumexp(LOG_WEIGHTS + n * np.log1p(SHARES)) < log_threshold:
        n += 1
    return n


def confidence_sequence(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Give the ends of the means that no e-value so far refutes, after each of n values.

    NaN is no value.
    """
    logs = log_e_values(np.broadcast_to(values, (len(MEANS), len(values))), MEANS[:, None])
    refuted = np.logical_or.accumulate(logs >= -np.log(1 - confidence), axis=1).T
    # Beyond the last mean refuted on either side; where all are, the two ends cross.
    none = refuted.all(axis=1)
    n_low = np.where(none, len(MEANS), refuted.argmin(axis=1))
    n_high = np.where(none, len(MEANS), refuted[:, ::-1].argmin(axis=1))
    ends = np.concatenate([[-1.0], MEANS, [1.0]])
    return ends[n_low], ends[len(ends) - 1 - n_high]


def e_holm(e_values: Floats) -> Floats:
    """Adjust e-values (..., K) for their number: the least mean of a set that each belongs to.

    The closure of the arithmetic mean (Vovk and Wang 2021, doi:10.1214/20-AOS2020), whatever the
    dependence. The least mean with the r-th smallest adds the smallest of all, one after another.
    """
    order = np.argsort(e_values, axis=-1)
    ranked = np.take_along_axis(e_values, order, axis=-1)
    found = ranked.copy()
    smaller = np.zeros(ranked.shape[:-1])
    for n in range(1, ranked.shape[-1]):
        smaller = smaller + ranked[..., n - 1]
        means = (ranked[..., n:] + smaller[..., None]) / (n + 1)
        found[..., n:] = np.minimum(found[..., n:], means)
    adjusted = np.empty_like(found)
    np.put_along_axis(adjusted, order, found, axis=-1)
    return adjusted


def e_values(logs: Floats) -> Floats:
    """Take logs back, without overflow."""
    return np.exp(np.minimum(logs, 700.0))
