"""Precision, recall, density and coverage: who lies among whose nearest neighbors."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

NAMES = ("precision", "recall", "density", "coverage")


def manifolds_of_subsets(
    distance: Floats, is_human: Bools, members: Bools, n_neighbors: int
) -> dict[str, Floats]:
    """Compute the four measures within subsets (n_subsets, n) of texts.

    A text's ball is open and reaches to its `n_neighbors`-th nearest of its own side; a text equal
    to it is always inside. NaN where a side has no more than `n_neighbors` texts.
    """
    human, other = np.flatnonzero(is_human), np.flatnonzero(~is_human)
    across = distance[np.ix_(human, other)]
    across[across == 0] = -1.0  # below any radius, of 0 too
    of_human = _sorted(distance[np.ix_(human, human)], n_neighbors)
    of_other = _sorted(distance[np.ix_(other, other)], n_neighbors)
    found = {name: np.full(len(members), np.nan) for name in NAMES}
    for row, held in enumerate(members):
        ours, theirs = np.flatnonzero(held[human]), np.flatnonzero(held[other])
        if min(len(ours), len(theirs)) <= n_neighbors:
            continue
        part = across[np.ix_(ours, theirs)]
        in_human = part < _radii(*of_human, held[human], n_neighbors)[:, None]
        in_other = part < _radii(*of_other, held[other], n_neighbors)
        found["precision"][row] = in_human.any(axis=0).mean()
        found["recall"][row] = in_other.any(axis=1).mean()
        found["density"][row] = in_human.sum() / (n_neighbors * len(theirs))
        found["coverage"][row] = in_human.any(axis=1).mean()
    return found


def _sorted(distance: Floats, n_neighbors: int) -> tuple[Ints, Floats]:
    """List each text's nearest others, enough for most subsets of two thirds, and their distances.

    The others are all that there are where these are few.
    """
    n = len(distance)
    np.fill_diagonal(distance, -1.0)  # the text itself comes first
    order = np.argsort(distance, axis=1, kind="stable")[:, 1:]
    return order, np.take_along_axis(distance, order, axis=1) if n > 1 else np.empty((n, 0))


def _radii(order: Ints, distance: Floats, held: Bools, n_neighbors: int) -> Floats:
    """Find the distance of each held text to its n-th nearest among those held."""
    rows = np.flatnonzero(held)
    # So many of the nearest hold enough, but for rare rows, which are gone through whole.
    enough = min(4 * n_neighbors + 20, order.shape[1])
    inside = held[order[rows, :enough]].cumsum(axis=1)
    radius = distance[rows, (inside < n_neighbors).sum(axis=1).clip(max=enough - 1)]
    for place in np.flatnonzero(inside[:, -1] < n_neighbors):
        row = rows[place]
        radius[place] = distance[row, held[order[row]]][n_neighbors - 1]
    return radius
