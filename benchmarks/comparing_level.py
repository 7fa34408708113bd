"""How often comparisons of evaluators err: ``python benchmarks/comparing_level.py``.

Systems have a quality h. An evaluator sees ``r h + sqrt(1 - r^2) e``, so that its correlation in
the population of systems is r; half the variance of the errors e is common to all evaluators, as
those of BLEU-3 and BLEU-4 are. Three shapes: ``normal``; ``skewed`` (h and all errors exponential);
``unlike`` (h normal, the errors of every second evaluator exponential: correlations are equal, but
evaluators are not exchangeable).

- One pair whose correlations are equal: how often p <= .05 (swaps with Pearson and Spearman, and
  Williams' test).
- All pairs of many evaluators at 12 systems, by max-T: how often any pair with equal correlations
  is rejected. Complete null: all correlations equal. Partial nulls: a third each with .3, .6 and
  .9; or half .3 and half .95. With the share found of the pairs that do differ.
- Outputs that share contexts: how often Williams' test, which knows of none, has p <= .05, and how
  often intervals of `compare_evaluators` over contexts leave the truth out.

Run it with OMP_NUM_THREADS=1. A share has the standard error that is printed beside it.
"""

import argparse
import sys
from itertools import combinations

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation import compare_evaluators, williams
from nlgbench.analysis.correlation.comparing import swap_p, swapped_statistics, ways_to_swap
from nlgbench.inference import Floats
from nlgbench.study import Study

ALPHA = 0.05
N_DRAWN = 999  # swaps from 17 systems on
SHAPES = ("normal", "skewed", "unlike")
FAMILIES = {
    "complete null, .8": (0.8,),
    "partial null, .3/.6/.9": (0.3, 0.6, 0.9),
    "partial null, .3/.95": (0.3, 0.95),
}


def noise(size: int | tuple[int, ...], shape: str, rng: np.random.Generator) -> Floats:
    return rng.exponential(size=size) - 1 if shape == "skewed" else rng.normal(size=size)


def world(r: Floats, n: int, shape: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the scores of evaluators with correlations r, (evaluators, n), and h."""
    h, common = noise(n, shape, rng), noise(n, shape, rng)
    own = noise((len(r), n), shape, rng)
    if shape == "unlike":
        own[::2] = rng.exponential(size=own[::2].shape) - 1
    return r[:, None] * h + np.sqrt((1 - r[:, None] ** 2) / 2) * (common + own), h


def share(found: list[float], **cell: object) -> dict[str, object]:
    """Sum up: mean and its standard error."""
    values = np.array(found, dtype=np.float64)
    mean = values.mean()
    binary = np.isin(values, (0, 1)).all()
    se = np.sqrt(mean * (1 - mean) if binary else values.var()) / np.sqrt(len(values))
    return {**cell, "worlds": len(values), "share": mean, "se": se}


def one_pair(n: int, r: float, shape: str, n_worlds: int, seed: int) -> list[dict[str, object]]:
    """Test a pair of evaluators with equal correlations over n systems."""
    rng = np.random.default_rng(seed)
    swaps = ways_to_swap(n, N_DRAWN, rng)[0]
    found: dict[str, list[float]] = {"swaps, pearson": [], "williams": [], "swaps, spearman": []}
    for number in range(n_worlds):
        x, h = world(np.array([r, r]), n, shape, rng)
        # A world costs over .1 s with Spearman.
        for statistic in ("pearson", "spearman")[: 1 + (number < n_worlds // 4)]:
            swapped = swapped_statistics(x[:, None], h, statistic, swaps)[1]
            p = swap_p(swapped, named=True)[0][0]
            found[f"swaps, {statistic}"].append(p <= ALPHA)
        three = np.corrcoef([h, *x])
        found["williams"].append(williams(three[0, 1], three[0, 2], three[1, 2], n)[1] <= ALPHA)
    return [share(one, systems=n, r=r, shape=shape, test=name) for name, one in found.items()]


def family(
    groups: tuple[float, ...], k: int, n: int, shape: str, n_worlds: int, seed: int
) -> dict[str, object]:
    """Test all pairs of k evaluators, in groups of equal correlations, over n systems."""
    rng = np.random.default_rng(seed)
    r = np.resize(np.array(groups), k)
    pairs = np.array(list(combinations(range(k), 2))).T
    equal = r[pairs[0]] == r[pairs[1]]
    swaps = ways_to_swap(n, N_DRAWN, rng)[0]
    if k > 10:
        # Half of all ways, the data's own first: as valid, and in half the time.
        swaps = swaps[np.append(0, 1 + rng.permutation(len(swaps) - 1)[: len(swaps) // 2])]
    errs, finds, unadjusted = [], [], []
    for _ in range(n_worlds):
        x, h = world(r, n, shape, rng)
        swapped = swapped_statistics(x[pairs], h, "pearson", swaps)[1]
        p, adjusted, _ = swap_p(swapped, named=False)
        errs.append(float((adjusted[equal] <= ALPHA).any()))
        unadjusted.append(float((p[equal] <= ALPHA).any()))
        finds.append(float((adjusted[~equal] <= ALPHA).mean()) if (~equal).any() else np.nan)
    return {
        **share(errs, evaluators=k, shape=shape, systems=n),
        "unadjusted": np.mean(unadjusted),
        "found": np.mean(finds),
    }


def over_contexts(
    n_contexts: int, of_context: float, n_worlds: int, n_resamples: int, seed: int
) -> list[dict[str, object]]:
    """Compare two evaluators of outputs, ten in a context, that are right equally often."""
    rng = np.random.default_rng(seed)
    tested, held, marked = [], [], []
    context = np.repeat(np.arange(n_contexts), 10)
    n = len(context)
    outputs = pd.DataFrame(
        {
            "output_id": [f"o{number}" for number in range(n)],
            "item_id": [f"i{one}" for one in range(n)],
            "system": "s",
            "text": "",
            "is_human": False,
            "context": [f"c{one}" for one in context],
        }
    )
    keys = outputs[["output_id"]]
    for _ in range(n_worlds):
        h, *errors = (
            np.sqrt(of_context) * rng.normal(size=n_contexts)[context]
            + np.sqrt(1 - of_context) * rng.normal(size=n)
            for _ in range(3)
        )
        x = [0.6 * h + 0.8 * one for one in errors]
        three = np.corrcoef([h, *x])
        tested.append(williams(three[0, 1], three[0, 2], three[1, 2], n)[1] <= ALPHA)
        table = pd.concat(
            keys.assign(evaluator=name, score=one, signature="")
            for name, one in zip("ab", x, strict=True)
        )
        judgments = keys.assign(annotator_id="w", dimension="q", value=h, group_id="")
        found = compare_evaluators(
            Study(outputs, judgments, scores=table),
            granularity="output",
            clusters="context",
            n_resamples=n_resamples,
            seed=rng,
        ).iloc[0]
        held.append(float(not found["ci_low"] <= 0 <= found["ci_high"]))
        marked.append(float(found["reason"] != ""))
    cell = {"contexts": n_contexts, "of_context": of_context}
    return [
        share(tested, **cell, test="williams"),
        share(held, **cell, test="resampling, clusters") | {"marked": float(np.mean(marked))},
    ]


def show(title: str, rows: list[dict[str, object]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    print(f"\n{title}\n{table.round(3).to_string(index=False)}", flush=True)
    return table


def pairs_study(n_worlds: int, seed: int) -> bool:
    rows = []
    for n in (12, 24):
        for shape in SHAPES:
            for r in (0.5, 0.8, 0.96):
                rows += one_pair(n, r, shape, n_worlds, seed)
    table = show("One pair with equal correlations: p <= .05", rows)
    usual = table[(table["shape"] == "normal")]
    return bool((usual["share"] <= ALPHA + 3 * usual["se"]).all())


def families_study(n_worlds: int, seed: int) -> bool:
    rows = []
    for k, part in ((5, 1), (10, 2), (38, 4)):
        for null, groups in FAMILIES.items():
            for shape in SHAPES if k == 5 else SHAPES[:2]:
                found = family(groups, k, 12, shape, n_worlds // part, seed)
                rows.append({"null": null, **found})
                print(rows[-1], file=sys.stderr, flush=True)
    title = "All pairs by max-T at 12 systems: any pair with equal correlations, p_adjusted <= .05"
    table = show(title, rows)
    usual = table[(table["shape"] == "normal")]
    return bool((usual["share"] <= ALPHA + 3 * usual["se"]).all())


def contexts_study(n_worlds: int, n_resamples: int, seed: int) -> bool:
    rows = []
    for n_contexts in (8, 15, 30, 100):
        for of_context in (0.0, 0.5):
            rows += over_contexts(n_contexts, of_context, n_worlds // 4, n_resamples, seed)
    show(
        "Outputs that share contexts: p <= .05, or the interval leaves a difference of 0 out", rows
    )
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000, help="a quarter where they cost .1 s")
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    studies = ["pairs", "families", "contexts"]
    parser.add_argument("--only", choices=studies, nargs="*", default=studies)
    args = parser.parse_args()
    fine = []
    if "pairs" in args.only:
        fine.append(pairs_study(args.worlds, args.seed))
    if "families" in args.only:
        fine.append(families_study(args.worlds, args.seed))
    if "contexts" in args.only:
        fine.append(contexts_study(args.worlds, args.resamples, args.seed))
    sys.exit(not all(fine))
