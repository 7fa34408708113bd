"""Pairwise accuracy within items if scores that hardly differ count as tied.

The largest difference that counts as a tie is the one with the highest accuracy (tie calibration,
Deutsch, Foster and Freitag 2023, doi:10.18653/v1/2023.emnlp-main.798).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgbench.analysis.correlation.coefficients import equalized
from nlgbench.arrays import Bools, Floats, Ints

#: Statistic -> whether the threshold for an item is calibrated on other items.
CALIBRATED = {"pairwise_calibrated": True, "pairwise_calibrated_same": False}
Signs = NDArray[np.int8]
_N_FOLDS = 10
#: The most thresholds that are tried on permuted judgments.
_MOST_TRIED = 1000


class Pairs(NamedTuple):
    """Pairs of outputs for the same item: the items, and the positions of the two outputs."""

    item: Ints
    first: Ints
    second: Ints
    weight: Floats  # 1 / number of pairs of the item
    fold: Ints

    def signs(self, values: Floats) -> Signs:
        """Return which output of each pair has the higher value, 0 if they are equal."""
        first, second = values.ravel()[self.first], values.ravel()[self.second]
        return (first > second).astype(np.int8) - (first < second)


def calibrated_accuracy(
    x: Floats, y: Floats, cluster: Ints, *, cross_fitted: bool, n_permutations: int = 200
) -> dict[str, Floats]:
    """Compute the accuracy of each item (m, items), the same by chance, and what they need.

    `x` (m, items, systems) and `y` (items, systems) are scores and judgments. Chance is the mean
    accuracy over permutations of judgments within items, each calibrated like the data.
    """
    # Permutations and folds of clusters are the same for all evaluators.
    rng = np.random.default_rng(0)
    order = np.argsort(np.isnan(y), axis=1, kind="stable")
    x, y = np.take_along_axis(x, order[None], axis=2), np.take_along_axis(y, order, axis=1)
    pairs = _pairs_of(y, cluster, rng)
    results = {
        name: np.full(x.shape[:2], np.nan) for name in ("accuracy", "chance", "tie_threshold")
    }

    def average(values: NDArray[Any]) -> Floats:
        totals = np.bincount(pairs.item, pairs.weight * values, minlength=len(y))
        return np.where(np.isfinite(y).sum(axis=1) > 1, totals, np.nan)

    sign_y = pairs.signs(y)
    results["always_tie"] = np.broadcast_to(average(sign_y == 0), x.shape[:2])
    coarse_ranks = {}
    for row, scores in enumerate(x):
        sign_x = pairs.signs(scores)
        if not (sign_x.any() and sign_y.any()) or (cross_fitted and np.ptp(pairs.fold) == 0):
            continue
        gaps = np.abs(scores.ravel()[pairs.first] - scores.ravel()[pairs.second])
        # The smallest threshold, 0, ties only equal scores.
        thresholds, rank = np.unique(equalized(np.append(0, gaps)), return_inverse=True)
        correct, best = _judge(pairs, rank[1:], sign_x, sign_y, cross_fitted)
        results["accuracy"][row], results["tie_threshold"][row] = average(correct), thresholds[best]
        results["chance"][row] = 0
        n_tried = min(len(thresholds), _MOST_TRIED)
        coarse_ranks[row] = sign_x, rank[1:] * n_tried // len(thresholds)
    for _ in range(n_permutations if coarse_ranks else 0):
        keys = np.where(np.isnan(y), 2, rng.random(y.shape))
        permuted = pairs.signs(np.take_along_axis(y, np.argsort(keys, axis=1), axis=1))
        for row, (sign_x, rank) in coarse_ranks.items():
            correct, _ = _judge(pairs, rank, sign_x, permuted, cross_fitted)
            results["chance"][row] += average(correct) / n_permutations
    return results


def _pairs_of(y: Floats, cluster: Ints, rng: np.random.Generator) -> Pairs:
    n = np.isfinite(y).sum(axis=1)
    i, j = np.triu_indices(y.shape[1], 1)
    item, pair = np.nonzero(j < n[:, None])
    labels, number = np.unique(cluster, return_inverse=True)
    fold = rng.permutation(len(labels))[number] % _N_FOLDS
    first, second = (item * y.shape[1] + column[pair] for column in (i, j))
    n_pairs = n[item] * (n[item] - 1) / 2
    return Pairs(item, first, second, 1 / n_pairs, fold[item])


def _judge(
    pairs: Pairs, rank: Ints, sign_x: Signs, sign_y: Signs, cross_fitted: bool
) -> tuple[Bools, int]:
    """Return whether scores order each pair like judgments, and the best threshold's number.

    `rank` is the number of the smallest threshold that ties the pair's scores.
    """
    tied, ordered = sign_y == 0, sign_x * sign_y > 0
    n = int(rank.max()) + 1
    gains = pairs.weight * (tied * 1.0 - ordered)
    of_folds = np.bincount(pairs.fold * n + rank, gains, minlength=_N_FOLDS * n).reshape(-1, n)
    of_folds = np.cumsum(of_folds, axis=1)
    total = of_folds.sum(axis=0)
    curves = total - of_folds if cross_fitted else np.broadcast_to(total, of_folds.shape)
    # The smallest of equally good thresholds, despite rounding.
    best = (curves >= curves.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    overall = int((total >= total.max() - 1e-9).argmax())
    return np.where(rank <= best[pairs.fold], tied, ordered), overall
