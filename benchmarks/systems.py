"""Time `compare_systems` on large studies (five minutes): ``benchmarks/systems.py``.

Twenty systems, five votes for each output, 400 annotators, who judge whole items or outputs drawn
at random; or as many scores of five times as many items. First, effects without each item and
annotator are compared with refits by least squares (SciPy), which are timed, too. Each size runs in
a process of its own, which measures its memory.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import lsqr

import nlgbench as nb
from nlgbench.analysis.people import additive

N_SYSTEMS, N_VOTES, N_ANNOTATORS = 20, 5, 400
SIZES = (1_000, 3_000, 10_000)  # items
#: Design -> seconds for each size, and gigabytes.
REQUIRED = {
    "whole": ((2, 6, 60), 2.0),
    "scattered": ((10, 20, 180), 2.0),
    "scores": ((3, 8, 20), 2.0),
}
REQUIRED_EXPONENT = 1.15


def simulate(n_items: int, design: str) -> nb.Study:
    """Simulate grades from 1 to 5 of systems, items and annotators that differ."""
    rng = np.random.default_rng(0)
    n_items *= N_VOTES if design == "scores" else 1
    item, system = np.divmod(np.arange(n_items * N_SYSTEMS), N_SYSTEMS)
    outputs = pd.DataFrame({"item_id": item, "system": system}).astype(str)
    outputs = outputs.assign(
        system="s" + outputs["system"],
        output_id=outputs["item_id"] + "/" + outputs["system"],
        text="text",
        is_human=False,
    )
    effect = rng.normal(0, 0.3, N_SYSTEMS)[system] + rng.normal(0, 0.5, n_items)[item]
    if design == "scores":
        scores = pd.DataFrame({"output_id": outputs["output_id"], "evaluator": "grade"})
        return nb.Study(outputs, scores=scores.assign(score=effect + rng.normal(size=len(effect))))
    n_draws = n_items if design == "whole" else len(item)
    drawn = np.argsort(rng.random((n_draws, N_ANNOTATORS), dtype=np.float32), axis=1)[:, :N_VOTES]
    annotator = drawn[item if design == "whole" else np.arange(len(item))].ravel()
    grade = 3 + np.repeat(effect, N_VOTES) + rng.normal(0, 0.5, N_ANNOTATORS)[annotator]
    judgments = pd.DataFrame({"output_id": outputs["output_id"].repeat(N_VOTES).to_numpy()})
    judgments = judgments.assign(
        annotator_id=[f"a{number}" for number in annotator],
        dimension="quality",
        value=np.clip(np.round(grade + rng.normal(size=len(grade))), 1, 5),
    )
    return nb.Study(outputs, judgments=judgments)


def compare_refits(n_items: int = 60) -> float:
    """Check effects without each cluster against refits; return how many times as fast they are."""
    frame = simulate(n_items, "scattered").judged("quality")
    labels = [pd.factorize(frame[name])[0] for name in ("system", "item_id", "annotator_id")]
    value = frame["value"].to_numpy(dtype=float)
    n = np.arange(len(value))
    design = hstack([csr_array((np.ones(len(n)), (n, label))) for label in labels]).tocsr()
    seconds = [0.0, 0.0]
    for cluster in labels[1:]:
        start = time.perf_counter()
        data, _ = additive.normal_equations(value, *labels)
        levels, _ = additive.without_clusters(data, cluster)
        seconds[0] += time.perf_counter() - start
        start = time.perf_counter()
        for number, rows in enumerate(additive.members(cluster)):
            kept = np.delete(n, rows)
            effects = lsqr(design[kept], value[kept], atol=1e-14, btol=1e-14, iter_lim=10_000)[0]
            systems = effects[:N_SYSTEMS]
            expected = systems + (value[kept] - systems[labels[0][kept]]).mean()
            np.testing.assert_allclose(levels[number], expected, atol=1e-6)
        seconds[1] += time.perf_counter() - start
    return seconds[1] / seconds[0]


def measure(n_items: int, design: str) -> tuple[float, float]:
    """Return the seconds and gigabytes of a comparison in a process of its own."""
    command = [sys.executable, __file__, "--items", str(n_items), "--design", design]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, gigabytes = map(float, printed.split())
    return seconds, gigabytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--items", type=int, help="measure one size only")
    parser.add_argument("--design", choices=REQUIRED, default="whole")
    options = parser.parse_args()
    if options.items:
        study = simulate(options.items, options.design)
        start = time.perf_counter()
        nb.compare_systems(study, evaluator="grade" if options.design == "scores" else None)
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(time.perf_counter() - start, gigabytes)
        return 0
    print(f"Effects without each item and annotator: {compare_refits():.0f} times as fast as lsqr")
    failed = False
    for design, required in REQUIRED.items():
        results = [measure(n_items, design) for n_items in SIZES]
        for n_items, (seconds, gigabytes) in zip(SIZES, results, strict=True):
            n = n_items * N_SYSTEMS * N_VOTES
            print(f"{design:10}{n:12,} values{seconds:9.1f} s{gigabytes:7.2f} GB")
        exponent = np.log10(results[-1][0] / results[0][0])
        print(f"{design:10}exponent {exponent:.2f} (at most {REQUIRED_EXPONENT})")
        measured = np.array(results)
        failed |= bool((measured[:, 0] > required[0]).any() or measured[-1, 1] > required[1])
        failed |= bool(exponent > REQUIRED_EXPONENT)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
