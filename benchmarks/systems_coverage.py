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

Standard errors count worlds, as pairs of a world go together. Rounds go through all layouts, those
that matter most first and with most worlds; ``--into FILE`` keeps each cell of each round, so that
a run that was stopped goes on where it was.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

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
    part: float = 1.0


#: Layouts, what matters most first, and each how many of a round's worlds it has.
LAYOUTS = (
    ("scattered", "20 x 100", SMALL, 1.0),
    ("scattered", "88 x 178", LARGE, 0.5),
    ("crossed", "20 x 100", SMALL, 0.5),
    ("distinct", "20 x 100", SMALL, 0.5),
    ("distinct", "88 x 178", LARGE, 0.25),
    ("crossed", "88 x 178", LARGE, 0.125),
)
VALUES = (("continuous", 0.0), ("ordinal", 0.0), ("continuous", 0.1))
CELLS = tuple(
    Cell(
        f"{design}, {size}, {scale}" + ", 10% missing" * bool(lost),
        {**world, "design": design, "scale": scale, "missing": lost},
        part,
    )
    for design, size, world, part in LAYOUTS
    for scale, lost in VALUES
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
    spread = np.stack(table["estimate"].tolist()).std(axis=0, ddof=1)
    found["width"] = float((np.stack(table["half"].tolist()).mean(axis=0) / spread).mean() / 1.96)
    found["doubled"] = table["doubled"].mean()
    found["reason"] = table["reason"].iloc[0]
    return pd.Series(found, name=cell.name)


def pooled(rounds: pd.DataFrame) -> pd.DataFrame:
    """Put the rounds of each cell together."""
    rows = {}
    for name, part in rounds.groupby("cell", sort=False):
        weight = part["n"] / part["n"].sum()
        row = {"n": part["n"].sum()}
        for column in rounds.columns.drop(["cell", "seed", "n", "reason", "seconds"]):
            known = weight * part[column]
            row[column] = np.sqrt((known**2).sum()) if column.endswith("_se") else known.sum()
            row[column] = np.nan if part[column].isna().any() else row[column]
        rows[name] = row
    return pd.DataFrame(rows).T


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=200, help="of a round, in the first layout")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cell", default="", help="those whose name starts so")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, help="a CSV file to keep rounds in, and go on from")
    args = parser.parse_args()
    kept = [pd.read_csv(args.into)] if args.into and args.into.exists() else []
    done = {(row.cell, row.seed) for table in kept for row in table.itertuples()}
    cells = [cell for cell in CELLS if cell.name.startswith(args.cell)]
    for number in range(args.rounds):
        seed = args.seed + number * args.worlds
        for cell in cells:
            if (cell.name, seed) in done:
                continue
            n = max(round(args.worlds * cell.part), 2)
            start = time.process_time()
            row = measure(cell, n, seed).to_frame().T
            row = row.assign(cell=cell.name, seed=seed, seconds=(time.process_time() - start) / n)
            kept.append(row.infer_objects())
            print(f"{cell.name}: {n} worlds, {row['seconds'].iloc[0]:.2f} s each", flush=True)
            if args.into:
                row.to_csv(args.into, mode="a", header=not args.into.exists(), index=False)
    table = pooled(pd.concat(kept, ignore_index=True))
    print(table.round(3).to_string())
    few = Cell("crossed, 5 x 100", {**SMALL, "n_annotators": 5, "scale": "continuous"})
    print(f"\n{few.name}: {one_world(few, args.seed, 100)['reason']}")
    off = ~table["difference"].between(LOW, HIGH) | (table["ranks"] < 0.95)
    print(f"\nOutside {LOW} to {HIGH}, or ranks below .95: {', '.join(table.index[off]) or 'none'}")
    return int((table["difference"] < LOW - 0.03).any())


if __name__ == "__main__":
    sys.exit(main())
