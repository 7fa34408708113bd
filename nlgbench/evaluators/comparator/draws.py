"""Which two outputs meet: draws from all pairs of equal context, each alike."""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.evaluators.comparator.splits import one_dataset

Ints = NDArray[np.int64]


def system_pairs(
    outputs: pd.DataFrame,
    *,
    n_per_pair: int = 50,
    human: bool = False,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw the pairs to compare, so that every two systems meet equally often.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset; held-out texts only.
    n_per_pair : int
        Pairs for each two systems; fewer where there are not so many.
    human : bool
        Let human outputs take part, as a system.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        dataset, item_id (output a's), output_a, output_b. Which stands first is random.

    Raises
    ------
    ValueError
        When no two systems have outputs of one context.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n, "system": n} for n in "abc"])
    >>> len(system_pairs(outputs, seed=0))
    3
    """
    table = one_dataset(outputs)
    check_n(n_per_pair, "n_per_pair")
    rng = np.random.default_rng(seed)
    table = table if human else table[~table["is_human"]]
    parts = [np.empty((0, 2), dtype=np.int64)]
    for two in combinations(sorted(table["system"].unique()), 2):
        one, other = (table["system"].eq(name) for name in two)
        parts.append(np.column_stack(draw_between(table, one, other, n_per_pair, rng)))
    a, b = rng.permuted(np.concatenate(parts), axis=1).T
    if not len(a):
        raise ValueError(
            "no two systems have different texts for one context, so nothing can be compared. Give "
            "outputs of two systems or more, on the same contexts."
        )
    return paired(table, a, b, "")[["dataset", "item_id", "output_a", "output_b"]]


def draw_between(
    table: pd.DataFrame, left: ArrayLike, right: ArrayLike, n: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw a row of `left` and one of `right` that have one context and different texts.

    Parameters
    ----------
    table : DataFrame
        A checked ``outputs`` table.
    left, right : array-like of bool
        Which rows may stand on each side; no row on both.
    n : int
        Pairs; fewer where there are not so many.
    rng : Generator
        Where the random numbers come from.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Rows of the one and of the other.
    """
    context = pd.factorize(table["context"])[0]
    others = np.flatnonzero(np.asarray(right))
    others = others[np.argsort(context[others], kind="stable")]
    rows = np.flatnonzero(np.asarray(left))
    first, last = (
        np.searchsorted(context[others], context[rows], side) for side in ("left", "right")
    )
    return _draw(table, rows, others, first, last, n, rng)


def draw_within(
    table: pd.DataFrame, mask: ArrayLike, kind: ArrayLike, n: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw two rows of `mask`, of one `kind` and one context, with different texts.

    Parameters
    ----------
    table : DataFrame
        A checked ``outputs`` table.
    mask : array-like of bool
        Which rows may be drawn.
    kind : array-like
        What must be equal.
    n : int
        Pairs; fewer where there are not so many.
    rng : Generator
        Where the random numbers come from.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Rows of the one and of the other.
    """
    key = pd.DataFrame({"context": table["context"], "kind": kind})
    group = key.groupby(["context", "kind"]).ngroup().to_numpy()
    rows = np.flatnonzero(np.asarray(mask))
    rows = rows[np.argsort(group[rows], kind="stable")]
    last = np.searchsorted(group[rows], group[rows], "right")
    return _draw(table, rows, rows, np.arange(1, len(rows) + 1), last, n, rng)


def _draw(
    table: pd.DataFrame,
    rows: Ints,
    others: Ints,
    first: Ints,
    last: Ints,
    n: int,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Draw from all pairs of a row with ``others[first:last]``, numbered one after another."""
    ends = np.cumsum(last - first)
    total = int(ends[-1]) if len(ends) else 0
    # A few more than asked for: those of equal texts are then left out.
    number = rng.choice(total, min(total, n + n // 4 + 10), replace=False)
    at = np.searchsorted(ends, number, "right")
    one, other = rows[at], others[last[at] - (ends[at] - number)]
    text = table["text"].to_numpy()
    differ = np.flatnonzero(text[one] != text[other])[:n]
    return one[differ], other[differ]


def paired(table: pd.DataFrame, a: Ints, b: Ints, outcome: str) -> pd.DataFrame:
    """Lay out pairs of rows.

    Parameters
    ----------
    table : DataFrame
        A checked ``outputs`` table.
    a, b : ndarray
        Rows of the one and of the other.
    outcome : str
        The same for all.

    Returns
    -------
    DataFrame
        dataset, item_id (output a's), output_a, context_a, text_a, output_b, context_b, text_b,
        outcome, margin (NaN).
    """
    columns = {"output_id": "output", "context": "context", "text": "text"}
    pairs = table[["dataset", "item_id"]].iloc[a].reset_index(drop=True)
    for side, rows in (("a", a), ("b", b)):
        for name, called in columns.items():
            pairs[f"{called}_{side}"] = table[name].to_numpy()[rows]
    return pairs.assign(outcome=outcome, margin=np.nan)


def check_n(n: int, name: str) -> None:
    """Refuse a number of pairs below 1.

    Parameters
    ----------
    n : int
        How many are asked for.
    name : str
        What the number is called.

    Raises
    ------
    ValueError
        When it is below 1.
    """
    if n < 1:
        raise ValueError(f"{name} must be at least 1. Got {n}.")
