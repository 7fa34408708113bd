"""How often `compare_systems` holds: ``python benchmarks/systems_coverage.py``.

Worlds of `nlgbench.simulate("judgments")`: annotators differ in severity (half the standard
deviation of an output's quality) and in taste for systems (a quarter), items in difficulty (a
half). Of two of the five systems the truth is the same. For each layout:

- ``difference``: share of pairs whose 95% interval holds the true difference (.93 to .97 wanted);
- ``pair of equals``: share of worlds in which p < .05 for the two equal systems (.05);
- ``ranks``: share of worlds whose rank ranges hold all true ranks (at least .95), and how many
  ranks they span;
- ``mean``, ``superiority``, ``severity``: as ``difference``, of systems' means, of P(A > B) (truth:
  the mean over worlds) and of annotators' severities (those drawn).

Standard errors count worlds, as pairs of a world go together.
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

import nlgbench as nb

LOW, HIGH = 0.93, 0.97
SMALL, LARGE = {"n_items": 100, "n_annotators": 20}, {"n_items": 178, "n_annotators": 88}


@dataclass(frozen=True)
class Cell:
    """A layout."""

    name: str
    world: dict


CELLS = tuple(
    Cell(f"{design}, {size}, {scale}", {**world, "design": design, "scale": scale, "missing": lost})
    for size, world in (("20 x 100", SMALL), ("88 x 178", LARGE))
    for design in ("crossed", "scattered", "distinct")
    for scale in ("continuous", "ordinal")
    for lost in (0.0, 0.1)
    if lost == 0.0 or scale == "continuous"
)
CELLS = tuple(
    Cell(cell.name + ", 10% missing" * bool(cell.world["missing"]), cell.world) for cell in CELLS
)


def one_world(cell: Cell, seed: int, n_resamples: int) -> dict:
    """Compare the systems of one world, and say what held."""
    study = nb.simulate("judgments", seed=seed, **cell.world)
    found = nb.compare_systems(study, n_resamples=n_resamples, seed=seed)
    true = study.truth["systems"].set_index("system")["value"]
    systems, pairs = found.systems.set_index("system"), found.pairs
    pairs = pairs[pairs["system"] < pairs["opponent"]].sort_values(["system", "opponent"])
    gap = true[pairs["system"]].to_numpy() - true[pairs["opponent"]].to_numpy()
    best = (true.to_numpy()[:, None] < true.to_numpy()).sum(1) + 1
    worst = (true.to_numpy()[:, None] <= true.to_numpy()).sum(1)
    ranks = systems.loc[true.index]
    # Equal systems have one rank each, in either order: a range holds its first or its last.
    held = (ranks["rank_low"] <= worst) & (ranks["rank_high"] >= best)
    people = found.annotators.set_index("annotator_id")
    severity = study.truth["annotators"].set_index("annotator_id")["severity"].reindex(people.index)
    severity -= severity.mean()
    equal = pairs[(gap == 0)]
    return {
        "difference": np.mean((pairs["ci_low"] <= gap) & (gap <= pairs["ci_high"])),
        "p": float(equal["p"].iloc[0]),
        "ranks": bool(held.all()),
        "span": float((ranks["rank_high"] - ranks["rank_low"] + 1).mean()),
        "mean": np.mean((ranks["ci_low"] <= true) & (true <= ranks["ci_high"])),
        "severity": np.mean((people["ci_low"] <= severity) & (severity <= people["ci_high"]))
        if people["ci_low"].notna().any() and cell.world["scale"] == "continuous"
        else np.nan,
        "estimate": pairs["difference"].to_numpy(),
        "half": ((pairs["ci_high"] - pairs["ci_low"]) / 2).to_numpy(),
        "superiority": pairs[["superiority", "superiority_low", "superiority_high"]].to_numpy(),
        "doubled": "positive" in found.report.set_index("what").loc["intervals", "value"],
        "reason": "; ".join(found.systems["reason"].unique()),
    }


def measure(cell: Cell, n_worlds: int, seed: int, n_resamples: int = 2_000) -> pd.Series:
    """Give a cell's shares, with standard errors."""
    rows = [one_world(cell, seed + number, n_resamples) for number in range(n_worlds)]
    table = pd.DataFrame(rows)
    n = len(table)
    found: dict[str, object] = {"n": n}
    share = np.stack(table["superiority"].tolist())
    true = share[:, :, 0].mean(axis=0)
    inside = (share[:, :, 1] <= true) & (true <= share[:, :, 2])
    table["superiority"] = inside.mean(axis=1)
    table["level"] = (table["p"] < 0.05).astype(float)
    for name in ("difference", "level", "ranks", "mean", "superiority", "severity"):
        found[name] = table[name].mean()
        found[name + "_se"] = table[name].std() / np.sqrt(n)
    found["span"] = table["span"].mean()
    spread = np.stack(table["estimate"].tolist()).std(axis=0)
    found["width"] = float((np.stack(table["half"].tolist()).mean(axis=0) / spread).mean() / 1.96)
    found["doubled"] = table["doubled"].mean()
    found["reason"] = table["reason"].iloc[0]
    return pd.Series(found, name=cell.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--cell", default="", help="those whose name starts so")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = []
    for cell in CELLS:
        if cell.name.startswith(args.cell):
            start = time.process_time()
            found.append(measure(cell, args.worlds, args.seed))
            seconds = (time.process_time() - start) / args.worlds
            print(f"{found[-1].to_string()}\n{cell.name}: {seconds:.2f} s a world\n", flush=True)
    table = pd.DataFrame(found)
    print(table.round(3).to_string())
    few = Cell("crossed, 5 x 100", {**SMALL, "n_annotators": 5, "scale": "continuous"})
    print(f"\n{few.name}: {one_world(few, args.seed, 100)['reason']}")
    off = ~table["difference"].between(LOW, HIGH) | (table["ranks"] < 0.95)
    print(f"\nOutside {LOW} to {HIGH}, or ranks below .95: {', '.join(table.index[off]) or 'none'}")
    return int((table["difference"] < LOW - 0.03).any())


if __name__ == "__main__":
    sys.exit(main())
