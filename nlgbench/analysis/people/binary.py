"""Two systems with one 0/1 score each per item: exact McNemar test and Tango's score interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import binom, norm

from nlgbench.arrays import Floats, Ints

#: Numbers of items that the first system of a pair won, lost and tied.
COUNTS = ("won", "lost", "tied")


class Binary(NamedTuple):
    """Counts (3, pairs), p of McNemar's exact test, and limits; NaN for pairs of other scores."""

    counts: Floats
    p: Floats
    low: Floats
    high: Floats


def compare_binary(
    value: Floats, labels: tuple[Ints, Ints], pairs: tuple[Ints, Ints], confidence: float
) -> Binary:
    """Compare pairs of systems; `labels` are the system and the item of each score."""
    return compare_counts(_count_wins(value, labels, pairs), confidence)


def compare_counts(counts: Floats, confidence: float) -> Binary:
    """Test equality; invert the score test, extended to 0 where the exact test does not reject."""
    won, lost, _ = counts
    p = np.minimum(2 * binom.cdf(np.minimum(won, lost), won + lost, 0.5), 1.0)
    low, high = _find_lower(counts, confidence), -_find_lower(counts[[1, 0, 2]], confidence)
    low, high = (
        np.where(p < 1 - confidence, limit, bound(limit, 0))
        for limit, bound in ((low, np.minimum), (high, np.maximum))
    )
    return Binary(counts, p, low, high)


def score_difference(counts: Floats, difference: Floats | float) -> Floats:
    """Return Tango's z of the hypothesis that the difference is this; above 0 if it is larger."""
    won, lost, tied = counts
    n = won + lost + tied
    difference = np.clip(difference, -1, 1)
    linear = (2 * n - won + lost) * difference - won - lost
    product = lost * difference * (1 - difference)
    # The most likely share of lost items under the hypothesis; it may be negative by rounding only.
    share_lost = (np.sqrt(np.maximum(linear**2 + 8 * n * product, 0)) - linear) / (4 * n)
    variance = n * (2 * share_lost + difference * (1 - difference))
    excess = won - lost - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess == 0, 0.0, excess / np.sqrt(np.maximum(variance, 0)))


def _count_wins(value: Floats, labels: tuple[Ints, Ints], pairs: tuple[Ints, Ints]) -> Floats:
    """Count wins, losses and ties of pairs whose systems have a 0/1 score for the same items."""
    system, item = labels
    k = int(system.max()) + 1
    right = value + (value.min() < 0)  # lower is better: -1 and 0
    scored, correct = (
        sparse.coo_array((cell, (item, system)), shape=(int(item.max()) + 1, k)).tocsr()
        for cell in (np.ones_like(value), right)
    )
    (shared, both_right), (n, total) = (
        [(matrix.T @ matrix).toarray()[pairs] for matrix in (scored, correct)],
        [np.bincount(system, cell, k) for cell in (np.ones_like(value), right)],
    )
    is_other = np.bincount(system, ~np.isin(right, (0, 1)), k) > 0
    first, second = pairs
    is_binary = (shared == n[first]) & (shared == n[second]) & ~is_other[first] & ~is_other[second]
    is_binary &= scored.data.max() == 1
    won, lost = total[first] - both_right, total[second] - both_right
    return np.where(is_binary, [won, lost, shared - won - lost], np.nan)


def _find_lower(counts: Floats, confidence: float) -> Floats:
    """Find the smallest difference that the score test does not reject, by bisection."""
    critical = norm.ppf(0.5 + confidence / 2)
    inside = (counts[0] - counts[1]) / counts.sum(axis=0)
    outside = np.full_like(inside, -1.0)
    for _ in range(60):
        middle = (inside + outside) / 2
        rejected = score_difference(counts, middle) > critical
        inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
    return inside
