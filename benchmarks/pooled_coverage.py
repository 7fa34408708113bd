"""How often intervals of a mean correlation over studies hold, and predictions of a further study.

    python benchmarks/pooled_coverage.py [--worlds 2000] [--seed 0] [--whole 200]

Studies of unequal size (40 to 1,200 outputs, or one of 20,000 among some of 30) have true
Fisher's z around atanh(.4), normal or skewed (a shifted exponential of the same variance), whose
variance is such a share I^2 of the whole; each study's z errs normally with variance 1 / (n - 3). A
mean is held against the true mean, a prediction against the true effect of one more study. Written
are shares of worlds with their standard error.

`--whole` goes the whole way in so many worlds: judgments of 5 systems on 12 to 120 items, the
correlation (Spearman's) over outputs with its interval over items, and the paired difference from
another evaluator; then the means. The evaluator's error is the same in all studies, or .5, 1 or 2.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from scipy.stats import t as student

import nlgbench as nb
from nlgbench.analysis.correlation.pooling import interval_of_prediction, random_effects

MEAN = np.arctanh(0.4)
#: Outputs of the smallest and of the largest study.
SIZES = {"40 to 1,200": (40, 1_200), "one large": (30, 20_000)}


def sizes_of(name: str, k: int) -> np.ndarray:
    """Give studies' numbers of outputs: spread evenly on a log scale, or one large among small."""
    low, high = SIZES[name]
    if name == "one large":
        return np.array([high, *[low] * (k - 1)], dtype=float)
    return np.geomspace(low, high, k)


def true_effects(truth: str, tau: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw studies' true z, of mean `MEAN` and standard deviation tau."""
    if truth == "skewed":
        return MEAN + tau * (rng.exponential(size=n) - 1)
    return rng.normal(MEAN, tau, n)


def cell(k: int, share: float, sizes: str, truth: str, worlds: int, seed: int) -> dict:
    """Count in how many worlds of one kind each interval holds."""
    rng = np.random.default_rng([seed, k, int(100 * share), len(sizes), len(truth)])
    variance = 1 / (sizes_of(sizes, k) - 3)
    w = 1 / variance
    typical = (k - 1) * w.sum() / (w.sum() ** 2 - (w**2).sum())
    tau = np.sqrt(typical * share / (1 - share))
    held = {"plain": [], "modified": [], "normal": [], "prediction": []}
    widths: dict[str, list[float]] = {"plain": [], "modified": []}
    for _ in range(worlds):
        true = true_effects(truth, tau, k + 1, rng)
        z = rng.normal(true[:k], np.sqrt(variance))
        for name in ("plain", "modified"):
            found = random_effects(z, variance, 0.95, modified=name == "modified")
            reach = student.isf(0.025, k - 1) * found.se
            low, high = found.mean - reach, found.mean + reach
            held[name].append(low <= MEAN <= high)
            widths[name].append(high - low)
        reach = 1.96 / np.sqrt((1 / (variance + found.tau2)).sum())
        held["normal"].append(abs(found.mean - MEAN) <= reach)
        low, high = interval_of_prediction(z, variance, 0.95)
        held["prediction"].append(low <= true[k] <= high)
    row = {"k": k, "I2": share, "sizes": sizes, "truth": truth}
    row |= {name: np.mean(one) for name, one in held.items()}
    return row | {"width": np.median(widths["modified"]) / np.median(widths["plain"])}


LITTLE = 3.0


def true_of(error: float, rng: np.random.Generator) -> tuple[float, float]:
    """Give z, and the difference from an evaluator that knows little, in a very large study."""
    world = nb.simulate("judgments", n_items=40_000, design="distinct", seed=rng)
    quality = world.truth["outputs"].set_index("output_id")["value"]
    said = world.judgments.groupby("output_id")["value"].mean()[quality.index]
    own, other = (
        spearmanr(quality + rng.normal(0, one, len(quality)), said).statistic
        for one in (error, LITTLE)
    )
    return np.arctanh(own), own - other


def both_ways(studies: dict[str, nb.Study], seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate the evaluator of each study, and set it beside the other."""
    asked = {"granularity": "output", "seed": seed}
    alone, pair = [], []
    for name, study in studies.items():
        found = nb.correlate(study, evaluators=["evaluator"], statistics=["spearman"], **asked)
        alone.append(found.assign(study=name))
        of_pair = {"evaluators": [("evaluator", "little")], "n_resamples": 200}
        found = nb.compare_evaluators(study, statistic="spearman", **of_pair, **asked)
        pair.append(found.assign(study=name))
    return pd.concat(alone), pd.concat(pair)


def whole_cell(k: int, errors: tuple[float, ...], worlds: int, seed: int) -> dict:
    """Count in how many worlds the mean correlation's and the mean difference's interval holds."""
    rng = np.random.default_rng([seed, k, len(errors)])
    truth = np.mean([true_of(error, rng) for error in errors], axis=0)
    held = []
    sizes = np.geomspace(12, 120, k).astype(int)
    world = {"design": "distinct", "n_pairs": 1, "seed": rng}
    for _ in range(worlds):
        studies = {
            str(size): nb.simulate(
                "own", n_items=size, errors={"evaluator": error, "little": LITTLE}, **world
            )
            for size, error in zip(sizes.tolist(), rng.choice(errors, k), strict=True)
        }
        rows = [nb.pool_correlations(table).summary.iloc[0] for table in both_ways(studies, seed)]
        ends = np.array([row[["ci_low", "ci_high"]].to_numpy(dtype=float) for row in rows])
        ends[0] = np.arctanh(ends[0])
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    mean, difference = np.mean(held, axis=0)
    return {"k": k, "errors": errors, "mean": mean, "difference": difference}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", type=int, default=0)
    args = parser.parse_args()
    start = time.process_time()
    cells = [(k, share, "40 to 1,200", "normal") for k in (5, 8, 15) for share in (0.0, 0.3, 0.8)]
    cells += [(k, 0.8, "40 to 1,200", "skewed") for k in (5, 8, 15)]
    cells += [(k, share, "one large", "normal") for k in (5, 8) for share in (0.0, 0.3)]
    rows = [cell(*one, args.worlds, args.seed) for one in cells]
    print(pd.DataFrame(rows).round(3).to_string(index=False))
    error = np.sqrt(0.95 * 0.05 / args.worlds)
    print(f"{args.worlds} worlds a row, standard error of .95 is {error:.4f}")
    for k in (5, 8) if args.whole else ():
        for errors in ((1.0,), (0.5, 1.0, 2.0)):
            print(whole_cell(k, errors, args.whole, args.seed), flush=True)
    print(f"{time.process_time() - start:.0f} processor seconds")


if __name__ == "__main__":
    main()
