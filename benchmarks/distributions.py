"""Time measures of distributions against named peers: ``python benchmarks/distributions.py``.

Results are asserted to be equal first, to 1e-9. Everybody starts from the texts' vectors: 64 normal
numbers for precision, recall, density and coverage (package prdc) and the Vendi score (package
vendi_score, by its n x n kernel as ours), and from one kernel for MMD's permutations (a plain
loop, which takes the three means of each permutation's blocks). "In subsamples" is 100 subsamples
of two thirds, against the peer called on each. Times are the best of three. The whole call runs in
a process of its own, so that the peak of memory is its own.
"""

import contextlib
import io
import json
import math
import resource
import subprocess
import sys
import time
import timeit
from collections.abc import Callable

import numpy as np
from prdc import compute_prdc
from scipy.spatial.distance import cdist
from vendi_score import vendi

import nlgbench as nb
from nlgbench.analysis.distributions import measures
from nlgbench.analysis.distributions.features import distances, similarities
from nlgbench.analysis.distributions.measures import manifolds_of_subsets, vendi_of_subsets
from nlgbench.inference import half_samples

N, K, RESAMPLES, PERMUTATIONS = 300, 5, 100, 999
#: Ours may not be slower than a peer's by more than noise, nor the loops less than so many times.
REQUIRED = {
    "prdc": 0.8,
    "prdc, in subsamples": 2,
    "vendi_score": 0.5,
    "vendi_score, in subsamples": 0.8,
    "plain loop of swaps": 10,
    "plain loop of permutations": 10,
}
WHOLE = (50, 200, 500, 1_000)


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Time a call: the best of several."""
    return min(timeit.repeat(call, number=1, repeat=repeats))


def quiet(rows: np.ndarray, is_human: np.ndarray) -> dict[str, float]:
    """Call prdc, which prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return compute_prdc(rows[is_human], rows[~is_human], nearest_k=K)


def loop(kernel: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Take MMD^2 of each labelling by the means of its blocks; the kernel's diagonal is 0."""
    found = []
    for human in labels:
        one, two = np.flatnonzero(human), np.flatnonzero(~human)
        n = len(one)
        within = kernel[np.ix_(one, one)].sum() + kernel[np.ix_(two, two)].sum()
        found.append(within / (n * (n - 1)) - 2 * kernel[np.ix_(one, two)].sum() / n**2)
    return np.array(found)


def swaps_loop(kernel: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Do the same with texts swapped within items: pairs of an item are 0 in the kernel."""
    n = sides.shape[1]
    found = []
    for side in sides:
        human = np.concatenate([side > 0, side < 0])
        one, two = np.flatnonzero(human), np.flatnonzero(~human)
        within = kernel[np.ix_(one, one)].sum() + kernel[np.ix_(two, two)].sum()
        found.append((within - 2 * kernel[np.ix_(one, two)].sum()) / (n * (n - 1)))
    return np.array(found)


def whole(n: int) -> None:
    """Run the public call on n texts of either side; print its seconds and peak memory as JSON."""
    study = nb.simulate("reviews", systems=["leaky_t0.7"], n_outputs=n, n_truth=0)
    start = time.process_time()
    nb.compare_distributions(study)
    used = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2 ** (20 if sys.platform == "darwin" else 10)
    print(json.dumps({"seconds": used, "mib": peak / unit}))


def main() -> int:
    # First, while this process is small: a child's peak can count that of the process it came from.
    children = {}
    for n in WHOLE:
        command = [sys.executable, __file__, "--whole", str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        children[n] = json.loads(done.stdout)

    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(N, 64)), rng.normal(0.1, 1.1, size=(N, 64))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    is_human = np.arange(2 * N) < N
    everything = np.ones((1, 2 * N), dtype=bool)
    members = half_samples(is_human, fraction=2 / 3, n_resamples=RESAMPLES, seed=0)

    def ours_prdc(held: np.ndarray) -> dict[str, np.ndarray]:
        return manifolds_of_subsets(distances(similarities(rows)), is_human, held, K)

    def theirs_prdc(held: np.ndarray) -> list[dict[str, float]]:
        return [quiet(rows[one], is_human[one]) for one in held]

    def ours_vendi(held: np.ndarray) -> np.ndarray:
        return vendi_of_subsets(similarities(rows), held & is_human)

    def theirs_vendi(held: np.ndarray) -> list[float]:
        return [vendi.score_K(rows[one & is_human] @ rows[one & is_human].T) for one in held]

    for held in (everything, members[:20]):
        mine, theirs = ours_prdc(held), theirs_prdc(held)
        for name, values in mine.items():
            np.testing.assert_allclose(values, [one[name] for one in theirs], atol=1e-9)
        np.testing.assert_allclose(ours_vendi(held), theirs_vendi(held), atol=1e-9)

    kernel, _ = measures.gaussian_kernel(cdist(rows, rows))
    own, shared = np.arange(2 * N), np.tile(np.arange(N), 2)
    alone, across = (measures.across_items(kernel, item) for item in (own, shared))
    labels = np.random.default_rng(1).permuted(np.tile(is_human, (PERMUTATIONS, 1)), axis=1)
    sides = np.random.default_rng(1).choice([-1.0, 1.0], size=(PERMUTATIONS, N))

    def permuted() -> np.ndarray:
        return measures.permuted_mmd(alone, is_human, PERMUTATIONS, np.random.default_rng(1))

    def swapped() -> np.ndarray:
        return measures.swapped_mmd(
            across, is_human, shared, PERMUTATIONS, np.random.default_rng(1)
        )

    np.testing.assert_allclose(permuted(), loop(alone, labels), atol=1e-12)
    np.testing.assert_allclose(swapped(), swaps_loop(across, sides), atol=1e-12)
    print(f"Equal to prdc, vendi_score and the plain loops, {N} texts of either side.\n")

    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "prdc": (lambda: ours_prdc(everything), lambda: theirs_prdc(everything)),
        "prdc, in subsamples": (lambda: ours_prdc(members), lambda: theirs_prdc(members)),
        "vendi_score": (lambda: ours_vendi(everything), lambda: theirs_vendi(everything)),
        "vendi_score, in subsamples": (lambda: ours_vendi(members), lambda: theirs_vendi(members)),
        "plain loop of swaps": (swapped, lambda: swaps_loop(across, sides)),
        "plain loop of permutations": (permuted, lambda: loop(alone, labels)),
    }
    slow = []
    for peer, (ours, theirs) in pairs.items():
        repeats = 3 if "subsamples" not in peer and "loop" not in peer else 1
        mine, other = seconds(ours), seconds(theirs, repeats)
        print(
            f"{peer:28} ours {mine:8.4f} s, peer {other:8.4f} s, {other / mine:6.1f}x, "
            f"{REQUIRED[peer]}x required",
            flush=True,
        )
        slow += [peer] * (other / mine < REQUIRED[peer])
    for n, child in children.items():
        print(
            f"{n:>5} texts of either side, all measures, {PERMUTATIONS} permutations and 200 "
            f"subsamples: {child['seconds']:.1f} s of processor time, {child['mib']:.0f} MiB"
        )
    growth = math.log(children[WHOLE[-1]]["seconds"] / children[WHOLE[1]]["seconds"])
    print(f"Time grows as n^{growth / math.log(WHOLE[-1] / WHOLE[1]):.1f}.")
    if slow:
        print(f"Below the required ratio: {', '.join(slow)}.")
    return int(bool(slow))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--whole"]:
        whole(int(sys.argv[2]))
    else:
        sys.exit(main())
