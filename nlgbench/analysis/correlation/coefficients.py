"""Coefficients of agreement between scores and judgments, vectorized over many samples.

Use `coefficients` for many small samples, and `weighted_coefficients` to reweight a large one.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

from nlgbench.arrays import Floats, Ints

Weights = NDArray[np.floating]


class PairCounts(NamedTuple):
    """Counts of pairs of units by their order in two variables; copies of a unit form no pair."""

    balance: Floats
    untied_x: Floats
    untied_y: Floats
    untied_both: Floats
    pairs: Floats


def kendall_b(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-b (1945, doi:10.1093/biomet/33.3.239)."""
    return divide(counts.balance, np.sqrt(counts.untied_x * counts.untied_y))


def pairwise_accuracy(counts: PairCounts) -> Floats:
    """Compute `accuracy_with_constants`, but NaN where one of the variables is constant."""
    varies = (counts.untied_x > 0) & (counts.untied_y > 0)
    return np.where(varies, accuracy_with_constants(counts), np.nan)


def accuracy_with_constants(counts: PairCounts) -> Floats:
    """Compute the share of pairs that two variables order the same way, or that tie in both.

    See Deutsch, Foster and Freitag (2023, doi:10.18653/v1/2023.emnlp-main.798). Without ties, it
    is the accuracy of Kocmi et al. (2021, https://aclanthology.org/2021.wmt-1.57).
    """
    concordant = (counts.untied_both + counts.balance) / 2
    tied_both = counts.pairs - counts.untied_x - counts.untied_y + counts.untied_both
    return divide(concordant + tied_both, counts.pairs)


def chance_accuracy(counts: PairCounts) -> Floats:
    """Compute the expected accuracy of randomly permuted scores, given the ties."""
    x, y = divide(counts.untied_x, counts.pairs), divide(counts.untied_y, counts.pairs)
    return x * y / 2 + (1 - x) * (1 - y)


#: Statistics that are functions of counts of pairs.
OF_PAIRS: dict[str, Callable[[PairCounts], Floats]] = {
    "kendall_b": kendall_b,
    "pairwise_accuracy": pairwise_accuracy,
    "accuracy_with_constants": accuracy_with_constants,
    "chance_accuracy": chance_accuracy,
}


def divide(above: Floats, below: Floats) -> Floats:
    """Divide, with NaN where the divisor is 0."""
    above, below = np.broadcast_arrays(above, below)
    quotient = np.full(below.shape, np.nan)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def tolerance(values: Floats) -> float:
    """Return the largest difference that counts as rounding: 1e-9 standard deviations."""
    finite = values[np.isfinite(values)]
    return float(max(1e-9 * finite.std(), 1e-12 * np.abs(finite).max())) if finite.size else 0.0


def equalized(values: Floats) -> Floats:
    """Make values equal if they differ by at most their `tolerance`, along the last axis."""
    limit = tolerance(values)
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    run_start = np.broadcast_to(np.arange(values.shape[-1]), values.shape).copy()
    run_start[..., 1:][ordered[..., 1:] - ordered[..., :-1] <= limit] = 0
    first = np.take_along_axis(ordered, np.maximum.accumulate(run_start, axis=-1), axis=-1)
    values_of_runs = np.empty_like(values)
    np.put_along_axis(values_of_runs, order, first, axis=-1)
    return values_of_runs


#: The most pairs of units, or weights, in memory at once.
_AT_ONCE = 1 << 20


def coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Compute coefficients of many small samples (..., n) by broadcasting; NaN where undefined.

    Weights are bootstrap counts, or 0 where a unit is missing (its values may then be NaN).
    Correlations equal SciPy's on samples with repeated units.
    """
    names = list(statistics)
    arrays = x, y, 1.0 if weights is None else weights
    samples = [np.asarray(array, dtype=np.float64) for array in arrays]
    shape = np.broadcast_shapes(*(sample.shape for sample in samples))
    n = shape[-1]
    values, judgments, w = (np.broadcast_to(sample, shape).reshape(-1, n) for sample in samples)
    results = {name: np.empty(len(w)) for name in names}
    step = max(1, (1 << 16) // max(n**2, 1))
    for start in range(0, len(w), step):
        rows = slice(start, start + step)
        for name, computed in _of_samples(values[rows], judgments[rows], w[rows], names).items():
            results[name][rows] = computed
    return {name: computed.reshape(shape[:-1]) for name, computed in results.items()}


def _of_samples(x: Floats, y: Floats, w: Floats, names: list[str]) -> dict[str, Floats]:
    x, y = (np.where(w > 0, values, 0) for values in (x, y))
    results = {}
    if "pearson" in names:
        results["pearson"] = _pearson(_centered(x, w), _centered(y, w), w)
    if set(names) == {"pearson"}:
        return results
    signs_x, signs_y = (np.sign(values[:, :, None] - values[:, None]) for values in (x, y))

    def weighted(signs: Floats) -> Floats:
        return (signs @ w[:, :, None])[:, :, 0]

    if "spearman" in names:
        results["spearman"] = _pearson(weighted(signs_x), weighted(signs_y), w)
    if OF_PAIRS.keys() & set(names):
        products = signs_x * signs_y
        orders = (products, np.abs(signs_x), np.abs(signs_y), np.abs(products))
        sums = [np.einsum("bi,bi->b", w, weighted(signs)) / 2 for signs in orders]
        pairs = (w.sum(axis=1) ** 2 - (w**2).sum(axis=1)) / 2
        counts = PairCounts(sums[0], sums[1], sums[2], sums[3], pairs)
        results |= {name: OF_PAIRS[name](counts) for name in names if name in OF_PAIRS}
    return results


def _pearson(dx: Floats, dy: Floats, w: Floats) -> Floats:
    """Correlate centered values; each row is a sample."""
    wx = w * dx
    over = np.sqrt(np.einsum("bi,bi->b", wx, dx) * np.einsum("bi,bi,bi->b", w, dy, dy))
    # Only rounding can make a correlation exceed 1.
    return np.clip(divide(np.einsum("bi,bi->b", wx, dy), over), -1, 1)


def _centered(values: Floats, w: Floats) -> Floats:
    """Center values, after subtracting the first, so that a constant gives exact zeros."""
    values = np.broadcast_to(values, w.shape)
    first = np.take_along_axis(values, (w > 0).argmax(axis=1)[:, None], axis=1)
    moved = np.where(w > 0, values - first, 0)
    # Scale by a power of 2, which is exact, so that squares neither overflow nor underflow.
    moved = np.ldexp(moved, -np.frexp(np.abs(moved).max(axis=1, keepdims=True))[1])
    return moved - (w * moved).sum(axis=1, keepdims=True) / np.maximum(w.sum(axis=1), 1)[:, None]


def weighted_coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Correlate m variables (m, n) with one (n,) under each row of weights (r, n); return (m, r).

    The results equal those of `coefficients`. For many points, this function is faster: it sorts
    values once, computes ranks from cumulative weights, and counts pairs by runs of equal points.
    """
    names = list(statistics)
    x, y, weights = (np.asarray(array, dtype=np.float64) for array in (x, y, weights))
    results = {}
    if "pearson" in names:
        results["pearson"] = _pearson_of_points(x, y, weights)
    # Sums of counts and of ranks are exact in single precision while they are small.
    is_small = weights.sum(axis=1).max() * weights.max() < 2**23
    dtype = np.dtype(np.float32 if is_small else np.float64)
    step = max(16, 2 * _AT_ONCE // len(y))
    blocks = [
        np.ascontiguousarray(weights[start : start + step].T, dtype=dtype)
        for start in range(0, len(weights), step)
    ]
    if "spearman" in names:
        results["spearman"] = _spearman_of_points(x, y, blocks)
    if chosen := OF_PAIRS.keys() & set(names):
        counts = [_count_pairs(scores, y, blocks) for scores in x]
        results |= {name: np.stack([*map(OF_PAIRS[name], counts)]) for name in chosen}
    return results


def _pearson_of_points(x: Floats, y: Floats, w: Floats) -> Floats:
    u, v = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    u, v = (d / np.maximum(np.abs(d).max(axis=-1, keepdims=True), 1e-300) for d in (u, v))
    total = np.maximum(w.sum(axis=1), 1)
    sum_u, sum_v, square_u, square_v = (values @ w.T for values in (u, v, u * u, v * v))
    over_u, over_v = square_u - sum_u**2 / total, square_v - sum_v**2 / total
    # Where a resample hardly varies, sums of squares have lost precision.
    is_precise = (over_u > 1e-6 * square_u) & (over_v > 1e-6 * square_v)
    products = (u * v) @ w.T - sum_u * sum_v / total
    r = np.clip(products / np.sqrt(np.where(is_precise, over_u * over_v, 1)), -1, 1)
    for row in np.flatnonzero(~is_precise.all(axis=1)):
        flat = ~is_precise[row]
        r[row, flat] = _pearson(_centered(x[row], w[flat]), _centered(y, w[flat]), w[flat])
    return r


def _runs(*variables: NDArray[Any]) -> csr_array:
    """Return the (runs, points) matrix of equal points, sorted by the last variable first."""
    order = np.lexsort(variables)
    new = np.any([np.diff(variable[order]) != 0 for variable in variables], axis=0)
    ends = np.concatenate([[0], 1 + np.flatnonzero(new), [len(order)]])
    return csr_array((np.ones(len(order)), order, ends), shape=(len(ends) - 1, len(order)))


def _summed(runs: csr_array, w: Weights) -> Weights:
    """Sum over runs; with ties, sums are large and need double precision."""
    return w[runs.indices] if runs.shape[0] == len(w) else runs @ w


def _dot(a: Weights, b: Weights) -> Floats:
    return np.einsum("nr,nr->r", a, b, dtype=np.float64)


def _cumulate(sums: Weights) -> None:
    """Cumulate in place along the first axis, several times faster than NumPy's cumsum."""
    for row in range(1, len(sums)):
        sums[row] += sums[row - 1]


def _in_runs(w: NDArray[Any], width: int) -> NDArray[Any]:
    """Split points (n, r) into runs of equal width, padded with zeros: (runs, width, r)."""
    padded = np.zeros((-(-len(w) // width), width, w.shape[1]), dtype=w.dtype)
    padded.reshape(-1, w.shape[1])[: len(w)] = w
    return padded


def _spearman_of_points(x: Floats, y: Floats, blocks: list[Weights]) -> Floats:
    of_x, of_y = [_runs(scores) for scores in x], _runs(y)
    correlation = np.empty((len(x), 0))
    for w in blocks:
        # An average rank is the weight up to and including the run, minus half the run's own.
        total, tied, upto = w.sum(axis=0, dtype=np.float64), *_cumulated(of_y, w)
        ranks = of_y.T @ (upto - tied / 2 - total / 2).astype(w.dtype)
        weighted, over_y = (w * ranks).astype(w.dtype), total**3 - _dot(tied * tied, tied)
        untied = total**3 - _dot(w * w, w), _dot(w, weighted) / 2
        rows = []
        for runs_of_x in of_x:
            tied, upto = _cumulated(runs_of_x, w)
            of_runs = _summed(runs_of_x, weighted)
            over_x, within = untied
            if len(tied) < len(w):
                over_x, within = total**3 - _dot(tied * tied, tied), _dot(tied, of_runs) / 2
            rows.append(divide(12 * (_dot(upto, of_runs) - within), np.sqrt(over_x * over_y)))
        correlation = np.append(correlation, np.clip(rows, -1, 1), axis=1)
    return correlation


def _cumulated(runs: csr_array, w: Weights) -> tuple[Weights, Weights]:
    """Return the weight of each run of equal points, and the cumulative weight."""
    tied = _summed(runs, w)
    blocks = _in_runs(tied, math.ceil(math.sqrt(len(tied))))
    _cumulate(blocks.swapaxes(0, 1))
    ends = blocks[:, -1].copy()
    _cumulate(ends)
    blocks[1:] += ends[:-1, None]
    return tied, blocks.reshape(-1, w.shape[1])[: len(tied)]


def _count_pairs(x: Floats, y: Floats, blocks: list[Weights]) -> PairCounts:
    runs = _runs(x), _runs(y), _runs(y, x)
    inversions = _inversions(x, y)
    counts = []
    for w in blocks:
        copies = _dot(w, w)
        pairs = (w.sum(axis=0, dtype=np.float64) ** 2 - copies) / 2
        sums = (matrix @ w if matrix.shape[0] < len(w) else w for matrix in runs)
        tied_x, tied_y, tied_both = ((_dot(total, total) - copies) / 2 for total in sums)
        untied_both = pairs - tied_x - tied_y + tied_both
        balance = untied_both - 2 * inversions(w)
        counts.append([balance, pairs - tied_x, pairs - tied_y, untied_both, pairs])
    return PairCounts(*np.concatenate(counts, axis=1))


def _inversions(x: Floats, y: Floats) -> Callable[[Weights], Floats]:
    """Count pairs that x and y order differently, on a grid of runs of about sqrt(n) points.

    Pairs within a row (a run by x) or column (by y) are compared one by one, others by sums.
    """
    by_x, by_y = np.lexsort((y, x)), np.lexsort((x, y))
    width = math.ceil(math.sqrt(len(x)))
    place_x, place_y = np.argsort(by_x), np.argsort(by_y)
    n_cells = -(-len(x) // width)

    def inverted(rank: Ints) -> NDArray[np.float32]:
        runs = _in_runs(rank[:, None], width)[..., 0]
        return np.triu(runs[:, :, None] > runs[:, None]).astype(np.float32)

    rows, columns = inverted(place_y[by_x]), inverted((place_x // width)[by_y])
    cell = place_x // width * n_cells + place_y // width
    shape = n_cells**2, len(x)
    cells = csr_array((np.ones(len(x), dtype=np.float32), (cell, np.arange(len(x)))), shape=shape)

    def count(w: Weights) -> Floats:
        grid = (cells @ w).reshape(n_cells, n_cells, -1)
        later = grid[:0:-1].copy()  # later in the order of x, earlier in that of y
        _cumulate(later)
        _cumulate(later.swapaxes(0, 1))
        inversions = np.einsum("xyr,xyr->r", grid[:-1, 1:], later[::-1, :-1], dtype=np.float64)
        for order, pairs in ((by_x, rows), (by_y, columns)):
            blocks = _in_runs(w[order], width)
            inversions += np.einsum("xyr,xyr->r", blocks, pairs @ blocks, dtype=np.float64)
        return inversions

    return count


def pair_p_values(values: Floats) -> Floats:
    """Compute one-sided p for the first of each pair of columns (items, systems) being better.

    p is .5 where scores do not differ, and NaN where a system has no output. It is the normal limit
    of the paired permutation test of Thompson et al. (2024,
    https://aclanthology.org/2024.wmt-1.118), whose code counts sums at or above the observed one,
    so that its result depends on the order of systems. Systems that share fewer than two items are
    compared as unpaired samples.
    """
    sums = pair_sums(values).sum(axis=0, keepdims=True)
    return p_values_of_sums(sums, values.shape[1], tolerance(values))[0]


def pair_sums(values: Floats) -> Floats:
    """Compute each item's terms of the sums that `p_values_of_sums` needs."""
    defined = np.isfinite(values)
    # Subtracting a constant changes no comparison, and keeps sums of squares precise.
    center = np.where(defined, values, 0).sum() / max(defined.sum(), 1)
    filled = np.where(defined, values - center, 0)
    first, second = np.triu_indices(values.shape[1], 1)
    shared = defined[:, first] & defined[:, second]
    d = np.where(shared, filled[:, first] - filled[:, second], 0)
    return np.concatenate([shared, d, d * d, defined, filled, filled**2], axis=1)


def p_values_of_sums(sums: Floats, n_systems: int, least: float) -> Floats:
    """Compute `pair_p_values` of each row of sums; differences below `least` do not count."""
    first, second = np.triu_indices(n_systems, 1)
    ends = np.cumsum([len(first)] * 3 + [n_systems] * 2)
    shared, above, variance, count, total, square = np.split(sums, ends, axis=1)
    alone = shared < 2
    if alone.any():
        (n_i, n_j), (x_i, x_j) = ((one[:, first], one[:, second]) for one in (count, total))
        n = n_i + n_j
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = square[:, first] + square[:, second] - (x_i + x_j) ** 2 / n
            above = np.where(alone, x_i / n_i - x_j / n_j, above)
            variance = np.where(alone, spread / (n - 1) * (1 / n_i + 1 / n_j), variance)
    varies = variance > least**2
    p = ndtr(-divide(np.where(varies, above, 0), np.sqrt(np.where(varies, variance, 1))))
    return np.where(np.isfinite(above) & np.isfinite(variance), p, np.nan)
