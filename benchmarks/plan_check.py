"""How far the planner's formula is off: ``python benchmarks/plan_check.py``.

Of each design 2,000 studies are simulated without a difference, and 2,000 with the one that the
formula finds with a power of .8; the test is that of `nlgbench.compare_systems`, which the tests of
the planner hold it against. Beside means and votes stand evaluators whose correlations differ.
"""

import argparse
import sys

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation.comparing import williams
from nlgbench.analysis.planning import power, simulating
from nlgbench.analysis.planning.power import Spread
from nlgbench.analysis.planning.simulating import Layout

ALPHA = 0.05
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
            se = float(power.standard_error(at.design, spread, *numbers, 1))
            df = float(power.degrees_of_freedom(at.design, *numbers[:2]))
            found = power.noncentrality(0.8, df, ALPHA) * se
            counts = [
                simulating.rejections_of_means(at, difference, spread, ALPHA, n, rng)
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
                gap = away * float(power.standard_error(at.design, spread, *numbers, 1))
            if gap > 0.7:
                continue
            counts = []
            for difference in (0.0, gap):
                latent = simulating.latent_votes(difference, ties, Spread(item, annotator, 0))
                counts.append(simulating.rejections_of_votes(at, *latent, ALPHA, n, rng))
            rows.append(_row(f"votes, {item:g} {annotator:g} {ties:g}", at, counts, n))
            print(_line(rows[-1]), flush=True)
    return rows


def evaluators(n: int, rng: np.random.Generator) -> list[dict]:
    """Count evaluators that are told apart, beside Williams' formula."""
    rows = []
    for a, b, both in ((0.9, 0.6, 0.6), (0.7, 0.4, 0.5), (0.95, 0.85, 0.9)):
        for n_systems in (8, 12, 20, 40):
            counts = [
                simulating.rejections_of_correlations(
                    np.array([one, b, both]), n_systems, ALPHA, n, rng
                )
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
