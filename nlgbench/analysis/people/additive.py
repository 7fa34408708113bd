"""Additive least squares for judgments (system + item + annotator), with and without each cluster.

The normal equations stay small, because the factor with more levels (`wide`: items or annotators)
is eliminated. They have a row per system and per level of the other factor (`narrow`). Leaving out
a cluster changes them only for the systems and levels that its judgments meet, so the effects are
updated by the formula of Woodbury (Hager 1989, doi:10.1137/1031049) instead of solved again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nlgbench.arrays import Floats, Ints
from nlgbench.status import Unsupported

_TINY = 1e-9
#: With more levels of both factors, the dense normal matrix of one needs too much memory.
_MOST_LEVELS = 5_000
_NONE = np.zeros(0, dtype=np.int64)
Factor = Literal["narrow", "wide"]


class Fit(NamedTuple):
    """Effects; `level` is each system's mean if every judgment were of that system."""

    level: Floats
    narrow: Floats
    wide: Floats


class _Change(NamedTuple):
    """What leaving out some judgments subtracts from the normal equations.

    `columns` are the systems and narrow levels that it changes; `lost` are those that have no
    judgment left.
    """

    columns: Ints
    normal: Floats
    right: Floats
    lost: Ints
    #: The wide levels that it changes; what remains of their counts (by column) and their totals.
    wide: Ints
    counts: Floats
    total: Floats


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments as arrays; the labels of a factor without effects in the model are all 0."""

    value: Floats
    system: Ints
    narrow: Ints
    wide: Ints
    #: By wide level: numbers of judgments of each system and narrow level, and the sum of values.
    cross: csr_array
    total: Floats
    #: The normal equations after elimination of the wide factor.
    normal: Floats
    right: Floats

    @cached_property
    def n_systems(self) -> int:
        """The number of systems."""
        return int(self.system.max()) + 1

    @cached_property
    def size(self) -> Floats:
        """The number of judgments of each wide level."""
        return np.bincount(self.wide).astype(np.float64)

    @cached_property
    def counts(self) -> Floats:
        """The number of judgments of each system and narrow level."""
        return np.append(np.bincount(self.system), np.bincount(self.narrow)).astype(np.float64)

    @cached_property
    def grounded(self) -> Floats:
        """The normal matrix, with means fixed."""
        return _fix_means(self.normal, self.n_systems)

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of `grounded`."""
        return np.asarray(np.linalg.inv(self.grounded))

    def fit(self) -> Fit | None:
        """Fit all judgments; None if systems cannot be compared (`parts`)."""
        effects = _solve(self.grounded, self.right)
        if effects is None:
            return None
        wide_effects = (self.total - self.cross @ effects) / self.size
        return Fit(self.level(effects, _NONE), effects[self.n_systems :], wide_effects)

    @cached_property
    def sum(self) -> float:
        """The sum of all judgments."""
        return float(self.value.sum())

    def level(self, effects: Floats, without: Ints) -> Floats:
        """Compute each system's level from the effects, without some judgments."""
        systems, n = effects[: self.n_systems], len(self.value) - len(without)
        counts = self.counts[: self.n_systems] - np.bincount(
            self.system[without], minlength=self.n_systems
        )
        return (self.sum - self.value[without].sum() - counts @ systems) / n + systems

    def parts(self, without: Ints = _NONE) -> Ints:
        """Assign each system to a part; only systems within a part can be compared."""
        normal = _subtract(self.change(without), self.normal, self.right)[0]
        eigenvalue, vector = np.linalg.eigh(normal)
        null = vector[: self.n_systems, eigenvalue <= _TINY * np.diag(normal).max()]
        # A difference is estimable if no direction of the null space changes it.
        rows = np.round(null @ null.T, 6) + 0.0  # `unique` distinguishes -0.0 from 0.0
        return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)

    def change(self, rows: Ints) -> _Change:
        """Compute what leaving out some judgments changes."""
        n_systems, value = self.n_systems, self.value[rows]
        wide, level = np.unique(self.wide[rows], return_inverse=True)
        columns, met = self.support(wide)
        system, narrow = np.searchsorted(
            columns, (self.system[rows], n_systems + self.narrow[rows])
        )
        n, m = len(columns), len(wide)
        removed = np.bincount(np.append(level * n + system, level * n + narrow), minlength=m * n)
        remaining = met - removed.reshape(m, n)
        n_left = remaining[:, columns < n_systems].sum(axis=1)
        total = self.total[wide] - np.bincount(level, value, m)
        # NumPy computes half of the product of a matrix and its own transpose.
        roots = np.sqrt(self.size[wide]), np.sqrt(np.maximum(n_left, 1))
        before, after = met / roots[0][:, None], remaining / roots[1][:, None]
        lost = removed.reshape(m, n).sum(axis=0)
        normal = after.T @ after - before.T @ before
        np.add.at(normal, (system, narrow), 1)
        np.add.at(normal, (narrow, system), 1)
        normal[np.diag_indices(n)] += lost
        sums = np.bincount(system, value, n) + np.bincount(narrow, value, n)
        right = sums - before.T @ (self.total[wide] / roots[0]) + after.T @ (total / roots[1])
        emptied = np.flatnonzero(lost == self.counts[columns])
        return _Change(columns, normal, right, emptied, wide, remaining, total)

    def support(self, wide: Ints) -> tuple[Ints, Floats]:
        """Return the columns that these wide levels meet, and their counts by level and column."""
        start, end = self.cross.indptr[wide], self.cross.indptr[wide + 1]
        n = end - start
        entry = np.arange(n.sum()) + np.repeat(start - np.cumsum(n) + n, n)
        columns, column = np.unique(self.cross.indices[entry], return_inverse=True)
        counts = np.zeros((len(wide), len(columns)))
        counts[np.repeat(np.arange(len(wide)), n), column] = self.cross.data[entry]
        return columns.astype(np.int64), counts

    def without(self, rows: Ints, effects: Floats) -> tuple[_Change, Floats | None]:
        """Update the effects for leaving out some judgments; None if systems are not connected."""
        change = self.change(rows)
        if (change.columns[change.lost] < self.n_systems).any():
            return change, None
        normal = change.normal.copy()
        normal[change.lost, change.lost] -= 1  # their effects are 0
        updated = None
        if 2 * len(normal) > len(effects):
            updated = _solve(*_subtract(change._replace(normal=normal), self.grounded, self.right))
        else:
            lead = self.inverse[:, change.columns]
            start = effects - lead @ change.right
            update = np.eye(len(normal)) - lead[change.columns] @ normal
            factor, pivots, _ = lapack.dgetrf(update)
            if lapack.dgecon(factor, np.abs(update).sum(axis=0).max())[0] > _TINY:
                solved = lapack.dgetrs(factor, pivots, start[change.columns])[0]
                updated = start + lead @ (normal @ solved)
        if updated is None:  # levels of the narrow factor may not be connected either
            reduced, right = _subtract(change, self.normal, self.right)
            updated = _solve(_fix_means(reduced, self.n_systems), right)
        return change, updated


def normal_equations(
    value: Floats, system: Ints, item: Ints, annotator: Ints
) -> tuple[Judgments, bool]:
    """Set up least squares, and return whether annotators are the wide factor.

    With 0/1 columns D for systems and narrow levels and W for wide ones, the normal matrix is
    D'D - D'W (W'W)^-1 W'D, and the right side D'y - D'W (W'W)^-1 W'y.
    """
    n_items, n_annotators = int(item.max()) + 1, int(annotator.max()) + 1
    if min(n_items, n_annotators) > _MOST_LEVELS:
        raise Unsupported(
            "too_many_levels",
            f"the effects of {n_items:,} items and {n_annotators:,} annotators need too much "
            f"memory. One of these numbers can be at most {_MOST_LEVELS:,}: keep the judgments "
            "of fewer items, or of fewer annotators.",
        )
    by_annotator = n_annotators > n_items
    wide, narrow = (annotator, item) if by_annotator else (item, annotator)
    n, n_systems = len(value), int(system.max()) + 1
    column = np.append(system, n_systems + narrow)
    shape = (int(wide.max()) + 1, n_systems + int(narrow.max()) + 1)
    cross = csr_array((np.ones(2 * n), (np.append(wide, wide), column)), shape=shape)
    cross.sum_duplicates()
    total = np.bincount(wide, value).astype(np.float64)
    share = csr_array(cross / np.bincount(wide)[:, None])
    pairs = csr_array((np.ones(n), (system, n_systems + narrow)), shape=(shape[1], shape[1]))
    normal = (pairs + pairs.T - cross.T @ share).toarray()
    normal[np.diag_indices(shape[1])] += np.bincount(column)
    right = np.bincount(column, np.append(value, value)) - share.T @ total
    return Judgments(value, system, narrow, wide, cross, total, normal, right), by_annotator


def without_clusters(
    data: Judgments, cluster: Ints, factor: Factor | None = None
) -> tuple[Floats, Floats]:
    """Fit without each cluster: levels, and effects of a factor, by cluster; NaN if impossible."""
    effects = data.inverse @ data.right
    n_clusters = int(cluster.max()) + 1
    n_effects = int(getattr(data, factor).max()) + 1 if factor else 0
    levels = np.full((n_clusters, data.n_systems), np.nan)
    of_factor = np.full((n_clusters, n_effects), np.nan)
    of_wide = np.zeros(len(data.size), dtype=np.int64)
    of_wide[data.wide] = cluster
    if factor != "wide" and not data.narrow.any() and (of_wide[data.wide] == cluster).all():
        return _without_whole(data, of_wide, effects[: data.n_systems]), np.zeros(
            (n_clusters, n_effects)
        )
    for number, rows in enumerate(members(cluster)):
        change, updated = data.without(rows, effects)
        if updated is None:
            continue
        levels[number] = data.level(updated, rows)
        if factor == "narrow":
            updated[change.columns[change.lost]] = np.nan
            of_factor[number] = updated[data.n_systems :]
        elif factor == "wide":
            wide_effects = (data.total - data.cross @ updated) / data.size
            n_left = change.counts[:, change.columns < data.n_systems].sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                wide_effects[change.wide] = change.total - change.counts @ updated[change.columns]
                wide_effects[change.wide] /= n_left
            of_factor[number] = wide_effects
    return levels, of_factor


def _without_whole(data: Judgments, cluster: Ints, effects: Floats) -> Floats:
    """Compute the levels without each cluster of whole wide levels, if narrow has one level."""
    n_systems, order = data.n_systems, np.argsort(cluster, kind="stable")
    counts = np.bincount(
        data.wide * n_systems + data.system, minlength=len(order) * n_systems
    ).reshape(-1, n_systems)
    sums = np.bincount(
        data.wide * n_systems + data.system, data.value, len(order) * n_systems
    ).reshape(-1, n_systems)
    levels = []
    for chunk in np.array_split(np.arange(cluster.max() + 1), cluster.max() // 1000 + 1):
        wide = order[slice(*np.searchsorted(cluster[order], [chunk[0], chunk[-1] + 1]))]
        first = np.searchsorted(cluster[wide], chunk)
        met, size, total = counts[wide], data.size[wide, None], data.total[wide, None]
        normal = -met[:, :, None] * (met / size)[:, None, :]
        normal[:, np.arange(n_systems), np.arange(n_systems)] += met
        removed, lost, right = (
            np.add.reduceat(terms, first)
            for terms in (normal, met, sums[wide] - met * total / size)
        )
        left = data.grounded[:n_systems, :n_systems] - removed
        is_lost = np.linalg.eigvalsh(left)[:, 0] < _TINY * np.diagonal(left, 0, 1, 2).max(axis=1)
        left[is_lost] = np.eye(n_systems)
        # Changes of the effects have smaller rounding errors than the effects.
        change = np.linalg.solve(left, (removed @ effects - right)[:, :, None])[:, :, 0]
        systems = effects + change
        n_left = data.counts[:n_systems] - lost
        total_left = data.sum - np.add.reduceat(total[:, 0], first)
        mean = (total_left - (n_left * systems).sum(axis=1)) / np.maximum(n_left.sum(axis=1), 1)
        levels.append(np.where(is_lost[:, None], np.nan, mean[:, None] + systems))
    return np.concatenate(levels)


def without_few(data: Judgments, fit: Fit, cluster: Ints, block: Ints) -> Floats:
    """Compute the levels without each of many small clusters, faster than by updating.

    Without judgments c, the effects change by ``-P X_c' (I - H_c)^+ e_c`` (Bell and McCaffrey 2002;
    MacKinnon, Nielsen and Webb 2023, doi:10.1002/jae.2969), with the wide factor partialed out, P
    the inverse of the normal matrix, H_c the hat matrix of c, and e_c its residuals. Clusters are
    computed by `block`, such as an item, which contains whole clusters.
    """
    n_systems, systems = data.n_systems, fit.level - fit.level.mean()
    residual = data.value - systems[data.system] - fit.narrow[data.narrow] - fit.wide[data.wide]
    n_clusters = int(cluster.max()) + 1
    pull = np.zeros((n_clusters, n_systems))
    for rows in members(block):
        wide, level = np.unique(data.wide[rows], return_inverse=True)
        columns, counts = data.support(wide)
        design = -(counts / data.size[wide][:, None])[level]
        for label in (data.system[rows], n_systems + data.narrow[rows]):
            design[np.arange(len(rows)), np.searchsorted(columns, label)] += 1
        lead = design @ data.inverse[np.ix_(columns, np.append(np.arange(n_systems), columns))]
        lead, inner = lead[:, :n_systems], lead[:, n_systems:]
        for same in _by_size(cluster[rows]):
            hat = inner[same] @ design[same].transpose(0, 2, 1)
            same_level = level[same][:, :, None] == level[same][:, None, :]
            hat += same_level / data.size[wide[level[same]]][:, None, :]
            weight = _divide(residual[rows[same]], np.eye(same.shape[1]) - hat)
            pull[cluster[rows[same[:, 0]]]] = (weight[:, None] @ lead[same])[:, 0]
    effect = systems - pull
    removed = np.bincount(cluster * n_systems + data.system, minlength=n_clusters * n_systems)
    remaining = data.counts[:n_systems] - removed.reshape(n_clusters, n_systems)
    total = data.sum - np.bincount(cluster, data.value)
    mean = (total - (remaining * effect).sum(axis=1)) / remaining.sum(axis=1)
    return np.asarray(mean[:, None] + effect)


def _divide(rows: Floats, matrices: Floats) -> Floats:
    """Multiply rows (n, m) by the pseudoinverses of positive semidefinite matrices (n, m, m)."""
    try:
        root = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        root = np.zeros_like(matrices)
    if np.diagonal(root, axis1=1, axis2=2).min() > _TINY**0.5:
        return np.asarray(np.linalg.solve(matrices, rows[:, :, None])[:, :, 0])
    return np.asarray((np.linalg.pinv(matrices, hermitian=True) @ rows[:, :, None])[:, :, 0])


def _by_size(cluster: Ints) -> Iterator[Ints]:
    """Yield the places of the members of clusters (clusters, size), for each size of clusters."""
    order = np.argsort(cluster, kind="stable")
    _, start, size = np.unique(cluster[order], return_index=True, return_counts=True)
    for n in np.unique(size):
        yield order[start[size == n][:, None] + np.arange(n)]


def members(cluster: Ints) -> list[Ints]:
    """List each cluster's rows."""
    order = np.argsort(cluster, kind="stable")
    return np.split(order, np.cumsum(np.bincount(cluster))[:-1])


def components(normal: Floats, n_systems: int) -> Ints:
    """Return the connected component of each narrow level, given the normal matrix."""
    linked = csr_array(np.abs(normal[n_systems:, n_systems:]) > _TINY)
    return np.asarray(connected_components(linked, directed=False)[1], dtype=np.int64)


def _fix_means(normal: Floats, n_systems: int) -> Floats:
    """Fix the mean effects of systems, and of each component of narrow levels, at 0."""
    label = components(normal, n_systems)
    grounded = normal.copy()
    grounded[:n_systems, :n_systems] += 1
    grounded[n_systems:, n_systems:] += label[:, None] == label
    return grounded


def _subtract(change: _Change, normal: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return normal equations without some judgments."""
    normal, right = normal.copy(), right.copy()
    normal[np.ix_(change.columns, change.columns)] -= change.normal
    right[change.columns] -= change.right
    return normal, right


def _solve(grounded: Floats, right: Floats) -> Floats | None:
    """Solve for effects of systems and narrow levels; None if systems cannot be compared."""
    try:
        factor = cho_factor(grounded)
    except LinAlgError:
        return None
    if np.diag(factor[0]).min() ** 2 < _TINY * np.diag(grounded).max():
        return None
    return np.asarray(cho_solve(factor, right))
