"""Pairwise accuracies that look at more than the sign: tie calibration, soft accuracy."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr

from nlgbench.analysis.coefficients.pair_statistics import Floats, equalized, tolerance
from nlgbench.text import check_n


def tie_calibration(x: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    """Compute pairwise accuracy for every threshold below which scores count as tied.

    Parameters
    ----------
    x, y : array-like of shape (groups, n) or (n,)
        Scores and judgments; pairs are within a group, such as an item. NaN where missing.

    Returns
    -------
    DataFrame
        A row per threshold, ascending: epsilon (0 and every difference of scores), accuracy (0 to
        1; the mean over groups that have a pair). Empty where there is no pair.

    Raises
    ------
    ValueError
        When shapes differ.

    Notes
    -----
    Scores that differ by at most epsilon are tied (up to rounding: 1e-9 standard deviations); a
    pair is right when it is tied in both or ordered alike (Deutsch, Foster and Freitag 2023, *Ties
    Matter*, doi:10.18653/v1/2023.emnlp-main.798). One epsilon serves all groups, and each group
    weighs the same. Time and memory go with the number of pairs.

    Examples
    --------
    >>> table = tie_calibration([0.0, 2.0, 6.0, 8.0], [1.0, 1.0, 1.0, 4.0])
    >>> table["epsilon"].tolist(), table["accuracy"].round(3).tolist()
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.5, 0.5, 0.667, 0.667, 0.5])
    """
    dx, dy = _differences(x, y)
    there = np.isfinite(dx) & np.isfinite(dy)
    pairs = there.sum(axis=1, keepdims=True)
    if not pairs.any():
        return pd.DataFrame({"epsilon": [], "accuracy": []}, dtype=np.float64)
    share = np.broadcast_to(1 / np.maximum(pairs, 1) / (pairs > 0).sum(), dx.shape)[there]
    dx, dy = dx[there], dy[there]
    tied, alike = dy == 0, np.sign(dx) * np.sign(dy) > 0
    distance = equalized(np.abs(dx), tolerance(np.asarray(x, dtype=np.float64)))
    order = np.argsort(distance)
    gain = np.append(0, np.cumsum((share * (tied * 1.0 - alike))[order]))
    distance = distance[order]
    epsilon = np.unique(np.append(0, distance))
    upto = np.searchsorted(distance, epsilon, side="right")
    return pd.DataFrame({"epsilon": epsilon, "accuracy": (share * alike).sum() + gain[upto]})


def best_epsilon(thresholds: pd.DataFrame) -> float:
    """Choose the threshold of the highest accuracy; the smallest of several.

    Parameters
    ----------
    thresholds : DataFrame
        From `tie_calibration`.

    Returns
    -------
    float
        In units of the scores; NaN where there is no threshold.

    Examples
    --------
    >>> best_epsilon(tie_calibration([0.0, 2.0, 6.0, 8.0], [1.0, 1.0, 1.0, 4.0]))
    4.0
    """
    if thresholds.empty:
        return float("nan")
    # Sums of the same pairs in another order differ in their last bits.
    best = thresholds["accuracy"].to_numpy().round(12).argmax()
    return float(thresholds["epsilon"].iloc[best])


def calibrated_accuracies(x: Floats, ys: Floats) -> Floats:
    """Compute the accuracy at the best threshold against many judgments of the same units.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Scores, at least two.
    ys : ndarray of shape (r, n)
        Judgments, such as permuted ones.

    Returns
    -------
    ndarray of shape (r,)
        The highest accuracy of `tie_calibration`.

    Examples
    --------
    >>> calibrated_accuracies(np.array([0.0, 2.0, 6.0, 8.0]), np.array([[1.0, 1.0, 1.0, 4.0]]))
    array([0.66666667])
    """
    first, second = np.triu_indices(len(x), 1)
    dx, dy = _cleared(x[first] - x[second], x), _cleared(ys[:, first] - ys[:, second], ys)
    order = np.argsort(np.abs(dx))
    distance = np.append(0, equalized(np.abs(dx), tolerance(x))[order])
    tied, alike = dy[:, order] == 0, np.sign(dx[order]) * np.sign(dy[:, order]) > 0
    gain = np.cumsum(tied * 1.0 - alike, axis=1)
    gain = np.concatenate([np.zeros((len(ys), 1)), gain], axis=1)
    last = np.append(distance[1:] != distance[:-1], True)
    return (alike.sum(axis=1) + gain[:, last].max(axis=1)) / len(dx)


def accuracy_at(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, epsilon: ArrayLike
) -> Floats:
    """Compute each group's pairwise accuracy with scores tied up to a given threshold.

    Parameters
    ----------
    x, y : array-like of shape (groups, n) or (n,)
        As in `tie_calibration`.
    weights : array-like of the same shape, optional
        How often each unit counts; its copies are no pairs.
    epsilon : float or array-like of shape (groups,)
        The threshold, for all groups or for each.

    Returns
    -------
    ndarray of shape (groups,)
        0 to 1; NaN where a group has no pair.

    Examples
    --------
    >>> accuracy_at([0.0, 2.0, 6.0, 8.0], [1.0, 1.0, 1.0, 4.0], epsilon=4.0).round(3)
    array([0.667])
    """
    dx, dy = _differences(x, y)
    n = np.shape(x)[-1]
    w = np.ones((1, n)) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))
    first, second = np.triu_indices(n, 1)
    weight = np.where(np.isfinite(dx) & np.isfinite(dy), w[:, first] * w[:, second], 0)
    limit = np.reshape(np.asarray(epsilon, dtype=np.float64), (-1, 1))
    limit = limit + tolerance(np.asarray(x, dtype=np.float64))
    ordered = np.where(np.abs(dx) <= limit, 0, np.sign(dx))
    total = weight.sum(axis=1)
    right = (weight * (ordered == np.sign(dy))).sum(axis=1)
    return np.divide(right, total, out=np.full(total.shape, np.nan), where=total > 0)


def weighted_accuracy_at(x: Floats, y: Floats, weights: Floats, *, epsilon: float) -> Floats:
    """Compute `accuracy_at` for one group of many points under many weightings.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Scores and judgments, finite.
    weights : ndarray of shape (r, n)
        How often each point counts.
    epsilon : float
        The threshold.

    Returns
    -------
    ndarray of shape (r,)
        0 to 1; NaN where there is no pair.

    Examples
    --------
    >>> points = np.array([0.0, 2.0, 6.0, 8.0]), np.array([1.0, 1.0, 1.0, 4.0])
    >>> weighted_accuracy_at(*points, np.array([[1.0, 1.0, 1.0, 1.0]]), epsilon=4.0).round(3)
    array([0.667])
    """
    x, y, epsilon = equalized(x), equalized(y), epsilon + tolerance(x)
    right = np.zeros(len(weights))
    step = max(1, (1 << 22) // len(x))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        dx = x[part, None] - x
        ordered = np.where(np.abs(dx) <= epsilon, 0, np.sign(dx))
        agree = (ordered == np.sign(y[part, None] - y)).astype(np.float64)
        right += np.einsum("rn,rn->r", weights[:, part], weights @ agree.T)
    copies = np.einsum("rn,rn->r", weights, weights)
    total = weights.sum(axis=1) ** 2 - copies
    return np.divide(right - copies, total, out=np.full(len(total), np.nan), where=total > 0)


def _differences(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    a, b = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (x, y))
    if a.shape != b.shape:
        raise ValueError(f"x and y must have one shape. Got {np.shape(x)} and {np.shape(y)}.")
    first, second = np.triu_indices(a.shape[1], 1)
    return _cleared(a[:, first] - a[:, second], a), _cleared(b[:, first] - b[:, second], b)


def _cleared(differences: Floats, values: Floats) -> Floats:
    """Set differences to 0 that rounding alone can have made."""
    return np.where(np.abs(differences) <= tolerance(values), 0.0, differences)


def soft_pairwise_accuracy(
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_permutations: int | None = None,
    seed: int | np.random.Generator = 0,
) -> float:
    """Compare how sure scores and judgments are of each difference between systems.

    Parameters
    ----------
    x, y : array-like of shape (items, systems)
        Scores and judgments of the outputs. NaN where missing.
    n_permutations : int, optional
        Random sign flips for each p-value. Default: their normal limit, without Monte Carlo error.
    seed : int or Generator
        Where the flips come from.

    Returns
    -------
    float
        0 to 1, higher is better; NaN where there are no two systems to compare.

    Raises
    ------
    ValueError
        When shapes differ.

    Notes
    -----
    ``1 - mean over pairs of |p_y - p_x|``; p is the one-sided p-value of a paired permutation test
    that one system is better than the other (Thompson, Mathur, Deutsch and Khayrallah 2024,
    https://aclanthology.org/2024.wmt-1.118). The authors' code counts, of 1,000 permutations, those
    at or above the observed sum, so that the two sides of a pair add up to more than 1 and the
    order of systems matters where judgments are discrete. Here half of the equal ones count
    (mid-p), so it does not.

    Systems that share fewer than two items are compared as unpaired samples, by the permutation
    distribution of labels (always its normal limit).

    Examples
    --------
    >>> scores = np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 1.0], [3.0, 2.0]])
    >>> soft_pairwise_accuracy(scores, scores)
    1.0
    >>> round(soft_pairwise_accuracy(scores, -scores), 3)
    0.414
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(
            f"x and y must be of one shape (items, systems). Got {a.shape} and {b.shape}."
        )
    there = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(there, a, np.nan), np.where(there, b, np.nan)
    ones = np.ones((1, len(a)))
    p_x, p_y = pair_confidences(a, ones), pair_confidences(b, ones)
    if n_permutations is not None:
        check_n(n_permutations, "n_permutations")
        # The same flips for both, and for all pairs.
        flips = np.random.default_rng(seed).integers(2, size=(n_permutations, len(a))) * 2.0 - 1
        for found, values in ((p_x, a), (p_y, b)):
            first, second = np.triu_indices(a.shape[1], 1)
            d = values[:, first] - values[:, second]
            paired = np.isfinite(d).sum(axis=0) >= 2
            d = np.nan_to_num(d[:, paired])
            # Equal sums of differences may differ in their last bits.
            excess = (flips @ d - d.sum(axis=0)) / np.maximum(np.abs(d).sum(axis=0), 1e-300)
            equal = np.abs(excess) < 1e-12
            found[0, paired] = ((excess > 0) & ~equal).mean(axis=0) + equal.mean(axis=0) / 2
    gap = np.abs(p_x - p_y)[0]
    return float(1 - gap[np.isfinite(gap)].mean()) if np.isfinite(gap).any() else float("nan")


def pair_confidences(values: Floats, weights: Floats) -> Floats:
    """Compute one-sided p-values for all pairs of systems, under many weightings of the items.

    Parameters
    ----------
    values : ndarray of shape (items, systems)
        Of the outputs; NaN where missing.
    weights : ndarray of shape (r, items)
        How often each item counts.

    Returns
    -------
    ndarray of shape (r, pairs)
        That the first system of the pair is better; pairs as `numpy.triu_indices` has them. One
        half where nothing differs; NaN where a system has no output.

    Examples
    --------
    >>> pair_confidences(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones((1, 2))).round(3)
    array([[0.91]])
    """
    there = np.isfinite(values)
    known = np.where(there, values, 0)
    first, second = np.triu_indices(values.shape[1], 1)
    shared = there[:, first] & there[:, second]
    d = np.where(shared, known[:, first] - known[:, second], 0)
    above, variance = weights @ d, weights @ (d * d)
    alone = shared.sum(axis=0) < 2
    if alone.any():
        i, j = first[alone], second[alone]
        # Labels do not depend on a constant, and sums of squares are exact near 0.
        known = np.where(there, known - known.sum() / max(there.sum(), 1), 0)
        count, total, square = weights @ there, weights @ known, weights @ (known * known)
        n = count[:, i] + count[:, j]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = square[:, i] + square[:, j] - (total[:, i] + total[:, j]) ** 2 / n
            above[:, alone] = total[:, i] / count[:, i] - total[:, j] / count[:, j]
            variance[:, alone] = spread / (n - 1) * (1 / count[:, i] + 1 / count[:, j])
    flat = ~(variance > 1e-24 * (1 + np.abs(above)) ** 2)
    p = ndtr(
        -np.divide(above, np.sqrt(np.maximum(variance, 0)), out=np.zeros_like(above), where=~flat)
    )
    return np.where(np.isfinite(above) & np.isfinite(variance), p, np.nan)
