"""Time correlations over resamples against a SciPy loop: ``python benchmarks/correlation.py``.

Results are asserted to be equal before timing. Both are timed alternately, and the best of several
repeats counts. The loop runs over some of the resamples, and its time is extrapolated.

``python benchmarks/correlation.py scores`` times `correlate` and `compare_evaluators` on 600,000
scores (15 systems, 2,000 items, 20 evaluators), each granularity in its own process. If nlpstats is
installed, it asserts equal estimates, and extrapolates its bootstrap of 1,000 from a few resamples
of one evaluator. Finally it prints how the cost grows with the number of items; with ``growth``
instead of ``scores``, it prints only that.
"""

import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nlgbench.analysis.correlation import compare_evaluators, correlate
from nlgbench.analysis.correlation.coefficients import coefficients, weighted_coefficients
from nlgbench.study import Study

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}
FEW = {"pearson": 200, "spearman": 200, "kendall_b": 150}
MANY = {"pearson": 30, "spearman": 30, "kendall_b": 8}
REPEATS = 5
SECONDS = 1.0

Floats = NDArray[np.float64]


def best(*calls: Callable[[], object]) -> list[float]:
    """Time calls alternately, and return the shortest time of each."""
    times = np.full((REPEATS, len(calls)), np.inf)
    for repeat in times:
        for at, call in enumerate(calls):
            start = time.process_time()
            call()
            repeat[at] = time.process_time() - start
    return times.min(axis=0).tolist()


def loop(statistic: str, x: Floats, y: Floats) -> list[float]:
    """Correlate pairs of rows one by one."""
    return [SCIPY[statistic](a, b).statistic for a, b in zip(x, y, strict=True)]


def equal(found: Floats, expected: list[float]) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def report(what: str, ours: float, scipys: float, required: float) -> bool:
    ratio = scipys / ours
    print(f"{what:58} {ours:8.3f} s {scipys:9.2f} s {ratio:8.0f} (required {required:g})")
    return ratio >= required


def few_systems() -> bool:
    """Time 10,000 resamples of 25 evaluators over 12 systems, of items and of systems."""
    rng = np.random.default_rng(0)
    n_resamples, n_evaluators, n, n_looped = 10_000, 25, 12, 200
    truth = rng.normal(size=n)
    y = truth + rng.normal(scale=0.1, size=(n_resamples, n))
    x = truth + rng.normal(scale=0.5, size=(n_evaluators, n_resamples, n))
    drawn = rng.integers(n, size=(n_resamples, n))
    weights = np.stack([np.bincount(one, minlength=n) for one in drawn])
    varied = (weights > 0).sum(axis=1) > 1
    fine = True
    for name, required in FEW.items():

        def rows(name: str = name) -> Floats:
            return np.stack([coefficients(one, y, statistics=[name])[name] for one in x])

        def points(name: str = name) -> Floats:
            return weighted_coefficients(x[:, 0], y[0], weights, statistics=[name])[name]

        def looped(name: str = name) -> list[float]:
            return loop(name, x[3, :n_looped], y[:n_looped])

        equal(rows()[3, :n_looped], looped())
        some = np.flatnonzero(varied)[:n_looped]
        equal(points()[3, some], loop(name, x[3, 0][drawn[some]], y[0][drawn[some]]))
        ours, of_points, part = best(rows, points, looped)
        scipys = part * n_evaluators * n_resamples / n_looped
        what = f"{name}, 10,000 x 25 evaluators x 12 systems"
        fine &= report(f"{what}, items", ours, scipys, required)
        fine &= report(f"{what}, systems", of_points, scipys, required)
    return fine


def many_outputs() -> bool:
    """Time 500 resamples of 8 evaluators over 5,164 outputs, with judgments of few values."""
    rng = np.random.default_rng(0)
    n, n_resamples, n_evaluators, n_looped = 5_164, 500, 8, 30
    truth = rng.normal(size=n)
    y = np.round(2 * truth + rng.normal(size=n))
    x = truth + rng.normal(size=(n_evaluators, n))
    drawn = rng.integers(n, size=(n_resamples, n))
    weights = np.stack([np.bincount(one, minlength=n) for one in drawn])
    fine = True
    for name, required in MANY.items():

        def ours(name: str = name) -> Floats:
            return weighted_coefficients(x, y, weights, statistics=[name])[name]

        def looped(name: str = name) -> list[float]:
            return [SCIPY[name](x[2, one], y[one]).statistic for one in drawn[:n_looped]]

        equal(ours()[2, :n_looped], looped())
        seconds, part = best(ours, looped)
        scipys = part * n_evaluators * n_resamples / n_looped
        what = f"{name}, 500 x 8 evaluators x 5,164 outputs"
        fine &= report(what, seconds, scipys, required)
    return fine


def growth() -> None:
    """Print how the cost of a resample grows with the outputs."""
    rng = np.random.default_rng(0)
    sizes = (1_000, 4_000, 16_000)
    print("\nmicroseconds a resample and evaluator:", *(f"{n:,}" for n in sizes))
    for name in MANY:
        cost = []
        for n in sizes:
            x, y = rng.normal(size=(2, n))
            weights = rng.poisson(1.0, size=(200, n))
            call = lambda: weighted_coefficients(x[None], y, weights, statistics=[name])  # noqa: B023, E731
            cost.append(best(call)[0] / 200 * 1e6)
        slope = np.polyfit(np.log(sizes), np.log(cost), 1)[0]
        print(f"  {name:10}", *(f"{one:8.1f}" for one in cost), f"  grows as n^{slope:.2f}")


def swaps() -> bool:
    """Time the exact test of all 300 pairs of 25 evaluators over 12 systems."""
    rng = np.random.default_rng(0)
    systems = [f"s{number}" for number in range(12)]
    truth = rng.normal(size=12)

    def table(name: str, scores: Floats) -> pd.DataFrame:
        return pd.DataFrame({"system": systems, "evaluator": name, "score": scores})

    scores = pd.concat([table(f"e{number}", truth + rng.normal(size=12)) for number in range(25)])
    outputs = pd.DataFrame({"output_id": systems, "item_id": "i", "system": systems})
    study, human = Study(outputs, system_scores=scores), table("human", truth)
    fine = True
    for name in SCIPY:
        seconds = best(lambda of=name: compare_evaluators(study, against=human, statistic=of))[0]
        limit = f"(at most {SECONDS:g})" if name == "pearson" else ""
        print(f"{name}: 300 pairs of evaluators, 4,096 swaps each: {seconds:.2f} s {limit}")
        fine &= name != "pearson" or seconds <= SECONDS
    return fine


LEVELS = {"system": "system", "output": "global", "item": "input"}


def study_of(n_systems: int, n_items: int, n_evaluators: int) -> Study:
    """Draw judgments on a scale of 1 to 5, in halves, and scores."""
    rng = np.random.default_rng(0)
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    n = len(system)
    quality = 0.5 * rng.normal(size=n_systems)[system] + 0.5 * rng.normal(size=n_items)[item]
    quality += rng.normal(size=n)
    ids = np.array([f"o{number}" for number in range(n)])
    outputs = pd.DataFrame(
        {
            "output_id": ids,
            "item_id": [f"i{one}" for one in item],
            "system": [f"s{one}" for one in system],
        }
    )
    value = np.clip(np.round(2 * (3 + quality + 0.5 * rng.normal(size=n))) / 2, 1, 5)
    judgments = pd.DataFrame({"output_id": ids, "annotator_id": "w", "value": value})
    scores = pd.concat(
        pd.DataFrame(
            {"output_id": ids, "evaluator": f"e{number}", "score": quality + rng.normal(size=n)}
        )
        for number in range(n_evaluators)
    )
    return Study(outputs, judgments, scores=scores.reset_index(drop=True))


def cell(granularity: str, how: str, n_items: int) -> None:
    """Print processor time in seconds, and peak memory in MiB, of one call."""
    study = study_of(15, n_items, 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    if how == "compare":
        compare_evaluators(study, statistic="kendall_b", granularity=granularity)
    else:
        correlate(study, granularity=granularity)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, peak / 1024, before / 1024)


def in_its_own_process(*of: object) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, __file__, "cell", *map(str, of)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak, before = map(float, done.stdout.split())
    return seconds, peak, before


def peers() -> dict[str, float]:
    """Time nlpstats' bootstraps of 1,000, extrapolated, after asserting equal estimates."""
    if importlib.util.find_spec("nlpstats") is None:
        return {}
    from nlpstats.correlations.bootstrap import bootstrap
    from nlpstats.correlations.correlations import correlate as peers_correlate

    study = study_of(15, 2_000, 20)
    names = {"pearson": "pearson", "spearman": "spearman", "kendall_b": "kendall"}
    assert study.judgments is not None and study.scores is not None
    z = study.judgments["value"].to_numpy().reshape(15, 2_000)
    x = study.scores["score"].to_numpy().reshape(20, 15, 2_000)
    seconds = {}
    for granularity, level in LEVELS.items():
        found = correlate(study, evaluators=["e0"], granularity=granularity, resample=None)
        for name, peer in names.items():
            ours = found.loc[found["statistic"] == name, "estimate"].iloc[0]
            np.testing.assert_allclose(ours, peers_correlate(x[0], z, level, peer), atol=1e-10)
        few = {"system": 20, "output": 3, "item": 1}[granularity]
        start = time.process_time()
        for name in names.values():
            bootstrap(x[0], z, level, name, "inputs", n_resamples=few)
        seconds[granularity] = (time.process_time() - start) / few * 1_000 * 20
    return seconds


def scores() -> None:
    """Print one row for each granularity."""
    theirs = peers()
    print("15 systems x 2,000 items x 20 evaluators, three statistics; compare: only Kendall's tau")
    print(f"{'':8} {'correlate':>19} {'compare':>19} {'nlpstats':>10} ratio")
    for granularity in LEVELS:
        row = []
        for how in ("default", "compare"):
            seconds, peak, _ = in_its_own_process(granularity, how, 2_000)
            row.append((seconds, f"{seconds:7.1f} s {peak:6.0f} MiB"))
        peer = theirs.get(granularity, np.nan)
        parts = " ".join(f"{text:>19}" for _, text in row)
        print(f"{granularity:8} {parts} {peer:8.0f} s {peer / row[0][0]:5.0f}", flush=True)


def growth_of_scores() -> None:
    """Print how the cost of `correlate` grows with the items."""
    sizes = (500, 1_000, 2_000)
    print("\nseconds of correlate, by items:", *(f"{n:,}" for n in sizes))
    for granularity in LEVELS:
        cost = [in_its_own_process(granularity, "default", n)[0] for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(cost), 1)[0]
        shown = " ".join(f"{one:8.1f}" for one in cost)
        print(f"  {granularity:8} {shown}  grows as n^{slope:.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["cell"]:
        cell(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        sys.exit()
    if sys.argv[1:] == ["scores"]:
        scores()
        growth_of_scores()
        sys.exit()
    if sys.argv[1:] == ["growth"]:
        growth_of_scores()
        sys.exit()
    print(f"{'':58} {'ours':>10} {'SciPy loop':>11} {'ratio':>8}")
    results = [few_systems(), many_outputs(), swaps()]
    growth()
    sys.exit(not all(results))
