"""Leave-one-out nearest-neighbor votes, exact under heavy ties and near-linear in time.

Definitions used throughout. The *neighborhood* of an output holds its ``n_neighbors`` nearest
other outputs and every further output at the distance of the last of them: ties at the cut are
included. The Euclidean distance is ``sqrt(sum((a - b) ** 2))`` in floating point; an output
is inside when its distance is at most the cut plus ``tolerance``.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LabelTies = Literal["human", "system", "half"]

EXACT_TOLERANCE = 1e-9
"""In unit-variance features, distances that differ by no more than this are equal."""

# Candidates held at once: 128 kB for each array of a block, which stays in the cache.
_BLOCK = 16_000
# What the tree did not return is no nearer than its last candidate, up to rounding.
_BELOW = 1 - 1e-12


def leave_one_out(
    features: ArrayLike,
    is_machine: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = EXACT_TOLERANCE,
) -> tuple[Ints, Ints]:
    """Count the neighborhood of each output among all the others.

    Parameters
    ----------
    features : array-like of shape (n, d)
        Finite features, one row per output, already scaled.
    is_machine : array-like of bool, shape (n,)
        True where the output comes from the system, False where it is human.
    n_neighbors : int
        Neighbors asked for, 1 to n - 1.
    tolerance : float
        Added to the cut; 0 compares raw floating-point distances.

    Returns
    -------
    size : ndarray of int64, shape (n,)
        Outputs in the neighborhood: at least `n_neighbors`, more when there are ties at the cut.
    machine : ndarray of int64, shape (n,)
        How many of these are the system's.

    Raises
    ------
    ValueError
        When a feature is not finite, shapes disagree, or `n_neighbors` is out of range.

    Notes
    -----
    An output is at distance 0 from itself, so the cut at its k-th nearest other output is the cut
    at the (k + 1)-th nearest of all: count all of them, then take its own label away. Equal
    points are counted once. One dimension is sorted, more go through a k-d tree, whose
    candidates are measured again here so that the answer is that of the plain loop over outputs,
    bit for bit.

    Examples
    --------
    >>> size, machine = leave_one_out([[0.0], [1.0], [2.0], [5.0]], [False, True, True, True], 1)
    >>> size.tolist(), machine.tolist()
    ([1, 2, 1, 1], [1, 1, 1, 1])
    """
    array, label = _arrays(features, is_machine)
    if not 1 <= n_neighbors < len(array):
        raise ValueError(
            f"n_neighbors must be between 1 and the number of other outputs, {len(array) - 1}. "
            f"Got {n_neighbors} with {len(array)} outputs: add outputs or lower n_neighbors."
        )
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
    """Count the neighborhood of new points; nothing is left out.

    Parameters
    ----------
    features, is_machine, tolerance
        As in `leave_one_out`.
    queries : array-like of shape (m, d)
        Finite points, scaled as `features` are.
    n_neighbors : int
        Neighbors asked for, 1 to n.

    Returns
    -------
    size, machine : ndarray of int64, shape (m,)
        Outputs in each neighborhood, and how many of them are the system's.

    Raises
    ------
    ValueError
        As `leave_one_out`.

    Examples
    --------
    >>> size, machine = neighborhoods([[0.0], [1.0], [2.0]], [False, True, True], [[0.5], [9.0]], 1)
    >>> size.tolist(), machine.tolist()
    ([2, 1], [1, 1])
    """
    array, label = _arrays(features, is_machine)
    new = np.asarray(queries, dtype=np.float64)
    if new.ndim != 2 or new.shape[1] != array.shape[1] or not np.isfinite(new).all():
        raise ValueError(
            f"queries must be finite, of shape (m, {array.shape[1]}) as the features are. "
            f"Got shape {new.shape}."
        )
    if not 1 <= n_neighbors <= len(array):
        raise ValueError(
            f"n_neighbors must be between 1 and the number of outputs, {len(array)}. "
            f"Got {n_neighbors}."
        )
    points, count, machine, _ = _merge(array, label)
    return _count(points, count, machine, new, n_neighbors, tolerance)


def votes(size: Ints, machine: Ints, is_machine: ArrayLike) -> tuple[Ints, Ints]:
    """Weigh the votes of neighborhoods so that both classes count the same.

    Parameters
    ----------
    size, machine : ndarray of int64
        As `leave_one_out` or `neighborhoods` returns them.
    is_machine : array-like of bool, shape (n,)
        The labels of all outputs, which give the class sizes.

    Returns
    -------
    for_machine, for_human : ndarray of int64
        ``machine * n_human`` and ``human * n_machine``: the larger wins, equal is a label tie.

    Notes
    -----
    L* (Hashimoto, Zhang, Liang 2019, eq. 2, doi:10.18653/v1/N19-1169) gives each class a
    probability of one half, so each vote weighs the inverse of its class's size; integers keep
    ties exact. With classes of one size this is the plain majority.

    Examples
    --------
    >>> votes(np.array([3]), np.array([2]), [True, True, True, False])
    (array([2]), array([3]))
    """
    label = np.asarray(is_machine, dtype=bool)
    n_machine = int(label.sum())
    return machine * (len(label) - n_machine), (size - machine) * n_machine


def twice_error(
    size: Ints, machine: Ints, is_machine: ArrayLike, *, label_ties: LabelTies = "human"
) -> float:
    """Twice the class-balanced error of the vote: the estimate of L(phi).

    Parameters
    ----------
    size, machine : ndarray of int64, shape (n,)
        As `leave_one_out` returns them.
    is_machine : array-like of bool, shape (n,)
        The true labels, both present.
    label_ties : {"human", "system", "half"}
        What a tied vote predicts; "half" counts one half of an error.

    Returns
    -------
    float
        Error rate among human outputs + error rate among the system's; higher is better. 0 is
        told apart always, 1 is chance; it can pass 1 in small samples. With classes of one size
        it is twice the leave-one-out error.

    Raises
    ------
    ValueError
        When `label_ties` is unknown or only one class is there.

    Examples
    --------
    >>> size, machine = leave_one_out([[0.0], [0.1], [1.0], [1.1]], [False, True, True, True], 1)
    >>> twice_error(size, machine, [False, True, True, True])
    1.3333333333333333
    """
    label = np.asarray(is_machine, dtype=bool)
    n_machine = int(label.sum())
    n_human = len(label) - n_machine
    if not n_machine or not n_human:
        raise ValueError(
            f"both classes must be present. Got {n_human} human outputs and {n_machine} of the "
            "system: an error rate needs at least one of each."
        )
    for_machine, for_human = votes(size, machine, label)
    wrong = np.where(label, for_machine < for_human, for_machine > for_human).astype(np.float64)
    wrong[for_machine == for_human] = _tie_error(label_ties, label[for_machine == for_human])
    # One division: with classes of one size the result is the nearest float to errors / n.
    missed = wrong[label].sum() * n_human + wrong[~label].sum() * n_machine
    return float(missed / (n_human * n_machine))


def _tie_error(label_ties: str, label: NDArray[np.bool_]) -> Floats:
    """Return the error that each tied vote counts for."""
    if label_ties == "human":
        return label.astype(np.float64)
    if label_ties == "system":
        return (~label).astype(np.float64)
    if label_ties == "half":
        return np.full(len(label), 0.5)
    raise ValueError(f'label_ties must be "human", "system" or "half". Got {label_ties!r}.')


def _arrays(features: ArrayLike, is_machine: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    array = np.asarray(features, dtype=np.float64)
    label = np.asarray(is_machine, dtype=bool)
    if array.ndim != 2 or label.shape != (len(array),):
        raise ValueError(
            "features must have shape (n, d) and is_machine shape (n,). "
            f"Got {array.shape} and {label.shape}."
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"features must be finite. Got {array[row, column]} at row {row}, column {column} "
            f"({len(bad)} such values): drop these outputs or floor them."
        )
    return array, label


def _merge(array: Floats, label: NDArray[np.bool_]) -> tuple[Floats, Ints, Ints, Ints]:
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


def _first(true_at: Callable[[Ints], NDArray[np.bool_]], low: Ints, high: Ints) -> Ints:
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
