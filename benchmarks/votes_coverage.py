"""How often intervals of votes hold: ``python benchmarks/votes_coverage.py``.

Votes are those of `nlgbench.worlds.votes`: some pairs of systems on each item, some annotators on
each pair; how well a system does on an item and how much an annotator likes it are drawn anew in
each world. What an interval should hold is what all items and annotators would give: the chances
of each two systems, and the ratings that Bradley and Terry's model has at these chances. It is set
beside intervals over items, or annotators, alone. Of agreement and accuracy it is what one world of
20,000 items and 2,000 annotators gives.

The width is set beside an oracle's: 1.96 standard deviations of the estimate over worlds.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb

LOW, HIGH = 0.93, 0.97
TWELVE = {f"sys_{n:02d}": 0.8 - 0.14 * n for n in range(12)}
WANTED = [
    ("noisy", "votes", "accuracy"),
    ("noisy", "votes", "accuracy_decided"),
    ("noisy", "votes", "cohen_kappa"),
    ("noisy", "majority", "accuracy_decided"),
    ("people", "votes", "accuracy"),
    ("people", "majority", "accuracy"),
]


@dataclass(frozen=True)
class Cell:
    """A layout; figures that are left out are the world's own."""

    name: str
    world: dict[str, Any]
    what: str = "ratings"  # or agreement, or accuracy
    beside: bool = False  # other ways of rating, too


CELLS = (
    Cell("20 annotators, 100 items", {}, beside=True),
    Cell("20, 100, strong taste", {"of_taste": 0.8}, beside=True),
    Cell("20, 100, no taste, no say of items", {"of_taste": 0.0, "of_items": 0.0}),
    Cell("88 annotators, 178 items", {"n_annotators": 88, "n_items": 178}, beside=True),
    Cell("20 on each of 40 items", {"n_items": 40, "n_votes": 20, "n_pairs": 2}),
    Cell("12 annotators, 50 items", {"n_annotators": 12, "n_items": 50}),
    Cell("60 annotators, 13 items", {"n_annotators": 60, "n_items": 13, "n_pairs": 15}),
    Cell("12 systems, 20, 150", {"systems": TWELVE, "n_items": 150, "n_pairs": 6}),
    Cell("two systems, 20, 100", {"systems": {"x": 0.3, "y": 0.0}, "n_pairs": 1}),
    Cell("8 annotators, 100 items", {"n_annotators": 8}),
    Cell("7 items, 40 annotators", {"n_annotators": 40, "n_items": 7, "n_pairs": 15}),
    Cell("5 annotators, 100 items", {"n_annotators": 5}),
    *(
        Cell(f"{what}, {name}", world, what)
        for what in ("agreement", "accuracy")
        for name, world in (
            ("20, 100", {}),
            ("20, 100, strong taste", {"of_taste": 0.8}),
            ("88, 178", {"n_annotators": 88, "n_items": 178}),
            ("12, 50", {"n_annotators": 12, "n_items": 50}),
            ("20, 100, no taste, no say of items", {"of_taste": 0.0, "of_items": 0.0}),
            ("12 systems, 20, 150", {"systems": TWELVE, "n_items": 150, "n_pairs": 6}),
            ("two systems, 20, 100", {"systems": {"x": 0.3, "y": 0.0}, "n_pairs": 1}),
        )
    ),
)
CLUSTERS = ("items and annotators", "items", "annotators")


def table_of(cell: Cell, study: nb.Study) -> pd.DataFrame:
    """Say how people agree, or how well evaluators do."""
    if cell.what == "agreement":
        return nb.vote_agreement(study).set_index(["row", "coefficient"]).loc[["all"]]
    return nb.vote_accuracy(study).set_index(["evaluator", "against", "measure"]).loc[WANTED]


def truth_of(cell: Cell) -> dict[str, pd.Series]:
    """Give what intervals should hold."""
    if cell.what != "ratings":
        large = {**cell.world, "n_items": 20_000, "n_annotators": 2_000}
        return {cell.what: table_of(cell, nb.simulate("votes", **large, seed=12345))["estimate"]}
    study = nb.simulate("votes", **cell.world)
    pairs = study.truth["pairs"]
    turned = pairs.set_axis([*pairs.columns[[1, 0, 4, 3, 2]]], axis=1)
    both = pd.concat([pairs, turned]).set_index(["system_a", "system_b"])
    found = {"win rate": both["prob_a"] + both["prob_tie"] / 2}
    for ties in ("davidson", "half"):
        rated = nb.rate(pairs, outcome="expected", ties=ties)
        found[f"rating, {ties}"] = rated.set_index("system")["rating"]
    apart = nb.rating_differences(pairs, outcome="expected")
    found["difference, davidson"] = apart.set_index(["system", "other"])["difference"]
    return found


def estimates(cell: Cell, study: nb.Study) -> dict[tuple[str, str], pd.DataFrame]:
    """Make every interval of one world."""
    both, *others = CLUSTERS
    found = {}
    if cell.what != "ratings":
        return {(cell.what, both): table_of(cell, study)}
    ways = [("half", both), *(("davidson", clusters) for clusters in others)]
    for ties, clusters in [("davidson", both), *(ways if cell.beside else [])]:
        rated = nb.rate(study, clusters=clusters, ties=ties).set_index("system")
        found[f"rating, {ties}", clusters] = rated.rename(columns={"rating": "estimate"})
    apart = nb.rating_differences(study).set_index(["system", "other"])
    found["difference, davidson", both] = apart.rename(columns={"difference": "estimate"})
    rates = nb.win_rates(study).set_index(["system", "opponent"])
    found["win rate", both] = rates.rename(columns={"win_rate": "estimate"})
    return found


def measure(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell: a row per quantity and kind of clusters."""
    truth = truth_of(cell)
    found: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for number in range(n_worlds):
        study = nb.simulate("votes", **cell.world, seed=np.random.default_rng([seed, number]))
        for key, table in estimates(cell, study).items():
            each = table[["estimate", "ci_low", "ci_high", "reason"]]
            found.setdefault(key, []).append(each.assign(world=number))
    rows = []
    for (what, clusters), tables in found.items():
        whole = pd.concat(tables)
        each = list(whole.groupby(level=[*range(whole.index.nlevels)]))
        apart = cell.what != "ratings"
        for name, parts in [(k, [v]) for k, v in each] if apart else [("", [v for _, v in each])]:
            rows.append(
                {"cell": cell.name, "what": f"{what} {' '.join(name)}".strip(), "over": clusters}
                | counted(parts, truth[what], n_worlds)
            )
    return pd.DataFrame(rows)


def counted(parts: list[pd.DataFrame], truth: pd.Series, n_worlds: int) -> dict[str, float]:
    """Give coverage, its Monte Carlo error by world, width over an oracle's, and reasons."""
    held, widths, oracles = [], [], []
    for part in parts:
        true = truth.loc[part.index[0]]
        inside = (part["ci_low"] <= true) & (true <= part["ci_high"])
        held.append(inside.where(part["ci_low"].notna()).astype(float).set_axis(part["world"]))
        widths.append((part["ci_high"] - part["ci_low"]).mean() / 2)
        oracles.append(1.96 * part["estimate"].std())
    of_world = pd.concat(held, axis=1).mean(axis=1).dropna()
    reasons = pd.concat(parts)["reason"]
    none = pd.concat(parts)["ci_low"].isna().mean()
    return {
        "worlds": n_worlds,
        "coverage": of_world.mean(),
        "mc_se": of_world.std() / np.sqrt(max(1, len(of_world))),
        "width": float(np.nanmean(widths) / np.mean(oracles)) if none < 1 else float("nan"),
        "none": none,
        "marked": (reasons != "").mean(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="how names of cells begin")
    options = parser.parse_args()
    bad = 0
    for cell in CELLS:
        if options.only and not cell.name.startswith(tuple(options.only)):
            continue
        start = time.perf_counter()
        table = measure(cell, options.worlds, options.seed)
        print(table.round(3).to_string(index=False, header=True))
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
        both = table[(table["over"] == CLUSTERS[0]) & (table["marked"] < 0.5)]
        outside = ~both["coverage"].between(LOW, HIGH)
        bad += int(outside.sum())
    print(f"{bad} rows over items and annotators, not marked, outside {LOW} to {HIGH}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
