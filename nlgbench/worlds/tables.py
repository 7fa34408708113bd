"""What simulated studies have in common: names, who is drawn, outputs, judgments and votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from nlgbench.text import check_n

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def numbered(letter: str, n: int, width: int = 3) -> np.ndarray:
    """Name things by a letter and a number from 1."""
    return np.array([f"{letter}{number:0{width}d}" for number in range(1, n + 1)], dtype=object)


def check_numbers(**numbers: int | tuple[int, int]) -> None:
    """Refuse numbers below 1, or above as many as there are, which stand second."""
    for name, given in numbers.items():
        number, most = given if isinstance(given, tuple) else (given, given)
        check_n(number, name)
        if number > most:
            raise ValueError(f"{name} must be at most {most}, as there are no more. Got {number}.")


def drawn(n: int, n_all: int, n_each: int, rng: np.random.Generator) -> Ints:
    """Draw, n times, so many of all without replacement."""
    return np.argsort(rng.random((n, n_all)), axis=1)[:, :n_each]


def output_rows(ids: Any, items: Any, systems: Any) -> pd.DataFrame:
    """Lay out outputs of machines, without texts."""
    table = pd.DataFrame({"output_id": ids, "item_id": items, "system": systems})
    return table.assign(text="", is_human=False, context="")


def judgment_rows(
    ids: Any, people: Any, values: Any, dimension: str, group: Any = ""
) -> pd.DataFrame:
    """Lay out judgments, one by one."""
    names = {"output_id": ids, "annotator_id": people, "dimension": dimension, "group_id": group}
    return pd.DataFrame({**names, "value": values})


def crossed_rows(ids: Any, values: np.ndarray, dimension: str, letter: str = "w") -> pd.DataFrame:
    """Lay out judgments of outputs x annotators."""
    n = values.shape[1]
    people = np.tile(numbered(letter, n), len(ids))
    of = np.repeat(np.asarray(ids, dtype=object), n)
    return judgment_rows(of, people, values.ravel(), dimension)


def logprob_rows(ids: Any, model: str, logprob: Any, n_tokens: Any) -> pd.DataFrame:
    """Lay out a model's log-probabilities."""
    return pd.DataFrame(
        {"output_id": ids, "model": model, "logprob": logprob, "n_tokens": n_tokens}
    )


def score_rows(ids: Any, scores: dict[str, Any]) -> pd.DataFrame:
    """Lay out evaluators' scores of the same outputs."""
    parts = [
        pd.DataFrame({"output_id": ids, "evaluator": name, "score": values})
        for name, values in scores.items()
    ]
    return pd.concat(parts, ignore_index=True).assign(signature="")


def chances(gap: Floats, nu: float) -> Floats:
    """Give Davidson's chances that the first wins, ties and loses; the gap in nats."""
    log_tie = np.full_like(gap, np.log(nu) if nu > 0 else -np.inf)
    return softmax(np.stack([gap / 2, log_tie, -gap / 2], axis=-1), axis=-1)


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
