"""How far the planner's formula is off: ``python benchmarks/plan_check.py``.

Of each design 2,000 studies are simulated without a difference, and 2,000 with the one that the
formula finds with a power of .8; the test is that of `nlgbench.compare_systems`, which the tests of
the planner hold it against. Beside means and votes stand evaluators whose correlations differ.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.sparse import csr_array
from scipy.stats import t as student

from nlgbench.analysis.correlation.comparing import williams
from nlgbench.analysis.planning import plans_of_scores, power
from nlgbench.analysis.planning.power import Design, Spread
from nlgbench.crossed import effective_size, largest_variance
from nlgbench.inference import Floats
from nlgbench.worlds.tables import chances

Ints = NDArray[np.int64]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
ALPHA = 0.05


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


def rejections_of_votes(
    layout: Layout,
    gap: float,
    nu: float,
    sds: Floats,
    alpha: float,
    n: int,
    rng: np.random.Generator,
) -> int:
    """Count worlds in which the share of wins less that of losses is off 0, votes on each pair."""
    item, annotator = layout.cells(rng)
    latent = gap + rng.normal(0, sds[0], (n, layout.n_items))[:, item]
    latent += _tastes(sds[1], (n, int(annotator.max()) + 1), layout, rng)[:, annotator]
    win, _, loss = np.moveaxis(chances(latent, nu), -1, 0)
    drawn = rng.random(latent.shape)
    scores = (drawn < win) * 1.0 - (drawn > 1 - loss)
    return _beyond(*paired(scores, item, annotator, layout.fixed), alpha)


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


#: Of the difference: little of annotators, as the world of judgments; much of them.
SPREADS = {"world": Spread(2.0, 0.125, 2.0), "taste": Spread(1.0, 1.0, 2.0)}
LAYOUTS = [
    Layout("crossed", 100, 20, 20),
    Layout("crossed", 25, 10, 10),
    Layout("crossed", 200, 10, 10),
    Layout("blocked", 100, 20, 3),
    Layout("blocked", 50, 40, 5),
    Layout("blocked", 400, 12, 1),
    Layout("scattered", 100, 20, 3),
    Layout("scattered", 178, 88, 3),
    Layout("scattered", 50, 10, 5),
    Layout("distinct", 100, 300, 3),
    Layout("distinct", 25, 25, 1),
]
VOTES = [(0.1, 0.02, 0.25), (0.0, 0.0, 0.0), (0.2, 0.1, 0.1)]


def means(n: int, rng: np.random.Generator) -> list[dict]:
    """Count rejections of each layout and spread."""
    rows = []
    for name, spread in SPREADS.items():
        for at in LAYOUTS:
            numbers = at.n_items, at.n_annotators, at.n_votes
            se = float(power.standard_error(at.design, spread, *numbers))
            df = float(power.degrees_of_freedom(at.design, *numbers[:2]))
            found = power.noncentrality(0.8, df, ALPHA) * se
            counts = [
                rejections_of_means(at, difference, spread, ALPHA, n, rng)
                for difference in (0.0, found)
            ]
            rows.append(_row(f"means, {name}", at, counts, n))
            print(_line(rows[-1]), flush=True)
    return rows


def votes(n: int, rng: np.random.Generator) -> list[dict]:
    """Count rejections of votes with ties; the difference is that of a power of .8."""
    rows = []
    for item, annotator, ties in VOTES:
        for at in [one for one in LAYOUTS if one.design != "scattered"]:
            numbers = at.n_items, at.n_annotators, at.n_votes
            df = float(power.degrees_of_freedom(at.design, *numbers[:2]))
            away, gap = power.noncentrality(0.8, df, ALPHA), 0.0
            for _ in range(20):  # the rest depends on the difference
                rest = 1 - ties - gap**2 - item - annotator
                spread = Spread(item, annotator, rest)
                gap = away * float(power.standard_error(at.design, spread, *numbers))
            if gap > 0.7:
                continue
            counts = []
            for difference in (0.0, gap):
                latent = latent_votes(difference, ties, Spread(item, annotator, 0))
                counts.append(rejections_of_votes(at, *latent, ALPHA, n, rng))
            rows.append(_row(f"votes, {item:g} {annotator:g} {ties:g}", at, counts, n))
            print(_line(rows[-1]), flush=True)
    return rows


def evaluators(n: int, rng: np.random.Generator) -> list[dict]:
    """Count evaluators that are told apart, beside Williams' formula."""
    rows = []
    for a, b, both in ((0.9, 0.6, 0.6), (0.7, 0.4, 0.5), (0.95, 0.85, 0.9)):
        for n_systems in (8, 12, 20, 40):
            counts = [
                plans_of_scores.rejections(np.array([one, b, both]), n_systems, ALPHA, n, rng)
                for one in (b, a)
            ]
            t = williams(a, b, both, n_systems)[0]
            wanted = float(power.power_of(t, 1.0, n_systems - 3, ALPHA))
            row = {"what": f"correlations {a:g} {b:g} {both:g}", "layout": f"{n_systems} systems"}
            row |= {"level": counts[0] / n, "power": counts[1] / n, "formula": wanted}
            rows.append(row)
            print(_line(row), flush=True)
    return rows


def _row(what: str, at: Layout, counts: list[int], n: int) -> dict:
    layout = f"{at.design}, {at.n_items} x {at.n_annotators}, {at.n_votes} votes"
    found = {"level": counts[0] / n, "power": counts[1] / n, "formula": 0.8}
    return {"what": what, "layout": layout} | found


def _line(row: dict) -> str:
    return (
        f"{row['what']:26} {row['layout']:34} level {row['level']:.3f}  "
        f"power {row['power']:.3f}  formula {row['formula']:.3f}"
    )


def main() -> int:
    """Print a line per design, and the largest gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    n = parser.parse_args().worlds
    rng = np.random.default_rng(0)
    table = pd.DataFrame([*means(n, rng), *votes(n, rng), *evaluators(max(n // 4, 1), rng)])
    table["kind"] = table["what"].str.split("[, ]").str[0]
    table["gap"] = table["power"] - table["formula"]
    print(table.groupby("kind")[["level", "gap"]].agg(["min", "max"]).round(3).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
