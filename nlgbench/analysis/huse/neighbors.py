"""Leave-one-out nearest-neighbor votes, exact under heavy ties and near-linear in time.

The *neighborhood* of an output holds its ``n_neighbors`` nearest other outputs and every further
output at the distance of the last of them: ties at the cut are included. The Euclidean distance is
``sqrt(sum((a - b) ** 2))`` in floating point; an output is inside when its distance is at most the
cut plus ``tolerance``. Features are finite arrays of shape (n, d), already scaled; labels are true
where an output is the system's.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.integer]
LabelTies = Literal["human", "system", "half"]

EXACT_TOLERANCE = 1e-9
"""In unit-variance features, distances that differ by no more than this are equal."""

# What the tree did not return is no nearer than its last candidate, up to rounding.
_BELOW = 1 - 1e-12
# Points x samples that are walked at once, so that counts stay in the cache.
_WALKED = 200_000


def leave_one_out(
    features: ArrayLike,
    is_machine: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the neighborhood of each output among all others: its size, and the system's in it.

    An output is at distance 0 from itself, so the cut at its k-th nearest other output is the cut
    at the (k + 1)-th nearest of all: count all of them, then take its own label away.
    """
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
    """Count the neighborhood of new points, as `leave_one_out`; nothing is left out."""
    label = np.asarray(is_machine, dtype=bool)
    points, inverse = _merge(features)
    counts = _totals(inverse, np.ones((len(label), 1), dtype=bool), label[:, None])
    new, place = _merge(queries)
    found = np.empty((2, len(new)), dtype=np.int64)
    for rows, size, machine in _count(points, *counts, new, n_neighbors, tolerance):
        found[:, rows] = size[:, 0], machine[:, 0]
    return found[0, place], found[1, place]


def votes(size: Ints, machine: Ints, is_machine: ArrayLike) -> tuple[Ints, Ints]:
    """Weigh the votes for machine and for human so that both classes count the same.

    L* (Hashimoto, Zhang, Liang 2019, eq. 2, doi:10.18653/v1/N19-1169) gives each class a
    probability of one half, so each vote weighs the inverse of its class's size; integers keep
    ties exact. With classes of one size this is the plain majority.
    """
    label = np.asarray(is_machine, dtype=bool)
    n_machine = int(label.sum())
    return machine * (len(label) - n_machine), (size - machine) * n_machine


def nearest_to(
    features: Floats, row: int, n_neighbors: int, *, tolerance: float = EXACT_TOLERANCE
) -> tuple[Ints, Floats]:
    """Name the neighborhood of one output among all others, the nearest first, with distances."""
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
    """Give twice the class-balanced leave-one-out error of samples: L(phi), higher is better.

    `members` and `labels` are of shape (m, n), (n,) or (). A tied vote says what `label_ties`
    names; "half" counts half an error. NaN for a sample of fewer than ``n_neighbors + 1`` outputs
    or of one class.
    """
    inside, label = np.broadcast_arrays(
        np.atleast_2d(np.asarray(members, dtype=bool)), np.asarray(labels, dtype=bool)
    )
    n_machine = (inside & label).sum(axis=1)
    n_human = (inside & ~label).sum(axis=1)
    defined = (n_machine + n_human > n_neighbors) & (n_machine > 0) & (n_human > 0)
    found = np.full(len(inside), np.nan)
    if not defined.any():
        return found
    n_machine, n_human = n_machine[defined], n_human[defined]
    points, inverse = _merge(features)
    all_of, machine_of = _totals(inverse, inside[defined].T, label[defined].T)
    missed = np.zeros((2, len(n_human)))
    for rows, size, machine in _count(
        points, all_of, machine_of, points, n_neighbors + 1, tolerance
    ):
        for own, n_own in ((0, (all_of - machine_of)[rows]), (1, machine_of[rows])):
            for_machine = (machine - own) * n_human
            for_human = (size - 1 - machine + own) * n_machine
            wrong = for_machine < for_human if own else for_machine > for_human
            tied = {"half": 0.5, "human": float(own), "system": float(not own)}[label_ties]
            missed[own] += (n_own * (wrong + tied * (for_machine == for_human))).sum(axis=0)
    # One division: with classes of one size the result is the nearest float to errors / n.
    found[defined] = (missed[1] * n_human + missed[0] * n_machine) / (n_human * n_machine)
    return found


def _merge(features: ArrayLike) -> tuple[Floats, Ints]:
    """Give the distinct points, and which of them each row is."""
    points, inverse = np.unique(np.asarray(features, dtype=np.float64), axis=0, return_inverse=True)
    return points, inverse.ravel()


def _totals(inverse: Ints, members: Bools, labels: Bools) -> tuple[Counts, Counts]:
    """Count each sample's outputs at each point, and the system's among them."""
    # 16 bits hold the counts of all but the largest samples, and are added quicker.
    kind = np.int16 if len(inverse) < 2**15 else np.int32
    n = len(inverse)
    sums = csr_array((np.ones(n, dtype=kind), (inverse, np.arange(n))))
    return sums @ members.astype(kind), sums @ (members & labels).astype(kind)


def _count(
    points: Floats, of_all: Counts, of_machine: Counts, queries: Floats, k: int, tolerance: float
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Count neighborhoods in all samples: which queries, then their sizes and the system's share.

    A k-d tree lists the nearest points of each query. In each sample its neighbors are the points
    met on the way along this list: up to the k-th output, and then all at its distance. Where the
    list may be too short, it is made twice as long.
    """
    tree = cKDTree(points)
    step = max(1, _WALKED // of_all.shape[1])
    share = of_all.sum(axis=0, dtype=np.int64).min() / of_all.max(axis=1).sum()
    # As many as hold k outputs of nearly every sample.
    n_listed = int((k + 4 * np.sqrt(k * (1 - share))) / share) + 4
    pending = np.arange(len(queries))
    while len(pending):
        n_listed = min(n_listed, len(points))
        short = []
        for rows in np.split(pending, range(step, len(pending), step)):
            listed = _listed(tree, points, queries[rows], n_listed, tolerance)
            size, machine, enough = _walk(*listed, of_all, of_machine, k)
            yield rows[enough], size[enough].astype(np.int64), machine[enough].astype(np.int64)
            short.append(rows[~enough])
        pending = np.concatenate(short)
        n_listed *= 2


def _listed(
    tree: cKDTree, points: Floats, queries: Floats, n_listed: int, tolerance: float
) -> tuple[Ints, Ints]:
    """List the nearest points, and how far a neighborhood reaches whose k-th is at each place.

    Beyond the list where points that are not on it might be as near.
    """
    near = tree.query(queries, k=range(1, n_listed + 1))[1]
    # Measured again: the tree's own arithmetic may round otherwise than the definition.
    square = sum((points[near, axis] - queries[:, axis, None]) ** 2 for axis in range(tree.m))
    distance = np.sqrt(square)
    by = np.argsort(distance, axis=1)
    near, distance = (np.take_along_axis(one, by, axis=1) for one in (near, distance))
    cut = distance + tolerance
    reach = np.empty(near.shape, dtype=np.int64)
    for row, values in enumerate(distance):
        reach[row] = values.searchsorted(cut[row], "right")
    if n_listed < len(points):
        reach[cut >= distance[:, -1:] * _BELOW] = n_listed + 1
    return near, reach


def _walk(
    near: Ints, reach: Ints, of_all: Counts, of_machine: Counts, k: int
) -> tuple[Counts, Counts, Bools]:
    """Go along the lists; the last value says for which of them they were long enough."""
    n_listed = near.shape[1]
    size = np.zeros((len(near), of_all.shape[1]), dtype=of_all.dtype)
    machine = np.zeros_like(size)
    stop = np.full(size.shape, n_listed + 1, dtype=np.int32)
    for place in range(n_listed):
        alive: Counts = (stop > place).astype(of_all.dtype)
        if place % 4 == 0 and not alive.any():
            break
        at = near[:, place]
        size += of_all[at] * alive
        machine += of_machine[at] * alive
        # Reach never decreases along the list, so the minimum keeps its first value.
        np.minimum(stop, np.where(size >= k, reach[:, [place]], n_listed + 1), out=stop)
    return size, machine, (stop <= n_listed).all(axis=1)
