"""Testing by betting: e-values and confidence sequences for bounded means.

To test whether values d in [-1, 1] have mean m, bet a share c of wealth on a higher mean (c > 0) or
a lower one (c < 0). Each value multiplies wealth by ``1 + c (d - m) / (1 + m)`` if c > 0, and by
``1 + c (d - m) / (1 - m)`` if c < 0. If m is the mean, expected wealth is constant (Waudby-Smith
and Ramdas 2024, doi:10.1093/jrsssb/qkad009). The e-value is the mean wealth over all c. It is
log-convex in m, so the means that are not rejected form an interval.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from nlgbench.arrays import Floats

#: Shares and weights of a uniform mixture over (-1, 1), by Gauss-Legendre quadrature. For votes
#: without ties, this gives Laplace's e-value ``2^n B(wins + 1, losses + 1)``, exact for n <= 79.
_nodes = np.polynomial.legendre.leggauss(40)
SHARES: Floats = _nodes[0]
LOG_WEIGHTS: Floats = np.log(_nodes[1] / 2)
#: The grid of means for confidence sequences, whose ends are rounded outward to grid points.
MEANS: Floats = np.linspace(-1, 1, 401)[1:-1]


def log_e_values(values: Floats, mean: float | Floats = 0.0) -> Floats:
    """Compute log e-values for a mean after each value along the last axis, skipping NaN."""
    logs = np.full(values.shape, -np.inf)
    for share, log_weight in zip(SHARES, LOG_WEIGHTS, strict=True):
        steps = np.log1p(share * (values - mean) / (1 + np.sign(share) * mean))
        wealth = np.nan_to_num(steps, copy=False, nan=0.0).cumsum(axis=-1)
        np.logaddexp(logs, wealth + log_weight, out=logs)
    return logs


def least_n(log_threshold: float) -> int:
    """Compute the smallest number of values that can reach a log e-value."""
    n = 1
    while logsumexp(LOG_WEIGHTS + n * np.log1p(SHARES)) < log_threshold:
        n += 1
    return n


def confidence_sequence(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Compute a confidence sequence: the means not rejected after each value, skipping NaN."""
    logs = log_e_values(np.broadcast_to(values, (len(MEANS), len(values))), MEANS[:, None])
    refuted = np.logical_or.accumulate(logs >= -np.log(1 - confidence), axis=1).T
    # Ends are the grid points just outside the means not rejected; they cross if all are rejected.
    none = refuted.all(axis=1)
    n_low = np.where(none, len(MEANS), refuted.argmin(axis=1))
    n_high = np.where(none, len(MEANS), refuted[:, ::-1].argmin(axis=1))
    ends = np.concatenate([[-1.0], MEANS, [1.0]])
    return ends[n_low], ends[len(ends) - 1 - n_high]


def e_holm(e_values: Floats) -> Floats:
    """Adjust e-values (..., K) for multiple testing.

    Each e-value becomes the smallest mean over all sets that contain it: closed testing with the
    arithmetic mean, valid under any dependence (Vovk and Wang 2021, doi:10.1214/20-AOS2020).
    """
    # The set with the smallest mean adds the smallest e-values first.
    order = np.argsort(e_values, axis=-1)
    ranked = np.take_along_axis(e_values, order, axis=-1)
    smallest = ranked.copy()
    smaller = np.zeros(ranked.shape[:-1])
    for n in range(1, ranked.shape[-1]):
        smaller = smaller + ranked[..., n - 1]
        means = (ranked[..., n:] + smaller[..., None]) / (n + 1)
        smallest[..., n:] = np.minimum(smallest[..., n:], means)
    adjusted = np.empty_like(smallest)
    np.put_along_axis(adjusted, order, smallest, axis=-1)
    return adjusted


def e_values(logs: Floats) -> Floats:
    """Exponentiate log e-values without overflow."""
    return np.exp(np.minimum(logs, 700.0))
