"""Maximum mean discrepancy; precision, recall, density and coverage; and the Vendi score."""

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.linalg import eigvalsh
from scipy.special import entr

from nlgbench.arrays import Bools, Floats, Ints

#: Measures based on nearest neighbors.
MANIFOLDS = ("precision", "recall", "density", "coverage")


def gaussian_kernel(distance: Floats) -> tuple[Floats, float]:
    """Compute ``exp(-d^2 / (2 s^2))`` and the bandwidth s, the median distance of unequal texts."""
    apart = distance[np.triu_indices(len(distance), 1)]
    apart = apart[apart > 0]
    if not len(apart):
        return np.ones_like(distance), float("nan")
    bandwidth = float(np.median(apart))
    return np.exp(-(distance**2) / (2 * bandwidth**2)), bandwidth


def across_items(kernel: Floats, item: Ints) -> Floats:
    """Set pairs within an item to 0, including each text with itself."""
    order = np.argsort(item, kind="stable")
    across = kernel.copy()
    for group in np.split(order, np.flatnonzero(np.diff(item[order])) + 1):
        across[np.ix_(group, group)] = 0.0
    return across


def mmd_of_subsets(kernel: Floats, is_human: Bools, item: Ints, members: Bools) -> Floats:
    """Compute MMD^2 of subsets (n_subsets, n) of texts, from a kernel `across_items`.

    It is the kernel's mean over pairs of human texts, plus that over pairs of system texts, minus
    twice that over mixed pairs, all without pairs within an item; NaN where a mean has no pairs.
    """
    onehot = _onehot(item)
    human, machine = (members & is_human).astype(float), (members & ~is_human).astype(float)
    by_human, by_machine = human @ onehot, machine @ onehot

    def mean(first: Floats, second: Floats, by_first: Floats, by_second: Floats) -> Floats:
        n_pairs = first.sum(axis=1) * second.sum(axis=1) - (by_first * by_second).sum(axis=1)
        total = ((first @ kernel) * second).sum(axis=1)
        return np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan)

    return (
        mean(human, human, by_human, by_human)
        + mean(machine, machine, by_machine, by_machine)
        - 2 * mean(human, machine, by_human, by_machine)
    )


def swapped_mmd(
    kernel: Floats, is_human: Bools, item: Ints, n_permutations: int, rng: Generator
) -> Floats:
    """Compute MMD^2 with the sides of each item's texts swapped with probability one half."""
    signs = sparse.csr_array(_onehot(item).multiply(np.where(is_human, 1.0, -1.0)[:, None]))
    between = np.asarray(signs.T @ (signs.T @ kernel).T)  # between items; the kernel is symmetric
    size = np.bincount(item, weights=is_human)
    n_pairs = size.sum() ** 2 - (size**2).sum()
    side = rng.choice([-1.0, 1.0], size=(n_permutations, len(between)))
    return ((side @ between) * side).sum(axis=1) / n_pairs


def permuted_mmd(kernel: Floats, is_human: Bools, n_permutations: int, rng: Generator) -> Floats:
    """Compute MMD^2 with permuted labels of texts, each of which is its own item."""
    n, m = int(is_human.sum()), int((~is_human).sum())
    human = rng.permuted(np.tile(is_human, (n_permutations, 1)), axis=1).astype(float)
    inside = ((human @ kernel) * human).sum(axis=1)
    to_all = human @ kernel.sum(axis=1)
    outside = kernel.sum() - 2 * to_all + inside
    between = to_all - inside
    return inside / (n * (n - 1)) + outside / (m * (m - 1)) - 2 * between / (n * m)


def _onehot(item: Ints) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(item)), (np.arange(len(item)), item)))


def manifolds_of_subsets(
    distance: Floats, is_human: Bools, members: Bools, n_neighbors: int
) -> dict[str, Floats]:
    """Compute precision, recall, density and coverage of subsets (n_subsets, n) of texts.

    A text's ball is open, with the distance to its `n_neighbors`-th nearest neighbor on its own
    side as radius; equal texts are always inside. NaN where a side has too few texts.
    """
    values = {name: np.full(len(members), np.nan) for name in MANIFOLDS}
    for row, held in enumerate(members):
        ours, theirs = np.flatnonzero(held & is_human), np.flatnonzero(held & ~is_human)
        if min(len(ours), len(theirs)) <= n_neighbors:
            continue
        across = distance[np.ix_(ours, theirs)]
        across[across == 0] = -1.0  # below any radius, even 0
        of_human, of_other = (
            _radii(distance[np.ix_(side, side)], n_neighbors) for side in (ours, theirs)
        )
        in_human, in_other = across < of_human[:, None], across < of_other
        values["precision"][row] = in_human.any(axis=0).mean()
        values["recall"][row] = in_other.any(axis=1).mean()
        values["density"][row] = in_human.sum() / (n_neighbors * len(theirs))
        values["coverage"][row] = in_human.any(axis=1).mean()
    return values


def _radii(distance: Floats, n_neighbors: int) -> Floats:
    """Compute each text's distance to its n-th nearest neighbor."""
    np.fill_diagonal(distance, -1.0)  # the text itself comes first
    return np.partition(distance, n_neighbors, axis=1)[:, n_neighbors]


def vendi_of_subsets(similarity: Floats, members: Bools) -> Floats:
    """Compute the Vendi score of subsets (n_subsets, n) of texts; NaN for empty subsets.

    It is the exponential of the entropy of the eigenvalues of the similarity matrix, which has a
    diagonal of 1, divided by the number of texts (Friedman and Dieng 2023, definition 3.1).
    """
    scores = np.full(len(members), np.nan)
    for row, held in enumerate(members):
        rows = np.flatnonzero(held)
        if len(rows):
            values = eigvalsh(similarity[np.ix_(rows, rows)] / len(rows))
            scores[row] = np.exp(entr(np.maximum(values, 0)).sum())
    return scores
