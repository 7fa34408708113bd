"""How often intervals of `correlate_trials` hold: ``python benchmarks/trials_coverage.py``.

Systems have a quality, and evaluators see it with an error of their own for each system, which all
trials share (systems' texts), and one more in each trial (the split). In one world trials differ
in how much of quality they let an evaluator see, for all systems alike. Two evaluators share the
trials and part of their errors; the second sees less. What an interval should hold is the mean
correlation over trials in the population of systems (200,000 of them).

The width is set beside an oracle's: 1.96 standard deviations of the estimate over worlds, on the
scale of z for one correlation, as r near 1 is skewed, and as it is for a difference.
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from nlgbench.analysis.trials import correlate_trials

LOW, HIGH = 0.93, 0.97
WIDEST = 1.5
STATISTICS = ("pearson", "spearman")
WEAKER = 0.2  # how much less the second evaluator's correlation is


@dataclass(frozen=True)
class World:
    """How evaluators see quality; standard deviations in units of quality's."""

    name: str
    r: float
    of_texts: float = 0.2
    of_splits: float = 0.3
    between_splits: float = 0.0
    skewed: bool = False


WORLDS = (
    World("r 0", 0.0),
    World("r .6", 0.6),
    World("r .9", 0.9),
    World("r .97", 0.97, 0.1, 0.15),
    World("r .8, splits differ", 0.8, 0.1, 0.8, 0.5),
    World("r .8, exponential", 0.8, skewed=True),
)


def draw(
    world: World, n_systems: int, n_trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores, shape (2 evaluators, trials, systems), and quality."""

    def variable() -> np.ndarray:
        if world.skewed:
            return rng.exponential(size=n_systems) - 1
        return rng.normal(size=n_systems)

    quality, error, second = variable(), variable(), rng.normal(size=n_systems)
    scale = np.exp(world.between_splits * rng.normal(size=(n_trials, 1)))
    scores = []
    for r, own in (
        (world.r, error),
        (max(world.r - WEAKER, 0), 0.6 * error + 0.8 * second),
    ):
        seen = r * quality + np.sqrt(1 - r**2) * own + world.of_texts * rng.normal(size=n_systems)
        scores.append(scale * seen + world.of_splits * rng.normal(size=(n_trials, n_systems)))
    return np.array(scores), quality


def truth(world: World, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Correlate many systems; trials are averaged where they differ."""
    n_trials = 40 if world.between_splits else 1
    found: dict[str, list[np.ndarray]] = {statistic: [] for statistic in STATISTICS}
    for _ in range(n_trials):
        scores, quality = draw(world, 200_000 // n_trials, 1, rng)
        for statistic, of in found.items():
            change = rankdata if statistic == "spearman" else np.asarray
            of.append(np.array([np.corrcoef(change(s[0]), change(quality))[0, 1] for s in scores]))
    return {statistic: np.mean(of, axis=0) for statistic, of in found.items()}


def measure(world: World, n_systems: int, n_trials: int, n_worlds: int, seed: int) -> pd.DataFrame:
    """Make intervals of both evaluators and of their difference: a row each."""
    rng = np.random.default_rng([seed, n_systems, n_trials])
    true = truth(world, rng)
    names = [f"s{n:02d}" for n in range(n_systems)]
    keys = pd.DataFrame(
        [(e, t, s) for e in ("first", "second") for t in range(n_trials) for s in names],
        columns=["evaluator", "trial", "system"],
    )
    found = []
    for _ in range(n_worlds):
        scores, quality = draw(world, n_systems, n_trials, rng)
        for statistic in STATISTICS:
            each, between = correlate_trials(
                keys.assign(score=scores.ravel()),
                pd.Series(quality, index=names),
                statistic=statistic,
            )
            each = each.assign(true=true[statistic])
            gap = between.rename(columns={"difference": "estimate"})
            gap = gap.assign(evaluator="difference", true=-np.diff(true[statistic]))
            found += [each, gap]
    return pd.concat(found, ignore_index=True)


def report(found: pd.DataFrame) -> pd.DataFrame:
    found = found.assign(
        marked=found["reason"] != "",
        held=(found["ci_low"] <= found["true"]) & (found["true"] <= found["ci_high"]),
    )
    rows = []
    for (statistic, evaluator), own in found.groupby(["statistic", "evaluator"]):
        to = np.asarray if evaluator == "difference" else np.arctanh
        inside = own[["estimate", "ci_low", "ci_high"]].clip(-1 + 1e-6, 1 - 1e-6)
        if evaluator == "difference":
            inside = own[["estimate", "ci_low", "ci_high"]]
        estimate, low, high = to(inside.to_numpy().T)
        clear = ~own["marked"].to_numpy()
        coverage = own["held"][clear].mean() if clear.any() else np.nan
        rows.append(
            {
                "statistic": statistic,
                "of": evaluator,
                "true": own["true"].iloc[0],
                "mean": own["estimate"].mean(),
                "coverage": coverage,
                "se": np.sqrt(coverage * (1 - coverage) / max(clear.sum(), 1)),
                "marked": 1 - clear.mean(),
                "width": np.nanmedian(high - low) / (2 * 1.959964 * np.std(estimate)),
                "with marked": own["held"][own["ci_low"].notna()].mean(),
            }
        )
    return pd.DataFrame(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    below = []
    for n_systems, n_trials in ((12, 5), (12, 3), (20, 5), (8, 3)):
        for world in WORLDS:
            start = time.process_time()
            table = report(measure(world, n_systems, n_trials, args.worlds, args.seed))
            table.insert(0, "world", f"{n_systems} systems, {n_trials} trials, {world.name}")
            print(
                table.round(3).to_string(), f"\n{time.process_time() - start:.0f} s\n", flush=True
            )
            below.append(table[(table["coverage"] < LOW) | (table["width"] > WIDEST)])
    print(f"Coverage below {LOW}, or wider than {WIDEST} times the oracle's:")
    print(pd.concat(below).round(3).to_string())
    return int((pd.concat(below)["coverage"] < LOW - 0.03).any())


if __name__ == "__main__":
    sys.exit(main())
