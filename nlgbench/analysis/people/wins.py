"""How often judgments of one system are higher than those of another, with a jackknife variance.

Pairs of judgments are compared within a block, such as an item. The share of pairs that a system
wins is averaged over blocks. Arrays by system and opponent contain all pairs of systems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlgbench.analysis.people.coefficients import added
from nlgbench.arrays import Floats, Ints

#: Judgments at once: their wins against each system need memory.
_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Wins:
    """Judgments as arrays, and wins between systems in each block."""

    system: Ints
    block: Ints
    rank: Ints
    #: By judgment and system: number of the system's lower judgments in the block, ties half.
    lower: Floats
    #: By block: numbers of judgments of each system, and of pairs that it won against each other.
    count: Floats
    won: Floats


def tabulate(value: Floats, system: Ints, block: Ints) -> Wins:
    """Count wins between systems."""
    rank = np.unique(value, return_inverse=True)[1].astype(np.int64)
    k, n = int(system.max()) + 1, int(block.max()) + 1
    lower = _lower(system, block, rank)
    flat = block * k + system
    count = np.bincount(flat, minlength=n * k).reshape(n, k).astype(np.float64)
    return Wins(system, block, rank, lower, count, added(flat, lower, n * k).reshape(n, k, k))


def share(wins: Wins) -> Floats:
    """Average the share of pairs won over blocks with both systems; NaN without such blocks."""
    of_block = _shares(wins.won, wins.count)
    defined = np.isfinite(of_block)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, of_block, 0).sum(axis=0) / defined.sum(axis=0))


def jackknife_variance(wins: Wins, cluster: Ints) -> Floats:
    """Compute the jackknife variance of `share` over clusters; NaN if one contains all blocks."""
    k = wins.count.shape[1]
    full_share, of_block = share(wins), _shares(wins.won, wins.count)
    defined = np.isfinite(of_block)
    of_block = np.where(defined, of_block, 0)
    total, n_blocks = of_block.sum(axis=0), defined.sum(axis=0)
    # A cell contains the judgments of one cluster in one block.
    cell = np.unique(cluster * len(wins.count) + wins.block, return_inverse=True)[1]
    lower_in_cell = _lower(wins.system, cell, wins.rank)
    order = np.lexsort([cell, cluster])
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    squares = np.zeros((k, k))
    for rows in np.split(order, starts[np.flatnonzero(np.diff(starts // _ROWS)) + 1]):
        cells, cell_number = np.unique(cell[rows], return_inverse=True)
        first = np.empty(len(cells), dtype=np.int64)
        first[cell_number] = rows
        block = wins.block[first]
        flat = cell_number * k + wins.system[rows]
        gone = np.bincount(flat, minlength=len(cells) * k).reshape(-1, k)
        lost = added(flat, wins.lower[rows], gone.size).reshape(-1, k, k)
        twice = added(flat, lower_in_cell[rows], gone.size).reshape(-1, k, k)
        # Subtract pairs that the cell won or lost; add pairs within it, which are subtracted twice.
        beaten = wins.count[block][:, :, None] * gone[:, None, :] - lost.transpose(0, 2, 1)
        now = _shares(wins.won[block] - lost - beaten + twice, wins.count[block] - gone)
        defined_now = np.isfinite(now)
        start = np.flatnonzero(np.diff(cluster[first], prepend=-1))
        undefined = defined[block] & ~defined_now
        n_left = n_blocks - np.add.reduceat(undefined, start, axis=0, dtype=np.int64)
        change = np.add.reduceat(np.where(defined_now, now, 0) - of_block[block], start, axis=0)
        shares = (total + change) / np.where(n_left > 0, n_left, np.nan)
        squares += ((shares - full_share) ** 2).sum(axis=0)
    n_clusters = len(starts)
    return (n_clusters - 1) / n_clusters * squares


def _lower(system: Ints, group: Ints, rank: Ints) -> Floats:
    """Count by judgment each system's lower judgments in its group, ties half."""
    k, n = int(system.max()) + 1, int(group.max()) + 1
    value, level = np.unique(group * (int(rank.max()) + 1) + rank, return_inverse=True)
    lower = np.empty((len(level), k))
    for column in range(k):
        of_system = system == column
        count = np.bincount(level[of_system], minlength=len(value))
        before = np.append(0, np.cumsum(np.bincount(group[of_system], minlength=n)))
        lower[:, column] = (np.cumsum(count) - count / 2)[level] - before[group]
    return lower


def _shares(won: Floats, count: Floats) -> Floats:
    """Compute the share of pairs won; NaN without pairs."""
    pairs = count[:, :, None] * count[:, None, :]
    return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1), np.nan)
