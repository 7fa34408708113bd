"""Votes of people on pairs of outputs, whose every chance is known.

The first output shown wins, ties or loses with chances in proportion to ``exp(gap / 2)``, ``nu``
and ``exp(-gap / 2)`` (Davidson 1970). The gap is that of the systems' abilities, of how well each
did on the item, of the annotator's taste for each, and what being first adds, in nats; careless
annotators choose among the three blindly.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from nlgbench.study import Study, trusted
from nlgbench.text import check_n

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Abilities in nats.
ABILITIES = {"sys_a": 0.6, "sys_b": 0.4, "sys_c": 0.1, "sys_d": -0.1, "sys_e": -0.4, "sys_f": -0.6}
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def vote_world(
    *,
    systems: Mapping[str, float] = ABILITIES,
    n_items: int = 100,
    n_annotators: int = 20,
    n_pairs: int = 3,
    n_votes: int = 3,
    nu: float = 0.7,
    of_items: float = 0.6,
    of_taste: float = 0.3,
    of_first: float = 0.0,
    careless: float = 0.1,
    seed: int | np.random.Generator = 0,
) -> Study:
    """Draw items, annotators and votes: of each item some pairs, of each pair some annotators.

    ``truth["systems"]``: the abilities. ``truth["pairs"]``: of each two systems the chances over
    all items and annotators, as `nlgbench.rate` takes games. Scores: ``quality``, ability and how
    well the system did on the item, and ``noisy``, the same with an error of as much variance.
    """
    names, ability = list(systems), np.array(list(systems.values()))
    pairs = np.array(list(combinations(range(len(names)), 2)))
    check_numbers(n_items=(n_items, None), n_annotators=(n_annotators, None))
    check_numbers(n_pairs=(n_pairs, len(pairs)), n_votes=(n_votes, n_annotators))
    rng = np.random.default_rng(seed)
    quality = ability + rng.normal(0, of_items, (n_items, len(names)))
    taste = rng.normal(0, of_taste, (n_annotators, len(names)))
    blind = rng.random(n_annotators) < careless
    drawn = np.argsort(rng.random((n_items, len(pairs))), axis=1)[:, :n_pairs]
    shown = rng.permuted(pairs[drawn], axis=2)  # item, pair, who is first
    voters = np.argsort(rng.random((n_items, n_pairs, n_annotators)), axis=2)[:, :, :n_votes]
    who = voters.ravel()
    item, first, second = (
        np.repeat(column.ravel(), n_votes)
        for column in (np.repeat(np.arange(n_items), n_pairs), shown[..., 0], shown[..., 1])
    )
    gap = quality[item, first] - quality[item, second] + of_first
    gap += taste[who, first] - taste[who, second]
    chance = np.where(blind[who, None], 1 / 3, chances(gap, nu))

    items = np.array([f"i{number:03d}" for number in range(1, n_items + 1)])
    ids = np.array([[f"{one}-{name}" for name in names] for one in items])
    outputs = pd.DataFrame({"output_id": ids.ravel(), "item_id": np.repeat(items, len(names))})
    outputs = outputs.assign(system=np.tile(names, n_items), text="", is_human=False, context="")
    people = np.array([f"w{n:03d}" for n in range(1, n_annotators + 1)])[who]
    preferences = draw_votes(ids[item, first], ids[item, second], people, chance, rng)
    noisy = quality + rng.normal(0, quality.std(), quality.shape)
    scores = [
        pd.DataFrame({"output_id": ids.ravel(), "evaluator": name, "score": values.ravel()})
        for name, values in (("quality", quality), ("noisy", noisy))
    ]
    truth = {
        "systems": pd.DataFrame({"system": names, "ability": ability}),
        "pairs": _true_pairs(names, ability, np.hypot(of_items, of_taste), nu, of_first, careless),
    }
    return trusted(
        outputs=outputs,
        preferences=preferences,
        scores=pd.concat(scores, ignore_index=True).assign(signature=""),
        name="votes",
        source="simulated",
        truth=truth,
    )


def check_numbers(**numbers: tuple[int, int | None]) -> None:
    """Refuse numbers below 1, or above as many as there are."""
    for name, (number, most) in numbers.items():
        check_n(number, name)
        if most is not None and number > most:
            raise ValueError(f"{name} must be at most {most}, as there are no more. Got {number}.")


def draw_votes(
    first: np.ndarray, second: np.ndarray, people: np.ndarray, chance: Floats, rng: Any
) -> pd.DataFrame:
    """Draw a vote in each row from its chances that the first wins, ties or loses."""
    chosen = (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)[:, :2]).sum(axis=1)
    return pd.DataFrame(
        {
            "output_a": first,
            "output_b": second,
            "annotator_id": people,
            "dimension": "quality",
            "group_id": "",
            "choice": np.array(["a", "tie", "b"])[chosen],
        }
    )


def chances(gap: Floats, nu: float) -> Floats:
    """Win, tie and loss of the first."""
    log_tie = np.full_like(gap, np.log(nu) if nu > 0 else -np.inf)
    return softmax(np.stack([gap / 2, log_tie, -gap / 2], axis=-1), axis=-1)


def _true_pairs(
    names: list[str], ability: Floats, spread: float, nu: float, of_first: float, careless: float
) -> pd.DataFrame:
    """Integrate over items and annotators, whose gaps are normal, and over who is first."""
    rows = []
    for one, other in combinations(range(len(names)), 2):
        gap = ability[one] - ability[other] + np.sqrt(2) * spread * _NODES
        in_both = chances(gap + of_first, nu), chances(of_first - gap, nu)[:, ::-1]
        seen = _WEIGHTS @ ((in_both[0] + in_both[1]) / 2) / _WEIGHTS.sum()
        rows.append((names[one], names[other], *((1 - careless) * seen + careless / 3)))
    return pd.DataFrame(rows, columns=["system_a", "system_b", "prob_a", "prob_tie", "prob_b"])
