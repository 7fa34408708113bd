"""Contexts as arrays of states, and what is refused of them, of probabilities and targets."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench import tables
from nlgbench.evaluators.listeners.color_features import COLOR
from nlgbench.names import did_you_mean
from nlgbench.text import check_texts

Floats = NDArray[np.float64]


def context_arrays(
    contexts: pd.DataFrame, item_ids: Sequence[str] | pd.Series, *, features: Sequence[str] = COLOR
) -> tuple[Floats, NDArray[np.int64]]:
    """Lay the states of items out as arrays.

    Parameters
    ----------
    contexts : DataFrame
        A ``contexts`` table of one dataset.
    item_ids : sequence of str
        Items, which may repeat.
    features : sequence of str
        Its columns to take.

    Returns
    -------
    tuple of (ndarray of shape (n, n_states, n_features), ndarray of int64, shape (n,))
        States in the order of the table, and the position of each target.

    Raises
    ------
    TableError
        If the table breaks a rule, as when an item has no target, or two.
    ValueError
        When an item is not there, a column is missing or no number, there are several datasets, or
        items have different numbers of states.

    Examples
    --------
    >>> context = pd.DataFrame({"dataset": "d", "item_id": "i", "state": ["1", "2"], "hue": [0, 9]})
    >>> context["is_target"] = [True, False]
    >>> array, targets = context_arrays(context, ["i", "i"], features=["hue"])
    >>> array.shape, targets.tolist()
    ((2, 2, 1), [0, 0])
    """
    contexts = tables.check(contexts, "contexts").reset_index(drop=True)
    if len(contexts["dataset"].unique()) > 1:
        raise ValueError("contexts must hold one dataset: filter, as in contexts['dataset'] == ...")
    for name in features:
        if name not in contexts or not pd.api.types.is_numeric_dtype(contexts[name]):
            hint = did_you_mean(name, contexts.columns)
            raise ValueError(f"contexts has no numbers in a column {name!r}.{hint}")
    places = state_rows(contexts, item_ids)
    array = contexts[list(features)].to_numpy(dtype=np.float64)[places]
    return array, contexts["is_target"].to_numpy()[places].argmax(axis=1)


def state_rows(contexts: pd.DataFrame, item_ids: Sequence[str] | pd.Series) -> NDArray[np.int64]:
    """Find the rows of each item's states.

    Parameters
    ----------
    contexts : DataFrame
        A ``contexts`` table of one dataset.
    item_ids : sequence of str
        Items, which may repeat.

    Returns
    -------
    ndarray of int64, shape (n, n_states)
        Positions in the table.

    Raises
    ------
    ValueError
        When an item is not there, or items have different numbers of states.
    """
    rows: dict[str, list[int]] = {}
    for at, item in enumerate(contexts["item_id"]):
        rows.setdefault(item, []).append(at)
    wanted = list(item_ids)
    lost = [item for item in wanted if item not in rows]
    if lost:
        raise ValueError(f"contexts has no item {lost[0]!r} ({len(lost)} of {len(wanted)}).")
    sizes = {len(rows[item]): item for item in wanted}
    if len(sizes) > 1:
        raise ValueError(
            "items must have as many states each. Got "
            + ", ".join(f"{n} ({item!r})" for n, item in sorted(sizes.items()))
            + ": lay them out apart; score_listener does so by itself."
        )
    return np.array([rows[item] for item in wanted], dtype=np.int64).reshape(len(wanted), -1)


def check_contexts(contexts: ArrayLike, captions: Sequence[str]) -> Floats:
    """Refuse what are no states with captions.

    Parameters
    ----------
    contexts : array-like of shape (n, n_states, n_features)
        At least two states.
    captions : sequence of str
        As many.

    Returns
    -------
    ndarray
        The states.

    Raises
    ------
    ValueError
        When shapes disagree, states are not finite, or a caption is no string.

    Examples
    --------
    >>> check_contexts([[[1.0], [2.0]]], ["a", "b"])
    Traceback (most recent call last):
    ValueError: there must be one caption per context. Got 2 captions and 1 contexts.
    """
    try:
        found = np.asarray(contexts, dtype=np.float64)
    except ValueError:
        found = np.empty(0)
    if found.ndim != 3 or found.shape[1] < 2:
        raise ValueError(
            "contexts must have the shape (n, n_states, n_features), with at least 2 states, as "
            f"many in each: ask about others apart. Got {found.shape if found.size else 'none'}."
        )
    if len(check_texts(captions, "captions")) != len(found):
        raise ValueError(
            f"there must be one caption per context. Got {len(captions)} captions and "
            f"{len(found)} contexts."
        )
    bad = ~np.isfinite(found).all(axis=(1, 2))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"contexts[{row}] is {found[row].tolist()}; states must be finite.")
    return found


def is_unseen(contexts: ArrayLike, evaluated: ArrayLike) -> NDArray[np.bool_]:
    """Say which contexts have states that occur together in no evaluated one.

    Parameters
    ----------
    contexts : array-like of shape (n, n_states, n_features)
        Such as the rounds of dev.
    evaluated : array-like of shape (m, n_states, n_features)
        Contexts that are scored later: nothing may be chosen on them.

    Returns
    -------
    ndarray of bool, shape (n,)
        True where the set of states is in none of `evaluated`, in whatever order.

    Examples
    --------
    >>> is_unseen([[[1], [2]], [[1], [3]]], [[[2], [1]]])
    array([False,  True])
    """
    ours, theirs = (np.asarray(given, dtype=np.float64) for given in (contexts, evaluated))
    known = set(state_sets(theirs))
    return np.array([one not in known for one in state_sets(ours)], dtype=bool)


def state_sets(contexts: Floats) -> list[tuple[tuple[float, ...], ...]]:
    """Name each context, (n, n_states, n_features), by its states in whatever order."""
    return [tuple(sorted(map(tuple, states))) for states in contexts.tolist()]


def check_proba(proba: ArrayLike, *, n: int | None = None, n_states: int | None = None) -> Floats:
    """Refuse what are no probabilities of states.

    Parameters
    ----------
    proba : array-like of shape (n, n_states)
        A row of NaN alone says that the listener has no opinion.
    n, n_states : int, optional
        The shape it should have.

    Returns
    -------
    ndarray of shape (n, n_states)
        The probabilities as given.

    Raises
    ------
    ValueError
        With the first row that is not made of numbers from 0 to 1 with sum 1 (to 1e-6).

    Examples
    --------
    >>> check_proba([[0.5, 0.5], [0.5, 0.6]])
    Traceback (most recent call last):
    ValueError: row 1 of the probabilities is [0.5, 0.6], with sum 1.1; each row must hold numbers
    from 0 to 1 with sum 1: divide each row by its sum.
    """
    found = np.asarray(proba, dtype=np.float64)
    if found.ndim != 2 or n not in (None, len(found)) or n_states not in (None, found.shape[1]):
        wanted = ("n" if n is None else n, "n_states" if n_states is None else n_states)
        raise ValueError(
            f"probabilities must have the shape ({wanted[0]}, {wanted[1]}): a row per caption, a "
            f"column per state. Got {found.shape}."
        )
    inside = ((found >= 0) & (found <= 1)).all(axis=1) & (abs(found.sum(axis=1) - 1) <= 1e-6)
    bad = ~(inside | np.isnan(found).all(axis=1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"row {row} of the probabilities is {found[row].tolist()}, with sum "
            f"{found[row].sum():g}; each row must hold numbers from 0 to 1 with sum 1: divide each "
            "row by its sum."
        )
    return found


def check_targets(targets: ArrayLike, n: int, n_states: int) -> NDArray[np.int64]:
    """Refuse what are no positions of states.

    Parameters
    ----------
    targets : array-like of shape (n,)
        Whole numbers.
    n, n_states : int
        How many there should be, and of how many states.

    Returns
    -------
    ndarray of int64, shape (n,)
        Each from 0 to ``n_states - 1``.

    Raises
    ------
    ValueError
        With the first that is none.

    Examples
    --------
    >>> check_targets([0, 3], 2, 3)
    Traceback (most recent call last):
    ValueError: targets[1] is 3; it must be the position of one state, 0 to 2.
    """
    found = np.asarray(targets)
    if found.shape != (n,):
        raise ValueError(
            f"targets must be {n} whole numbers, one per caption. Got shape {found.shape}."
        )
    bad = ~np.isin(found, np.arange(n_states))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"targets[{row}] is {found[row]}; it must be the position of one state, 0 to "
            f"{n_states - 1}."
        )
    return found.astype(np.int64)
