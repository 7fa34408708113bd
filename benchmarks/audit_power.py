"""How often an audit finds a judge's bias, or none: ``python benchmarks/audit_power.py``.

Judges and people are those of `nlgbench.worlds.judges`. Cells without bias count p in the tails and
false verdicts (p adjusted below .05, whatever the margin), of
judges that see quality sharply, as well as an LLM does, or hardly; of one that copies an
annotator's vote; where people like long texts, too. Cells with planted biases count how often each
is significant, at a size that gives a power of .95. What intervals should cover is 0 where no bias
is, and else what four worlds of 6,000 items and 300 annotators give.
"""

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.judges import Audit

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
VALUES = ("overconfidence", "agreement_less_people", "length_in_ratings")


@dataclass(frozen=True)
class Cell:
    """A world, and what is asked of it."""

    name: str
    world: dict[str, Any] = field(default_factory=dict)
    copied: bool = False  # one judge, who says what an annotator said


CELLS = (
    Cell("fair, 300 pairs", {"judges": SEEING}),
    Cell("position planted", {"judges": HASTY, "n_items": 152}),
    Cell("length planted", {"judges": WORDY, "n_items": 358}),
    Cell("own planted", {"judges": VAIN, "n_items": 420}),
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


def audited(cell: Cell, seed: Any, **size: Any) -> Audit:
    """Audit one world; the first judge wrote the first system, and so on."""
    study = study_of(cell, seed, **size)
    wrote = dict(zip(study.comparisons["comparator"].unique(), study.systems, strict=False))
    return nb.audit(study, authors=wrote)


def tested(found: Audit) -> pd.DataFrame:
    """Give a row per judge and test."""
    table = found.findings.merge(found.details, on=["evaluator", "test"])
    kept = ~table["is_sentinel"] & table["test"].isin([*BIASES, *VALUES])
    return table[kept].set_index(["evaluator", "test"])


def measure(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell: a row per judge and test, and one per judge of any false verdict."""
    large = [tested(audited(cell, n, n_items=6_000, n_annotators=300)) for n in range(90, 94)]
    true = pd.concat([each["estimate"] for each in large], axis=1).mean(axis=1)
    tables = [tested(audited(cell, np.random.default_rng([seed, n]))) for n in range(n_worlds)]
    whole = pd.concat(tables, keys=range(n_worlds), names=["world"])
    rows = []
    for (judge, test), part in whole.groupby(level=[1, 2], sort=False):
        known = (judge, test) in PLANTED or test in VALUES
        target = float(true[judge, test]) if known else 0.0
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
    return pd.DataFrame(rows)


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
        spent = time.perf_counter() - start
        print(f"{cell.name}: {options.worlds} worlds, {spent:.0f} s")
        print(table.round(3).to_string(index=False), flush=True)
        false = table.loc[table["test"] == "any false verdict", "significant"]
        bad += int((false > 0.05 + 3 * np.sqrt(0.05 * 0.95 / options.worlds)).sum())
    print(f"{bad} judges with more false verdicts than .05 and three standard errors")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
