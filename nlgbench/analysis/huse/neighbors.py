"""Leave-one-out nearest-neighbor votes, exact under heavy ties and near-linear in time.

The *neighborhood* of an output contains its ``n_neighbors`` nearest other outputs and all others
at the same distance as the last of these. This distance is called the cut. The Euclidean distance
is ``sqrt(sum((a - b) ** 2))`` in floating point; an output is inside if its distance is at most the
cut plus ``tolerance``. Features are finite, scaled arrays of shape (n, d). Labels are True for
outputs of the system.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from nlgbench.arrays import Bools, Floats, Ints

Counts = NDArray[np.integer]
LabelTies = Literal["human", "system", "half"]

EXACT_TOLERANCE = 1e-9
"""The largest difference between distances, in unit-variance features, that counts as a tie."""

# Points that the tree omits are, up to rounding, at least as far away as the last one it returns.
_BELOW = 1 - 1e-12
# Number of counts that are summed together, small enough for the cache.
_WALKED = 2_000_000


def leave_one_out(
    features: ArrayLike,
    is_machine: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the outputs, and the system's outputs, in each output's neighborhood."""
    # Each output is its own nearest one: count it, too, then subtract it.
    counted = neighborhoods(features, is_machine, features, n_neighbors + 1, tolerance=tolerance)
    return counted[0] - 1, counted[1] - np.asarray(is_machine, dtype=bool)


def neighborhoods(
    features: ArrayLike,
    is_machine: ArrayLike,
    queries: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the outputs, and the system's outputs, in the neighborhoods of new points."""
    label = np.asarray(is_machine, dtype=bool)[None]
    points, counts = _totals(features, ~label, label)
    new = np.asarray(queries, dtype=np.float64)
    totals = np.empty((2, len(new)), dtype=np.int64)
    for rows, size, machine in _count(points, counts, new, n_neighbors, tolerance):
        totals[:, rows] = size[:, 0], machine[:, 0]
    return totals[0], totals[1]


def votes(size: Ints, machine: Ints, n_human: Ints, n_machine: Ints) -> tuple[Ints, Ints]:
    """Weight the votes for machine and for human, so that both classes have equal total weight.

    L* (Hashimoto, Zhang, Liang 2019, eq. 2, doi:10.18653/v1/N19-1169) gives each class a
    probability of one half, so a vote is weighted by the inverse of its class's size. Integers keep
    ties exact. For classes of equal size this is the majority vote.
    """
    return machine * n_human, (size - machine) * n_machine


def predict(for_machine: Ints, for_human: Ints, label_ties: LabelTies) -> Floats:
    """Predict 1 for machine and 0 for human; `label_ties` decides ties ("half" gives .5)."""
    tied = {"human": 0.0, "half": 0.5, "system": 1.0}[label_ties]
    return np.where(for_machine == for_human, tied, for_machine > for_human)


def nearest_to(
    features: Floats, row: int, n_neighbors: int, *, tolerance: float = EXACT_TOLERANCE
) -> tuple[Ints, Floats]:
    """List the neighborhood of one output among all others, nearest first, with distances."""
    distance = np.sqrt(((features - features[row]) ** 2).sum(axis=1))
    distance[row] = np.inf
    cut = np.partition(distance, n_neighbors - 1)[n_neighbors - 1]
    near = np.flatnonzero(distance <= cut + tolerance)
    near = near[np.argsort(distance[near], kind="stable")]
    return near, distance[near]


def sample_errors(
    features: ArrayLike,
    members: ArrayLike,
    labels: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
    label_ties: LabelTies = "human",
) -> Floats:
    """Compute twice the class-balanced leave-one-out error of samples: L(phi), higher is better.

    `members` and `labels` have shape (m, n), (n,) or (). `label_ties` decides tied votes; "half"
    counts half an error. NaN for samples of fewer than ``n_neighbors + 1`` outputs or of one class.
    """
    inside, label = np.asarray(members, dtype=bool), np.asarray(labels, dtype=bool)
    human, machine = np.atleast_2d(inside & ~label, inside & label)
    n_human, n_machine = human.sum(axis=1), machine.sum(axis=1)
    defined = (n_human + n_machine > n_neighbors) & (n_human > 0) & (n_machine > 0)
    errors = np.full(len(human), np.nan)
    if not defined.any():
        return errors
    n_human, n_machine = n_human[defined], n_machine[defined]
    points, counts = _totals(features, human[defined], machine[defined])
    missed = np.zeros((2, len(n_human)))
    own_class = np.array([0, 1])[:, None, None]  # the class of the output that is left out
    for rows, size, of_machine in _count(points, counts, points, n_neighbors + 1, tolerance):
        n_own = np.stack([counts[rows, 0] - counts[rows, 1], counts[rows, 1]])
        voted = votes(size - 1, of_machine - own_class, n_human, n_machine)
        missed += (n_own * np.abs(predict(*voted, label_ties) - own_class)).sum(axis=1)
    # Divide once, so that for classes of equal size the result is errors / n, correctly rounded.
    errors[defined] = (missed[1] * n_human + missed[0] * n_machine) / (n_human * n_machine)
    return errors


def _totals(features: ArrayLike, human: Bools, machine: Bools) -> tuple[Floats, Counts]:
    """Return the distinct points, and each sample's numbers of outputs and system outputs there."""
    every = np.asarray(features, dtype=np.float64)
    order = np.lexsort(every.T)
    every = every[order]
    starts = np.flatnonzero(np.append(True, (every[1:] != every[:-1]).any(axis=1)))
    # 16 bits suffice for the counts of all but the largest samples, and sum faster.
    kind = np.int16 if len(order) < 2**15 else np.int32
    numbers = np.stack([(human | machine).T, machine.T], axis=1)[order].astype(kind)
    return every[starts], np.add.reduceat(numbers, starts, axis=0, dtype=kind)


def _count(
    points: Floats, counts: Counts, queries: Floats, k: int, tolerance: float
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield rows of queries, and by sample the sizes and system outputs of their neighborhoods.

    A k-d tree lists the nearest points of each query. In each sample, the neighbors are the points
    of this list up to the k-th output, and all further ones at its distance. If a list may be too
    short, its length is doubled.
    """
    tree = cKDTree(points)
    share = counts[:, 0].sum(axis=0, dtype=np.int64).min() / counts[:, 0].max(axis=1).sum()
    # Long enough to contain k outputs in nearly every sample.
    n_listed = int((k + 4 * np.sqrt(k * (1 - share))) / share) + 1
    pending: Ints = np.arange(len(queries))
    while len(pending):
        n_listed = min(n_listed, len(points))
        step = max(1, _WALKED // (n_listed * counts[0].size))
        short = []
        for rows in np.split(pending, range(step, len(pending), step)):
            listed = _listed(tree, points, queries[rows], n_listed, tolerance)
            totals, enough = _walk(*listed, counts, k)
            size, machine = totals[enough].astype(np.int64).swapaxes(0, 1)
            yield rows[enough], size, machine
            short.append(rows[~enough])
        pending = np.concatenate(short)
        n_listed *= 2


def _listed(
    tree: cKDTree, points: Floats, queries: Floats, n_listed: int, tolerance: float
) -> tuple[Ints, Ints]:
    """List the nearest points and, for each, the end of its neighborhood.

    The end lies beyond the list if points that are not listed might be as near.
    """
    near = tree.query(queries, k=range(1, n_listed + 1))[1]
    # Recompute distances, because the tree may round differently from the definition.
    axes = zip(points.T, queries.T, strict=True)
    distance = np.sqrt(sum((axis.take(near) - query[:, None]) ** 2 for axis, query in axes))
    if (distance[:, 1:] < distance[:, :-1]).any():
        near = np.take_along_axis(near, np.argsort(distance, axis=1, kind="stable"), axis=1)
        distance.sort(axis=1)
    cut = distance + tolerance
    reach = np.tile(np.arange(1, n_listed + 1), (len(near), 1))
    for step in range(1, n_listed):
        tied = distance[:, step:] <= cut[:, :-step]
        if not tied.any():
            break
        reach[:, :-step] += tied
    if n_listed < len(points):
        reach[cut >= distance[:, -1:] * _BELOW] = n_listed + 1
    return near, reach


def _walk(near: Ints, reach: Ints, counts: Counts, k: int) -> tuple[Counts, Bools]:
    """Sum counts along the lists; also return for which queries the lists are long enough."""
    met = counts.take(near.T, axis=0)
    for before, current in pairwise(met):
        current += before
    # If a list ends before the k-th output, its last place marks it as too short.
    kth = np.minimum((met[:, :, 0] < k).sum(axis=0, dtype=met.dtype), len(met) - 1)
    stop = np.take_along_axis(reach, kth, axis=1)
    last = np.minimum(stop, len(met)) - 1
    totals = np.take_along_axis(met, last[None, :, None], axis=0)[0]
    return totals, stop.max(axis=1) <= len(met)
