"""Leave-one-out nearest-neighbor votes, exact under heavy ties and near-linear in time.

The *neighborhood* of an output holds its ``n_neighbors`` nearest other outputs and every further
output at the distance of the last of them: ties at the cut are included. The Euclidean distance is
``sqrt(sum((a - b) ** 2))`` in floating point; an output is inside when its distance is at most the
cut plus ``tolerance``. Features are finite arrays of shape (n, d), already scaled; labels are true
where an output is the system's.
"""

from collections.abc import Callable
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

# Candidates held at once: 128 kB for each array of a block, which stays in the cache.
_BLOCK = 16_000
# What the tree did not return is no nearer than its last candidate, up to rounding.
_BELOW = 1 - 1e-12
# Outputs x subsamples that are walked at once, so that counts stay in the cache.
_WALKED = 200_000
# Neighbors that are sorted at first in large samples, beyond those expected to be walked.
_SPARE = 64
_SORT_ALL = 2_000


def leave_one_out(
    features: ArrayLike,
    is_machine: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the neighborhood of each output among all others: its size, and the system's in it.

    An output is at distance 0 from itself, so the cut at its k-th nearest other output is the cut
    at the (k + 1)-th nearest of all: count all of them, then take its own label away. Equal points
    are counted once. One dimension is sorted, more go through a k-d tree, whose candidates are
    measured again here so that the answer is that of the plain loop over outputs, bit for bit.
    """
    array, label = np.asarray(features, dtype=np.float64), np.asarray(is_machine, dtype=bool)
    points, count, machine, inverse = _merge(array, label)
    size, n_machine = _count(points, count, machine, points, n_neighbors + 1, tolerance)
    return size[inverse] - 1, n_machine[inverse] - label


def neighborhoods(
    features: ArrayLike,
    is_machine: ArrayLike,
    queries: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the neighborhood of new points, as `leave_one_out`; nothing is left out."""
    array, label = np.asarray(features, dtype=np.float64), np.asarray(is_machine, dtype=bool)
    new = np.asarray(queries, dtype=np.float64)
    points, count, machine, _ = _merge(array, label)
    return _count(points, count, machine, new, n_neighbors, tolerance)


def votes(size: Ints, machine: Ints, is_machine: ArrayLike) -> tuple[Ints, Ints]:
    """Weigh the votes for machine and for human so that both classes count the same.

    L* (Hashimoto, Zhang, Liang 2019, eq. 2, doi:10.18653/v1/N19-1169) gives each class a
    probability of one half, so each vote weighs the inverse of its class's size; integers keep
    ties exact. With classes of one size this is the plain majority.
    """
    label = np.asarray(is_machine, dtype=bool)
    n_machine = int(label.sum())
    return machine * (len(label) - n_machine), (size - machine) * n_machine


def twice_error(
    size: Ints, machine: Ints, is_machine: ArrayLike, *, label_ties: LabelTies = "human"
) -> float:
    """Give twice the class-balanced error of the vote: the estimate of L(phi), higher is better.

    A tied vote says what `label_ties` names; "half" counts half an error.
    """
    label = np.asarray(is_machine, dtype=bool)
    n_machine = int(label.sum())
    n_human = len(label) - n_machine
    for_machine, for_human = votes(size, machine, label)
    tied = for_machine == for_human
    wrong = np.where(label, for_machine < for_human, for_machine > for_human).astype(np.float64)
    wrong[tied] = 0.5 if label_ties == "half" else label[tied] == (label_ties == "human")
    # One division: with classes of one size the result is the nearest float to errors / n.
    missed = wrong[label].sum() * n_human + wrong[~label].sum() * n_machine
    return float(missed / (n_human * n_machine))


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


def errors_of_labelings(
    features: Floats,
    labels: Bools,
    n_neighbors: int,
    *,
    tolerance: float,
    label_ties: LabelTies,
) -> Floats:
    """Score other labels, of shape (m, n): the neighborhoods stay, the votes change."""
    near = [
        nearest_to(features, row, n_neighbors, tolerance=tolerance)[0]
        for row in range(len(features))
    ]
    size = np.array([len(one) for one in near])
    ends = np.append(0, np.cumsum(size))
    graph = csr_array(
        (np.ones(ends[-1]), np.concatenate(near), ends), shape=(len(features), len(features))
    )
    machine = (graph @ labels.T.astype(np.float64)).T.astype(np.int64)
    return np.array(
        [
            twice_error(size, counted, label, label_ties=label_ties)
            for counted, label in zip(machine, labels, strict=True)
        ]
    )


def subsample_errors(
    features: ArrayLike,
    is_machine: ArrayLike,
    members: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
    label_ties: LabelTies = "human",
) -> Floats:
    """Give twice the leave-one-out error on each subsample; `members` has shape (m, n).

    What `twice_error` gives for ``features[member]``, bit for bit; NaN for a subsample of fewer
    than ``n_neighbors + 1`` outputs or of one class. All others of an output are sorted by distance
    once. In each subsample its neighbors are the first members met on the way along this list: up
    to the k-th, and then all at its distance. A step is taken for all outputs and subsamples
    together.
    """
    array, label = np.asarray(features, dtype=np.float64), np.asarray(is_machine, dtype=bool)
    inside = np.asarray(members, dtype=bool)
    # 16 bits hold the counts of all but the largest samples, and are added quicker.
    counts = np.int16 if len(array) < 2**15 else np.int32
    member: Counts = np.ascontiguousarray(inside.T).astype(counts)
    machine_member: Counts = member * label[:, None].astype(counts)
    n_machine = machine_member.sum(axis=0, dtype=np.int64)
    n_human = member.sum(axis=0, dtype=np.int64) - n_machine
    fewest = max(1.0, float((n_machine + n_human).min())) / len(array)
    n_sorted = len(array) - 1
    if n_sorted > _SORT_ALL:
        n_sorted = min(n_sorted, int(2 * n_neighbors / fewest) + _SPARE)
    missed = np.zeros((2, len(inside)))
    step = max(1, _WALKED // max(1, len(inside)))
    for rows in np.split(np.arange(len(array)), range(step, len(array), step)):
        walked = _walk(array, rows, n_sorted, member, machine_member, n_neighbors, tolerance)
        if walked is None:
            n_all = len(array) - 1
            walked = _walk(array, rows, n_all, member, machine_member, n_neighbors, tolerance)
        assert walked is not None  # the whole list always suffices
        size, machine = walked
        for_machine, for_human = machine * n_human, (size - machine) * n_machine
        truth = label[rows, None]
        wrong = np.where(truth, for_machine < for_human, for_machine > for_human).astype(float)
        if label_ties == "half":
            wrong[for_machine == for_human] = 0.5
        else:
            wrong += (for_machine == for_human) & (truth == (label_ties == "human"))
        wrong *= member[rows]
        for number in (0, 1):
            missed[number] += wrong[label[rows] == bool(number)].sum(axis=0)
    undefined = (n_machine + n_human <= n_neighbors) | (n_machine == 0) | (n_human == 0)
    found = np.full(len(inside), np.nan)
    # The sums and the one division of `twice_error`, so that not a bit differs.
    above = missed[1] * n_human + missed[0] * n_machine
    return np.divide(above, n_human * n_machine, out=found, where=~undefined)


def _walk(
    array: Floats,
    rows: Ints,
    n_sorted: int,
    member: Counts,
    machine_member: Counts,
    n_neighbors: int,
    tolerance: float,
) -> tuple[Ints, Ints] | None:
    """Count the neighborhoods of some outputs in all subsamples; None if the lists are short."""
    order, distance = _nearest(array, rows, n_sorted)
    # How far the neighborhood reaches along the list when its k-th member stands at a place.
    reach = np.empty(order.shape, dtype=member.dtype)
    for row, values in enumerate(distance):
        reach[row] = np.searchsorted(values, values + tolerance, side="right")
    size = np.zeros((len(rows), member.shape[1]), dtype=member.dtype)
    machine = np.zeros_like(size)
    never = np.iinfo(member.dtype).max
    stop = np.full_like(size, never)
    for place in range(n_sorted):
        alive: Counts = (stop > place).astype(member.dtype)
        if place % 8 == 0 and not alive.any():
            break
        near = order[:, place]
        size += member[near] * alive
        machine += machine_member[near] * alive
        # Reach never decreases along the list, so the minimum keeps its first value.
        np.minimum(stop, np.where(size >= n_neighbors, reach[:, [place]], never), out=stop)
    if n_sorted < len(array) - 1 and (stop >= n_sorted)[member[rows] > 0].any():
        return None
    return size.astype(np.int64), machine.astype(np.int64)


def _nearest(array: Floats, rows: Ints, n_sorted: int) -> tuple[Ints, Floats]:
    """Sort the nearest others of some outputs by distance."""
    # The arithmetic of the plain loop, to the last bit.
    square = sum((array[:, axis] - array[rows, axis, None]) ** 2 for axis in range(array.shape[1]))
    distance = np.sqrt(square)
    distance[np.arange(len(rows)), rows] = np.inf
    if n_sorted < len(array) - 1:
        near = np.argpartition(distance, n_sorted - 1, axis=1)[:, :n_sorted]
        by = np.argsort(np.take_along_axis(distance, near, axis=1), axis=1)
        order = np.take_along_axis(near, by, axis=1)
    else:
        order = np.argsort(distance, axis=1)[:, :n_sorted]
    return order, np.take_along_axis(distance, order, axis=1)


def _merge(array: Floats, label: Bools) -> tuple[Floats, Ints, Ints, Ints]:
    """Return the distinct points with their counts, machine counts, and each row's point."""
    order = np.argsort(array[:, 0])
    ordered = array[order]
    if array.shape[1] > 1 and (ordered[1:, 0] == ordered[:-1, 0]).any():
        order = np.lexsort(array.T[::-1])
        ordered = array[order]
    first = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    start = np.flatnonzero(first)
    inverse = np.empty(len(array), dtype=np.int64)
    inverse[order] = np.cumsum(first) - 1
    machine = np.add.reduceat(label[order].astype(np.int64), start)
    return ordered[first], np.diff(start, append=len(array)), machine, inverse


def _count(
    points: Floats, count: Ints, machine: Ints, queries: Floats, k: int, tolerance: float
) -> tuple[Ints, Ints]:
    if points.shape[1] == 1:
        return _count_sorted(points[:, 0], count, machine, queries[:, 0], k, tolerance)
    return _count_tree(points, count, machine, queries, k, tolerance)


def _count_sorted(
    points: Floats, count: Ints, machine: Ints, queries: Floats, k: int, tolerance: float
) -> tuple[Ints, Ints]:
    """Count in one dimension: the k nearest are a window of the sorted values.

    Rounded differences never decrease with the distance, so each step below is a bisection on the
    very differences that the plain loop compares.
    """
    values = np.repeat(points, count)
    middle = np.searchsorted(values, queries)
    low, high = np.maximum(middle - k, 0), np.minimum(middle, len(values) - k)

    def left_gap(start: Ints) -> Floats:
        return queries - values[start]

    def right_gap(start: Ints) -> Floats:
        return values[start + k - 1] - queries

    start = _first(lambda at: right_gap(at) >= left_gap(at), low, high)
    before = np.maximum(start - 1, low)
    cut = tolerance + np.minimum(
        np.maximum(left_gap(start), right_gap(start)),
        np.maximum(left_gap(before), right_gap(before)),
    )
    # The window's ends move out over everything else that is not beyond the cut.
    nearest = np.searchsorted(points, queries)
    last = len(points) - 1
    zero, end = np.zeros_like(nearest), np.full_like(nearest, len(points))
    left = _first(lambda at: queries - points[np.minimum(at, last)] <= cut, zero, nearest)
    right = _first(lambda at: points[np.minimum(at, last)] - queries > cut, nearest, end)
    total = np.concatenate([[0], np.cumsum(count)])
    total_machine = np.concatenate([[0], np.cumsum(machine)])
    return total[right] - total[left], total_machine[right] - total_machine[left]


def _first(true_at: Callable[[Ints], Bools], low: Ints, high: Ints) -> Ints:
    """Bisect, for all queries at once, for the first place in [low, high) that is true."""
    while (low < high).any():
        middle = (low + high) // 2
        true = true_at(middle)
        low, high = np.where(true | (low == high), low, middle + 1), np.where(true, middle, high)
    return low


def _count_tree(
    points: Floats, count: Ints, machine: Ints, queries: Floats, k: int, tolerance: float
) -> tuple[Ints, Ints]:
    """Count with a k-d tree; where ties may reach beyond the candidates, ask for twice as many."""
    # On distinct points the quicker way of building costs no balance.
    tree = cKDTree(points, leafsize=24, balanced_tree=False, compact_nodes=False)
    size = np.full(len(queries), k, dtype=np.int64)
    size_machine = np.empty_like(size)
    # Queries that are near each other one after the other: quicker, as they read the same leaves.
    pending = tree.indices if queries is points else np.arange(len(queries))
    n_candidates = min(k + 1, len(points))
    if n_candidates > k and count.max() == 1:
        unclear = []
        for block in _blocks(pending, n_candidates):
            distance, near = tree.query(queries[block], k=n_candidates)
            size_machine[block] = machine[near[:, :k]].sum(axis=1)
            clear = distance[:, k] * _BELOW > distance[:, k - 1] + tolerance
            unclear.append(block[~clear])
        pending = np.concatenate(unclear)
        n_candidates = min(2 * n_candidates, len(points))
    while len(pending):
        undecided = []
        for block in _blocks(pending, n_candidates):
            near = tree.query(queries[block], k=range(1, n_candidates + 1))[1]
            # Measured again: the tree's own arithmetic may round otherwise than the definition.
            distance = np.sqrt(
                sum(
                    (points[near, axis] - queries[block, axis, None]) ** 2
                    for axis in range(points.shape[1])
                )
            )
            order = np.argsort(distance, axis=1)
            reached = np.cumsum(np.take_along_axis(count[near], order, axis=1), axis=1) >= k
            kth = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
            cut = np.take_along_axis(distance, kth, axis=1) + tolerance
            inside = distance <= cut
            size[block] = (count[near] * inside).sum(axis=1)
            size_machine[block] = (machine[near] * inside).sum(axis=1)
            undecided.append(block[cut[:, 0] >= distance.max(axis=1) * _BELOW])
        if n_candidates == len(points):
            break
        pending = np.concatenate(undecided)
        n_candidates = min(2 * n_candidates, len(points))
    return size, size_machine


def _blocks(rows: Ints, n_candidates: int) -> list[Ints]:
    n_rows = max(1, _BLOCK // n_candidates)
    return np.split(rows, range(n_rows, len(rows), n_rows))
