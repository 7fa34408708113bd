"""Bias of CV* and coverage of its interval; coverage of intervals of a table's degrees.

    python benchmarks/reproduction.py [--worlds 20000] [--tables 400] [--seed 0]

CV* is computed of n normal values whose coefficient of variation is known. A table has rows of
three columns; the recomputed numbers are the printed ones with an error of their row and one of
their cell, and the truth is the mean degree of ten tables of 250 rows. Shares have standard errors.
"""

import argparse

import numpy as np
import pandas as pd

import nlgbench as nb

SIZES = (2, 3, 7, 20)
SPREADS = (0.01, 0.1, 0.25)
ROWS = (5, 10, 20, 40)
DEGREES = ("pearson", "spearman", "alpha", "orders_upheld")


def of_cv_star(worlds: int, rng: np.random.Generator) -> pd.DataFrame:
    """Compare CV* of normal values with their coefficient of variation."""
    made = []
    for cv in SPREADS:
        for n in SIZES:
            found = nb.cv_star(rng.normal(1, cv, (worlds, n)))
            estimate = found["estimate"].dropna() / (100 * cv)
            inside = (found["ci_low"] <= 100 * cv) & (100 * cv <= found["ci_high"])
            there = found["ci_high"].notna()
            made.append(
                {
                    "cv": cv,
                    "n": n,
                    "mean / truth": estimate.mean(),
                    "se": estimate.sem(),
                    "median / truth": estimate.median(),
                    "coverage": inside[there].mean(),
                    "coverage se": inside[there].sem(),
                    "ends apart": (found["ci_high"] / found["ci_low"]).median(),
                    "no interval": 1 - there.mean(),
                }
            )
    return pd.DataFrame(made)


def table(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Make a printed table of three columns and its recomputation."""
    printed = rng.normal(50, 10, (rows, 1)) + rng.normal(0, 5, (rows, 3))
    recomputed = printed + rng.normal(0, 4, (rows, 1)) + rng.normal(0, 4, (rows, 3))
    ids = [f"study/world/table1/row{row}/column{column}" for row in range(rows) for column in "abc"]
    frame = pd.DataFrame({"claim_id": ids, "published": printed.ravel()})
    frame = frame.assign(recomputed=recomputed.ravel(), variant="", source="study")
    return frame.assign(verdict="differs")


def of_tables(tables: int, rng: np.random.Generator) -> pd.DataFrame:
    """Count how often intervals over rows hold the degree of large tables."""
    many = [nb.reproduction(table(250, rng)).sets.iloc[0] for _ in range(10)]
    truth = {name: float(np.mean([one[name] for one in many])) for name in DEGREES}
    made = []
    for rows in ROWS:
        sets = pd.concat([nb.reproduction(table(rows, rng)).sets for _ in range(tables)])
        for name in DEGREES:
            low, high = sets[f"{name}_low"], sets[f"{name}_high"]
            there = low.notna()
            inside = ((low <= truth[name]) & (truth[name] <= high))[there]
            made.append(
                {
                    "rows": rows,
                    "degree": name,
                    "truth": truth[name],
                    "mean": sets[name].mean(),
                    "coverage": inside.mean(),
                    "coverage se": inside.sem(),
                    "no interval": 1 - there.mean(),
                }
            )
    return pd.DataFrame(made)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    print(of_cv_star(asked.worlds, rng).round(4).to_string(index=False), flush=True)
    print(of_tables(asked.tables, rng).round(3).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
