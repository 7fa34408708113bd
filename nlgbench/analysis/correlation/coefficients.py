"""Coefficients of agreement between scores and judgments: arrays in, numbers out, many at once.

`coefficients` takes many small samples, `crossed_coefficients` those under many weightings,
`weighted_coefficients` one set of many points under many weightings; all rest on counts of pairs.
Tie calibration and soft accuracy look at more than signs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = NDArray[np.floating]


class PairCounts(NamedTuple):
    """Pairs of units, by how two variables order them.

    A unit with weight w counts w times; its copies are no pairs.
    """

    balance: Floats
    untied_x: Floats
    untied_y: Floats
    untied_both: Floats
    pairs: Floats


def kendall_b(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-b (1945, doi:10.1093/biomet/33.3.239)."""
    return divide(counts.balance, np.sqrt(counts.untied_x * counts.untied_y))


def pairwise_accuracy(counts: PairCounts) -> Floats:
    """Give the share of pairs that two variables order alike, ties included.

    Deutsch, Foster and Freitag (2023, *Ties Matter*, doi:10.18653/v1/2023.emnlp-main.798); without
    ties that of Kocmi et al. (2021, https://aclanthology.org/2021.wmt-1.57).
    """
    concordant = (counts.untied_both + counts.balance) / 2
    tied_both = counts.pairs - counts.untied_x - counts.untied_y + counts.untied_both
    return divide(concordant + tied_both, counts.pairs)


def chance_accuracy(counts: PairCounts) -> Floats:
    """Give the accuracy that scores dealt out at random would have, with these ties."""
    untied_x, untied_y = (
        divide(counts.untied_x, counts.pairs),
        divide(counts.untied_y, counts.pairs),
    )
    return untied_x * untied_y / 2 + (1 - untied_x) * (1 - untied_y)


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
    """Give the difference up to which values count as equal: rounding of means and of equal steps.

    The rule is that of HUSE's neighborhoods (``ties="exact"``): 1e-9 standard deviations. Where
    values hardly vary, 1e-12 of the largest.
    """
    finite = values[np.isfinite(values)]
    return float(max(1e-9 * finite.std(), 1e-12 * np.abs(finite).max())) if finite.size else 0.0


def equalized(values: Floats, limit: float | None = None) -> Floats:
    """Make values equal that differ by at most `limit` (their `tolerance`), along the last axis."""
    limit = tolerance(values) if limit is None else limit
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape).copy()
    place[..., 1:][ordered[..., 1:] - ordered[..., :-1] <= limit] = 0
    first = np.take_along_axis(ordered, np.maximum.accumulate(place, axis=-1), axis=-1)
    found = np.empty_like(values)
    np.put_along_axis(found, order, first, axis=-1)
    return found


#: Pairs of units that are held in memory at once: what the processor's cache holds.
_PAIRS_AT_ONCE = 1 << 16


def coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Compute coefficients of many small samples (..., n), which broadcast; NaN where undefined.

    Of ``pearson``, ``spearman``, ``kendall_b``, ``pairwise_accuracy`` and
    ``chance_accuracy``. Weights are counts of a bootstrap, or 0 where a unit is missing (its values
    may then be NaN). Time and memory go by the pairs of units: for samples of up to some hundreds.
    Correlations equal SciPy's on the sample written out.
    """
    names = list(statistics)
    x, y, w = _samples(x, y, weights)
    shape = np.broadcast_shapes(x.shape, y.shape, *([] if w is None else [w.shape]))[:-1]
    flat_x, flat_y = _flat(x, shape), _flat(y, shape)
    flat_w = None if w is None else _flat(w, shape)
    n = x.shape[-1]
    n_rows = int(np.prod(shape))
    step = max(1, _PAIRS_AT_ONCE // max(n * (n - 1) // 2, 1))
    found = {name: np.empty(n_rows) for name in names}
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        xs, ys = _part(flat_x, part), _part(flat_y, part)
        ws = None if flat_w is None else _part(flat_w, part)
        for name, values in _block(xs, ys, ws, names).items():
            found[name][part] = values
    return {name: values.reshape(shape) for name, values in found.items()}


def _samples(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    if w is not None:
        # An absent unit takes the value of a present one, so that it makes no difference.
        first = np.argmax(w > 0, axis=-1)[..., None]
        x, y = (np.where(w > 0, one, _at(one, first)) for one in (x, y))
        x, y = np.nan_to_num(x), np.nan_to_num(y)
    return x, y, w


def _at(values: Floats, place: NDArray[np.int64]) -> Floats:
    shape = np.broadcast_shapes(values.shape[:-1], place.shape[:-1])
    wide = np.broadcast_to(values, (*shape, values.shape[-1]))
    return np.take_along_axis(wide, np.broadcast_to(place, (*shape, 1)), axis=-1)


def _flat(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Put units first and samples second; a single sample for all stays single."""
    n = values.shape[-1]
    if values.size == n:
        return values.reshape(n, 1)
    wide = np.broadcast_to(values, (*shape, n)).reshape(-1, n)
    return np.ascontiguousarray(wide.T)


def _part(values: Floats, part: slice) -> Floats:
    return values if values.shape[1] == 1 else values[:, part]


def _block(xs: Floats, ys: Floats, ws: Floats | None, names: list[str]) -> dict[str, Floats]:
    """Compute coefficients of samples that lie along the second axis."""
    found = {}
    if "pearson" in names:
        found["pearson"] = _pearson(xs, ys, ws)
    if set(names) == {"pearson"}:
        return found
    sx, sy = _signs(xs), _signs(ys)
    if "spearman" in names:
        found["spearman"] = _pearson(_ranks(sx, ws, len(xs)), _ranks(sy, ws, len(xs)), ws)
    if OF_PAIRS.keys() & set(names):
        counts = _counts(xs, ys, sx, sy, ws)
        found |= {name: OF_PAIRS[name](counts) for name in names if name in OF_PAIRS}
    return found


def _pearson(xs: Floats, ys: Floats, ws: Floats | None) -> Floats:
    # Taking off the first value leaves exact zeros where a sample is constant.
    dx, dy = _scaled(xs - xs[0]), _scaled(ys - ys[0])
    if ws is None:
        dx, dy = dx - dx.mean(axis=0), dy - dy.mean(axis=0)
        wx, wy = dx, dy
    else:
        total = np.maximum(ws.sum(axis=0), 1)
        dx, dy = dx - (ws * dx).sum(axis=0) / total, dy - (ws * dy).sum(axis=0) / total
        wx, wy = ws * dx, ws * dy
    over = np.sqrt((wx * dx).sum(axis=0) * (wy * dy).sum(axis=0))
    # Beyond 1 is rounding only.
    return np.clip(divide((wx * dy).sum(axis=0), over), -1, 1)


def _scaled(values: Floats) -> Floats:
    """Scale by a power of 2, without rounding, so that no square over- or underflows."""
    return np.ldexp(values, -np.frexp(np.abs(values).max(axis=0))[1])


def _signs(xs: Floats) -> Floats:
    """Order every pair of units: 1 where the first is larger, -1 where the second is."""
    n = len(xs)
    signs = np.empty((n * (n - 1) // 2, xs.shape[1]))
    at = 0
    for i in range(n - 1):
        np.subtract(xs[i], xs[i + 1 :], out=signs[at : at + n - 1 - i])
        at += n - 1 - i
    return np.sign(signs, out=signs)


def _ranks(signs: Floats, ws: Floats | None, n: int) -> Floats:
    """Return twice the average ranks, centered."""
    ranks = np.zeros((n, signs.shape[1] if ws is None else max(signs.shape[1], ws.shape[1])))
    at = 0
    for i in range(n - 1):
        part = signs[at : at + n - 1 - i]
        ranks[i] += part.sum(axis=0) if ws is None else (ws[i + 1 :] * part).sum(axis=0)
        ranks[i + 1 :] -= part if ws is None else ws[i] * part
        at += n - 1 - i
    return ranks


def _counts(xs: Floats, ys: Floats, sx: Floats, sy: Floats, ws: Floats | None) -> PairCounts:
    n = len(xs)
    if ws is None:
        weight: Floats | float = 1.0
        pairs = np.array(n * (n - 1) / 2)
    else:
        first, second = np.triu_indices(n, 1)
        weight = ws[first] * ws[second]
        pairs = weight.sum(axis=0)
    both = sx * sy
    return PairCounts(
        balance=(both * weight).sum(axis=0),
        untied_x=(np.abs(sx) * weight).sum(axis=0),
        untied_y=(np.abs(sy) * weight).sum(axis=0),
        untied_both=(np.abs(both) * weight).sum(axis=0),
        pairs=pairs,
    )


#: Values, by sample and weighting, that are held in memory at once.
_CROSSED_AT_ONCE = 1 << 19
#: What `crossed_coefficients` computes.
CROSSED = ("pearson", "spearman", "kendall_b", "pairwise_accuracy", "chance_accuracy")


def crossed_coefficients(
    x: Floats, y: Floats, weights: Floats, *, statistics: Iterable[str]
) -> Iterator[tuple[slice, dict[str, Floats]]]:
    """Correlate the rows of x (m, k, n) with those of y (k, n) under each of the weights (r, n).

    Equal to `coefficients` to the last bits, for few units and many rows and weightings: of
    `CROSSED`, (m, rows, r), some rows at a time. x is NaN where y is. What is counted by units and
    pairs of units are matrix products.
    """
    names = list(statistics)
    (m, k, n), r = x.shape, len(weights)
    # Sums of products of three weights are exact in single precision while they are small.
    dtype = np.float32 if weights.sum(axis=1).max() ** 3 < 2**24 else np.float64
    first, second = np.triu_indices(n, 1)
    of_units: Weights = np.ascontiguousarray(weights.T).astype(dtype)
    of_pairs: Weights = of_units[first] * of_units[second]
    step = max(1, _CROSSED_AT_ONCE // (m * max(r, n * n)))
    for start in range(0, k, step):
        rows = slice(start, start + step)
        xs, ys, there = x[:, rows], y[rows], np.isfinite(y[rows])
        found = {}
        if "pearson" in names:
            found["pearson"] = _crossed_pearson(xs, ys, there, weights)
        if "spearman" in names:
            found["spearman"] = _crossed_spearman(xs, ys, of_units)
        if OF_PAIRS.keys() & set(names):
            counts = _crossed_counts(xs, ys, there, of_pairs)
            found |= {name: OF_PAIRS[name](counts) for name in names if name in OF_PAIRS}
        yield rows, found


def _crossed_pearson(xs: Floats, ys: Floats, there: NDArray[np.bool_], weights: Floats) -> Floats:
    u, v = (_centered(np.where(there, one, 0), there) for one in (xs, ys))
    by_unit = weights.T
    total = np.maximum(there @ by_unit, 1)
    sum_u, sum_v, square_u, square_v = (one @ by_unit for one in (u, v, u * u, v * v))
    over_u, over_v = square_u - sum_u**2 / total, square_v - sum_v**2 / total
    # Where a resample's units are nearly alike, sums of squares have lost their digits.
    sure = (over_u > 1e-6 * square_u) & (over_v > 1e-6 * square_v)
    products = (u * v) @ by_unit - sum_u * sum_v / total
    found = np.clip(products / np.sqrt(np.where(sure, over_u * over_v, 1)), -1, 1)
    of, row, resample = np.nonzero(~sure)
    step = max(1, _CROSSED_AT_ONCE // weights.shape[1])
    for start in range(0, len(of), step):
        part = slice(start, start + step)
        i, j, k = of[part], row[part], resample[part]
        few = xs[i, j], ys[j], weights[k] * there[j]
        found[i, j, k] = coefficients(*few, statistics=["pearson"])["pearson"]
    return found


def _centered(values: Floats, there: NDArray[np.bool_]) -> Floats:
    """Take the mean of those there off, so that the largest is 1; what is not there is 0."""
    mean = values.sum(axis=-1, keepdims=True) / np.maximum(there.sum(axis=-1, keepdims=True), 1)
    centered = np.where(there, values - mean, 0)
    return centered / np.maximum(np.abs(centered).max(axis=-1, keepdims=True), 1e-300)


def _crossed_spearman(xs: Floats, ys: Floats, of_units: Weights) -> Floats:
    """Correlate twice the average ranks, centered: how many are below, less how many above."""
    shape = (*xs.shape[:2], of_units.shape[1])
    above, over_x = np.zeros(shape, of_units.dtype), np.zeros(shape, of_units.dtype)
    over_y = np.zeros(shape[1:], of_units.dtype)
    for unit, weight in enumerate(of_units):
        ranks_x, ranks_y = (
            np.nan_to_num(np.sign(one[..., unit, None] - one)).astype(of_units.dtype) @ of_units
            for one in (xs, ys)
        )
        weighted = ranks_x * weight
        above += weighted * ranks_y
        over_x += np.multiply(weighted, ranks_x, out=weighted)
        over_y += weight * ranks_y**2
    over = np.sqrt(over_x.astype(np.float64) * over_y)
    return np.clip(divide(above.astype(np.float64), over), -1, 1)


def _crossed_counts(
    xs: Floats, ys: Floats, there: NDArray[np.bool_], of_pairs: Weights
) -> PairCounts:
    first, second = np.triu_indices(xs.shape[-1], 1)
    sx, sy = (
        np.nan_to_num(np.sign(one[..., first] - one[..., second])).astype(of_pairs.dtype)
        for one in (xs, ys)
    )
    both, shared = sx * sy, (there[:, first] & there[:, second]).astype(of_pairs.dtype)
    balance, untied_x, untied_y, untied_both, pairs = (
        (one @ of_pairs).astype(np.float64)
        for one in (both, np.abs(sx), np.abs(sy), np.abs(both), shared)
    )
    return PairCounts(balance, untied_x, untied_y, untied_both, pairs)


#: Weights that are held in memory at once.
_WEIGHTS_AT_ONCE = 1 << 21
#: Up to this many points all pairs are looked at.
_FEW = 64


def weighted_coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Correlate several variables (m, n) with one (n,) under each row of weights (r, n): (m, r).

    Equal to `coefficients` to the last bits, for many points: what does not depend on the weights
    (orders, ties, which pairs disagree) is found once, and each resample costs a few passes.
    Pearson is five weighted sums. Spearman: average ranks under weights are cumulated weights in
    sorted order. Kendall: discordant pairs are counted on a grid of about ``sqrt(n)`` by
    ``sqrt(n)`` cells of positions; pairs in different rows and columns by cumulated sums, the
    others within their row or column, by matrix products: about ``n^1.5`` multiplications. Ties are
    broken so that no tied pair is discordant, and counted by themselves (Knight 1966,
    doi:10.1080/01621459.1966.10480879).
    """
    names = list(statistics)
    x, y, w = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64), np.asarray(weights)
    found = {name: np.empty((len(x), len(w))) for name in names}
    if "pearson" in names:
        found["pearson"] = _weighted_pearson(x, y, np.asarray(w, dtype=np.float64).T)
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


def _by_points(weights: NDArray) -> Weights:
    """Lay weights out by points; in single precision where every sum of them is exact."""
    small = weights.sum(axis=1).max() * weights.max() < 2**23
    return np.ascontiguousarray(weights.T, dtype=np.float32 if small else np.float64)


def _parts(w: Weights) -> list[Weights]:
    """Cut resamples into parts that the processor's cache holds."""
    step = max(16, _WEIGHTS_AT_ONCE // len(w))
    return [np.ascontiguousarray(w[:, at : at + step]) for at in range(0, w.shape[1], step)]


def _weighted_pearson(x: Floats, y: Floats, w: Floats) -> Floats:
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
    ranks, over_y = _weighted_ranks(of_y, w)
    weighted_ranks = w * ranks
    # Without ties the same for every x.
    untied, own = cubes - _dot(w * w, w), _dot(w, weighted_ranks)
    products, sums = np.empty_like(w), _zeros(w)
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
            # Sums over thousands of ties are beyond what single precision holds exactly.
            tied = (groups @ w).astype(np.float64)
            of_groups = groups.astype(np.float64) @ weighted_ranks
            over = cubes - _dot(tied * tied, tied)
            above = _dot(_cumulated(tied), of_groups) - _dot(tied, of_groups) / 2
        below = np.sqrt(over / 12 * over_y)
        below[(over == 0) | (over_y == 0)] = np.nan
        found[number] = np.clip(above / below, -1, 1)
    return found


def _weighted_ranks(groups: csr_array, w: Weights) -> tuple[Weights, Floats]:
    """Return average ranks of points, centered, and the weighted sum of their squares."""
    tied = groups @ w
    total = w.sum(axis=0)
    middle = _cumulated(tied) - tied / 2 - total / 2
    group = np.empty(len(w), dtype=np.int64)
    group[groups.indices] = np.repeat(np.arange(groups.shape[0]), np.diff(groups.indptr))
    ranks, exact = middle[group], tied.astype(np.float64)
    return ranks, (total.astype(np.float64) ** 3 - _dot(exact * exact, exact)) / 12


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


def _zeros(w: Weights) -> Weights:
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
    sums = _zeros(w)
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


def tie_calibration(x: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    """Give the accuracy at every threshold up to which scores count as tied: epsilon, accuracy.

    x and y are (groups, n) or (n,), NaN where missing; pairs are within a group, such as an item;
    one epsilon serves all groups, and each weighs the same (Deutsch, Foster and Freitag 2023, *Ties
    Matter*, doi:10.18653/v1/2023.emnlp-main.798). Time and memory go with the number of pairs.
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
    """Choose the threshold of the highest accuracy, the smallest of several; NaN without any."""
    if thresholds.empty:
        return float("nan")
    # Sums of the same pairs in another order differ in their last bits.
    best = thresholds["accuracy"].to_numpy().round(12).argmax()
    return float(thresholds["epsilon"].iloc[best])


def calibrated_accuracies(x: Floats, ys: Floats) -> Floats:
    """Give the accuracy of scores (n,) at the best threshold, against each of judgments (r, n)."""
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
    """Give each group's accuracy with scores tied up to `epsilon`, for all or for each group.

    Weights say how often a unit counts; NaN where a group has no pair.
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
    """Give `accuracy_at` of one group of many points (n,) under each row of weights (r, n)."""
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
    first, second = np.triu_indices(a.shape[1], 1)
    return _cleared(a[:, first] - a[:, second], a), _cleared(b[:, first] - b[:, second], b)


def _cleared(differences: Floats, values: Floats) -> Floats:
    """Set differences to 0 that rounding alone can have made."""
    return np.where(np.abs(differences) <= tolerance(values), 0.0, differences)


def pair_confidences(values: Floats, weights: Floats) -> Floats:
    """Give p that the first of two systems is better, for all pairs, under weightings of items.

    Values are (items, systems), weights (r, items), the result (r, pairs) with pairs as
    `numpy.triu_indices` has them: one half where nothing differs, NaN where a system has no output.
    p is one-sided, the normal limit of a paired permutation test, as for the soft pairwise accuracy
    of Thompson, Mathur, Deutsch and Khayrallah (2024, https://aclanthology.org/2024.wmt-1.118).
    Their code counts, of 1,000 permutations, those at or above the observed sum, so that there the
    order of systems matters where judgments are discrete. Systems that share fewer than two items
    are compared as unpaired samples.
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
