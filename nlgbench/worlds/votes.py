"""Simulated votes on pairs of outputs, with known probabilities.

The first output shown wins, ties or loses with probabilities proportional to ``exp(gap / 2)``,
``nu`` and ``exp(-gap / 2)`` (Davidson 1970). The gap, in nats, is the difference in the systems'
abilities, their performance on the item, and the annotator's taste for each. Careless annotators
choose among the three at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats, Seed
from nlgbench.study import Study, from_rows
from nlgbench.worlds.tables import (
    chances,
    check_numbers,
    draw_distinct,
    draw_pairs,
    draw_votes,
    name_systems,
    numbered,
    output_rows,
    score_rows,
)

#: Abilities in nats.
ABILITIES = {"sys_a": 0.6, "sys_b": 0.4, "sys_c": 0.1, "sys_d": -0.1, "sys_e": -0.4, "sys_f": -0.6}
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def vote_world(
    *,
    systems: Mapping[str, float] | None = None,
    n_items: int = 100,
    n_annotators: int = 20,
    n_pairs: int = 3,
    n_votes: int = 3,
    nu: float = 0.7,
    of_items: float = 0.6,
    of_taste: float = 0.3,
    careless: float = 0.1,
    seed: Seed = 0,
) -> Study:
    """Simulate votes of `n_votes` annotators on each of `n_pairs` pairs of outputs per item.

    ``truth["systems"]``: the abilities. ``truth["pairs"]``: the probabilities for each pair of
    systems over all items and annotators, in the format of games for `nlgbench.rate`. Scores:
    ``quality``, the system's ability plus its performance on the item, and ``noisy``, with an added
    error of equal variance.
    """
    check_numbers(n_items=n_items, n_annotators=n_annotators, n_votes=(n_votes, n_annotators))
    rng = np.random.default_rng(seed)
    names = list(systems or name_systems(list(ABILITIES), rng))
    ability = np.array(list((systems or ABILITIES).values()))
    quality = ability + rng.normal(0, of_items, (n_items, len(names)))
    taste = rng.normal(0, of_taste, (n_annotators, len(names)))
    blind = rng.random(n_annotators) < careless
    pairs = draw_pairs(n_items, len(names), n_pairs, rng)
    who = draw_distinct(n_items * n_pairs, n_annotators, n_votes, rng).ravel()
    first, second = (np.repeat(side, n_votes) for side in pairs)
    gap = quality.ravel()[first] - quality.ravel()[second]
    gap += taste[who, first % len(names)] - taste[who, second % len(names)]
    chance = np.where(blind[who, None], 1 / 3, chances(gap, nu))

    items = numbered("i", n_items)
    ids = (items[:, None] + "-" + np.array(names, dtype=object)).ravel()
    voters = numbered("w", n_annotators)[who]
    preferences = draw_votes(ids[first], ids[second], voters, chance, rng)
    noisy = quality + rng.normal(0, quality.std(), quality.shape)
    truth = {
        "systems": pd.DataFrame({"system": names, "ability": ability}),
        "pairs": _true_pairs(names, ability, np.hypot(of_items, of_taste), nu, careless),
    }
    return from_rows(
        outputs=output_rows(ids, np.repeat(items, len(names)), np.tile(names, n_items)),
        preferences=preferences,
        scores=score_rows(ids, {"quality": quality.ravel(), "noisy": noisy.ravel()}),
        name="votes",
        source="simulated",
        truth=truth,
    )


def _true_pairs(
    names: list[str], ability: Floats, spread: float, nu: float, careless: float
) -> pd.DataFrame:
    """Integrate probabilities over items and annotators, with normal gaps."""
    rows = []
    for first, second in combinations(range(len(names)), 2):
        gap = ability[first] - ability[second] + np.sqrt(2) * spread * _NODES
        careful = _WEIGHTS @ chances(gap, nu) / _WEIGHTS.sum()
        rows.append((names[first], names[second], *((1 - careless) * careful + careless / 3)))
    return pd.DataFrame(rows, columns=["system_a", "system_b", "prob_a", "prob_tie", "prob_b"])
