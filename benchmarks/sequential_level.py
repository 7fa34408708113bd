"""How often `nb.sequential` stops falsely.

``python benchmarks/sequential_level.py`` draws worlds in which systems are equal over all blocks:
annotators with a taste of their own, ties, skew, few blocks. It counts in how many the e-value ever
reaches 20, beside two who look after each block: a z test of block means (from the tenth block on),
and the beta mixture of votes counted one by one, which knows nothing of blocks. Coverage is of the
whole confidence sequence. Crossed cells let annotators share a pool of items: what holds for
these items need not hold for others. Then all pairs of systems with e-Holm.

It returns 1 where the lower Clopper-Pearson limit of false stops, or misses, is above .05 in a cell
that is claimed (crossed ones over other items are not).
"""

import argparse
import sys
import time
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import betaln, expit
from scipy.stats import binomtest

from nlgbench.analysis import betting

LEVEL = 0.05


def votes(gap: np.ndarray, n_votes: int, tie: float, rng: np.random.Generator) -> np.ndarray:
    """Draw votes (..., n_votes) at log-odds: win 1, tie 0, loss -1."""
    shape = (*gap.shape, n_votes)
    drawn = np.where(rng.random(shape) < expit(gap)[..., None], 1.0, -1.0)
    return np.where(rng.random(shape) < tie, 0.0, drawn)


def worlds(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw votes of a cell, (worlds, blocks, votes of a block), and give their mean."""
    even = np.zeros((n, 300))
    if name == "one vote a block":
        return votes(even, 1, 0, rng), 0
    if name == "one vote, .6 ties":
        return votes(even, 1, 0.6, rng), 0
    if name == "5 votes, taste of 1 nat":
        return votes(rng.normal(0, 1, (n, 200)), 5, 0.2, rng), 0
    if name == "20 votes, taste of 3 nats":
        return votes(rng.normal(0, 3, (n, 200)), 20, 0, rng), 0
    if name == "10 blocks, 5 votes, taste":
        return votes(rng.normal(0, 1, (n, 10)), 5, 0.2, rng), 0
    if name == "skew: .1, seldom -.9":
        return np.where(rng.random((n, 300, 1)) < 0.9, 0.1, -0.9), 0
    if name == "mean .4, .3 ties":
        return votes(np.full((n, 300), np.log(0.55 / 0.15)), 1, 0.3, rng), 0.4
    if name == "mean -.7, skew":
        return np.where(rng.random((n, 300, 1)) < 0.9, -0.8, 0.2), -0.7
    assert name == "judgments, mean .5", name
    return rng.beta(3, 1, (n, 200, 1)) * 2 - 1, 0.5


CELLS = (
    *("one vote a block", "one vote, .6 ties", "5 votes, taste of 1 nat"),
    *("20 votes, taste of 3 nats", "10 blocks, 5 votes, taste", "skew: .1, seldom -.9"),
    *("mean .4, .3 ties", "mean -.7, skew", "judgments, mean .5"),
)
#: Items of the pool, items that each annotator sees, standard deviation of items in nats.
CROSSED = ((20, 5, 0.6), (50, 5, 0.6), (50, 20, 0.6), (200, 5, 0.6), (20, 5, 1.5))


def ever(logs: np.ndarray, threshold: float = 1 / LEVEL) -> np.ndarray:
    """Say in which worlds a log e-value ever reaches a threshold."""
    return (logs >= np.log(threshold)).any(axis=-1)


def row(name: str, wrong: np.ndarray, **more: float | str) -> dict[str, float | str]:
    """Give the share of worlds that went wrong, with Clopper and Pearson's 95% limits."""
    limits = binomtest(int(wrong.sum()), len(wrong)).proportion_ci(method="exact")
    share = {"share": wrong.mean(), "low": limits.low, "high": limits.high}
    return {"cell": name, "worlds": len(wrong), **share, **more}


def looked_at(drawn: np.ndarray) -> dict[str, float]:
    """Count false stops of two who look after each block and do not pay for it, or for blocks."""
    d = drawn.mean(axis=-1)
    n = np.arange(1, d.shape[1] + 1)
    mean = d.cumsum(axis=1) / n
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(((d**2).cumsum(axis=1) / n - mean**2) / n)
        z = np.abs(mean / spread)[:, 9:]
    won, lost = ((drawn * sign > 0).sum(axis=-1).cumsum(axis=1) for sign in (1, -1))
    beta = betaln(won + 1, lost + 1) + (won + lost) * np.log(2)
    return {"z, each look": (z > 1.96).any(axis=1).mean(), "votes one by one": ever(beta).mean()}


def one_pair(n: int, seed: int) -> pd.DataFrame:
    rows = []
    for number, name in enumerate(CELLS):
        drawn, mean = worlds(name, n, np.random.default_rng([seed, number]))
        wrong = ever(betting.log_e_values(drawn.mean(axis=-1), mean))
        rows.append(
            row(name, wrong, **(looked_at(drawn) if mean == 0 and "skew" not in name else {}))
        )
    return pd.DataFrame(rows)


def crossed(n: int, seed: int) -> pd.DataFrame:
    """Let 200 annotators vote on items of one pool: over other items, and over these."""
    rows = []
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    for number, (n_items, n_seen, spread) in enumerate(CROSSED):
        rng = np.random.default_rng([seed, 100, number])
        d, these = np.empty((n, 200)), np.empty(n)
        for world in range(n):
            items = rng.normal(0, spread, n_items)
            seen = rng.random((200, n_items)).argsort(axis=1)[:, :n_seen]
            gap = items[seen] + rng.normal(0, 0.5, (200, 1))
            d[world] = votes(gap, 1, 0.2, rng)[..., 0].mean(axis=1)
            # What annotators would say of these items, each with equal weight.
            chance = expit(items[:, None] + 0.5 * nodes) @ weights / weights.sum()
            these[world] = (0.8 * (2 * chance - 1)).mean()
        name = f"{n_items} items, {n_seen} each, {spread} nats"
        for after in (50, 200):
            wrong = ever(betting.log_e_values(d[:, :after]))
            rows.append(row(f"{name}: others, {after} blocks", wrong))
        each = [betting.log_e_values(one, mean) for one, mean in zip(d, these, strict=True)]
        rows.append(row(f"{name}: these", ever(np.array(each))))
    return pd.DataFrame(rows)


def many_pairs(n: int, seed: int) -> pd.DataFrame:
    """Let annotators with tastes vote twice on each two systems; the first may be better."""
    rows = []
    for number, (n_systems, better) in enumerate([(4, 0.0), (4, 1.5), (6, 0.0), (6, 1.5)]):
        rng = np.random.default_rng([seed, 200, number])
        ability = np.where(np.arange(n_systems) == 0, better, 0.0) + rng.normal(
            0, 0.8, (n, 100, n_systems)
        )
        pairs = np.array(list(combinations(range(n_systems), 2)))
        gap = ability[..., pairs[:, 0]] - ability[..., pairs[:, 1]]
        d = votes(gap, 2, 0.2, rng).mean(axis=-1)
        logs = betting.log_e_values(d.transpose(0, 2, 1)).transpose(0, 2, 1)
        told = (betting.e_holm(betting.e_values(logs)) >= 1 / LEVEL).any(axis=1)
        equal = np.ones(len(pairs), bool) if better == 0 else pairs[:, 0] > 0
        alone = (logs.max(axis=1) >= np.log(1 / LEVEL))[:, equal].any(axis=1).mean()
        found = float(told[:, ~equal].mean()) if better else float("nan")
        name = f"{n_systems} systems, {'all equal' if better == 0 else 'one better'}"
        rows.append(row(name, told[:, equal].any(axis=1), unadjusted=alone, found=found))
    return pd.DataFrame(rows)


PARTS = {"pair": one_pair, "crossed": crossed, "pairs": many_pairs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(PARTS))
    options = parser.parse_args()
    bad = 0
    for name in options.only:
        start = time.perf_counter()
        table = PARTS[name](options.worlds, options.seed)
        claimed = ~table["cell"].str.contains(": others|, ratings")
        bad += int((table["low"] > LEVEL)[claimed].sum())
        print(table.round(4).to_string(index=False))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{bad} claimed cells whose lower limit is above {LEVEL}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
