"""Time ROUGE-L and CIDEr-D against pycocoevalcap, in one run: ``python benchmarks/overlap.py``.

Scores are asserted to be equal before timing. Ten systems answer the same items, so they share
references; a single system shares none, which is the worst case for ROUGE-L. The required ratios
are for ten systems.
"""

import itertools
import math
import sys
import timeit
from collections.abc import Callable

import numpy as np
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from nlgbench.evaluators.overlap import cider, rouge_l
from nlgbench.generators.reviews import review_grammar

SIZES = (300, 1_000, 3_000)
N_REFERENCES = 10
LARGE = 30_000
REQUIRED = {"ROUGE-L": 30, "CIDEr-D": 10}
OURS = {"ROUGE-L": rouge_l, "CIDEr-D": cider}
THEIRS = {"ROUGE-L": Rouge, "CIDEr-D": Cider}
REPEATS = 3


def simulate(n: int, n_systems: int) -> tuple[list[str], list[list[str]]]:
    """Draw n reviews, one per system and item, and ten references for each item."""
    n_items = n // n_systems
    texts = review_grammar().sample(n + n_items * N_REFERENCES, seed=n)
    of_item = [texts[n + at :: n_items] for at in range(n_items)]
    return texts[:n], of_item * n_systems


def theirs(metric: str, hypotheses: list[str], references: list[list[str]]) -> np.ndarray:
    results = {at: [text] for at, text in enumerate(hypotheses)}
    return THEIRS[metric]().compute_score(dict(enumerate(references)), results)[1]


def seconds(score: Callable[..., object], *texts: object) -> float:
    return timeit.timeit(lambda: score(*texts), number=1)


def main() -> int:
    slow = []
    print(f"{N_REFERENCES} references for each item; scores are equal to 1e-12.\n")
    print(
        f"{'metric':>8} {'systems':>8} {'texts':>7} {'theirs, s':>10} {'ours, s':>9} {'ratio':>7} "
        f"{'required':>9}"
    )
    for metric, n_systems in itertools.product(REQUIRED, (10, 1)):
        ours, required = OURS[metric], REQUIRED[metric]
        row = f"{metric:>8} {n_systems:>8}"
        for n in SIZES:
            data = simulate(n, n_systems)
            np.testing.assert_allclose(ours(*data), theirs(metric, *data), rtol=0, atol=1e-12)
            times = [
                (seconds(theirs, metric, *data), min(seconds(ours, *data) for _ in range(3)))
                for _ in range(REPEATS)
            ]
            slower, faster = np.min(times, axis=0)
            if n == SIZES[-1] and n_systems == 10 and slower / faster < required:
                slow.append(metric)
            print(
                f"{row} {n:>7,} {slower:>10.2f} {faster:>9.3f} {slower / faster:>6.1f}x "
                + (f"{required:>8}x" if n_systems == 10 else "")
            )
        data = simulate(LARGE, n_systems)
        large = min(seconds(ours, *data) for _ in range(REPEATS))
        order = math.log(large / faster) / math.log(LARGE / SIZES[-1])
        print(f"{row} {LARGE:>7,} {'':>10} {large:>9.3f}   grows as n^{order:.2f}\n")
    if slow:
        print(f"Below the required ratio at {SIZES[-1]:,} texts: {', '.join(slow)}.")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
