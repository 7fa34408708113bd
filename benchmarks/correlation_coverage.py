"""Coverage of intervals of correlations: ``python benchmarks/correlation_coverage.py``.

Worlds have known parameters. Systems have a quality; an evaluator's scores have an error for each
system, so that it is imperfect at any number of items; items are harder or easier for both; and
outputs vary by noise: normal, exponential, or judged on five steps. The parameter of an interval is

- ``items``: over infinitely many items, for the world's own systems;
- ``systems`` (means of systems): over infinitely many systems, on the world's own items;
- ``both`` (means of systems): over infinitely many systems and items.

For means of systems, ``items`` and ``both`` concern expectations, without noise. Printed for each
cell: the coverage of unmarked intervals (status `ok`), the share of marked ones, and the median
width relative to an oracle's, which is 1.96 true standard deviations of the estimate on each side.

The cells ``differences`` are another world: three annotators judge on five steps, with a ceiling
(47% give the highest), outputs of clusters of unequal size (1 to 26), and ten evaluators with
skewed errors agree equally well. Covered means that `compare_evaluators` finds no difference.

The cells ``ties`` are for accuracy within items with calibrated ties, judged on five steps. The
parameter is the accuracy over infinitely many items, with the best threshold for them.

The cells ``soft`` are for soft pairwise accuracy of systems. The parameter of an interval is its
expectation for other items. In ``soft test``, two evaluators have the same expectations of systems;
covered means that the test of their difference has p of at least .05.
Takes about half an hour on two cores.
"""

import sys
from dataclasses import dataclass
from itertools import product

import cells
import numpy as np
import pandas as pd
from scipy import stats

from nlgbench.analysis.correlation import compare_evaluators
from nlgbench.analysis.correlation.coefficients import coefficients, pair_p_values
from nlgbench.analysis.correlation.comparing import _swapped_soft
from nlgbench.analysis.correlation.correlations import (
    intervals_over_outputs,
    permutation_p,
    statistics_of,
)
from nlgbench.analysis.correlation.intervals import (
    Options,
    estimate_expectations,
    system_intervals,
    warn_of_few,
)
from nlgbench.analysis.correlation.samples import Sample, cluster_sums
from nlgbench.analysis.correlation.ties import CALIBRATED, calibrated_accuracy
from nlgbench.study import Study

RESAMPLE = ("items", "systems", "both")
STATISTICS = ("pearson", "spearman", "kendall_b")
SIZES = ((12, 30), (12, 100), (24, 100), (20, 100))
CORRELATIONS = (0.0, 0.5, 0.8, 0.96, 0.98)
NOISE = ("normal", "skewed", "ordinal")
CUTS = np.array([-1.5, -0.5, 0.5, 1.5])
CEILING = np.array([-2.5, -1.5, -0.8, -0.2])


@dataclass(frozen=True)
class World:
    """Qualities of systems, the evaluator's version of them, and difficulties of items."""

    quality: np.ndarray
    seen: np.ndarray
    hard: np.ndarray
    noise: str

    def outputs(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw scores and judgments, of shape (systems, items)."""
        shape = (len(self.quality), len(self.hard))
        errors = (
            rng.exponential(size=(2, *shape)) - 1
            if self.noise == "skewed"
            else rng.normal(size=(2, *shape))
        )
        score = self.seen[:, None] - 0.5 * self.hard + 1.5 * errors[0]
        judgment = self.quality[:, None] - self.hard + 1.5 * errors[1]
        if self.noise == "ordinal":
            judgment = (judgment[..., None] > CUTS).sum(axis=-1).astype(np.float64)
        return score, judgment

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Return systems' expectations over items and noise."""
        if self.noise != "ordinal":
            return self.seen, self.quality
        above = (CUTS - self.quality[:, None]) / np.sqrt(1 + 1.5**2)
        return self.seen, stats.norm.sf(above).sum(axis=1)


def systems_of(n: int, r: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    quality = rng.normal(size=n)
    return quality, r * quality + np.sqrt(1 - r**2) * rng.normal(size=n)


def world_of(n_systems: int, n_items: int, r: float, noise: str, rng) -> World:
    return World(*systems_of(n_systems, r, rng), rng.normal(size=n_items), noise)


def statistics_of_world(x: np.ndarray, y: np.ndarray, level: str) -> np.ndarray:
    """Compute the three statistics of scores and judgments of shape (systems, items)."""
    if level == "item":
        found = coefficients(x.T, y.T, statistics=STATISTICS)
        return np.array([np.nanmean(found[name]) for name in STATISTICS])
    # SciPy sorts, while `coefficients` compares all pairs, which are many here.
    a, b = (one.mean(axis=1) if level == "system" else one.ravel() for one in (x, y))
    tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    return np.array([float(test(a, b).statistic) for test in tests])


def population(r: float, noise: str, rng: np.random.Generator) -> np.ndarray:
    """Return the parameter of systems' means over systems and items, the same in every world."""
    large = (world_of(2_000, 1, r, noise, rng).expected() for _ in range(20))
    return np.mean(
        [statistics_of_world(x[:, None], y[:, None], "system") for x, y in large], axis=0
    )


def truth_of(
    world: World,
    level: str,
    resample: str,
    r: float,
    everywhere: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the parameter of an interval in this world."""
    if resample == "both":
        return everywhere
    if resample == "items":
        if level == "system":
            return statistics_of_world(*(one[:, None] for one in world.expected()), "system")
        hard = rng.normal(size=max(4_000, 40 * len(world.hard)))
        return statistics_of_world(
            *World(world.quality, world.seen, hard, world.noise).outputs(rng), level
        )
    others = World(*systems_of(3_000, r, rng), world.hard, world.noise)
    return statistics_of_world(*others.outputs(rng), level)


def sample_of(world: World, rng: np.random.Generator) -> Sample:
    """Lay out a world's outputs as `correlate` does."""
    score, judgment = world.outputs(rng)
    system, item = np.divmod(np.arange(score.size), len(world.hard))
    return Sample(score.reshape(1, -1), judgment.ravel(), item, system, item, *score.shape)


def intervals_of(sample: Sample, level: str, rng: np.random.Generator) -> dict:
    """Compute all intervals of the three statistics, as `correlate` does."""
    full = statistics_of(sample, level, STATISTICS)
    options = Options(level, list(STATISTICS), "items", 1000, 0.95)
    if level != "system":
        found = {"items": intervals_over_outputs(sample, options, rng)}
    else:
        means = estimate_expectations(*cluster_sums(sample))
        found = {
            resample: system_intervals(means, full, options._replace(resample=resample), rng)
            for resample in RESAMPLE
        }
    sizes = len(np.unique(sample.cluster)), len(np.unique(sample.system))
    return {
        (resample, name): (
            float(full[name][0, 0]),
            one,
            one.status or warn_of_few(*sizes, resample, level),
        )
        for resample in found
        for (_, name), one in found[resample].items()
    }


def measure(
    level: str,
    n_systems: int,
    n_items: int,
    r: float,
    noise: str,
    n_worlds: int,
    seed: int,
) -> pd.DataFrame:
    """Count the coverage of the intervals in a cell."""
    rng = np.random.default_rng([seed, n_systems, n_items, round(100 * r), NOISE.index(noise)])
    everywhere = population(r, noise, rng) if level == "system" else np.full(3, np.nan)
    rows = []
    for _ in range(n_worlds):
        world = world_of(n_systems, n_items, r, noise, rng)
        sample = sample_of(world, rng)
        found = intervals_of(sample, level, rng)
        for resample in dict.fromkeys(key[0] for key in found):
            truth = truth_of(world, level, resample, r, everywhere, rng)
            for at, name in enumerate(STATISTICS):
                estimate, one, status = found[resample, name]
                held = one.low - 1e-9 <= truth[at] <= one.high + 1e-9
                rows.append(
                    (resample, name, estimate - truth[at], one.high - one.low, held, bool(status))
                )
    columns = ["resample", "statistic", "error", "width", "held", "marked"]
    table = pd.DataFrame(rows, columns=columns)
    of_each = []
    for keys, part in table.groupby(["resample", "statistic"], sort=False):
        sure = part[~part["marked"]]
        of_each.append(
            {
                "level": level,
                "size": f"{n_systems} x {n_items}",
                "r": r,
                "noise": noise,
                "resample": keys[0],
                "statistic": keys[1],
                "covered": sure["held"].mean(),
                "se": np.sqrt(sure["held"].mean() * (1 - sure["held"].mean()) / len(sure)),
                "marked": part["marked"].mean(),
                "width": sure["width"].median() / (2 * 1.96 * part["error"].std()),
            }
        )
    return pd.DataFrame(of_each)


def equal_evaluators(n_clusters: int, rng: np.random.Generator) -> Study:
    """Draw outputs in clusters of unequal size, and ten evaluators that agree equally well."""
    sizes = 1 + np.floor(3 * rng.pareto(1.5, n_clusters)).clip(0, 25).astype(int)
    cluster = np.repeat(np.arange(n_clusters), sizes)
    n = len(cluster)
    keys = pd.DataFrame({"output_id": [f"o{number}" for number in range(n)]})
    quality = 0.7 * rng.normal(size=n_clusters)[cluster] + rng.normal(size=n)
    seen = quality + rng.normal(size=(3, n))
    judgments = [
        keys.assign(annotator_id=f"w{number}", value=(steps > CEILING).sum(axis=1) + 1.0)
        for number, steps in enumerate(seen[..., None])
    ]
    errors = 0.7 * rng.normal(size=(10, n_clusters))[:, cluster]
    errors += 1.5 * (rng.exponential(size=(10, n)) - 1)
    scores = [
        keys.assign(evaluator=f"e{number}", score=quality + error)
        for number, error in enumerate(errors)
    ]
    outputs = keys.assign(
        item_id=keys["output_id"], system=[f"s{one}" for one in rng.integers(6, size=n)]
    ).assign(text="", context=[f"c{one}" for one in cluster])
    return Study(outputs, pd.concat(judgments), scores=pd.concat(scores))


def measure_differences(n_clusters: int, statistic: str, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count the worlds in which no pair of equal evaluators differs significantly."""
    rng = np.random.default_rng([seed, n_clusters])
    options = {"granularity": "output", "clusters": "context", "statistic": statistic}
    none = [
        compare_evaluators(equal_evaluators(n_clusters, rng), **options)["p_adjusted"].min() >= 0.05
        for _ in range(n_worlds)
    ]
    row = {"level": "differences", "size": f"{n_clusters} clusters", "statistic": statistic}
    return pd.DataFrame([row | {"covered": np.mean(none)}])


def measure_ties(n_systems: int, n_items: int, r: float, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count the coverage of accuracy within items with calibrated ties."""
    rng = np.random.default_rng([seed, n_systems, n_items, round(100 * r)])
    rows = []
    for _ in range(n_worlds):
        world = world_of(n_systems, n_items, r, "ordinal", rng)
        hard = rng.normal(size=4_000)
        best = World(world.quality, world.seen, hard, "ordinal").outputs(rng)
        truth = accuracy_of(*best, cross_fitted=False)["accuracy"].mean()
        x, y = world.outputs(rng)
        system, item = np.divmod(np.arange(x.size), n_items)
        sample = Sample(x.reshape(1, -1), y.ravel(), item, system, item, *x.shape)
        for name, cross_fitted in CALIBRATED.items():
            by_item = accuracy_of(x, y, cross_fitted=cross_fitted)
            values = {name: by_item["accuracy"], f"chance_{name}": by_item["chance"]}
            options = Options("item", [name], "items", 0, 0.95)
            interval = intervals_over_outputs(sample, options, rng, values)[0, name]
            rows.append((name, interval.low <= truth <= interval.high))
    covered = pd.DataFrame(rows, columns=["statistic", "covered"]).groupby("statistic").mean()
    return covered.reset_index().assign(level="ties", size=f"{n_systems} x {n_items}", r=r)


def accuracy_of(x: np.ndarray, y: np.ndarray, *, cross_fitted: bool) -> dict[str, np.ndarray]:
    """Calibrate ties of scores and judgments of shape (systems, items), without permutations."""
    options = {"cross_fitted": cross_fitted, "n_permutations": 0}
    return calibrated_accuracy(x.T[None], y.T, np.arange(len(x.T)), **options)


def measure_soft(n_systems: int, n_items: int, r: float, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count the coverage of intervals of soft accuracy, and the tests that do not reject."""
    rng = np.random.default_rng([seed, n_systems, n_items, round(100 * r)])
    name, cluster, covered = "soft_pairwise", np.arange(n_items), []
    swaps = rng.random((400, n_items)) < 0.5
    swaps[0] = False
    for number in range(n_worlds):
        world = world_of(n_systems, n_items, r, "ordinal", rng)
        sample, (other, _) = sample_of(world, rng), world.outputs(rng)
        x = np.stack([sample.x[0].reshape(other.shape), other])[:, None].swapaxes(2, 3)
        under_swaps = _swapped_soft(x, sample.y.reshape(other.shape).T, cluster, swaps)[1]
        p = permutation_p(under_swaps, under_swaps[:, :1], exact=True, two_sided=True)
        row = {"soft test": p[0] >= 0.05}
        if number < n_worlds // 4:  # the parameter is costly
            redrawn = (
                World(world.quality, world.seen, rng.normal(size=n_items), "ordinal")
                for _ in range(50)
            )
            truth = np.mean([soft_of(*other_items.outputs(rng)) for other_items in redrawn])
            options = Options("system", [name], "items", 0, 0.95)
            interval = intervals_over_outputs(sample, options, rng).get((0, name))
            row["soft"] = interval.low <= truth <= interval.high
        covered.append(row)
    shares = pd.DataFrame(covered).astype(float).mean()
    table = shares.rename_axis("level").reset_index(name="covered")
    return table.assign(size=f"{n_systems} x {n_items}", r=r)


def soft_of(x: np.ndarray, y: np.ndarray) -> float:
    """Compute soft accuracy of scores and judgments of shape (systems, items)."""
    return 1 - float(np.abs(pair_p_values(x.T) - pair_p_values(y.T)).mean())


def cells_of(level: str) -> list[tuple[int, int, float, str]]:
    """List the cells: all for means of systems, some for outputs and items."""
    every = product(SIZES, CORRELATIONS, NOISE)
    if level != "system":
        every = [
            (size, r, noise)
            for size, r, noise in product(SIZES[:3], CORRELATIONS, NOISE)
            if noise == "normal" or r == 0.8
        ]
    return [(*size, r, noise) for size, r, noise in every]


CELLS = {
    f"{level}, {systems} x {items}, r = {r:g}, {noise}": (level, systems, items, r, noise)
    for level in ("system", "output", "item")
    for systems, items, r, noise in cells_of(level)
}
# Over a thousand clusters are left out in groups.
CELLS |= {
    f"{level}, 5 x 1200, r = 0.8, skewed": (level, 5, 1_200, 0.8, "skewed")
    for level in ("output", "item")
}
CELLS |= {
    f"differences, {n_clusters} clusters, {statistic}": ("differences", n_clusters, statistic)
    for n_clusters in (20, 40)
    for statistic in ("pearson", "spearman")
}
CELLS |= {
    f"ties, {systems} x {items}, r = {r:g}": ("ties", systems, items, r)
    for systems, items, r in product((4, 10), (50, 200), (0.0, 0.8))
}


CELLS |= {
    f"soft, {systems} x {items}, r = {r:g}": ("soft", systems, items, r)
    for systems, items, r in product((5, 12), (50, 200), (0.8,))
}


def counted(cell: tuple, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell."""
    if cell[0] == "differences":
        return measure_differences(*cell[1:], n_worlds, seed)
    if cell[0] == "ties":
        return measure_ties(*cell[1:], n_worlds, seed)
    if cell[0] == "soft":
        return measure_soft(*cell[1:], 4 * n_worlds, seed)
    return measure(*cell, n_worlds, seed)


def beyond(table: pd.DataFrame, n_worlds: int) -> pd.Series:
    """Mark intervals with low coverage: .88 is the lowest that was found in 500 worlds."""
    nominal = 0.95 if table["level"].eq("differences").all() else 0.88
    return table["covered"] < cells.lowest(nominal, n_worlds)


if __name__ == "__main__":
    sys.exit(cells.count(__doc__, CELLS, counted, beyond, worlds=40, full=500))
