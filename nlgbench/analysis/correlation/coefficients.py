"""Coefficients of agreement between scores and judgments: arrays in, numbers out, many at once.

`coefficients` takes many small samples, `weighted_coefficients` many points under many weightings.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PairCounts(NamedTuple):
    """Pairs of units, by how two variables order them; copies of a weighted unit are no pairs."""

    balance: Floats
    untied_x: Floats
    untied_y: Floats
    untied_both: Floats
    pairs: Floats


def kendall_b(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-b (1945, doi:10.1093/biomet/33.3.239)."""
    return divide(counts.balance, np.sqrt(counts.untied_x * counts.untied_y))


def pairwise_accuracy(counts: PairCounts) -> Floats:
    """Give the share of pairs that two variables order alike, or both tie.

    Deutsch, Foster and Freitag (2023, doi:10.18653/v1/2023.emnlp-main.798); without ties that of
    Kocmi et al. (2021, https://aclanthology.org/2021.wmt-1.57).
    """
    concordant = (counts.untied_both + counts.balance) / 2
    tied_both = counts.pairs - counts.untied_x - counts.untied_y + counts.untied_both
    return divide(concordant + tied_both, counts.pairs)


def chance_accuracy(counts: PairCounts) -> Floats:
    """Give the accuracy that scores dealt out at random would have, with these ties."""
    x, y = divide(counts.untied_x, counts.pairs), divide(counts.untied_y, counts.pairs)
    return x * y / 2 + (1 - x) * (1 - y)


#: Statistics that follow from counts of pairs.
OF_PAIRS: dict[str, Callable[[PairCounts], Floats]] = {
    "kendall_b": kendall_b,
    "pairwise_accuracy": pairwise_accuracy,
    "chance_accuracy": chance_accuracy,
}


def divide(above: Floats, below: Floats) -> Floats:
    """Divide; what is divided by 0 is NaN."""
    above, below = np.broadcast_arrays(above, below)
    found = np.full(below.shape, np.nan)
    np.divide(above, below, out=found, where=below != 0)
    return found


def tolerance(values: Floats) -> float:
    """Give the difference that rounding makes: 1e-9 standard deviations, as HUSE has it."""
    finite = values[np.isfinite(values)]
    return float(max(1e-9 * finite.std(), 1e-12 * np.abs(finite).max())) if finite.size else 0.0


def equalized(values: Floats) -> Floats:
    """Make values equal that differ by at most their `tolerance`, along the last axis."""
    limit = tolerance(values)
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape).copy()
    place[..., 1:][ordered[..., 1:] - ordered[..., :-1] <= limit] = 0
    first = np.take_along_axis(ordered, np.maximum.accumulate(place, axis=-1), axis=-1)
    found = np.empty_like(values)
    np.put_along_axis(found, order, first, axis=-1)
    return found


#: Pairs of units, and of weights, that are held in memory at once.
_AT_ONCE = 1 << 20


def coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Compute coefficients of many small samples (..., n), which broadcast; NaN where undefined.

    Weights are counts of a bootstrap, or 0 where a unit is missing (its values may then be NaN).
    Correlations equal SciPy's on the sample written out.
    """
    names = list(statistics)
    given = x, y, 1.0 if weights is None else weights
    samples = [np.asarray(one, dtype=np.float64) for one in given]
    shape = np.broadcast_shapes(*(one.shape for one in samples))
    n = shape[-1]
    values, others, w = (np.broadcast_to(one, shape).reshape(-1, n) for one in samples)
    found = {name: np.empty(len(w)) for name in names}
    step = max(1, _AT_ONCE // max(n**2, 1))
    for start in range(0, len(w), step):
        part = slice(start, start + step)
        for name, one in _of_samples(values[part], others[part], w[part], names).items():
            found[name][part] = one
    return {name: one.reshape(shape[:-1]) for name, one in found.items()}


def _of_samples(x: Floats, y: Floats, w: Floats, names: list[str]) -> dict[str, Floats]:
    x, y = (np.where(w > 0, one, 0) for one in (x, y))
    found = {"pearson": _pearson(_centered(x, w), _centered(y, w), w)} if "pearson" in names else {}
    if set(names) == {"pearson"}:
        return found
    signs_x, signs_y = (np.sign(one[:, :, None] - one[:, None]) for one in (x, y))

    def weighted(signs: Floats) -> Floats:
        return (signs @ w[:, :, None])[:, :, 0]

    if "spearman" in names:
        found["spearman"] = _pearson(weighted(signs_x), weighted(signs_y), w)
    if OF_PAIRS.keys() & set(names):
        both = signs_x * signs_y
        orders = (both, np.abs(signs_x), np.abs(signs_y), np.abs(both))
        sums = [np.einsum("bi,bi->b", w, weighted(one)) / 2 for one in orders]
        pairs = (w.sum(axis=1) ** 2 - (w**2).sum(axis=1)) / 2
        counts = PairCounts(sums[0], sums[1], sums[2], sums[3], pairs)
        found |= {name: OF_PAIRS[name](counts) for name in names if name in OF_PAIRS}
    return found


def _pearson(dx: Floats, dy: Floats, w: Floats) -> Floats:
    """Correlate centered values, a sample a row."""
    wx = w * dx
    over = np.sqrt(np.einsum("bi,bi->b", wx, dx) * np.einsum("bi,bi,bi->b", w, dy, dy))
    # Beyond 1 is rounding only.
    return np.clip(divide(np.einsum("bi,bi->b", wx, dy), over), -1, 1)


def _centered(values: Floats, w: Floats) -> Floats:
    """Take means off; the first value before, which leaves exact zeros where nothing varies."""
    values = np.broadcast_to(values, w.shape)
    first = np.take_along_axis(values, (w > 0).argmax(axis=1)[:, None], axis=1)
    moved = np.where(w > 0, values - first, 0)
    # By a power of 2, without rounding, so that no square over- or underflows.
    moved = np.ldexp(moved, -np.frexp(np.abs(moved).max(axis=1, keepdims=True))[1])
    return moved - (w * moved).sum(axis=1, keepdims=True) / np.maximum(w.sum(axis=1), 1)[:, None]


def weighted_coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Correlate several variables (m, n) with one (n,) under each row of weights (r, n): (m, r).

    Equal to `coefficients`, for many points: orders are found once, ranks are cumulated weights,
    and pairs are counted by runs of points.
    """
    names = list(statistics)
    x, y, weights = (np.asarray(one, dtype=np.float64) for one in (x, y, weights))
    found = {name: np.empty((len(x), len(weights))) for name in names}
    step = max(1, 2 * _AT_ONCE // len(y))
    for start in range(0, len(weights), step):
        part = slice(start, start + step)
        w = np.ascontiguousarray(weights[part].T)
        if "pearson" in names:
            found["pearson"][:, part] = _pearson_of_points(x, y, weights[part])
        if "spearman" in names:
            found["spearman"][:, part] = _spearman_of_points(x, y, w)
        if chosen := OF_PAIRS.keys() & set(names):
            for at, one in enumerate(x):
                counts = _count_pairs(one, y, w)
                for name in chosen:
                    found[name][at, part] = OF_PAIRS[name](counts)
    return found


def _pearson_of_points(x: Floats, y: Floats, w: Floats) -> Floats:
    u, v = (one - one.mean(axis=-1, keepdims=True) for one in (x, y))
    u, v = (one / np.maximum(np.abs(one).max(axis=-1, keepdims=True), 1e-300) for one in (u, v))
    total = np.maximum(w.sum(axis=1), 1)
    sum_u, sum_v, square_u, square_v = (one @ w.T for one in (u, v, u * u, v * v))
    over_u, over_v = square_u - sum_u**2 / total, square_v - sum_v**2 / total
    # Where a resample hardly varies, sums of squares have lost their digits.
    sure = (over_u > 1e-6 * square_u) & (over_v > 1e-6 * square_v)
    products = (u * v) @ w.T - sum_u * sum_v / total
    found = np.clip(products / np.sqrt(np.where(sure, over_u * over_v, 1)), -1, 1)
    for at in np.flatnonzero(~sure.all(axis=1)):
        few = w[~sure[at]]
        found[at, ~sure[at]] = _pearson(_centered(x[at], few), _centered(y, few), few)
    return found


def _runs(*variables: NDArray[Any]) -> tuple[Ints, Ints]:
    """Order points by variables, the last first, and say where each run of equal ones starts."""
    order = np.lexsort(variables)
    new = np.any([np.diff(one[order]) != 0 for one in variables], axis=0)
    return order, np.append(0, 1 + np.flatnonzero(new))


def _summed(w: Floats, starts: Ints) -> Floats:
    """Sum weights over runs of points."""
    return w if len(starts) == len(w) else np.add.reduceat(w, starts, dtype=np.float64)


def _spearman_of_points(x: Floats, y: Floats, w: Floats) -> Floats:
    order, starts = _runs(y)
    ranks = np.empty_like(w)
    _, middle = _middles(w[order], starts)
    ranks[order] = np.repeat(middle, np.diff(np.append(starts, len(y))), axis=0)
    weighted = w * ranks
    over_y = np.einsum("nr,nr->r", weighted, ranks)
    found = []
    for one in x:
        order, starts = _runs(one)
        tied, middle = _middles(w[order], starts)
        above = np.einsum("gr,gr->r", middle, _summed(weighted[order], starts))
        over = np.sqrt(np.einsum("gr,gr,gr->r", tied, middle, middle) * over_y)
        found.append(np.clip(divide(above, over), -1, 1))
    return np.stack(found)


def _middles(w: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """Give the weight of each run of equal points, and their average rank, less the mean rank."""
    tied = _summed(w, starts)
    upto = np.cumsum(tied, axis=0)
    return tied, upto - (tied + upto[-1]) / 2


def _count_pairs(x: Floats, y: Floats, w: Floats) -> PairCounts:
    copies = np.einsum("nr,nr->r", w, w)

    def tied(order: Ints, starts: Ints) -> Floats:
        sums = _summed(w[order], starts)
        return (np.einsum("gr,gr->r", sums, sums) - copies) / 2

    pairs = (w.sum(axis=0) ** 2 - copies) / 2
    tied_x, tied_y, tied_both = tied(*_runs(x)), tied(*_runs(y)), tied(*_runs(y, x))
    untied_both = pairs - tied_x - tied_y + tied_both
    balance = untied_both - 2 * _count_inversions(x, y, w)
    return PairCounts(balance, pairs - tied_x, pairs - tied_y, untied_both, pairs)


def _count_inversions(x: Floats, y: Floats, w: Floats) -> Floats:
    """Count pairs that x and y order differently, on a grid of runs of about sqrt(n) points.

    Pairs in one row (run in the order of x) or column (of y) one by one, others by cumulated sums.
    """
    by_x, by_y = np.lexsort((y, x)), np.lexsort((x, y))
    width = int(np.ceil(np.sqrt(len(x))))
    place_x, place_y = np.argsort(by_x), np.argsort(by_y)
    # Sums of weights are exact in single precision while they are small.
    w = w.astype(np.float32) if w.sum(axis=0).max() < 2**24 else w
    found = np.zeros(w.shape[1])
    for order, place in ((by_x, place_y), (by_y, place_x // width)):
        for start in range(0, len(x), width):
            run = order[start : start + width]
            inverted = np.triu(place[run, None] > place[run]).astype(w.dtype)
            found += np.einsum("nr,nr->r", w[run], inverted @ w[run], dtype=np.float64)
    n_cells = -(-len(x) // width)
    cells = place_x // width * n_cells + place_y // width
    order, starts = _runs(cells)
    grid = np.zeros((n_cells**2, w.shape[1]))
    grid[cells[order[starts]]] = _summed(w[order], starts)
    of_cell = grid.reshape(n_cells, n_cells, -1)
    later = np.cumsum(of_cell[:0:-1], axis=0)[::-1]  # in the order of x, and earlier in that of y
    return found + np.einsum("xyr,xyr->r", of_cell[:-1, 1:], np.cumsum(later, axis=1)[:, :-1])


def pair_confidences(values: Floats) -> Floats:
    """Give p that the first of two systems is better, for all pairs of columns (items, systems).

    One half where nothing differs, NaN where a system has no output. p is one-sided, the normal
    limit of a paired permutation test, as for the soft pairwise accuracy of Thompson et al. (2024,
    https://aclanthology.org/2024.wmt-1.118), whose code counts sums at or above the observed one,
    so that there the order of systems matters. Systems that share fewer than two items are compared
    as unpaired samples.
    """
    there = np.isfinite(values)
    known = np.where(there, values, 0)
    first, second = np.triu_indices(values.shape[1], 1)
    shared = there[:, first] & there[:, second]
    d = np.where(shared, known[:, first] - known[:, second], 0)
    above, variance = d.sum(axis=0), (d * d).sum(axis=0)
    alone = shared.sum(axis=0) < 2
    if alone.any():
        i, j = first[alone], second[alone]
        # Labels do not depend on a constant, and sums of squares are exact near 0.
        known = np.where(there, known - known.sum() / max(there.sum(), 1), 0)
        count, total, square = there.sum(axis=0), known.sum(axis=0), (known**2).sum(axis=0)
        n = count[i] + count[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = square[i] + square[j] - (total[i] + total[j]) ** 2 / n
            above[alone] = total[i] / count[i] - total[j] / count[j]
            variance[alone] = spread / (n - 1) * (1 / count[i] + 1 / count[j])
    varies = variance > 1e-24 * (1 + np.abs(above)) ** 2
    p = ndtr(-divide(np.where(varies, above, 0), np.sqrt(np.where(varies, variance, 1))))
    return np.where(np.isfinite(above) & np.isfinite(variance), p, np.nan)
