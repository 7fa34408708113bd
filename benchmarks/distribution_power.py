"""Which measure sees what, from how many texts: ``python benchmarks/distribution_power.py``.

Worlds of reviews with a system that writes as people do (the null), and systems that leave people's
grammar in three ways (`nlgbench.worlds.sweep`), at n texts of either side. Two powers:

- ``test``: the share of worlds where a test that a user has gives p <= .05: the permutation test of
  MMD, and of HUSE and HUSE-Q (20 annotators). Of the null system it is the level.
- ``calibrated``: the share where a measure is worse than in all but .05 of the null system's worlds
  at the same n (``better``: where it is better than in all but .05 of them). A user has no such
  limit; it sets measures that have no test beside those that have one, at one level.

Worlds are appended to ``--rows`` as they are done, and are not made anew: a run that was stopped
goes on.

``--trends N`` counts, in N worlds of 100 texts of either side, verdicts of `measure_trends` over
the temperature series, how often its interval holds the slope of the mean estimates (of those
systems that are not left out there), and the same where all six systems are people's grammar, set
against the true values of the series: any verdict but "does not see" is false there. ``apart`` is
how often it would with systems as if apart, ``width`` the root mean square standard error over the
root mean square error.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.worlds.sweep import SERIES, series_systems

ALPHA = 0.05
NULL = "grammar_t1.0"
SYSTEMS = (NULL, "grammar_t0.9", "memorizer_200", "corrupted_0.3")
SIZES = (50, 100, 200, 500, 1_000, 2_000)
COLUMNS = ["n", "world", "system", "measure", "estimate", "p"]
LOWER = ("mmd_gaussian", "mmd_linear")


def one_world(
    n: int,
    world: int,
    names: list[str],
    n_permutations: int,
    seed: int,
    features: Literal["tfidf", "embeddings"] = "tfidf",
) -> pd.DataFrame:
    """Give a row per system and measure; each world has memorizers of its own."""
    made = series_systems(seed + 7 * world)
    made = {name: made[name] for name in names}
    study = nb.simulate("reviews", systems=made, n_outputs=n, n_truth=0, seed=seed + 7 * world)
    own = np.random.default_rng([seed, n, world])
    texts = nb.compare_distributions(
        study, features=features, n_permutations=n_permutations, n_resamples=0, seed=own
    ).rename(columns={"p_value": "p"})
    scores = nb.huse(study, n_resamples=0).rename(columns={"score": "measure"})
    tests = nb.permutation_test(study, n_permutations=n_permutations, seed=own)
    tests = tests[tests["within"] == "items"]
    tests = tests.rename(columns={"score": "measure"})[["system", "measure", "p"]]
    scores = scores.merge(tests, on=["system", "measure"], how="left", validate="one_to_one")
    both = pd.concat([part[["system", "measure", "estimate", "p"]] for part in (texts, scores)])
    return both.assign(n=n, world=world)[COLUMNS]


def simulate(args: argparse.Namespace, names: list[str]) -> pd.DataFrame:
    """Make the worlds that are not there yet, a round of all sizes at a time."""
    path, start = Path(args.rows), time.perf_counter()
    done: set[tuple[int, int]] = set()
    if path.exists():
        done = set(pd.read_csv(path)[["n", "world"]].itertuples(index=False, name=None))
    for world in range(args.worlds):
        for n in args.sizes:
            if (n, world) in done or time.perf_counter() - start > args.seconds:
                continue
            rows = one_world(n, world, names, args.permutations, args.seed, args.features)
            rows.to_csv(path, mode="a", header=not path.exists(), index=False)
    return pd.read_csv(path).drop_duplicates(COLUMNS[:4])  # two runs may have shared the file


def powers(rows: pd.DataFrame) -> pd.DataFrame:
    """Count: a row per system, measure and n."""
    found = []
    for (n, measure), part in rows.groupby(["n", "measure"], sort=False):
        turned = part["estimate"] * (-1 if measure in LOWER else 1)
        null = turned[part["system"] == NULL].dropna()
        low, high = np.quantile(null, [ALPHA, 1 - ALPHA])
        for system, of in part.groupby("system", sort=False):
            values, p = turned[of.index].dropna(), of["p"].dropna()
            shares = {
                "test": (p <= ALPHA).mean() if len(p) else np.nan,
                "calibrated": (values < low).mean(),
                "better": (values > high).mean(),
            }
            counts = {"test": len(p), "calibrated": len(values), "better": len(values)}
            for how, share in shares.items():
                k = counts[how]
                se = np.sqrt(share * (1 - share) / k) if k else np.nan
                row = {"system": system, "measure": measure, "n": n, "how": how}
                found.append(row | {"power": share, "se": se, "worlds": k})
    return pd.DataFrame(found)


def trends(n_worlds: int, seed: int) -> pd.DataFrame:
    """Count verdicts over a series, and over one that is none."""
    made, names = series_systems(seed), list(SERIES["temperature"])
    truth = nb.simulate(
        "reviews", systems={name: made[name] for name in names}, n_outputs=5, seed=seed
    ).truth["systems"]
    found, estimates = [], []
    for world in range(n_worlds):
        for kind in ("series", "none"):
            systems = {name: made[name if kind == "series" else NULL] for name in names}
            own = seed + 13 * world
            study = nb.simulate("reviews", systems=systems, n_outputs=100, n_truth=0, seed=own)
            texts = nb.compare_distributions(study, n_permutations=0, n_resamples=100, seed=own)
            scores = nb.huse(study, n_resamples=200, seed=own).rename(columns={"score": "measure"})
            every = pd.concat([texts, scores])
            rows = nb.measure_trends(every, truth, against=["l_star"])
            found.append(rows.assign(kind=kind, world=world))
            estimates.append(every.assign(kind=kind, world=world))
    whole = pd.concat(found, ignore_index=True).set_index(["kind", "measure", "world"])
    every = pd.concat(estimates).dropna(subset=["estimate"])
    every["mean"] = every.groupby(["kind", "measure", "system"])["estimate"].transform("mean")
    every["mean"] *= np.where(every["measure"].isin(LOWER), -1.0, 1.0)
    true = every["system"].map(truth.set_index("system")["l_star"])
    kept = every.assign(true=true).dropna(subset=["se"]).groupby(["kind", "measure", "world"])

    def slope(part: pd.DataFrame) -> pd.Series:
        away = part["true"] - part["true"].mean()
        weight = away / (away**2).sum()
        apart = np.sqrt((weight**2 * part["se"] ** 2).sum())
        return pd.Series({"target": (weight * part["mean"]).sum(), "apart": apart})

    line = kept.apply(slope).reindex(whole.index)
    target = line["target"].where(whole["ci_low"].notna())
    held = whole["ci_low"].le(target) & whole["ci_high"].ge(target)
    apart = (whole["slope"] - target).abs() <= 1.96 * line["apart"]
    columns = pd.get_dummies(whole["verdict"].replace("", "none")).astype(float)
    columns["held"] = held.astype(float).where(target.notna())
    columns["apart"] = apart.astype(float).where(target.notna())
    columns["off"], columns["var"] = (whole["slope"] - target) ** 2, whole["se"] ** 2
    table = columns.groupby(["kind", "measure"], sort=False).mean()
    width = np.sqrt(table.pop("var") / table.pop("off"))
    return table.assign(width=width, judged=target.groupby(["kind", "measure"], sort=False).count())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=280)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--seconds", type=float, default=np.inf, help="no new world after these")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), help="the null among them")
    parser.add_argument("--features", choices=("tfidf", "embeddings"), default="tfidf")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", default="distribution_power.csv")
    parser.add_argument("--trends", type=int, help="worlds of verdicts, and nothing else")
    args = parser.parse_args()
    if args.trends:
        print(trends(args.trends, args.seed).round(2).to_string())
        return 0
    table = powers(simulate(args, args.systems))
    with pd.option_context("display.width", 200):
        for how, part in table.groupby("how", sort=False):
            wide = part.pivot_table(
                index=["system", "measure"], columns="n", values=["power", "se"], sort=False
            )
            print(f"\n{how}\n{wide.round(2).to_string()}")
        print(table.groupby("n")["worlds"].max().to_string())
    # The level of the tests is held up to three standard errors.
    level = table[(table["system"] == NULL) & (table["how"] == "test")].dropna()
    limit = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / level["worlds"])
    return int((level["power"] > limit).any())


if __name__ == "__main__":
    sys.exit(main())
