"""Level of MMD's test and coverage of intervals: ``python benchmarks/distributions_coverage.py``.

Texts are of Zipf's words over 300, about ten to a text, a third of them the item's own where items
are shared. Layouts:

- ``apart``: people's texts and the system's are of different items;
- ``shared``: one text of either for each item, which share words;
- ``shared, two``: two of either for each item; the two of one side share a third of their words
  besides, as a system's and a person's own texts do;
- ``repeats, 30`` and ``repeats, 200``: of different items, each text one of so many, so that some
  or most are copies.

**Level**: the system's texts are drawn as people's are, split halves of one generator. Printed
is the share of worlds with p at most .01, .05 and .1, and whether any lies more than three standard
errors above (the script then returns 1).

**Coverage**: the system likes frequent words better (as at a low temperature), and ``reviews`` is
the grammar of reviews beside the same at t = .7. Printed for each measure: the mean estimate, how
often an interval held the expectation at this n (the mean over worlds), the mean standard error
over the true standard deviation, and the share of worlds that had an interval.
"""

import argparse
import sys
import time

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.generators.reviews import review_grammar
from nlgbench.study import Study, trusted

LAYOUTS = ("apart", "shared", "shared, two", "repeats, 200", "repeats, 30")
SIZES = (50, 100)
LEVELS = (0.01, 0.05, 0.1)
N_WORDS = 300
#: Zipf's exponents, of people and of the system that differs.
PEOPLE, SYSTEM = 1.0, 1.15


def drawn(rng: np.random.Generator, n: int, exponent: float) -> list[list[str]]:
    """Draw n texts of Zipf's words."""
    share = np.arange(1, N_WORDS + 1) ** -exponent
    lengths = 3 + rng.poisson(7, size=n)
    words = rng.choice(N_WORDS, size=lengths.sum(), p=share / share.sum()).astype(str)
    return [part.tolist() for part in np.split(words, np.cumsum(lengths)[:-1])]


def side(rng: np.random.Generator, layout: str, n: int, exponent: float, about: list) -> list[str]:
    """Let one side write n texts; those of an item begin with what it is about."""
    if layout.startswith("repeats"):
        size = int(layout.split()[1])
        pool = drawn(np.random.default_rng(int(10 * exponent)), size, exponent)
        return [" ".join(pool[place]) for place in rng.integers(size, size=n)]
    own = drawn(rng, n, exponent)
    if layout == "shared, two":
        half = drawn(rng, n // 2, exponent)
        own = [one + half[place // 2][:5] for place, one in enumerate(own)]
    return [" ".join(first + one) for first, one in zip(about, own, strict=True)]


def world(layout: str, n: int, exponent: float, seed: int) -> Study:
    """Draw a study of n texts of people and of a system."""
    rng = np.random.default_rng(seed)
    if layout == "reviews":
        human = review_grammar().sample(n, seed=rng)
        other = review_grammar().annealed(0.7).sample(n, seed=rng)
    else:
        per_item = 2 if layout == "shared, two" else 1
        about = [one[:5] for one in drawn(rng, n // per_item, 0.0)]
        about = [about[place // per_item] for place in range(n)]
        about = about if layout.startswith("shared") else [[]] * n
        human = side(rng, layout, n, PEOPLE, about)
        other = side(rng, layout, n, exponent, about)
    per_item = 2 if layout == "shared, two" else 1
    of = [f"i{place // per_item}" for place in range(n)]
    theirs = of if layout.startswith("shared") else [f"j{place}" for place in range(n)]
    outputs = pd.DataFrame(
        {
            "output_id": [f"o{place}" for place in range(2 * n)],
            "item_id": [*of, *theirs],
            "system": ["human"] * n + ["system"] * n,
            "text": [*human, *other],
            "is_human": [True] * n + [False] * n,
            "context": "",
        }
    )
    return trusted(outputs=outputs, name=layout, source="simulated")


def level(layout: str, n: int, worlds: int, seed: int) -> bool:
    """Print how often p is small where nothing differs; say whether it is too often."""
    found = pd.concat(
        nb.compare_distributions(
            world(layout, n, PEOPLE, seed + number),
            measures=["mmd_gaussian", "mmd_linear"],
            n_resamples=0,
            n_permutations=299,
            seed=number,
        )
        for number in range(worlds)
    )
    too_often = False
    for name, p in found.groupby("measure")["p_value"]:
        shares = [float((p <= one + 1e-12).mean()) for one in LEVELS]
        limits = [one + 3 * np.sqrt(one * (1 - one) / worlds) for one in LEVELS]
        above = any(share > limit for share, limit in zip(shares, limits, strict=True))
        too_often |= above
        print(
            f"level     {layout:13} {n:4} {name:13} "
            + " ".join(f"{share:.4f}" for share in shares)
            + (" ABOVE" if above else ""),
            flush=True,
        )
    return too_often


def covered(layout: str, n: int, worlds: int, resamples: int, seed: int) -> None:
    """Print how often intervals hold the expectation, for each measure."""
    found = pd.concat(
        nb.compare_distributions(
            world(layout, n, SYSTEM, seed + number),
            n_permutations=0,
            n_resamples=resamples,
            seed=number,
        )
        for number in range(worlds)
    )
    for name, rows in found.groupby("measure", sort=False):
        truth, sd = rows["estimate"].mean(), rows["estimate"].std()
        given = rows[rows["ci_low"].notna()]
        holds = given["ci_low"].le(truth) & given["ci_high"].ge(truth)
        print(
            f"coverage  {layout:13} {n:4} {name:13} mean {truth:8.4f} holds {holds.mean():.3f} "
            f"se/sd {given['se'].mean() / sd if sd > 1e-9 else np.nan:.2f} given "
            f"{len(given) / len(rows):.3f}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=200, help="for coverage")
    parser.add_argument("--level-worlds", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    start, too_often = time.perf_counter(), False
    for n in given.sizes:
        for layout in (*LAYOUTS, "reviews"):
            if given.worlds:
                covered(layout, n, given.worlds, given.resamples, given.seed)
        for layout in LAYOUTS if given.level_worlds else ():
            too_often |= level(layout, n, given.level_worlds, given.seed)
    print(f"{time.perf_counter() - start:.0f} s")
    return int(too_often)


if __name__ == "__main__":
    sys.exit(main())
