"""Additive least squares of judgments: system + item + annotator, and the same without a cluster.

Normal equations are small: of items and annotators the factor with more levels (`wide`) is
eliminated, so that what is solved has a row per system and per level of the other (`narrow`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgbench.inference import Floats

Ints = NDArray[np.int64]
_TINY = 1e-9


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
    gram = _gram(system, k + narrow, q)
    total = _sums(system, value, q) + _sums(k + narrow, value, q)
    found = Judgments(value, system, wide, narrow, cross, gram, total, _sums(wide, value, n))
    return found, bool(by_annotator)


def fit(data: Judgments) -> Fit | None:
    """Fit all judgments; None where systems cannot be compared (`parts`)."""
    normal, right = _normal(data)
    solved = _solve(normal, right, data.n_systems)
    if solved is None:
        return None
    system, narrow = solved
    rest = data.wide_total - data.cross @ np.append(system, narrow)
    share = np.bincount(data.system) / len(data.value)
    level = data.value.mean() + system - share @ system
    return Fit(level, system, narrow, rest / data.cross[:, : data.n_systems].sum(axis=1))


def parts(data: Judgments) -> Ints:
    """Give each system the number of its part: those of one can be compared with each other."""
    k = data.n_systems
    eigenvalue, vector = np.linalg.eigh(_reduced(_normal(data)[0], np.zeros(len(data.gram)), k)[0])
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
    k, q = data.n_systems, len(data.gram)
    n = int(cluster.max()) + 1
    level = np.full((n, k), np.nan)
    narrow = np.full((n, q - k), np.nan)
    wide = np.full((n, len(data.cross)), np.nan)
    normal, right = _normal(data)
    size = data.cross[:, :k].sum(axis=1)
    mean = data.wide_total / size
    order = np.argsort(cluster, kind="stable")
    n_total, sum_total = len(data.value), data.value.sum()
    by_system = np.bincount(data.system)
    for number, rows in enumerate(np.split(order, np.cumsum(np.bincount(cluster))[:-1])):
        system, inner, value = data.system[rows], k + data.narrow[rows], data.value[rows]
        touched, at = np.unique(data.wide[rows], return_inverse=True)
        before, after_size = data.cross[touched], size[touched] - np.bincount(at)
        after = before - _counts(at, system, inner, len(touched), q)
        after_sum = data.wide_total[touched] - np.bincount(at, value)
        weight = np.where(after_size > 0, 1 / np.maximum(after_size, 1), 0.0)
        now = normal - _gram(system, inner, q)
        now += before.T @ (before / size[touched, None]) - after.T @ (after * weight[:, None])
        now_right = right - np.bincount(system, value, q) - np.bincount(inner, value, q)
        now_right += before.T @ mean[touched] - after.T @ (after_sum * weight)
        solved = _solve(now, now_right, k)
        left = by_system - np.bincount(system, minlength=k)
        if solved is None or not left.all():
            continue
        n_left = n_total - len(rows)
        share = left / n_left
        level[number] = (sum_total - value.sum()) / n_left + solved[0] - share @ solved[0]
        gone = np.diag(data.gram)[k:] <= np.bincount(inner - k, minlength=q - k)
        narrow[number] = np.where(gone, np.nan, solved[1])
        found = np.append(*solved)
        wide[number] = mean - data.cross @ found / size
        with np.errstate(invalid="ignore"):
            wide[number, touched] = np.where(
                after_size > 0, (after_sum - after @ found) * weight, np.nan
            )
    return level, narrow, wide


def without_cells(data: Judgments, whole: Fit, cell: Ints) -> Floats:
    """Refit without each cell of one item and one annotator, by leverage: levels, a row for each.

    Without judgments c the effects change by ``-P X_c' (I - H_c)^+ e_c`` (Bell and McCaffrey 2002;
    MacKinnon, Nielsen and Webb 2023, doi:10.1002/jae.2969). All of a cell share item and annotator,
    so rows of its H differ in systems alone.
    """
    k = data.n_systems
    normal, _ = _normal(data)
    grounded = normal.copy()
    grounded[:k, :k] += 1
    grounded[k:, k:] += _same_component(normal[k:, k:])
    inverse = np.linalg.inv(grounded)
    size = data.cross[:, :k].sum(axis=1)
    first = np.unique(cell, return_index=True)[1]
    spot = -data.cross[data.wide[first]] / size[data.wide[first], None]
    spot[np.arange(len(first)), k + data.narrow[first]] += 1
    lead = spot @ inverse
    own = np.einsum("cq,cq->c", spot, lead) + 1 / size[data.wide[first]]
    residual = data.value - whole.system[data.system] - whole.narrow[data.narrow]
    residual -= whole.wide[data.wide]
    n_total, sum_total = len(data.value), data.value.sum()
    by_system = np.bincount(data.system)
    level = np.empty((len(first), k))
    order = np.argsort(cell, kind="stable")
    count = np.bincount(cell)
    start = np.cumsum(count) - count
    for n in np.unique(count):
        chosen = np.flatnonzero(count == n)
        rows = order[start[chosen, None] + np.arange(n)]
        system = data.system[rows]
        by = np.take_along_axis(lead[chosen], system, axis=1)
        leverage = inverse[system[:, :, None], system[:, None, :]]
        leverage = leverage + by[:, :, None] + by[:, None, :] + own[chosen, None, None]
        pull = _solve_semidefinite(np.eye(n) - leverage, residual[rows])
        moved = np.einsum("scn,cn->cs", inverse[:k][:, system], pull)
        moved += lead[chosen, :k] * pull.sum(axis=1)[:, None]
        effect = whole.system - moved
        left = np.tile(by_system, (len(chosen), 1))
        np.subtract.at(left, (np.repeat(np.arange(len(chosen)), n), system.ravel()), 1)
        mean = (sum_total - data.value[rows].sum(axis=1)) / (n_total - n)
        level[chosen] = (
            mean[:, None] + effect - (left * effect).sum(axis=1)[:, None] / (n_total - n)
        )
    return level


def spread(without: Floats, estimate: Floats) -> Floats:
    """Give the jackknife's covariance from estimates without each cluster, around the estimate."""
    off = without - estimate
    return (len(off) - 1) / len(off) * off.T @ off


def effective_size(cluster: Ints) -> float:
    """Count clusters as if they were of one size: ``(sum n)^2 / sum n^2``."""
    size = np.bincount(cluster).astype(np.float64)
    return float(size.sum() ** 2 / (size**2).sum())


def _counts(row: Ints, system: Ints, inner: Ints, n: int, q: int) -> Floats:
    flat = np.bincount(row * q + system, minlength=n * q)
    return (flat + np.bincount(row * q + inner, minlength=n * q)).reshape(n, q).astype(np.float64)


def _sums(row: Ints, value: Floats, n: int) -> Floats:
    return np.bincount(row, value, n).astype(np.float64)


def _gram(system: Ints, inner: Ints, q: int) -> Floats:
    """Count pairs of dummies that are 1 in the same judgment."""
    pairs = [(system, system), (inner, inner), (system, inner), (inner, system)]
    flat = sum(np.bincount(one * q + other, minlength=q * q) for one, other in pairs)
    return np.asarray(flat, dtype=np.float64).reshape(q, q)


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
    label = _components(laplacian)
    return (label[:, None] == label).astype(np.float64)


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
    """Eliminate the narrow factor, too."""
    inner = np.linalg.solve(
        normal[k:, k:] + _same_component(normal[k:, k:]),
        np.column_stack([normal[k:, :k], right[k:]]),
    )
    lead = np.asarray(normal[:k, k:] @ inner, dtype=np.float64)
    return normal[:k, :k] - lead[:, :k], right[:k] - lead[:, k], np.asarray(inner, np.float64)


def _solve(normal: Floats, right: Floats, k: int) -> tuple[Floats, Floats] | None:
    """Solve for systems, whose effects have mean 0, and narrow levels; None if not estimable."""
    reduced, rest, inner = _reduced(normal, right, k)
    eigenvalue, vector = np.linalg.eigh(reduced)
    if k < 2 or eigenvalue[1] <= _TINY * np.abs(np.diag(normal)).max():
        return None
    system = vector[:, 1:] @ (vector[:, 1:].T @ rest / eigenvalue[1:])
    return system, inner[:, k] - inner[:, :k] @ system


def _solve_semidefinite(matrices: Floats, right: Floats) -> Floats:
    """Solve symmetric systems, each its own, that may be singular: by the pseudoinverse."""
    value, vector = np.linalg.eigh(matrices)
    inverse = np.where(value > _TINY, 1 / np.where(value > _TINY, value, 1), 0)
    turned = vector.transpose(0, 2, 1) @ right[:, :, None]
    return np.asarray(vector @ (inverse[:, :, None] * turned))[:, :, 0]
