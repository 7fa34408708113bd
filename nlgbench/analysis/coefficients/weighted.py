"""Coefficients of one set of many points under many weightings, such as bootstrap counts.

What does not depend on the weights (orders, ties, which pairs disagree) is found once; each
resample then costs a few passes over the points.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from nlgbench.analysis.coefficients.pair_statistics import OF_PAIRS, Floats, PairCounts
from nlgbench.analysis.coefficients.unweighted import coefficients

Ints = NDArray[np.int64]
Weights = NDArray[np.floating]

#: Weights that are held in memory at once.
_BLOCK = 1 << 21
#: Up to this many points all pairs are looked at.
_FEW = 64


def weighted_coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Correlate several variables with one, under each row of weights.

    Parameters
    ----------
    x : array-like of shape (m, n)
        Scores of m evaluators for n points, finite.
    y : array-like of shape (n,)
        Judgments, finite.
    weights : array-like of shape (r, n)
        How often each point is in each resample: whole numbers, at least 0.
    statistics : iterable of str
        As in `coefficients`.

    Returns
    -------
    dict of ndarray of shape (m, r)
        As `coefficients` would compute them; equal to the last bits.

    Raises
    ------
    ValueError
        When shapes disagree or a value is not finite.

    Notes
    -----
    Pearson is five weighted sums. Spearman: average ranks under weights are cumulated weights in
    sorted order. Kendall: discordant pairs are counted on a grid of about ``sqrt(n)`` by
    ``sqrt(n)`` cells of positions; pairs in different rows and columns by cumulated sums, the
    others within their row or column, by matrix products: about ``n^1.5`` multiplications.
    Ties are broken so that no tied pair is discordant, and counted by themselves (Knight 1966,
    doi:10.1080/01621459.1966.10480879).

    Examples
    --------
    >>> found = weighted_coefficients([[1.0, 2.0, 4.0]], [1.0, 3.0, 2.0], [[1, 1, 1], [2, 1, 0]],
    ...                               statistics=["spearman", "kendall_b"])
    >>> found["spearman"].tolist()
    [[0.5, 1.0]]
    """
    names = list(statistics)
    x, y, w = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64), np.asarray(weights)
    if x.ndim != 2 or y.shape != x.shape[1:] or w.ndim != 2 or w.shape[1:] != y.shape or not y.size:
        raise ValueError(
            "x must be of shape (evaluators, points), y (points,), weights (resamples, points). "
            f"Got {x.shape}, {y.shape}, {w.shape}."
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("x and y must be finite: leave points out where one is missing.")
    found = {name: np.empty((len(x), len(w))) for name in names}
    if "pearson" in names:
        found["pearson"] = _pearson(x, y, np.asarray(w, dtype=np.float64).T)
    by_points = _by_points(w)
    if "spearman" in names:
        of_x, of_y = [_groups(one) for one in x], _groups(y)
        parts = [_spearman(of_x, of_y, part) for part in _parts(by_points)]
        found["spearman"] = np.concatenate(parts, axis=1)
    wanted = [name for name in names if name in OF_PAIRS]
    for number in range(len(x)) if wanted else ():
        counts = _pair_counts(x[number], y, by_points)
        for name in wanted:
            found[name][number] = OF_PAIRS[name](counts)
    return found


def weighted_pair_counts(x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> PairCounts:
    """Count pairs of points, as `coefficients.pair_counts`, in about ``n^1.5`` steps a resample.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Finite.
    weights : array-like of shape (r, n)
        As in `weighted_coefficients`.

    Returns
    -------
    PairCounts
        Arrays of shape (r,).

    Examples
    --------
    >>> weighted_pair_counts([1.0, 2.0, 4.0], [1.0, 3.0, 2.0], [[1, 1, 1], [2, 1, 0]]).balance
    array([1., 2.])
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _pair_counts(x, y, _by_points(np.asarray(weights)))


def _by_points(weights: NDArray) -> Weights:
    """Lay weights out by points; in single precision where every sum of them is exact."""
    small = weights.sum(axis=1).max() * weights.max() < 2**23
    return np.ascontiguousarray(weights.T, dtype=np.float32 if small else np.float64)


def _parts(w: Weights) -> list[Weights]:
    """Cut resamples into parts that the processor's cache holds."""
    step = max(16, _BLOCK // len(w))
    return [np.ascontiguousarray(w[:, at : at + step]) for at in range(0, w.shape[1], step)]


def _pearson(x: Floats, y: Floats, w: Floats) -> Floats:
    u, v = (one - one.mean(axis=-1, keepdims=True) for one in (x, y))
    # Without scaling squares could over- or underflow.
    u, v = (one / np.maximum(np.abs(one).max(axis=-1, keepdims=True), 1e-300) for one in (u, v))
    total = np.maximum(w.sum(axis=0), 1)
    mean_u, mean_v = u @ w / total, v @ w / total
    square_u, square_v = (u * u) @ w, (v * v) @ w
    over_u, over_v = square_u - total * mean_u**2, square_v - total * mean_v**2
    # Where a resample's points are nearly alike, sums of squares have lost their digits.
    sure = (over_u > 1e-6 * square_u) & (over_v > 1e-6 * square_v)
    products = (u * v) @ w - total * mean_u * mean_v
    found = np.clip(products / np.sqrt(np.where(sure, over_u * over_v, 1)), -1, 1)
    for evaluator, resample in zip(*np.nonzero(~sure), strict=True):
        few = np.flatnonzero(w[:, resample])
        values = x[evaluator, few], y[few], w[few, resample]
        found[evaluator, resample] = (
            coefficients(*values, statistics=["pearson"])["pearson"] if len(few) else np.nan
        )
    return found


def _dot(a: Weights, b: Weights) -> Floats:
    return np.einsum("nr,nr->r", a, b, dtype=np.float64)


def _spearman(of_x: list[csr_array], of_y: csr_array, w: Weights) -> Floats:
    cubes = w.sum(axis=0, dtype=np.float64) ** 3
    ranks, over_y = _ranks(of_y, w)
    weighted_ranks = w * ranks
    # Without ties the same for every x.
    untied, own = cubes - _dot(w * w, w), _dot(w, weighted_ranks)
    products, sums = np.empty_like(w), _room(w)
    found = np.empty((len(of_x), w.shape[1]))
    for number, groups in enumerate(of_x):
        if groups.shape[0] == len(w):
            upto = sums.reshape(-1, w.shape[1])[: len(w)]
            np.take(w, groups.indices, axis=0, out=upto, mode="clip")
            np.take(weighted_ranks, groups.indices, axis=0, out=products, mode="clip")
            _cumulate(sums)
            # A rank is in the middle of its group; the total's half falls out, as ranks sum to 0.
            above, over = _dot(upto, products) - own / 2, untied
        else:
            tied, of_groups = groups @ w, groups @ weighted_ranks
            over = cubes - _dot(tied * tied, tied)
            above = _dot(_cumulated(tied), of_groups) - _dot(tied, of_groups) / 2
        below = np.sqrt(over / 12 * over_y)
        below[(over == 0) | (over_y == 0)] = np.nan
        found[number] = np.clip(above / below, -1, 1)
    return found


def _ranks(groups: csr_array, w: Weights) -> tuple[Weights, Floats]:
    """Return average ranks of points, centered, and the weighted sum of their squares."""
    tied = groups @ w
    total = w.sum(axis=0)
    middle = _cumulated(tied) - tied / 2 - total / 2
    group = np.empty(len(w), dtype=np.int64)
    group[groups.indices] = np.repeat(np.arange(groups.shape[0]), np.diff(groups.indptr))
    ranks = middle[group]
    return ranks, (total.astype(np.float64) ** 3 - _dot(tied * tied, tied)) / 12


def _groups(values: Floats) -> csr_array:
    """Mark which points share each value: a row for each value, in ascending order."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return _runs(order, ordered[1:] != ordered[:-1])


def _runs(order: Ints, differ: NDArray[np.bool_]) -> csr_array:
    """Mark the points of each run in an order; `differ` tells where a new one starts."""
    starts = np.append(0, 1 + np.flatnonzero(differ))
    ones = np.ones(len(order), dtype=np.float32)
    shape = (len(starts), len(order))
    return csr_array((ones, order, np.append(starts, len(order))), shape=shape)


def _room(w: Weights) -> Weights:
    """Make zeros for as many rows, cut into about sqrt(n) runs."""
    width = int(np.ceil(np.sqrt(len(w))))
    return np.zeros((-(-len(w) // width), width, w.shape[1]), dtype=w.dtype)


def _cumulate(sums: Weights) -> None:
    """Cumulate in place over runs of rows; NumPy's own cumsum is several times slower here."""
    for at in range(1, sums.shape[1]):
        sums[:, at] += sums[:, at - 1]
    for at in range(1, len(sums)):
        sums[at] += sums[at - 1, -1]


def _cumulated(w: Weights) -> Weights:
    sums = _room(w)
    flat = sums.reshape(-1, w.shape[1])
    flat[: len(w)] = w
    _cumulate(sums)
    return flat[: len(w)]


def _pair_counts(x: Floats, y: Floats, w: Weights) -> PairCounts:
    order_x, order_y = np.lexsort((y, x)), np.lexsort((x, y))
    place = np.empty(len(x), dtype=np.int64)
    place[order_y] = np.arange(len(x))
    inversions = _Inversions(place[order_x])
    other_x, other_y = np.diff(x[order_x]) != 0, np.diff(y[order_y]) != 0
    groups = [
        _runs(order_x, other_x),
        _runs(order_y, other_y),
        _runs(order_x, other_x | (np.diff(y[order_x]) != 0)),
    ]
    parts = []
    for part in _parts(w):
        size, copies = part.sum(axis=0, dtype=np.float64), _dot(part, part)
        tied = [part if one.shape[0] == len(x) else one @ part for one in groups]
        squares = [copies if one is part else _dot(one, one) for one in tied]
        untied_x, untied_y = ((size**2 - square) / 2 for square in squares[:2])
        pairs = (size**2 - copies) / 2
        untied_both = untied_x + untied_y - pairs + (squares[2] - copies) / 2
        parts.append(
            PairCounts(
                balance=untied_both - 2 * inversions(part[order_x], part[order_y]),
                untied_x=untied_x,
                untied_y=untied_y,
                untied_both=untied_both,
                pairs=pairs,
                distinct_x=(tied[0] > 0).sum(axis=0).astype(np.float64),
                distinct_y=(tied[1] > 0).sum(axis=0).astype(np.float64),
                size=size,
            )
        )
    return PairCounts(*(np.concatenate(one) for one in zip(*parts, strict=True)))


class _Inversions:
    """Sums of weights' products over the pairs that a permutation turns around."""

    def __init__(self, place: Ints) -> None:
        n = len(place)
        self.width = n if n <= _FEW else max(_FEW, int(np.ceil(np.sqrt(n))))
        self.n_cells = -(-n // self.width)
        self.rows = self._inverted(place)
        if self.n_cells > 1:
            inverse = np.empty(n, dtype=np.int64)
            inverse[place] = np.arange(n)
            # Of pairs in one column of the grid, those in one row have been counted.
            self.columns = self._inverted(inverse // self.width)
            cell = (np.arange(n) // self.width) * self.n_cells + place // self.width
            ones, shape = np.ones(n, dtype=np.float32), (self.n_cells**2, n)
            self.into_cells = csr_array((ones, (cell, np.arange(n))), shape=shape)

    def _inverted(self, place: Ints) -> list[NDArray[np.float32]]:
        """Mark the inverted pairs within each run of positions."""
        runs = [place[at : at + self.width] for at in range(0, len(place), self.width)]
        return [np.triu(run[:, None] > run[None, :]).astype(np.float32) for run in runs]

    def __call__(self, by_x: Weights, by_y: Weights) -> Floats:
        found = self._within(self.rows, by_x)
        if self.n_cells == 1:
            return found
        found += self._within(self.columns, by_y)
        grid = (self.into_cells @ by_x).reshape(self.n_cells, self.n_cells, -1)
        turned = np.zeros_like(grid)  # The sum of what lies later in x and earlier in y.
        for at in range(self.n_cells - 2, -1, -1):
            np.add(turned[at + 1, 1:], grid[at + 1, :-1], out=turned[at, 1:])
        for at in range(1, self.n_cells):
            turned[:, at] += turned[:, at - 1]
        return found + _dot(grid.reshape(-1, len(found)), turned.reshape(-1, len(found)))

    def _within(self, inverted: list[NDArray[np.float32]], w: Weights) -> Floats:
        sums = np.empty_like(w)
        for number, pairs in enumerate(inverted):
            run = slice(number * self.width, (number + 1) * self.width)
            np.matmul(pairs, w[run], out=sums[run])
        return _dot(w, sums)
