"""Coefficients of agreement between scores and judgments: arrays in, numbers out, many at once.

`coefficients` takes many small samples, `crossed_coefficients` those under many weightings,
`weighted_coefficients` one set of many points under many weightings, `coefficients_without` that
without each group of points; all rest on counts of pairs. Tie calibration and soft accuracy look at
more than signs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr
from scipy.stats import rankdata

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
    distinct_x: Floats
    distinct_y: Floats
    size: Floats


def kendall_b(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-b (1945, doi:10.1093/biomet/33.3.239)."""
    return divide(counts.balance, np.sqrt(counts.untied_x * counts.untied_y))


def kendall_c(counts: PairCounts) -> Floats:
    """Compute Stuart's tau-c (1953, doi:10.1093/biomet/40.1-2.105).

    The copies of a unit are ties, as in SciPy on the sample written out: perfect agreement of
    twelve systems falls to .97 on the average of resamples.
    """
    m = np.minimum(counts.distinct_x, counts.distinct_y)
    return divide(2 * m * counts.balance, counts.size**2 * (m - 1))


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
    "kendall_c": kendall_c,
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

    Of ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c``, ``pairwise_accuracy`` and
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
        counts = _counts(xs, ys, sx, sy, ws, distinct="kendall_c" in names)
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


def _counts(
    xs: Floats, ys: Floats, sx: Floats, sy: Floats, ws: Floats | None, *, distinct: bool
) -> PairCounts:
    n = len(xs)
    if ws is None:
        weight: Floats | float = 1.0
        size, pairs = np.array(float(n)), np.array(n * (n - 1) / 2)
    else:
        first, second = np.triu_indices(n, 1)
        weight = ws[first] * ws[second]
        size, pairs = ws.sum(axis=0), weight.sum(axis=0)
    both = sx * sy
    return PairCounts(
        balance=(both * weight).sum(axis=0),
        untied_x=(np.abs(sx) * weight).sum(axis=0),
        untied_y=(np.abs(sy) * weight).sum(axis=0),
        untied_both=(np.abs(both) * weight).sum(axis=0),
        pairs=pairs,
        distinct_x=_distinct(xs, ws) if distinct else size,
        distinct_y=_distinct(ys, ws) if distinct else size,
        size=size,
    )


def _distinct(xs: Floats, ws: Floats | None) -> Floats:
    """Count different values; an absent unit has a present one's value."""
    ordered = np.sort(xs, axis=0)
    found = 1 + (ordered[1:] != ordered[:-1]).sum(axis=0).astype(np.float64)
    return found if ws is None else np.where(ws.sum(axis=0) > 0, found, 0)


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
    size = np.array(np.nan)  # of no use to what is computed here
    balance, untied_x, untied_y, untied_both, pairs = (
        (one @ of_pairs).astype(np.float64)
        for one in (both, np.abs(sx), np.abs(sy), np.abs(both), shared)
    )
    return PairCounts(balance, untied_x, untied_y, untied_both, pairs, size, size, size)


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


class _Points(NamedTuple):
    """Of each point, how many others of its group stand in which order to it."""

    balance: Ints  # that agree in order by both variables, less those that disagree
    untied_x: Ints
    untied_y: Ints
    untied_both: Ints
    below_x: Ints  # lower in x; the rest are equal, with the point itself, or higher
    below_y: Ints
    size: Ints  # of the group, with the point itself


def coefficients_without(
    x: Floats, y: Floats, group: Ints, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Correlate several variables (m, n) with one (n,) without each group of points: (m, groups).

    Equal to `weighted_coefficients` with weights 0 and 1 to the last bits. A sum over pairs without
    a group is the sum over all, less what the group's points have with all, plus what they have
    among themselves, as that was taken off twice: each point's pairs are counted once, by sorting.
    So is Spearman, but for ``sum_i d_i e_i`` over all points, d_i and e_i how many of the group lie
    below i less how many above, by x and y: that takes n steps for each group.
    """
    names = list(statistics)
    n_groups = int(group.max()) + 1
    found = {name: np.empty((len(x), n_groups)) for name in names}
    if "pearson" in names:
        found["pearson"] = _pearson_without(x, y, group, n_groups)
    if set(names) <= {"pearson"}:
        return found
    one = np.zeros(len(y), dtype=np.int64)
    points = [(_pairs_of_points(each, y, one), _pairs_of_points(each, y, group)) for each in x]
    wanted = [name for name in names if name in OF_PAIRS]
    for number, both in enumerate(points) if wanted else ():
        counts = _counts_without(*both, group, n_groups)
        for name in wanted:
            found[name][number] = OF_PAIRS[name](counts)
    if "spearman" in names:
        found["spearman"] = _spearman_without(x, points, group, n_groups)
    return found


def many_points(x: Floats, y: Floats, statistic: str) -> Floats:
    """Correlate each row of x (r, n) with y (n,), for many points: (r,)."""
    if statistic in OF_PAIRS:
        one = np.zeros(len(y), dtype=np.int64)
        return np.array([_of_all_pairs(_pairs_of_points(each, y, one), statistic) for each in x])
    if statistic == "spearman":
        x, y = rankdata(x, axis=1), rankdata(y)
    # The first value off makes exact zeros of a constant.
    x, y = x - x[:, :1], y - y[0]
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean()
    over = np.sqrt((x * x).sum(axis=1) * (y @ y))
    return np.clip(divide(x @ y, over), -1, 1)


def _of_all_pairs(points: _Points, statistic: str) -> float:
    n = np.array(float(len(points.size)))
    counts = PairCounts(
        balance=points.balance.sum() / np.array(2.0),
        untied_x=points.untied_x.sum() / np.array(2.0),
        untied_y=points.untied_y.sum() / np.array(2.0),
        untied_both=points.untied_both.sum() / np.array(2.0),
        pairs=n * (n - 1) / 2,
        distinct_x=np.rint((1 / (points.size - points.untied_x)).sum()),
        distinct_y=np.rint((1 / (points.size - points.untied_y)).sum()),
        size=n,
    )
    return float(OF_PAIRS[statistic](counts))


def _pearson_without(x: Floats, y: Floats, group: Ints, n_groups: int) -> Floats:
    def without(values: Floats) -> Floats:
        return values.sum() - np.bincount(group, weights=values, minlength=n_groups)

    total = len(y) - np.bincount(group, minlength=n_groups)
    at_least = np.maximum(total, 1)
    u, v = (_centered(one, np.ones(one.shape, dtype=bool)) for one in (x, y))
    over_v = without(v * v) - without(v) ** 2 / at_least
    found = np.empty((len(x), n_groups))
    for number, one in enumerate(u):
        over_u = without(one * one) - without(one) ** 2 / at_least
        # Where what is left is nearly alike, or next to nothing, sums have lost their digits.
        sure = (over_u > 1e-4 * (one * one).sum()) & (over_v > 1e-4 * (v * v).sum())
        products = without(one * v) - without(one) * without(v) / at_least
        found[number] = np.clip(products / np.sqrt(np.where(sure, over_u * over_v, 1)), -1, 1)
        for at in np.flatnonzero(~sure):
            few = group != at
            values = x[number, few], y[few]
            found[number, at] = (
                coefficients(*values, statistics=["pearson"])["pearson"] if few.any() else np.nan
            )
    return found


def _pairs_of_points(x: Floats, y: Floats, group: Ints) -> _Points:
    """Count each point's pairs within its group."""
    sizes = np.bincount(group)
    start, size = (np.cumsum(sizes) - sizes)[group], sizes[group]
    order = np.lexsort((y, x, group))
    first_x, end_x = _runs_of_points(order, x, group)
    first_both, end_both = _runs_of_points(order, x, group, y)
    position = np.empty(len(x), dtype=np.int64)
    position[order] = np.arange(len(x))
    # Points that are equal by x descend in y; those that are equal by y descend in position: so a
    # lower place at an earlier position is lower by both.
    position = first_x + end_x - 1 - position
    order_y = np.lexsort((position, y, group))
    first_y, end_y = _runs_of_points(order_y, y, group)
    place = np.empty(len(x), dtype=np.int64)
    place[order_y] = np.arange(len(x))
    place = first_y + end_y - 1 - place
    by_position = np.empty(len(x), dtype=np.int64)
    by_position[position] = place
    lower_both = _lower_before(by_position)[position] - start
    below_x, below_y, equal_both = first_x - start, first_y - start, end_both - first_both
    # Lower by one variable and equal by the other.
    lower_y = first_both - first_x
    by_both = np.lexsort((x, y, group))
    lower_x = _runs_of_points(by_both, x, group, y)[0] - first_y
    lower_higher = below_x - lower_both - lower_x
    higher_lower = below_y - lower_both - lower_y
    higher_equal = end_y - first_y - equal_both - lower_x
    higher_both = start + size - end_x - higher_lower - higher_equal
    alike, other = lower_both + higher_both, lower_higher + higher_lower
    return _Points(
        balance=alike - other,
        untied_x=size - (end_x - first_x),
        untied_y=size - (end_y - first_y),
        untied_both=alike + other,
        below_x=below_x,
        below_y=below_y,
        size=size,
    )


def _runs_of_points(order: Ints, *values: NDArray) -> tuple[Ints, Ints]:
    """Say of each point where the run of equal points begins and ends that it is in."""
    starts = np.append(True, np.zeros(len(order) - 1, dtype=bool))
    for one in values:
        starts[1:] |= np.diff(one[order]) != 0
    begins = np.flatnonzero(starts)
    run = np.cumsum(starts) - 1
    first, end = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    first[order], end[order] = begins[run], np.append(begins[1:], len(order))[run]
    return first, end


def _lower_before(places: Ints) -> Ints:
    """Count for each of a permutation's places the lower ones before it, a binary digit at a time.

    Places that share their upper digits stand together, in the order of the permutation: those
    whose next digit is 1 are above those before them whose next digit is 0.
    """
    found, at, places = np.zeros_like(places), np.arange(len(places)), places.copy()
    for digit in reversed(range(len(places).bit_length())):
        half = 1 << digit
        one = (places & half) != 0
        begin = places & -(2 * half)
        zeros = np.cumsum(~one) - ~one - begin // 2  # before it, of those that stand together
        found[at[one]] += zeros[one]
        ones = np.arange(len(places)) - begin - zeros
        to = begin + np.where(one, half + ones, zeros)
        moved, at_moved = np.empty_like(places), np.empty_like(at)
        moved[to], at_moved[to] = places, at
        places, at = moved, at_moved
    return found


def _counts_without(whole: _Points, own: _Points, group: Ints, n_groups: int) -> PairCounts:
    def pairs(of_all: Ints, of_own: Ints) -> Floats:
        inner = np.bincount(group, weights=of_own - 2 * of_all, minlength=n_groups)
        return (of_all.sum() + inner) / 2

    def distinct(untied: Ints, untied_own: Ints) -> Floats:
        # A value goes when all that have it are of the group.
        equal = whole.size - untied
        gone = (equal == own.size - untied_own) / equal
        return np.rint((1 / equal).sum() - np.bincount(group, weights=gone, minlength=n_groups))

    size = np.asarray(len(group) - np.bincount(group, minlength=n_groups), dtype=np.float64)
    return PairCounts(
        balance=pairs(whole.balance, own.balance),
        untied_x=pairs(whole.untied_x, own.untied_x),
        untied_y=pairs(whole.untied_y, own.untied_y),
        untied_both=pairs(whole.untied_both, own.untied_both),
        pairs=size * (size - 1) / 2,
        distinct_x=distinct(whole.untied_x, own.untied_x),
        distinct_y=distinct(whole.untied_y, own.untied_y),
        size=size,
    )


def _spearman_without(
    x: Floats, points: list[tuple[_Points, _Points]], group: Ints, n_groups: int
) -> Floats:
    """Correlate ranks without each group; ranks are doubled, and centered."""
    n, found = len(group), np.empty((len(x), n_groups))
    by_group = np.argsort(group, kind="stable")
    upto = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    orders = [np.argsort(one, kind="stable") for one in x]
    # sum_i d_i e_i over all points: by x, e is summed from the lowest up to each of the group.
    crossed = np.zeros((len(x), n_groups))
    of_y = points[0][0]
    below_y, end_y = of_y.below_y, n - _above(of_y.below_y, of_y.untied_y)
    step = max(1, (1 << 18) // n)
    for start in range(0, n_groups, step):
        groups = np.arange(start, min(start + step, n_groups))
        mine = by_group[upto[groups[0]] : upto[groups[-1] + 1]]
        row = group[mine] - start
        # How many of each group have at most so low a rank, by y.
        steps = np.bincount(row * (n + 1) + end_y[mine], minlength=len(groups) * (n + 1))
        ranked = np.cumsum(steps.reshape(len(groups), n + 1), axis=1)
        e = ranked.take(below_y, axis=1) + ranked.take(end_y, axis=1) - ranked[:, -1:]
        sums = np.zeros((len(groups), n + 1), dtype=np.int64)
        for number, order in enumerate(orders):
            of_x = points[number][0]
            np.cumsum(e.take(order, axis=1), axis=1, out=sums[:, 1:])
            below = of_x.below_x[mine]
            end = n - _above(of_x.below_x, of_x.untied_x)[mine]
            above = sums[row, -1] - sums[row, end] - sums[row, below]
            crossed[number, groups] = np.bincount(row, weights=above, minlength=len(groups))
    sizes = np.bincount(group, minlength=n_groups)
    for number, (whole, own) in enumerate(points):

        def total(values: Floats) -> Floats:
            return np.bincount(group, weights=values, minlength=n_groups).astype(np.float64)

        a, b, a_own, b_own = (
            (below - _above(below, untied)).astype(np.float64)
            for each in (whole, own)
            for below, untied in ((each.below_x, each.untied_x), (each.below_y, each.untied_y))
        )
        products = (a * b).sum() - total(a * b)
        products -= total(_signed_sums(a, whole.below_y, whole.untied_y)) - total(a * b_own)
        products -= total(_signed_sums(b, whole.below_x, whole.untied_x)) - total(b * a_own)
        products += crossed[number] - total(a_own * b_own)
        left = (n - sizes).astype(np.float64)
        over = []
        for untied, untied_own in (
            (whole.untied_x, own.untied_x),
            (whole.untied_y, own.untied_y),
        ):
            equal = (n - untied).astype(np.float64)
            equal_own = (own.size - untied_own).astype(np.float64)
            cubes = (equal**2).sum() - total(3 * equal**2 - 3 * equal * equal_own + equal_own**2)
            over.append((left**3 - cubes) / 3)
        found[number] = np.clip(divide(products, np.sqrt(over[0] * over[1])), -1, 1)
    return found


def _above(below: Ints, untied: Ints) -> Ints:
    """Count those that are higher: all that are not equal, less those that are lower."""
    return untied - below


def _signed_sums(values: Floats, below: Ints, untied: Ints) -> Floats:
    """Sum the values of the points above each, less those of the points below it."""
    order = np.argsort(below, kind="stable")
    sums = np.append(0.0, np.cumsum(values[order]))
    return sums[-1] - sums[len(values) - _above(below, untied)] - sums[below]


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


def accuracy_without(x: Floats, y: Floats, group: Ints, *, epsilon: float) -> Floats:
    """Give `accuracy_at` of one group of many points (n,) without each of their groups."""
    x, y, epsilon = equalized(x), equalized(y), epsilon + tolerance(x)
    n, n_groups = len(x), int(group.max()) + 1
    with_all, with_own = np.zeros(n), np.zeros(n)
    step = max(1, (1 << 20) // n)
    for start in range(0, n, step):
        part = slice(start, start + step)
        dx = x[part, None] - x
        ordered = np.where(np.abs(dx) <= epsilon, 0, np.sign(dx))
        agree = ordered == np.sign(y[part, None] - y)
        with_all[part] = agree.sum(axis=1)
        with_own[part] = (agree & (group[part, None] == group)).sum(axis=1)
    inner = np.bincount(group, weights=with_own - 2 * with_all, minlength=n_groups)
    left = np.asarray(n - np.bincount(group, minlength=n_groups), dtype=np.float64)
    return divide(with_all.sum() + inner - left, left * (left - 1))


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
