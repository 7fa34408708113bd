"""Time half-samples of HUSE against the plain loop per half-sample, in one run.

``python benchmarks/resampling.py``. Every replicate is asserted to be equal first. With
NLGBENCH_DATA set, the 200 released outputs are timed; else as many simulated ones.
"""

import sys
from functools import partial

import numpy as np
from huse import K, best_seconds, feature_maps, simulate
from numpy.typing import NDArray
from plain_huse import plain_leave_one_out

import nlgbench as nb
from nlgbench.analysis.huse.neighbors import EXACT_TOLERANCE, sample_errors
from nlgbench.datasets import cache
from nlgbench.datasets.huse import RAW_FILE
from nlgbench.inference import half_samples

REQUIRED = 15
N_RESAMPLES = 1000

Maps = list[NDArray[np.float64]]
Bools = NDArray[np.bool_]


def data() -> tuple[str, Maps, Bools]:
    if not cache.available([RAW_FILE]):
        logprob, judgment, is_machine = simulate(200)
        return "200 simulated outputs", feature_maps(logprob, judgment), is_machine
    features = nb.boundary(nb.load("huse"), n_grid=2).outputs
    scaled = ["scaled_logprob", "scaled_judgment"]
    maps = [features[columns].to_numpy() for columns in (scaled, scaled[1:])]
    return "the 200 released outputs", maps, ~features["is_human"].to_numpy()


def fast(maps: Maps, is_machine: Bools) -> NDArray[np.float64]:
    members = half_samples(is_machine, n_resamples=N_RESAMPLES, seed=0)
    return np.array([sample_errors(features, members, is_machine, K) for features in maps])


def plain(maps: Maps, is_machine: Bools, sort_outputs: bool = True) -> NDArray[np.float64]:
    found = []
    for features in maps:
        for member in half_samples(is_machine, n_resamples=N_RESAMPLES, seed=0):
            label = is_machine[member]
            score, *_ = plain_leave_one_out(
                features[member], label, K, tolerance=EXACT_TOLERANCE, sort_outputs=sort_outputs
            )
            # The same counts in the same arithmetic: equal to the last bit.
            found.append(score)
    return np.array(found).reshape(len(maps), -1)


def main() -> int:
    name, maps, is_machine = data()
    np.testing.assert_array_equal(fast(maps, is_machine), plain(maps, is_machine))
    ours = best_seconds(partial(fast, maps, is_machine), 5)
    theirs = best_seconds(partial(plain, maps, is_machine), 2)
    bare = best_seconds(partial(plain, maps, is_machine, sort_outputs=False), 2)
    print(
        f"HUSE and HUSE-Q, k = {K}, {N_RESAMPLES:,} half-samples of {name}: every replicate "
        f"equals the plain loop's.\nPlain loop {theirs:.2f} s, ours {ours:.3f} s: "
        f"{theirs / ours:.0f}x, required {REQUIRED}x; against a loop that sorts bare distances "
        f"{bare / ours:.0f}x."
    )
    return int(theirs / ours < REQUIRED)


if __name__ == "__main__":
    sys.exit(main())
