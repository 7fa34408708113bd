"""How often judgments of one system are higher than those of another, with a jackknife variance.

Pairs of judgments are compared within a block, such as an item. The share of pairs that a system
wins is averaged over blocks. Arrays by system and opponent contain all pairs of systems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlgbench.analysis.people.coefficients import added
from nlgbench.arrays import Bools, Floats, Ints
from nlgbench.inference import ratio

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
    margin, defined = _margins(wins.won, wins.count[:, :, None] * wins.count[:, None, :])
    return 0.5 + ratio(margin.sum(axis=0), defined.sum(axis=0))


def jackknife_variance(wins: Wins, cluster: Ints) -> Floats:
    """Compute the jackknife variance of `share` over clusters; NaN if one contains all blocks.

    An entry has the judgments of one system in one block and cluster.
    """
    k, n_blocks = wins.count.shape[1], len(wins.count)
    margin, defined = _margins(wins.won, wins.count[:, :, None] * wins.count[:, None, :])
    total, n_defined = margin.sum(axis=0), defined.sum(axis=0)
    full = ratio(total, n_defined)
    cell = np.unique(cluster * n_blocks + wins.block, return_inverse=True)[1]
    lower_in_cell = _lower(wins.system, cell, wins.rank)
    order = np.lexsort([wins.system, cell])  # cells are sorted by cluster
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    squares = np.zeros((k, k))
    for rows in np.split(order, starts[np.flatnonzero(np.diff(starts // _ROWS)) + 1]):
        first = np.flatnonzero(np.diff(cell[rows] * k + wins.system[rows], prepend=-1))
        gone = np.diff(first, append=len(rows)).astype(np.float64)
        lost = np.add.reduceat(wins.lower[rows], first, axis=0)
        within = np.add.reduceat(lower_in_cell[rows], first, axis=0)
        rows = rows[first]
        system, block = wins.system[rows], wins.block[rows]
        # The entry of each other system in the same cell, if there is one.
        cells, number = np.unique(cell[rows], return_inverse=True)
        entry = np.full((len(cells), k), -1)
        entry[number, system] = np.arange(len(rows))
        other = entry[number]
        both = other >= 0
        gone_of_other = np.where(both, gone[other], 0)
        # Subtract pairs that the entries won or lost; add pairs between them, subtracted twice.
        count, counts = wins.count[block, system][:, None], wins.count[block]
        beaten = count * gone_of_other - np.where(both, lost[other, system[:, None]], 0)
        won = wins.won[block, system] - lost - beaten + np.where(both, within, 0)
        now, is_defined = _margins(won, (count - gone[:, None]) * (counts - gone_of_other))
        # Two entries in a cell have half of the change each, in opposite directions.
        weight = np.where(both, 0.5, 1)
        change = weight * (now - margin[block, system])
        undefined = weight * (defined[block, system] & ~is_defined)
        clusters, number = np.unique(cluster[rows], return_inverse=True)
        changes, n_lost = (
            added(number * k + system, amount, len(clusters) * k).reshape(-1, k, k)
            for amount in (change, undefined)
        )
        margins = total + changes - changes.transpose(0, 2, 1)
        n_left = n_defined - n_lost - n_lost.transpose(0, 2, 1)
        squares += ((ratio(margins, n_left) - full) ** 2).sum(axis=0)
    return (len(starts) - 1) / len(starts) * squares


def _lower(system: Ints, group: Ints, rank: Ints) -> Floats:
    """Count by judgment each system's lower judgments in its group, ties half."""
    k, n_ranks = int(system.max()) + 1, int(rank.max()) + 1
    level, level_of = np.unique(group * n_ranks + rank, return_inverse=True)
    count = np.bincount(level_of * k + system, minlength=len(level) * k).reshape(-1, k)
    below = np.cumsum(count, axis=0) - count
    group_of_level = level // n_ranks
    below -= below[np.searchsorted(group_of_level, group_of_level)]
    return np.asarray((below + count / 2)[level_of])


def _margins(won: Floats, pairs: Floats) -> tuple[Floats, Bools]:
    """Compute the share of pairs won minus one half, or 0 without pairs; and which have pairs."""
    defined = pairs > 0
    return np.where(defined, won / np.where(defined, pairs, 1) - 0.5, 0), defined
