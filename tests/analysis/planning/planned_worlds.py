"""Studies of a planned layout, simulated hundreds at once, and how many reject equality.

The test is that of `nlgbench.compare_systems`, which tests of the planner hold it against.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.sparse import csr_array
from scipy.stats import t as student

from nlgbench.analysis.planning.power import Design, Spread
from nlgbench.crossed import effective_size, largest_variance
from nlgbench.inference import Floats
from nlgbench.worlds.tables import chances

Ints = NDArray[np.int64]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Layout:
    """Who judges what: the items and annotators of one planned study."""

    design: Design
    n_items: int
    n_annotators: int
    #: Annotators of one output (one pair, of votes).
    n_votes: int
    #: Whether the test is for these annotators, and over items alone.
    fixed: bool = False

    def cells(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Give item and annotator of each output of one system."""
        item = np.repeat(np.arange(self.n_items), self.n_votes)
        if self.design == "distinct":
            return item, np.arange(len(item))
        drawn = np.argsort(rng.random((self.n_items, self.n_annotators)), axis=1)
        return item, drawn[:, : self.n_votes].ravel()


def rejections_of_means(
    layout: Layout,
    difference: float,
    spread: Spread,
    alpha: float,
    n: int,
    rng: np.random.Generator,
) -> int:
    """Count worlds in which `compare_systems` would tell two systems apart."""
    item, annotator = layout.cells(rng)
    rest = spread.rest
    if layout.design == "scattered":
        second = np.repeat([False, True], len(item))
        other = layout.cells(rng)
        item, annotator = np.append(item, other[0]), np.append(annotator, other[1])
        # What systems, items and annotators have in common drops out of the difference.
        y = np.where(second, -difference / 2, difference / 2)
        y = y + rng.normal(0, np.sqrt(rest / 2), (n, len(item)))
        for cluster, variance in ((item, spread.item), (annotator, spread.annotator)):
            size = int(cluster.max()) + 1
            effect = rng.normal(0, np.sqrt(variance / 2), (n, 2, size))
            if layout.fixed and cluster is annotator:  # the difference is these annotators'
                effect -= effect.mean(axis=2, keepdims=True)
            y += effect.reshape(n, 2 * size)[:, cluster + size * second]
        return _beyond(*refitted(y, second, item, annotator, layout.fixed), alpha)
    d = difference + rng.normal(0, np.sqrt(spread.item), (n, layout.n_items))[:, item]
    size = int(annotator.max()) + 1
    d += _tastes(np.sqrt(spread.annotator), (n, size), layout, rng)[:, annotator]
    d += rng.normal(0, np.sqrt(rest), d.shape)
    return _beyond(*paired(d, item, annotator, layout.fixed), alpha)


def _tastes(sd: float, shape: tuple[int, int], layout: Layout, rng: np.random.Generator) -> Floats:
    """Draw what annotators add to a difference; fixed ones add 0 on average."""
    drawn = rng.normal(0, sd, shape)
    center = layout.fixed and layout.design != "distinct"
    return drawn - drawn.mean(axis=1, keepdims=True) if center else drawn


def _beyond(difference: Floats, se: Floats, df: float, alpha: float) -> int:
    return int((np.abs(difference) > student.isf(alpha / 2, df) * se).sum())


def paired(
    d: Floats, item: Ints, annotator: Ints, fixed: bool = False
) -> tuple[Floats, Floats, float]:
    """Give mean, standard error and degrees of freedom of differences (worlds, cells).

    The variance is as in `compare_systems`; no two cells share item and annotator.
    """
    mean = d.mean(axis=1)
    off = d - mean[:, None]
    n = d.shape[1]
    parts = []
    for cluster in (item, annotator, np.arange(n)):
        size = np.bincount(cluster)
        of = csr_array((np.ones(n), (cluster, np.arange(n))), shape=(len(size), n))
        without = -(of @ off.T).T / (n - size)
        parts.append((len(size) - 1) / len(size) * (without**2).sum(axis=1))
    return mean, _error(parts, fixed), _df(item, annotator, fixed)


def refitted(
    y: Floats, second: NDArray[np.bool_], item: Ints, annotator: Ints, fixed: bool = False
) -> tuple[Floats, Floats, float]:
    """Give the same of judgments (worlds, n) by least squares of system + item + annotator.

    Every estimate, and every one without a cluster, is linear in the judgments: their weights are
    found once for all worlds.
    """
    n_items, rows = int(item.max()) + 1, np.arange(len(item))
    x = np.zeros((len(item), 1 + n_items + int(annotator.max()) + 1))
    x[:, 0] = 0.5 - second
    x[rows, 1 + item] = 1
    x[rows, 1 + n_items + annotator] = 1
    weights = np.linalg.pinv(x.T @ x, hermitian=True) @ x.T
    residual = y - (y @ weights.T) @ x.T
    parts = []
    cell = np.unique(item * (annotator.max() + 1) + annotator, return_inverse=True)[1]
    for cluster in (item, annotator, cell):
        order = np.argsort(cluster, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
        total = np.zeros(len(y))
        for own in groups:
            kept = np.eye(len(own)) - x[own] @ weights[:, own]
            total += (
                residual[:, own]
                @ (weights[0, own] @ np.linalg.pinv(kept, rcond=1e-9, hermitian=True))
            ) ** 2
        parts.append((len(groups) - 1) / len(groups) * total)
    return y @ weights[0], _error(parts, fixed), _df(item, annotator, fixed)


def _error(parts: list[Floats], fixed: bool) -> Floats:
    return np.sqrt(parts[0] if fixed else largest_variance(*parts))


def _df(item: Ints, annotator: Ints, fixed: bool) -> float:
    items = effective_size(item)
    return (items if fixed else min(items, effective_size(annotator))) - 1


def latent_votes(difference: float, ties: float, spread: Spread) -> tuple[float, float, Floats]:
    """Find the gap, Davidson's nu, and the deviations of gaps over items and annotators, in nats.

    So that wins less losses are `difference` on average, ties their share, and variances over
    items and annotators those of `spread`.
    """
    wanted = np.array([difference, ties, np.sqrt(spread.item), np.sqrt(spread.annotator)])

    def off(at: Floats) -> Floats:
        latent = at[0] + at[2] * _NODES[:, None] + at[3] * _NODES
        win, tie, loss = np.moveaxis(chances(latent, np.exp(at[1])), -1, 0)
        score = win - loss
        mean = _WEIGHTS @ score @ _WEIGHTS
        by_item, by_annotator = score @ _WEIGHTS, _WEIGHTS @ score
        of = [np.sqrt(_WEIGHTS @ (one - mean) ** 2) for one in (by_item, by_annotator)]
        return np.array([mean, _WEIGHTS @ tie @ _WEIGHTS, *of]) - wanted

    start = np.array([2 * difference, np.log(max(ties, 1e-6)), *4 * wanted[2:]])
    found = least_squares(off, start, bounds=([-30, -30, 0, 0], [30, 30, 30, 30]))
    if np.abs(found.fun).max() > 1e-3:
        raise ValueError(
            "no votes have this difference, this share of ties and these variances at once: wins, "
            "ties and losses are shares, and what items or annotators make of them cannot vary "
            f"more. Got a difference of {difference:g}, ties {ties:g}, item {spread.item:g}, "
            f"annotator {spread.annotator:g}."
        )
    return float(found.x[0]), float(np.exp(found.x[1])), found.x[2:]
