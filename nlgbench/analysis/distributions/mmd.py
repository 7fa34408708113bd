"""Maximum mean discrepancy (Gretton et al. 2012): how far apart the means of kernels lie."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Permutations times texts that are held at once.
_AT_ONCE = 8_000_000


def gaussian_kernel(distance: Floats) -> tuple[Floats, float]:
    """Give ``exp(-d^2 / (2 s^2))``, and the bandwidth s: the median distance of all texts.

    Of all pairs of both samples together, those of equal texts left out; NaN where there are none.
    """
    apart = distance[np.triu_indices(len(distance), 1)]
    apart = apart[apart > 0]
    if not len(apart):
        return np.ones_like(distance), float("nan")
    bandwidth = float(np.median(apart))
    return np.exp(-(distance**2) / (2 * bandwidth**2)), bandwidth


def across_items(kernel: Floats, item: Ints) -> Floats:
    """Leave out pairs of texts of one item, a text with itself among them."""
    order = np.argsort(item, kind="stable")
    kept = kernel.copy()
    for group in np.split(order, np.flatnonzero(np.diff(item[order])) + 1):
        kept[np.ix_(group, group)] = 0.0
    return kept


def mmd_of_subsets(kernel: Floats, is_human: Bools, item: Ints, members: Bools) -> Floats:
    """Compute MMD^2 within subsets (n_subsets, n) of texts, from a kernel `across_items`.

    The mean over pairs of human texts, plus that over pairs of the system's, minus twice that over
    pairs of either, without pairs of one item; NaN where there is no such pair.
    """
    onehot = _onehot(item)
    human, other = (members & is_human).astype(float), (members & ~is_human).astype(float)
    by_human, by_other = human @ onehot, other @ onehot

    def mean(one: Floats, two: Floats, by_one: Floats, by_two: Floats) -> Floats:
        n_pairs = one.sum(axis=1) * two.sum(axis=1) - (by_one * by_two).sum(axis=1)
        total = ((one @ kernel) * two).sum(axis=1)
        return np.where(n_pairs > 0, total / np.maximum(n_pairs, 1), np.nan)

    return (
        mean(human, human, by_human, by_human)
        + mean(other, other, by_other, by_other)
        - 2 * mean(human, other, by_human, by_other)
    )


def swapped_mmd(
    kernel: Floats, is_human: Bools, item: Ints, n_permutations: int, rng: np.random.Generator
) -> Floats:
    """Compute MMD^2 with people and system swapped within a random half of the items.

    Of each item there are as many texts of either. All texts of an item change sides together.
    """
    signs = sparse.csr_array(_onehot(item).multiply(np.where(is_human, 1.0, -1.0)[:, None]))
    between = np.asarray(signs.T @ (signs.T @ kernel).T)  # of items; the kernel is symmetric
    size = np.bincount(item, weights=is_human)
    n_pairs = size.sum() ** 2 - (size**2).sum()
    found = []
    for part in _parts(n_permutations, len(between)):
        side = rng.choice([-1.0, 1.0], size=(part, len(between)))
        found.append(((side @ between) * side).sum(axis=1) / n_pairs)
    return np.concatenate(found)


def permuted_mmd(
    kernel: Floats, is_human: Bools, n_permutations: int, rng: np.random.Generator
) -> Floats:
    """Compute MMD^2 with the labels of single texts, each of an item of its own, permuted."""
    n, m = int(is_human.sum()), int((~is_human).sum())
    of_text = kernel.sum(axis=1)
    found = []
    for part in _parts(n_permutations, len(kernel)):
        human = rng.permuted(np.tile(is_human, (part, 1)), axis=1).astype(float)
        inside = ((human @ kernel) * human).sum(axis=1)
        to_all = human @ of_text
        outside = of_text.sum() - 2 * to_all + inside
        between = to_all - inside
        found.append(inside / (n * (n - 1)) + outside / (m * (m - 1)) - 2 * between / (n * m))
    return np.concatenate(found)


def _onehot(item: Ints) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(item)), (np.arange(len(item)), item)))


def _parts(n: int, width: int) -> list[int]:
    """Cut a number of permutations into parts that fit into memory."""
    at_once = max(_AT_ONCE // width, 1)
    return [min(at_once, n - start) for start in range(0, n, at_once)]
