"""A divergence frontier over clusters of texts (Pillutla et al. 2021), and the area below it."""

from typing import Any

import numpy as np
from scipy.special import rel_entr
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from nlgbench.arrays import Bools, Floats, Ints

#: The paper's scaling constant, which spreads areas over more of the range from 0 to 1.
SCALE = 5.0
#: Texts per side and cluster; the paper uses 5,000 texts and 500 clusters.
PER_CLUSTER = 10
#: The share of variance that principal components keep, and their largest number.
_KEPT, _MOST = 0.9, 50
_STARTS = 5
#: Mixtures of the two distributions, from all of one to all of the other.
_MIXTURES = np.linspace(0, 1, 201)


def clusters(rows: Any, n_clusters: int, n_kinds: int, seed: int) -> Ints:
    """Cluster texts by k-means on shared principal components; `n_kinds` counts distinct rows."""
    n_components = min(_MOST, n_kinds - 1, *(size - 1 for size in rows.shape))
    if n_components < 1:
        return np.zeros(rows.shape[0], dtype=np.int64)
    pca = PCA(n_components, svd_solver="arpack", random_state=seed)
    placed = pca.fit_transform(rows)
    n_kept = int(np.searchsorted(np.cumsum(pca.explained_variance_ratio_), _KEPT)) + 1
    placed = placed[:, :n_kept]
    # Distinct texts can have equal coordinates, so there may be fewer clusters.
    n_places = len(np.unique(placed.round(9), axis=0))
    means = KMeans(min(n_clusters, n_places), n_init=_STARTS, random_state=seed)
    return np.asarray(means.fit_predict(placed), dtype=np.int64)


def frontier_of_subsets(cluster: Ints, is_human: Bools, members: Bools) -> Floats:
    """Compute the area below the frontier of subsets (n_subsets, n); NaN if a side has no text."""
    onehot = np.eye(int(cluster.max()) + 1)[cluster]
    human, machine = (members & is_human) @ onehot, (members & ~is_human) @ onehot
    areas = np.full(len(members), np.nan)
    defined = (human.sum(axis=1) > 0) & (machine.sum(axis=1) > 0)
    areas[defined] = [
        area(smoothed(p), smoothed(two))
        for p, two in zip(human[defined], machine[defined], strict=True)
    ]
    return areas


def smoothed(counts: Floats) -> Floats:
    """Estimate shares after adding one half to each count (Krichevsky and Trofimov 1981)."""
    return (counts + 0.5) / (counts + 0.5).sum()


def area(p: Floats, q: Floats) -> float:
    """Compute the area below the curve ``(exp(-c KL(q | r)), exp(-c KL(p | r)))``.

    Along it, ``r = w p + (1 - w) q`` with w from 0 to 1. The area is 1 where p and q are equal.
    """
    mixed = _MIXTURES[:, None] * p + (1 - _MIXTURES)[:, None] * q
    x, y = (np.exp(-SCALE * rel_entr(share, mixed).sum(axis=1)) for share in (q, p))
    # At r = p the curve has y = 1: extend it to (0, 1), so that the area starts at x = 0.
    x, y = np.append(x, 0.0), np.append(y, 1.0)
    return float(-np.trapezoid(y, x))
