"""How often intervals hold what they should: ``python benchmarks/coverage.py``, some minutes.

In Gaussian worlds of 100 outputs per class, three systems, 20 annotators. Held should be the
expectation of the score at this size: HUSE of finitely many outputs with a fixed k is biased
against its limit, and no resampling of one study takes that out. The expectation is the mean
over worlds of their own, with another seed. Intervals: half-samples with the same k (the default),
and with k halved so that a neighborhood holds the same share. Beside them the naive bootstrap: of
outputs, with replacement, stratified by class.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd

from nlgbench import worlds
from nlgbench.analysis.huse import SCORES, HuseResult, huse
from nlgbench.analysis.neighbors import leave_one_out, twice_error
from nlgbench.analysis.replicates import MAPS, output_replicates
from nlgbench.analysis.resampling import half_samples, interval

REQUIRED = 0.90

WAYS = {"half-samples, k = 16": 16, "half-samples, k = 8": 8}


def results(n_worlds: int, seed: int) -> Iterator[tuple[int, HuseResult]]:
    rng = np.random.default_rng(seed)
    for world in range(n_worlds):
        study = worlds.gaussian_world(seed=rng).study
        assert study.logprobs is not None
        for system in worlds.ANNEALED:
            yield world, huse(study.outputs, study.logprobs, study.judgments, system=system)


def bootstrap(result: HuseResult, n_resamples: int, rng: np.random.Generator) -> pd.DataFrame:
    """Resample outputs with replacement: copies of an output are among its own neighbors."""
    is_machine = ~result.features["is_human"].to_numpy()
    classes = [np.flatnonzero(is_machine == kind) for kind in (False, True)]
    rows = []
    for _ in range(n_resamples):
        drawn = np.concatenate([rng.choice(one, len(one)) for one in classes])
        label = is_machine[drawn]
        rows.append(
            {
                name: twice_error(
                    *leave_one_out(result.features[columns].to_numpy()[drawn], label, 16), label
                )
                for name, columns in MAPS.items()
            }
        )
    table = pd.DataFrame(rows)
    return table.assign(huse_d=1 + table["huse"] - table["huse_q"])


def measure(n_worlds: int, n_resamples: int, n_bootstrap: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([seed, 1])
    rows = []
    for world, result in results(n_worlds, seed):
        members = half_samples(result.features["is_human"], n_resamples=n_resamples, seed=rng)
        found = {way: output_replicates(result, members, n_neighbors=k) for way, k in WAYS.items()}
        found["bootstrap"] = bootstrap(result, n_bootstrap, rng)
        for way, replicates in found.items():
            for score in SCORES:
                estimate = getattr(result, score)
                if way == "bootstrap":
                    low, high = replicates[score].quantile([0.025, 0.975])
                    own = {
                        "estimate": estimate,
                        "se": replicates[score].std(),
                        "ci_low": low,
                        "ci_high": high,
                        "center": replicates[score].mean(),
                        "n_undefined": 0,
                    }
                else:
                    own = dict(interval(replicates[score], estimate))
                names = {"world": world, "system": result.system, "score": score, "way": way}
                rows.append(names | own)
    return pd.DataFrame(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--expectation", type=int, default=1000, help="worlds for the expectation")
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--bootstrap", type=int, default=50)
    parser.add_argument("--seed", type=int, default=2019)
    args = parser.parse_args()

    expected = pd.DataFrame(
        [
            {"system": one.system, "score": score, "value": getattr(one, score)}
            for _, one in results(args.expectation, args.seed + 1)
            for score in SCORES
        ]
    )
    expected = expected.groupby(["system", "score"])["value"].agg(["mean", "sem", "std"])
    table = measure(args.worlds, args.resamples, args.bootstrap, args.seed)
    table = table.join(expected, on=["system", "score"])
    table["holds"] = (table["ci_low"] <= table["mean"]) & (table["mean"] <= table["ci_high"])
    table["off"] = table["center"] - table["estimate"]
    by = ["way", "system", "score"]
    report = table.groupby(by, sort=False).agg(
        expectation=("mean", "first"),
        its_se=("sem", "first"),
        sd=("std", "first"),
        mean_se=("se", "mean"),
        coverage=("holds", "mean"),
        center_off=("off", "mean"),
        n_undefined=("n_undefined", "sum"),
    )
    sizes = f"{args.worlds} worlds, {args.resamples} half-samples, {args.bootstrap} bootstraps"
    print(
        f"{sizes}; expectations from {args.expectation} other worlds, seed {args.seed}.\n"
        "sd: of the score over worlds. center_off: mean of the replicates minus the estimate.\n"
        f"A coverage of .95 in {args.worlds} worlds has a standard error of "
        f"{np.sqrt(0.95 * 0.05 / args.worlds):.3f}.\n"
    )
    print(report.round(3).to_string())
    pooled = table.groupby(["way", "score"], sort=False)["holds"].mean().unstack()
    print(f"\nOver systems:\n{pooled[list(SCORES)].round(3).to_string()}")
    default = report.xs(next(iter(WAYS)), level="way")["coverage"]
    print(f"\nLeast coverage of the default: {default.min():.3f}, required {REQUIRED:.2f}.")
    return int(default.min() < REQUIRED)


if __name__ == "__main__":
    sys.exit(main())
