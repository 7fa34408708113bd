"""How often an audit finds a judge's bias, or none: ``python benchmarks/audit_power.py``.

Judges and people are those of `nlgbench.worlds.judges`. Cells without bias count p in the tails and
false verdicts (p adjusted below .05, whatever the margin), of
judges that see quality sharply, as well as an LLM does, or hardly; of one that copies an
annotator's vote; where people like long texts, too. Cells with planted biases count how often each
is found, at the size that the power curves of 40 pilots name for it. What intervals should hold is
0 where no bias is, and else what four worlds of 6,000 items and 300 annotators give.
"""

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.judges import Audit, auditing

SEEING = {
    "usual": {},
    "sharp": {"error": 0.0, "noise": 0.0},
    "dull": {"error": 2.0, "noise": 2.0},
}
HASTY = {"hasty": {"first": 0.13}, "certain": {"stretch": 3.0}}
WORDY = {"wordy": {"length": 0.3}}
VAIN = {"vain": {"own": 0.4}}
BIASES = ("position", "length", "own")
PLANTED = {("hasty", "position"), ("wordy", "length"), ("vain", "own")}
VALUES = ("calibration_error", "overconfidence", "agreement_less_people", "length_in_ratings")


@dataclass(frozen=True)
class Cell:
    """A world, and what is asked of it."""

    name: str
    world: dict[str, Any] = field(default_factory=dict)
    copied: bool = False  # one judge, who says what an annotator said
    planted: str = ""  # the bias that is planted, whose power curve names the number of items


CELLS = (
    Cell("fair, 300 pairs", {"judges": SEEING}),
    Cell("position planted", {"judges": HASTY}, planted="position"),
    Cell("length planted", {"judges": WORDY}, planted="length"),
    Cell("own planted", {"judges": VAIN}, planted="own"),
    Cell("people like length, 300 pairs", {"judges": SEEING, "people_length": 1.2}),
    Cell("copied, people like length", {"people_length": 1.2, "n_votes": 4}, copied=True),
    Cell("fair, 5 annotators", {"judges": SEEING, "n_annotators": 5}),
    Cell("fair, 12 annotators", {"judges": SEEING, "n_annotators": 12}),
    Cell("fair, 120 pairs", {"judges": SEEING, "n_items": 40}),
)


def study_of(cell: Cell, seed: Any, **size: Any) -> nb.Study:
    """Simulate a cell's world, and the judge that copies."""
    if not cell.copied:
        return nb.simulate("judges", judged=0.01, seed=seed, **cell.world | size)
    study = nb.simulate("judges", judged=0.01, judges={}, seed=seed, **cell.world | size)
    votes = study.preferences
    copied = votes.groupby(["output_a", "output_b"], sort=False).head(1)
    said = [(copied["choice"] == kind).to_numpy(dtype=float) for kind in ("a", "tie", "b")]
    rows = copied[["output_a", "output_b"]].assign(comparator="copy")
    rows = rows.assign(prob_a=said[0], prob_tie=said[1], prob_b=said[2])
    turned = rows.set_axis([*rows.columns[[1, 0, 2, 5, 4, 3]]], axis=1)
    both = pd.concat([rows, turned[rows.columns]])
    return study.replace(preferences=votes.drop(copied.index), comparisons=both)


def audited(cell: Cell, seed: Any, stated: Any = None, **size: Any) -> Audit:
    """Audit one world; the first judge wrote the first system, and so on."""
    study = study_of(cell, seed, **size)
    wrote = dict(zip(study.comparisons["comparator"].unique(), study.systems, strict=False))
    with patch.dict(auditing.STATED, stated or {}):
        return nb.audit(study, authors=wrote)


def tested(found: Audit) -> pd.DataFrame:
    """Give a row per judge and test."""
    table = found.findings.merge(found.details, on=["evaluator", "test"])
    kept = ~table["is_sentinel"] & table["test"].isin([*BIASES, *VALUES])
    return table[kept].set_index(["evaluator", "test"])


def items_named(cell: Cell, true: pd.Series, seed: int) -> int:
    """Say how many items give power .95 for what is planted, by the curves of 40 pilots."""
    (judge,) = (name for name, test in PLANTED if test == cell.planted)
    stated = {} if cell.planted == "position" else {cell.planted: true[judge, cell.planted]}
    needed = []
    for n in range(40):
        pilot = audited(cell, np.random.default_rng([seed + 1, n]), stated)
        curve = pilot.power.query("evaluator == @judge and test == @cell.planted and times == 1")
        needed.append(100 * float(curve["needed"].iloc[0] / curve["n"].iloc[0]))
    return int(np.ceil(np.nanmedian(needed)))


def measure(cell: Cell, n_worlds: int, seed: int) -> tuple[pd.DataFrame, int]:
    """Count a cell: a row per judge and test, and one per judge of any false verdict."""
    large = [tested(audited(cell, n, n_items=6_000, n_annotators=300)) for n in range(90, 94)]
    true = pd.concat([each["estimate"] for each in large], axis=1).mean(axis=1)
    size = {"n_items": items_named(cell, true, seed)} if cell.planted else {}
    tables = [
        tested(audited(cell, np.random.default_rng([seed, n]), **size)) for n in range(n_worlds)
    ]
    whole = pd.concat(tables, keys=range(n_worlds), names=["world"])
    rows = []
    for (judge, test), part in whole.groupby(level=[1, 2], sort=False):
        known = (judge, test) in PLANTED or test in VALUES
        target = float(true[judge, test]) if known else 0.0
        if test == "calibration_error" and judge in SEEING:
            target = 0.0
        held = (part["ci_low"] <= target) & (target <= part["ci_high"])
        there = part["ci_low"].notna()
        rows.append(
            {
                "judge": judge,
                "test": test,
                "true": target,
                "mean": part["estimate"].mean(),
                "sd": part["estimate"].std(),
                "se": np.sqrt((part["se"] ** 2).mean()),
                "p<.05": (part["p"] < 0.05).mean(),
                "p<=.01": (part["p"] <= 0.01).mean(),
                "p<=.001": (part["p"] <= 0.001).mean(),
                "significant": (part["p_adjusted"] < 0.05).mean(),
                "found": (part["verdict"] == "found").mean(),
                "acquitted": (part["verdict"] == "acquitted").mean(),
                "coverage": held[there].mean(),
                "none": 1 - there.mean(),
            }
        )
    whole = whole.assign(significant=whole["p_adjusted"] < 0.05, found=whole["verdict"] == "found")
    for judge, part in whole.reset_index().groupby("evaluator", sort=False):
        wrong = part[[(judge, test) not in PLANTED for test in part["test"]]]
        share = wrong.groupby("world")[["significant", "found"]].any().mean()
        rows.append({"judge": judge, "test": "any false verdict", **share})
    return pd.DataFrame(rows), size.get("n_items", cell.world.get("n_items", 100))


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
        table, n_items = measure(cell, options.worlds, options.seed)
        spent = time.perf_counter() - start
        print(f"{cell.name}: {n_items} items, {options.worlds} worlds, {spent:.0f} s")
        print(table.round(3).to_string(index=False), flush=True)
        false = table.loc[table["test"] == "any false verdict", "significant"]
        bad += int((false > 0.05 + 3 * np.sqrt(0.05 * 0.95 / options.worlds)).sum())
    print(f"{bad} judges with more false verdicts than .05 and three standard errors")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
