"""How often intervals of correlations hold: ``python benchmarks/correlation_coverage.py``.

A world of which everything is known. Systems have a quality, an evaluator sees it with an error
of its own for each system (that is what makes it imperfect at any number of items), items are
harder or easier for both, and outputs differ. Two parameters are asked for:

- resample="items": these systems, other items. The correlation of the systems' own expectations,
  different in every world.
- resample="systems" and "both": other systems of the kind. The correlation of quality and what the
  evaluator sees of it in the population of systems, the same in every world: Pearson's r is set,
  Spearman's and Kendall's follow from it for normal variables.

Some minutes.
"""

import argparse
import sys

import numpy as np
import pandas as pd
from scipy import stats

from nlgbench.analysis.correlation import correlate

LOW, HIGH = 0.90, 0.98
RESAMPLE = ("items", "systems", "both")
STATISTICS = ("pearson", "spearman", "kendall_b")
SIZES = ((12, 150), (6, 150), (4, 150), (12, 30))


def world(
    n_systems: int, n_items: int, r: float, rng: np.random.Generator
) -> tuple[list[pd.DataFrame], np.ndarray, np.ndarray]:
    """Simulate a study, and give what its systems' means would be over all items."""
    quality = rng.normal(size=n_systems)
    seen = r * quality + np.sqrt(1 - r**2) * rng.normal(size=n_systems)
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    hard, n = rng.normal(size=n_items)[item], n_systems * n_items
    judgment = quality[system] - hard + 1.5 * rng.normal(size=n)
    score = seen[system] - 0.5 * hard + 1.5 * rng.normal(size=n)
    outputs = pd.DataFrame(
        {
            "dataset": "simulated",
            "output_id": [f"o{number}" for number in range(n)],
            "item_id": [f"i{one}" for one in item],
            "system": [f"s{one}" for one in system],
            "text": "",
            "is_human": False,
            "context": "",
        }
    )
    keys = outputs[["dataset", "output_id"]]
    scores = keys.assign(evaluator="e", score=score, signature="")
    judgments = keys.assign(annotator_id="w", dimension="q", value=judgment, group_id="")
    return [outputs, scores, judgments], quality, seen


def population(r: float) -> dict[str, float]:
    """Give the three correlations of normal variables."""
    return {
        "pearson": r,
        "spearman": 6 / np.pi * np.arcsin(r / 2),
        "kendall_b": 2 / np.pi * np.arcsin(r),
    }


def of_these(quality: np.ndarray, seen: np.ndarray) -> dict[str, float]:
    tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    values = (float(test(quality, seen).statistic) for test in tests)
    return dict(zip(STATISTICS, values, strict=True))


def measure(n_worlds: int, n_resamples: int, r: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for n_systems, n_items in SIZES:
        for _ in range(n_worlds):
            study, quality, seen = world(n_systems, n_items, r, rng)
            truths = dict.fromkeys(RESAMPLE, population(r)) | {"items": of_these(quality, seen)}
            for resample in RESAMPLE:
                found = correlate(
                    *study,
                    statistics=STATISTICS,
                    resample=resample,
                    n_resamples=n_resamples,
                    seed=rng,
                )
                truth = found["statistic"].map(truths[resample])
                held = (found["ci_low"] <= truth) & (truth <= found["ci_high"])
                rows.append(
                    found[["statistic"]].assign(
                        n_systems=n_systems,
                        n_items=n_items,
                        resample=resample,
                        held=held,
                        too_high=truth < found["ci_low"],
                        too_low=truth > found["ci_high"],
                        width=found["ci_high"] - found["ci_low"],
                        bias=found["estimate"] - truth,
                    )
                )
    keys = ["n_systems", "n_items", "resample", "statistic"]
    return pd.concat(rows).groupby(keys).mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--r", type=float, default=0.8, help="correlation in the population")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    table = measure(args.worlds, args.resamples, args.r, args.seed)
    print(f"population r = {args.r}, {args.worlds} worlds, {args.resamples} resamples")
    print(table.round(3).to_string())
    print(f"A share has a standard error of about {np.sqrt(0.95 * 0.05 / args.worlds):.3f}.")
    most = table.loc[(12, 150), "held"]
    print(f"\nat 12 x 150 not within {LOW} and {HIGH}:", most[~most.between(LOW, HIGH)].to_dict())
    sys.exit(bool((most < LOW).any()))
