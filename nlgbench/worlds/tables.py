"""Shared helpers of simulated studies: ids, random draws, judgments, scores and votes."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import softmax

from nlgbench.arrays import Floats, Ints
from nlgbench.text import check_n


def numbered(letter: str, n: int, width: int = 3) -> np.ndarray:
    """Return n ids that consist of a letter and a number, starting at 1."""
    return np.array([f"{letter}{number:0{width}d}" for number in range(1, n + 1)], dtype=object)


def name_systems(names: Any, rng: Generator) -> np.ndarray:
    """Shuffle the systems' names, so that they do not follow quality; other draws stay the same."""
    return rng.spawn(1)[0].permutation(np.array(names, dtype=object))


def check_numbers(**numbers: int | tuple[int, int]) -> None:
    """Raise ValueError for numbers below 1 or above their maximum, the second of a tuple."""
    for name, value in numbers.items():
        number, most = value if isinstance(value, tuple) else (value, value)
        check_n(number, name)
        if number > most:
            raise ValueError(f"{name} must be at most {most}, the number available. Got {number}.")


def check_classes(systems: Collection[str], **numbers: int) -> None:
    """Raise ValueError if there is no system, one is called ``human``, or a number is below 1."""
    check_numbers(n_systems=len(systems), **numbers)
    if "human" in systems:
        raise ValueError("no system may be called 'human', the name of human texts. Rename it.")


def draw_distinct(n: int, n_all: int, n_each: int, rng: Generator) -> Ints:
    """Draw `n_each` of `n_all` numbers without replacement, n times: (n, n_each)."""
    return np.argsort(rng.random((n, n_all)), axis=1)[:, :n_each]


def draw_pairs(n_items: int, k: int, n_pairs: int, rng: Generator) -> tuple[Ints, Ints]:
    """Draw pairs of the k outputs of each item, in random order; outputs are numbered by item."""
    every = np.array(list(combinations(range(k), 2))).reshape(-1, 2)
    check_numbers(n_pairs=(n_pairs, len(every)))
    pairs = every[draw_distinct(n_items, len(every), n_pairs, rng)].reshape(-1, 2)
    drawn_pairs = rng.permuted(pairs, axis=1) + k * np.repeat(np.arange(n_items), n_pairs)[:, None]
    return drawn_pairs[:, 0], drawn_pairs[:, 1]


def pick(chance: Floats, rng: Generator) -> Ints:
    """Draw a column for each row from the row's probabilities."""
    return (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)


def output_rows(ids: Any, items: Any, systems: Any) -> pd.DataFrame:
    """Build ``outputs`` rows of systems."""
    return pd.DataFrame({"output_id": ids, "item_id": items, "system": systems, "is_human": False})


def judgment_rows(
    ids: Any, annotators: Any, values: Any, dimension: str, group: Any = ""
) -> pd.DataFrame:
    """Build ``judgments`` rows from arrays of equal length."""
    keys = {"output_id": ids, "annotator_id": annotators, "dimension": dimension, "group_id": group}
    return pd.DataFrame({**keys, "value": values})


def crossed_rows(
    ids: Any, values: np.ndarray, dimension: str, annotators: Any = None, group: Any = ""
) -> pd.DataFrame:
    """Build ``judgments`` rows from a matrix of outputs x annotators."""
    n = values.shape[1]
    who = np.tile(numbered("w", n) if annotators is None else annotators, len(ids))
    return judgment_rows(np.repeat(np.asarray(ids), n), who, values.ravel(), dimension, group)


def score_rows(ids: Any, scores: dict[str, Any]) -> pd.DataFrame:
    """Build ``scores`` rows of several evaluators for the same outputs."""
    wide = pd.DataFrame({"output_id": ids, **scores})
    return wide.melt("output_id", var_name="evaluator", value_name="score")


def chances(gap: Floats, nu: float) -> Floats:
    """Compute Davidson's probabilities that the first wins, ties and loses; the gap is in nats."""
    log_tie = np.full_like(gap, np.log(nu) if nu > 0 else -np.inf)
    return softmax(np.stack([gap / 2, log_tie, -gap / 2], axis=-1), axis=-1)


def draw_votes(
    first: np.ndarray, second: np.ndarray, annotators: np.ndarray, chance: Floats, rng: Any
) -> pd.DataFrame:
    """Draw a vote for each row from its probabilities that the first wins, ties or loses."""
    choice = np.array(["a", "tie", "b"])[pick(chance, rng)]
    keys = {"output_a": first, "output_b": second, "annotator_id": annotators}
    return pd.DataFrame({**keys, "choice": choice})
