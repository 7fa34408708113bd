"""How often intervals of votes hold: ``python benchmarks/votes_coverage.py``.

Votes are those of `nlgbench.worlds.votes`: some pairs of systems on each item, some annotators on
each pair; how well a system does on an item and how much an annotator likes it are drawn anew in
each world. What an interval should hold is what all items and annotators would give: the chances
of each two systems, and the ratings that Bradley and Terry's model has at these chances. It is set
beside intervals for these annotators. Of agreement and accuracy it is what one world of
20,000 items and 2,000 annotators gives.

The width is set beside an oracle's: 1.96 standard deviations of the estimate over worlds.

``--family`` counts false rejections instead, where all systems are equal: p up to .01 and .001, and
any after Holm; for random annotators, and for few fixed ones of taste 0. ``--fixed`` counts how
often intervals of 1 to 5 annotators cover what these very annotators say of 20,000 items.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

import nlgbench as nb
from nlgbench.inference import adjust

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
WAYS = ("default", "fixed")
EQUAL = {f"sys_{name}": 0.0 for name in "abcdef"}
#: Layouts in which all systems are equal; annotators without a taste where these are fixed.
FAMILIES = {
    "20 annotators, 100 items": {},
    "20, 100, no taste, no say of items": {"of_taste": 0.0, "of_items": 0.0},
    "12, 60, strong taste": {"n_annotators": 12, "n_items": 60, "of_taste": 0.8},
    "30, 40, eight pairs of an item": {"n_annotators": 30, "n_items": 40, "n_pairs": 8},
    **{
        f"{n} fixed, 100": {"n_annotators": n, "n_votes": min(n, 3), "of_taste": 0.0}
        for n in (1, 2, 3, 5)
    },
}


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
    return found


def estimates(cell: Cell, study: nb.Study) -> dict[tuple[str, str], pd.DataFrame]:
    """Make every interval of one world."""
    both, fixed = WAYS
    found = {}
    if cell.what != "ratings":
        return {(cell.what, both): table_of(cell, study)}
    ways = [("half", both), ("davidson", fixed)]
    for ties, way in [("davidson", both), *(ways if cell.beside else [])]:
        annotators = "fixed" if way == fixed else None
        rated = nb.rate(study, annotators=annotators, ties=ties).set_index("system")
        found[f"rating, {ties}", way] = rated.rename(columns={"rating": "estimate"})
    rates = nb.win_rates(study).set_index(["system", "opponent"])
    found["win rate", both] = rates.rename(columns={"win_rate": "estimate"})
    return found


def measure(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell: a row per quantity and way."""
    truth = truth_of(cell)
    found: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for number in range(n_worlds):
        study = nb.simulate("votes", **cell.world, seed=np.random.default_rng([seed, number]))
        for key, table in estimates(cell, study).items():
            each = table[["estimate", "ci_low", "ci_high", "reason"]]
            found.setdefault(key, []).append(each.assign(world=number))
    rows = []
    for (what, way), tables in found.items():
        whole = pd.concat(tables)
        each = list(whole.groupby(level=[*range(whole.index.nlevels)]))
        apart = cell.what != "ratings"
        for name, parts in [(k, [v]) for k, v in each] if apart else [("", [v for _, v in each])]:
            rows.append(
                {"cell": cell.name, "what": f"{what} {' '.join(name)}".strip(), "way": way}
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


def rejections(world: dict[str, Any], n_worlds: int, seed: int) -> pd.DataFrame:
    """Count false rejections where all systems are equal: a row per function."""
    found: dict[str, list[list[float]]] = {}
    for number in range(n_worlds):
        rng = np.random.default_rng([seed, number])
        study = nb.simulate("votes", systems=EQUAL, **world, seed=rng)
        rated = nb.rate(study)
        gap = abs(rated["rating"] - 1500) / rated["se"]
        p = pd.Series(2 * student.sf(gap, rated["n_clusters"] - 1)).dropna()
        family = bool((adjust(p) < 0.05).any())
        found.setdefault("rate", []).append([*(np.mean(p < a) for a in LEVELS), family])
        inside = []
        for level in LEVELS:
            rates = nb.win_rates(study, confidence=1 - level).dropna(subset="ci_low")
            inside.append(((rates["ci_low"] > 0.5) | (rates["ci_high"] < 0.5)).mean())
        rates = nb.win_rates(study, confidence=1 - 0.05 / 15)
        family = bool(((rates["ci_low"] > 0.5) | (rates["ci_high"] < 0.5)).any())
        found.setdefault("win_rates (Bonferroni)", []).append([*inside, family])
    names = [*(f"p<={level:g}" for level in LEVELS), "family"]
    means = {name: np.mean(rows, axis=0) for name, rows in found.items()}
    return pd.DataFrame(means, index=names).T


LEVELS = (0.05, 0.01, 0.001)


def of_these(n: int, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count how often intervals cover what the same annotators say of all items."""
    votes = {"n_annotators": n, "n_votes": min(n, 3), "of_taste": 0.8}
    held: dict[str, list[float]] = {}
    for panel in range(4):
        rng = np.random.default_rng([seed, n, panel])
        large = nb.simulate("votes", **votes, n_items=20_000, seed=rng)
        item = large.preferences["output_a"].str.split("-").str[0]
        truth = tables_of(large, n)
        for number in range(n_worlds // 4):
            kept = {f"i{k:03d}" for k in range(100 * number + 1, 100 * number + 101)}
            rows = large.preferences[item.isin(kept)]
            ids = large.outputs["item_id"].isin(kept)
            scores = large.scores["output_id"].str.split("-").str[0].isin(kept)
            study = nb.Study(large.outputs[ids], preferences=rows, scores=large.scores[scores])
            for name, table in tables_of(study, n).items():
                true = truth[name]["estimate"].reindex(table.index)
                inside = (table["ci_low"] <= true) & (true <= table["ci_high"])
                held.setdefault(name, []).append(inside[table["ci_low"].notna()].mean())
    rows = [
        (name, np.nanmean(each), np.nanstd(each) / len(each) ** 0.5) for name, each in held.items()
    ]
    return pd.DataFrame(rows, columns=["what", "coverage", "mc_se"])


def tables_of(study: nb.Study, n: int) -> dict[str, pd.DataFrame]:
    """Make the tables whose intervals are for these annotators."""
    found = {
        "rate": nb.rate(study).set_index("system").rename(columns={"rating": "estimate"}),
        "win_rates": nb.win_rates(study)
        .set_index(["system", "opponent"])
        .rename(columns={"win_rate": "estimate"}),
    }
    accuracy = nb.vote_accuracy(study).set_index(["evaluator", "against", "measure"])
    found["vote_accuracy"] = accuracy.loc[WANTED[:4]]
    if n > 1:
        agreement = nb.vote_agreement(study).set_index(["row", "coefficient"])
        found["vote_agreement"] = agreement.loc[["all"]]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="how names of cells begin")
    parser.add_argument("--family", action="store_true", help="count false rejections")
    parser.add_argument("--fixed", action="store_true", help="cover these annotators' own target")
    options = parser.parse_args()
    if options.family or options.fixed:
        for name, world in FAMILIES.items() if options.family else ():
            table = rejections(world, options.worlds, options.seed)
            print(f"{name}\n{table.round(4).to_string()}", flush=True)
        for n in (1, 2, 3, 5) if options.fixed else ():
            table = of_these(n, options.worlds, options.seed)
            print(f"{n} annotators\n{table.round(3).to_string(index=False)}", flush=True)
        return 0
    bad = 0
    for cell in CELLS:
        if options.only and not cell.name.startswith(tuple(options.only)):
            continue
        start = time.perf_counter()
        table = measure(cell, options.worlds, options.seed)
        print(table.round(3).to_string(index=False, header=True))
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
        both = table[(table["way"] == WAYS[0]) & (table["marked"] < 0.5)]
        outside = ~both["coverage"].between(LOW, HIGH)
        bad += int(outside.sum())
    print(f"{bad} rows by default, not marked, outside {LOW} to {HIGH}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
