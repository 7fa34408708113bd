"""Time HUSE against the plain loop over outputs, in one run: ``python benchmarks/huse.py``.

Results are asserted to be equal before timing.
"""

import json
import math
import resource
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgbench.analysis.huse.neighbors import EXACT_TOLERANCE, leave_one_out, sample_errors

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from plain_huse import plain_leave_one_out

K = 16
REQUIRED = {200: 7, 2_000: 40, 10_000: 150}
LARGE = (100_000, 1_000_000)


def simulate(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Draw log-probabilities, means of 20 integers (1 to 6) as judgments, and labels."""
    rng = np.random.default_rng(n)
    is_machine = np.arange(n) % 2 == 1
    quality = np.clip(rng.normal(0.65 - 0.1 * is_machine, 0.15), 0.05, 0.95)
    judgment = 1 + rng.binomial(5 * 20, quality) / 20
    return rng.normal(-3 + 0.3 * is_machine, 1.0), judgment, is_machine


def feature_maps(
    logprob: NDArray[np.float64], judgment: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    scaled = np.column_stack([logprob / logprob.std(), judgment / judgment.std()])
    return [scaled, scaled[:, 1:].copy()]


def fast(
    logprob: NDArray[np.float64], judgment: NDArray[np.float64], is_machine: NDArray[np.bool_]
) -> list[float]:
    return [
        sample_errors(features, True, is_machine, K)[0]
        for features in feature_maps(logprob, judgment)
    ]


def plain(
    logprob: NDArray[np.float64],
    judgment: NDArray[np.float64],
    is_machine: NDArray[np.bool_],
    sort_outputs: bool = True,
) -> list[float]:
    return [
        plain_leave_one_out(
            features, is_machine, K, tolerance=EXACT_TOLERANCE, sort_outputs=sort_outputs
        )[0]
        for features in feature_maps(logprob, judgment)
    ]


def assert_equal(n: int) -> None:
    logprob, judgment, is_machine = simulate(n)
    for features in feature_maps(logprob, judgment):
        for tolerance in (0.0, EXACT_TOLERANCE):
            size, machine = leave_one_out(features, is_machine, K, tolerance=tolerance)
            for sort_outputs in (True, False):
                score, *counts = plain_leave_one_out(
                    features, is_machine, K, tolerance=tolerance, sort_outputs=sort_outputs
                )
                np.testing.assert_array_equal([size, machine], counts)
                found = sample_errors(features, True, is_machine, K, tolerance=tolerance)[0]
                assert math.isclose(found, score, abs_tol=1e-12)


def best_seconds(call: Callable[[], object], n_repeats: int) -> float:
    return min(timeit.repeat(call, number=1, repeat=n_repeats))


def large(n: int) -> None:
    """Time one large run in this process, and print its seconds and the peak memory as JSON."""
    data = simulate(n)
    seconds = best_seconds(lambda: fast(*data), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {"seconds": seconds, "mib": peak / 2 ** (20 if sys.platform == "darwin" else 10)}
        )
    )


def table_seconds(n: int) -> float:
    """Time `huse` on a study, without intervals: joins, means, and the scores."""
    import nlgbench as nb

    study = nb.simulate("gaussian", n_outputs=n // 2, systems={"lstm": (0.5, 0.5)}, seed=0)
    return best_seconds(lambda: nb.huse(study, n_resamples=0), 3)


def main() -> int:
    # First, while this process is small: a child's peak memory can include that of its parent.
    children = {}
    for n in LARGE:
        command = [sys.executable, __file__, "--large", str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        children[n] = json.loads(done.stdout)
    for n in REQUIRED:
        assert_equal(n)
    print(
        f"HUSE and HUSE-Q, k = {K}: counts and scores equal to the plain loop's at n = "
        f"{', '.join(f'{n:,}' for n in REQUIRED)}, both tie modes.\n"
    )
    print(
        f"{'outputs':>10} {'plain, s':>10} {'ours, s':>10} {'ratio':>8} {'required':>9} "
        f"{'bare sort':>10} {'of a study, s':>13} {'peak, MiB':>10}"
    )
    slow = []
    for n, required in REQUIRED.items():
        data = simulate(n)
        # With few short calls, the best one still has a cold cache.
        ours = best_seconds(lambda data=data: fast(*data), max(20, 60_000 // n))
        theirs = best_seconds(lambda data=data: plain(*data), max(3, 20_000 // n))
        bare = best_seconds(lambda data=data: plain(*data, sort_outputs=False), 3)
        if theirs / ours < required:
            slow.append(n)
        print(
            f"{n:>10,} {theirs:>10.4f} {ours:>10.5f} {theirs / ours:>7.1f}x {required:>8}x "
            f"{bare / ours:>9.1f}x {table_seconds(n):>13.3f}"
        )
    for n, child in children.items():
        print(
            f"{n:>10,} {'':>10} {child['seconds']:>10.3f} {'':>8} {'':>9} {'':>10} {'':>13} "
            f"{child['mib']:>10.0f}"
        )
    first, last = (children[n]["seconds"] for n in LARGE)
    order = math.log(last / first) / math.log(LARGE[1] / LARGE[0])
    print(
        f"\nFrom {LARGE[0]:,} to {LARGE[1]:,} outputs time grows as n^{order:.2f}; peak memory of "
        f"the whole process {children[LARGE[1]]['mib']:.0f} MiB."
    )
    if slow:
        print(f"Below the required ratio at n = {', '.join(f'{n:,}' for n in slow)}.")
    return int(bool(slow) or children[LARGE[1]]["mib"] > 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--large"]:
        large(int(sys.argv[2]))
    else:
        sys.exit(main())
