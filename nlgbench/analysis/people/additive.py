"""Additive least squares of judgments: system + item + annotator, and the same without a cluster.

Normal equations are small: of items and annotators the factor with more levels (`wide`) is
eliminated, so that what is solved has a row per system and per level of the other (`narrow`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nlgbench.inference import Floats

Ints = NDArray[np.int64]
_TINY = 1e-9
#: Numbers that are held at once in refits without clusters.
_MOST_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments as numbers; items or annotators without an effect in the model are all 0."""

    value: Floats
    system: Ints
    wide: Ints
    narrow: Ints
    #: Counts of (wide, system and narrow), and of (system and narrow) twice; sums of values.
    cross: Floats
    gram: Floats
    total: Floats
    wide_total: Floats

    @property
    def n_systems(self) -> int:
        """How many systems there are."""
        return int(self.system.max()) + 1


@dataclass(frozen=True, eq=False)
class Fit:
    """Effects: `level` of systems, as if each had been judged in every judgment's place."""

    level: Floats
    system: Floats
    narrow: Floats
    wide: Floats


def tabulate(value: Floats, system: Ints, item: Ints, annotator: Ints) -> tuple[Judgments, bool]:
    """Count judgments by their factors; and say whether annotators are the wide one."""
    by_annotator = annotator.max() > item.max()
    wide, narrow = (annotator, item) if by_annotator else (item, annotator)
    k, q = int(system.max()) + 1, int(system.max() + narrow.max()) + 2
    n = int(wide.max()) + 1
    cross = _counts(wide, system, k + narrow, n, q)
    gram = _grams(np.zeros_like(system), system, k + narrow, 1, q)[0]
    total = _sums(system, value, q) + _sums(k + narrow, value, q)
    found = Judgments(value, system, wide, narrow, cross, gram, total, _sums(wide, value, n))
    return found, bool(by_annotator)


def fit(data: Judgments) -> Fit | None:
    """Fit all judgments; None where systems cannot be compared (`parts`)."""
    normal, right = _normal(data)
    k = data.n_systems
    solved, estimable = _solve(normal[None], right[None], k)
    if not estimable[0]:
        return None
    effects = solved[0]
    rest = data.wide_total - data.cross @ effects
    share = np.bincount(data.system) / len(data.value)
    level = data.value.mean() + effects[:k] - share @ effects[:k]
    return Fit(level, effects[:k], effects[k:], rest / data.cross[:, :k].sum(axis=1))


def parts(data: Judgments) -> Ints:
    """Give each system the number of its part: those of one can be compared with each other."""
    k = data.n_systems
    normal, right = _normal(data)
    eigenvalue, vector = np.linalg.eigh(_reduced(normal[None], right[None], k)[0][0])
    null = vector[:, eigenvalue <= _TINY * data.gram.max()]
    # A difference is estimable where no direction of the null space changes it.
    rows = np.round(null @ null.T, 6) + 0.0  # -0.0 is another row to `unique`
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def components(data: Judgments) -> int:
    """Count the parts of items and annotators that share no judgment."""
    k = data.n_systems
    return int(_components(_normal(data)[0][k:, k:]).max()) + 1


def without_clusters(data: Judgments, cluster: Ints) -> tuple[Floats, Floats, Floats]:
    """Refit without each cluster: levels, narrow and wide effects, a row for each; NaN if not."""
    k, q, n_wide = data.n_systems, len(data.gram), len(data.cross)
    n = int(cluster.max()) + 1
    level = np.full((n, k), np.nan)
    narrow = np.full((n, q - k), np.nan)
    wide = np.full((n, n_wide), np.nan)
    normal, right = _normal(data)
    size = data.cross[:, :k].sum(axis=1)
    mean = data.wide_total / size
    by_system = np.bincount(data.system)
    # What a cluster has of one wide level is a cell; rows are sorted by cells.
    code, cell = np.unique(cluster * n_wide + data.wide, return_inverse=True)
    of, touched = np.divmod(code, n_wide)
    order = np.argsort(cell, kind="stable")
    row_end, cell_end = np.cumsum(np.bincount(cell)), np.cumsum(np.bincount(of))
    step = max(1, _MOST_CELLS // max(q * q, q * -(-len(code) // n)))
    for first in range(0, n, step):
        last = min(first + step, n)
        m = last - first
        start, stop = (cell_end[first - 1] if first else 0), cell_end[last - 1]
        rows = order[(row_end[start - 1] if start else 0) : row_end[stop - 1]]
        at, one = cell[rows] - start, cluster[rows] - first
        system, inner, value = data.system[rows], k + data.narrow[rows], data.value[rows]
        met, ends = touched[start:stop], np.append(0, cell_end[first:last] - start)
        before, after_size = data.cross[met], size[met] - np.bincount(at)
        after = before - _counts(at, system, inner, stop - start, q)
        after_sum = data.wide_total[met] - np.bincount(at, value)
        weight = np.where(after_size > 0, 1 / np.maximum(after_size, 1), 0.0)
        now = normal - _grams(one, system, inner, m, q)
        for number, (low, high) in enumerate(pairwise(ends)):
            was, is_ = before[low:high], after[low:high]
            now[number] += was.T @ (was / size[met[low:high], None])
            now[number] -= is_.T @ (is_ * weight[low:high, None])
        changed = before * mean[met, None] - after * (after_sum * weight)[:, None]
        now_right = right + np.add.reduceat(changed, ends[:-1], axis=0)
        for column in (system, inner):
            now_right -= np.bincount(one * q + column, value, m * q).reshape(m, q)
        solved, estimable = _solve(now, now_right, k)
        left = by_system - np.bincount(one * k + system, minlength=m * k).reshape(m, k)
        estimable &= left.all(axis=1)
        n_left = left.sum(axis=1)
        sums = data.value.sum() - np.bincount(one, value, m)
        share = left / np.maximum(n_left, 1)[:, None]
        own = solved[:, :k]
        found = (sums / np.maximum(n_left, 1) - (share * own).sum(axis=1))[:, None] + own
        level[first:last] = np.where(estimable[:, None], found, np.nan)
        gone = np.bincount(one * q + inner, minlength=m * q).reshape(m, q)[:, k:]
        kept = estimable[:, None] & (np.diag(data.gram)[k:] > gone)
        narrow[first:last] = np.where(kept, solved[:, k:], np.nan)
        rest = mean - solved @ (data.cross / size[:, None]).T
        which = of[start:stop] - first
        rest[which, met] = np.where(
            after_size > 0, (after_sum - (after * solved[which]).sum(axis=1)) * weight, np.nan
        )
        wide[first:last] = np.where(estimable[:, None], rest, np.nan)
    return level, narrow, wide


def without_few(data: Judgments, whole: Fit, cluster: Ints) -> Floats:
    """Refit without each of many small clusters, by leverage: levels, a row for each.

    Without judgments c the effects change by ``-P X_c' (I - H_c)^+ e_c`` (Bell and McCaffrey 2002;
    MacKinnon, Nielsen and Webb 2023, doi:10.1002/jae.2969). Judgments of one item and annotator
    share a cell, and their rows of H differ in systems alone.
    """
    k = data.n_systems
    normal, _ = _normal(data)
    grounded = normal.copy()
    grounded[:k, :k] += 1
    grounded[k:, k:] += _same_component(normal[None, k:, k:])[0]
    inverse = np.linalg.inv(grounded)
    size = data.cross[:, :k].sum(axis=1)
    met = data.wide * (int(data.narrow.max()) + 1) + data.narrow
    _, first, cell = np.unique(met, return_index=True, return_inverse=True)
    spot = -data.cross[data.wide[first]] / size[data.wide[first], None]
    spot[np.arange(len(first)), k + data.narrow[first]] += 1
    lead = spot @ inverse
    own = np.einsum("cq,cq->c", spot, lead) + 1 / size[data.wide[first]]
    alone = len(np.unique(cluster * len(first) + cell)) == cluster.max() + 1
    residual = data.value - whole.system[data.system] - whole.narrow[data.narrow]
    residual -= whole.wide[data.wide]
    n_total, sum_total = len(data.value), data.value.sum()
    by_system = np.bincount(data.system)
    level = np.empty((int(cluster.max()) + 1, k))
    order = np.argsort(cluster, kind="stable")
    count = np.bincount(cluster)
    start = np.cumsum(count) - count
    for n, chosen in _of_a_size(count, _MOST_CELLS // len(normal)):
        rows = order[start[chosen, None] + np.arange(n)]
        system, at, wide = data.system[rows], cell[rows], data.wide[rows]
        leverage = inverse[system[:, :, None], system[:, None, :]]
        by = lead[at[:, :, None], system[:, None, :]]
        leverage = leverage + by + by.transpose(0, 2, 1)
        if alone:
            leverage += own[at[:, 0], None, None]
        else:
            leverage += lead[at] @ spot[at].transpose(0, 2, 1)
            leverage += (wide[:, :, None] == wide[:, None, :]) / size[wide][:, :, None]
        pull = _solve_semidefinite(np.eye(n) - leverage, residual[rows])
        moved = np.einsum("scn,cn->cs", inverse[:k][:, system], pull)
        moved += np.einsum("cns,cn->cs", lead[at, :k], pull)
        effect = whole.system - moved
        left = np.tile(by_system, (len(chosen), 1))
        np.subtract.at(left, (np.repeat(np.arange(len(chosen)), n), system.ravel()), 1)
        mean = (sum_total - data.value[rows].sum(axis=1)) / (n_total - n)
        level[chosen] = (
            mean[:, None] + effect - (left * effect).sum(axis=1)[:, None] / (n_total - n)
        )
    return level


def _of_a_size(count: Ints, most: int) -> Iterator[tuple[int, Ints]]:
    """Go through clusters of one size each, of at most so many judgments at once."""
    for n in np.unique(count):
        chosen = np.flatnonzero(count == n)
        step = max(1, most // n)
        for first in range(0, len(chosen), step):
            yield int(n), chosen[first : first + step]


def spread(without: Floats, estimate: Floats) -> Floats:
    """Give the jackknife's covariance from estimates without each cluster, around the estimate."""
    off = without - estimate
    return (len(off) - 1) / len(off) * off.T @ off


def _counts(row: Ints, system: Ints, inner: Ints, n: int, q: int) -> Floats:
    flat = np.bincount(row * q + system, minlength=n * q)
    return (flat + np.bincount(row * q + inner, minlength=n * q)).reshape(n, q).astype(np.float64)


def _sums(row: Ints, value: Floats, n: int) -> Floats:
    return np.bincount(row, value, n).astype(np.float64)


def _grams(cluster: Ints, system: Ints, inner: Ints, n: int, q: int) -> Floats:
    """Count pairs of dummies that are 1 in the same judgment, by cluster."""
    pairs = [(system, system), (inner, inner), (system, inner), (inner, system)]
    row = cluster * q
    flat = sum(np.bincount((row + one) * q + other, minlength=n * q * q) for one, other in pairs)
    return np.asarray(flat, dtype=np.float64).reshape(n, q, q)


def _normal(data: Judgments) -> tuple[Floats, Floats]:
    """Give the normal equations with the wide factor eliminated."""
    size = data.cross[:, : data.n_systems].sum(axis=1)
    mean = data.wide_total / size
    return (
        data.gram - data.cross.T @ (data.cross / size[:, None]),
        data.total - data.cross.T @ mean,
    )


def _same_component(laplacian: Floats) -> Floats:
    """Say which narrow levels are connected: what fixes each component's mean effect at 0."""
    linked = np.abs(laplacian) > _TINY
    alone = linked.sum(axis=-1) - np.diagonal(linked, axis1=1, axis2=2) == 0
    # All that are not alone mostly hang together: look from the first one of them.
    reached = np.zeros_like(alone)
    reached[np.arange(len(alone)), np.argmax(~alone, axis=1)] = True
    steps, before = linked.astype(np.float32), 0  # a product of truth values is no library's
    while before < (before := int(reached.sum())):
        reached |= (reached[:, None, :].astype(np.float32) @ steps)[:, 0] > 0
    same = (~alone[:, :, None] & ~alone[:, None, :]) * 1.0
    same[:, np.arange(same.shape[1]), np.arange(same.shape[1])] = 1.0
    for apart in np.flatnonzero(~(reached | alone).all(axis=1)):
        label = _components(laplacian[apart])
        same[apart] = label[:, None] == label
    return same


def _components(laplacian: Floats) -> Ints:
    """Label components; SciPy's search takes longer to check its input than this does."""
    linked = np.abs(laplacian) > _TINY
    np.fill_diagonal(linked, True)
    alone = linked.sum(axis=1) == 1
    label = np.where(alone, np.cumsum(alone) - 1, -1)
    while (label < 0).any():
        reached = linked[np.argmax(label < 0)]
        before = 0
        while before < (before := int(reached.sum())):
            reached = linked[reached].any(axis=0)
        label[reached] = label.max() + 1
    return label


def _reduced(normal: Floats, right: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    """Eliminate the narrow factor, too, from each of several normal equations."""
    inner = np.linalg.solve(
        normal[:, k:, k:] + _same_component(normal[:, k:, k:]),
        np.concatenate([normal[:, k:, :k], right[:, k:, None]], axis=2),
    )
    lead = np.asarray(normal[:, :k, k:] @ inner, dtype=np.float64)
    rest = right[:, :k] - lead[:, :, k]
    return normal[:, :k, :k] - lead[:, :, :k], rest, np.asarray(inner, np.float64)


def _solve(normal: Floats, right: Floats, k: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Solve for systems, whose effects have mean 0, and narrow levels; and say which can be."""
    reduced, rest, inner = _reduced(normal, right, k)
    eigenvalue, vector = np.linalg.eigh(reduced)
    scale = np.abs(np.diagonal(normal, axis1=1, axis2=2)).max(axis=1)
    if k < 2:
        return np.zeros_like(right), np.zeros(len(right), dtype=bool)
    estimable = eigenvalue[:, 1] > _TINY * scale
    value = np.where(estimable[:, None], eigenvalue[:, 1:], 1.0)
    turned = (vector[:, :, 1:].transpose(0, 2, 1) @ rest[:, :, None])[:, :, 0] / value
    system = (vector[:, :, 1:] @ turned[:, :, None])[:, :, 0]
    effects = inner[:, :, k] - (inner[:, :, :k] @ system[:, :, None])[:, :, 0]
    return np.concatenate([system, effects], axis=1), estimable


def _solve_semidefinite(matrices: Floats, right: Floats) -> Floats:
    """Solve symmetric systems, each its own, that may be singular: by the pseudoinverse."""
    value, vector = np.linalg.eigh(matrices)
    inverse = np.where(value > _TINY, 1 / np.where(value > _TINY, value, 1), 0)
    turned = vector.transpose(0, 2, 1) @ right[:, :, None]
    return np.asarray(vector @ (inverse[:, :, None] * turned))[:, :, 0]
