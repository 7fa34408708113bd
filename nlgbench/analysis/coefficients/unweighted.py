"""Coefficients of agreement between scores and judgments, for many samples at once.

Each function takes samples as rows: arrays of shape (..., n) with n units (systems, or the
systems of one item). `weighted` holds the same for one set of many points, resampled.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgbench.analysis.coefficients.pair_statistics import OF_PAIRS, Floats, PairCounts, divide

#: Pairs of units that are held in memory at once: what the processor's cache holds.
_BLOCK = 1 << 16


def coefficients(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, statistics: Iterable[str]
) -> dict[str, Floats]:
    """Compute several coefficients of many small samples.

    Parameters
    ----------
    x, y : array-like of shape (..., n)
        Samples, which broadcast. A value whose weight is 0 may be NaN; any other must be finite.
    weights : array-like of shape (..., n), optional
        How often each unit is in its sample: counts of a bootstrap, or 0 where it is missing.
    statistics : iterable of str
        Of ``pearson``, ``spearman``, ``kendall_b``, ``kendall_c``, ``pairwise_accuracy``,
        ``chance_accuracy``.

    Returns
    -------
    dict of ndarray
        A value for each sample; NaN where undefined: a constant variable, or fewer than two units.

    Notes
    -----
    Takes time and memory by the pairs of units: for samples of up to some hundreds. Correlations
    equal SciPy's on the sample written out; to accuracies the copies of a unit are no pairs.

    Examples
    --------
    >>> found = coefficients([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]], [1.0, 2.0, 3.0],
    ...                      statistics=["pearson", "kendall_b"])
    >>> found["pearson"].round(3).tolist(), found["kendall_b"].tolist()
    ([0.982, nan], [1.0, nan])
    """
    names = list(statistics)
    x, y, w = _samples(x, y, weights)
    shape = np.broadcast_shapes(x.shape, y.shape, *([] if w is None else [w.shape]))[:-1]
    flat_x, flat_y = _flat(x, shape), _flat(y, shape)
    flat_w = None if w is None else _flat(w, shape)
    n = x.shape[-1]
    n_rows = int(np.prod(shape))
    step = max(1, _BLOCK // max(n * (n - 1) // 2, 1))
    found = {name: np.empty(n_rows) for name in names}
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        xs, ys = _part(flat_x, part), _part(flat_y, part)
        ws = None if flat_w is None else _part(flat_w, part)
        for name, values in _block(xs, ys, ws, names).items():
            found[name][part] = values
    return {name: values.reshape(shape) for name, values in found.items()}


def pair_counts(x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> PairCounts:
    """Count pairs of units by how two variables order them.

    Parameters
    ----------
    x, y, weights
        As in `coefficients`.

    Returns
    -------
    PairCounts
        Of every sample.

    Examples
    --------
    >>> counts = pair_counts([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    >>> float(counts.balance), float(counts.pairs)
    (1.0, 3.0)
    """
    x, y, w = _samples(x, y, weights)
    shape = np.broadcast_shapes(x.shape, y.shape, *([] if w is None else [w.shape]))[:-1]
    xs, ys, ws = _flat(x, shape), _flat(y, shape), None if w is None else _flat(w, shape)
    counts = _counts(xs, ys, _signs(xs), _signs(ys), ws, distinct=True)
    return PairCounts(*(np.broadcast_to(one, int(np.prod(shape))).reshape(shape) for one in counts))


def _samples(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    sizes = {one.shape[-1] if one.ndim else 0 for one in (x, y, w) if one is not None}
    if len(sizes) > 1 or sizes == {0}:
        raise ValueError(
            "x, y and weights must have the same units, at least one, along their last axis. Got "
            f"shapes {x.shape}, {y.shape}" + ("." if w is None else f", {w.shape}.")
        )
    present = True if w is None else w > 0
    if (~np.isfinite(x) & present).any() or (~np.isfinite(y) & present).any():
        raise ValueError(
            "x and y must be finite where a unit has a weight: leave missing units out, or give "
            "them the weight 0."
        )
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
