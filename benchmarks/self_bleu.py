"""Time Self-BLEU against fast-bleu and NLTK, in one run: ``python benchmarks/self_bleu.py``.

Results are asserted to be equal before timing. fast-bleu (C++, on PyPI) and NLTK smooth by method
1, like nlgbench; fast-bleu stores weights in single precision, which is exact for 4-grams' 1/4
(for 3-grams it is off by 8e-8). All start from texts and split them at white space. fast-bleu may
use all cores, nlgbench uses one, so the total processor time of all cores is also compared.
"""

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from nlgbench.evaluators.diversity import self_bleu

N = 6_500  # texts of one generator in D-test of Judge the Judges
REQUIRED = {"fast-bleu": 20, "NLTK": 5_000}
NLTK_TEXTS = 10
SIZES = (6_500, 32_500, 130_000)
LARGEST = 32_500
MIB, SECONDS = 1_536, 5


def simulate(n: int) -> list[str]:
    """Draw texts of about 35 words from a Zipf distribution (exponent 1.3) over 20,000 words."""
    rng = np.random.default_rng(n)
    lengths = rng.poisson(35, size=n)
    words = [f"w{word}" for word in rng.zipf(1.3, size=lengths.sum()) % 20_000]
    ends = np.cumsum(lengths)
    return [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def fast_bleu(texts: list[str]) -> list[float]:
    from fast_bleu import SelfBLEU

    return SelfBLEU([text.split() for text in texts]).get_score()[4]


def nltk_bleu(texts: list[str], places: range) -> list[float]:
    """Score the texts at some positions, each against all others."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    tokens = [text.split() for text in texts]
    smooth = SmoothingFunction().method1
    return [
        sentence_bleu(tokens[:at] + tokens[at + 1 :], tokens[at], smoothing_function=smooth)
        for at in places
    ]


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Time a call: elapsed time, and processor time of all cores."""
    clock, cores = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - cores


def large(n: int) -> None:
    """Time one run in this process, and print its seconds and peak memory as JSON."""
    texts = simulate(n)
    best = min(seconds(lambda: self_bleu(texts))[0] for _ in range(3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2 ** (20 if sys.platform == "darwin" else 10)
    print(json.dumps({"seconds": best, "mib": peak / unit}))


def main() -> int:
    # First, while this process is small: a child's peak memory can include that of its parent.
    children = {}
    for n in SIZES:
        command = [sys.executable, __file__, "--large", str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        children[n] = json.loads(done.stdout)

    texts, places = simulate(N), range(NLTK_TEXTS)
    found = self_bleu(texts)
    np.testing.assert_allclose(found, fast_bleu(texts), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[places], nltk_bleu(texts, places), rtol=1e-12, atol=1e-15)
    odd = [*texts[:40], *texts[:2], "", "", "w1", "w1 w2", "unheard"]
    np.testing.assert_allclose(self_bleu(odd), fast_bleu(odd), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(self_bleu(odd), nltk_bleu(odd, range(len(odd))), rtol=1e-12)
    print(
        f"Self-BLEU-4 equal to fast-bleu's for {N:,} texts, to NLTK's for {NLTK_TEXTS} of them, and"
        "\nto both with copies, empty, one-token and unheard-of texts.\n"
    )
    ours, fast = [], []
    for _ in range(5):
        ours += [seconds(lambda: self_bleu(texts)) for _ in range(3)]
        fast.append(seconds(lambda: fast_bleu(texts)))
    few = [seconds(lambda: nltk_bleu(texts, places)) for _ in range(2)]
    slow = []
    for number, kind in enumerate(("by the clock", "of all cores together")):
        mine, theirs, loop = (min(one[number] for one in all_) for all_ in (ours, fast, few))
        print(f"{N:,} texts, seconds {kind}: ours {mine:.3f}")
        times = {"fast-bleu": theirs, "NLTK": loop / NLTK_TEXTS * N}
        for peer, other in times.items():
            note = f" (extrapolated from {NLTK_TEXTS} texts)" if peer == "NLTK" else ""
            print(
                f"  {peer} {other:,.2f}, {other / mine:,.0f}x, {REQUIRED[peer]:,}x required{note}"
            )
            slow += [peer] * (other / mine < REQUIRED[peer])
    for n, child in children.items():
        print(
            f"{n:>9,} texts in a separate process: {child['seconds']:.2f} s, "
            f"{child['mib']:.0f} MiB at its peak, texts included"
        )
    growth = math.log(children[SIZES[-1]]["seconds"] / children[SIZES[0]]["seconds"])
    print(f"Time grows as n^{growth / math.log(SIZES[-1] / SIZES[0]):.2f}.")
    if slow:
        print(f"Below the required ratio: {', '.join(slow)}.")
    within = children[LARGEST]["mib"] <= MIB and children[LARGEST]["seconds"] <= SECONDS
    return int(bool(slow) or not within)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--large"]:
        large(int(sys.argv[2]))
    else:
        sys.exit(main())
