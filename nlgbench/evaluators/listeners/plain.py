"""Listeners without a network: votes, tables of probabilities, ensembles, calibrated ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgbench.evaluators.listeners.calibration import fit_temperature, temper
from nlgbench.evaluators.listeners.contexts import (
    check_contexts,
    check_proba,
    check_targets,
    state_sets,
)
from nlgbench.evaluators.listeners.scores import Listener

Floats = NDArray[np.float64]
State = tuple[float, ...]


class HumanListener:
    """The votes of people who picked a state.

    Parameters
    ----------
    smoothing : float
        Votes added to each state of a context that somebody voted on. With 0, a state without votes
        has probability 0, and M is infinite where it is the target.

    Examples
    --------
    >>> context, votes = [[0], [9]], [0, 0, 1]
    >>> human = HumanListener().fit([context] * 3, ["red"] * 3, votes)
    >>> human.predict_proba([context[::-1], context], ["red", "blue"]).round(2)
    array([[0.33, 0.67],
           [ nan,  nan]])
    """

    def __init__(self, *, smoothing: float = 0.0) -> None:
        if not 0 <= smoothing < np.inf:
            raise ValueError(f"smoothing must not be negative. Got {smoothing}.")
        self.smoothing = smoothing
        self._votes: dict[tuple, Counter[State]] = {}

    def fit(self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike) -> Self:
        """Count votes: a row per vote, where `targets` is the position of the state picked."""
        states = check_contexts(contexts, captions)
        picked = check_targets(targets, *states.shape[:2])
        self._votes = defaultdict(Counter)
        for key, one, at in zip(_keys(states, captions), states.tolist(), picked, strict=True):
            self._votes[key][tuple(one[at])] += 1
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return shares of votes, (n, n_states); NaN where nobody heard the caption there.

        Captions must be the same to the letter, contexts of the same states in any order. Equal
        states of one context share their votes.
        """
        votes = _looked_up(self._votes, contexts, captions) + self.smoothing
        return votes / votes.sum(axis=1, keepdims=True)


class TableListener:
    """Probabilities that were computed elsewhere, looked up.

    Parameters
    ----------
    contexts : array-like of shape (n, n_states, n_features)
        States as they are.
    captions : sequence of str
        One per context.
    proba : array-like of shape (n, n_states)
        Rows with sum one. Of equal captions in equal contexts the last counts.

    Examples
    --------
    >>> table = TableListener([[[0], [9]]], ["red"], [[0.7, 0.3]])
    >>> table.predict_proba([[[9], [0]], [[0], [9]]], ["red", "blue"])
    array([[0.3, 0.7],
           [nan, nan]])
    """

    def __init__(self, contexts: ArrayLike, captions: Sequence[str], proba: ArrayLike) -> None:
        states = check_contexts(contexts, captions)
        given = check_proba(proba, n=len(states), n_states=states.shape[1])
        self._table: dict[tuple, dict[State, float]] = {}
        for key, one, row in zip(_keys(states, captions), states.tolist(), given, strict=True):
            self._table[key] = dict.fromkeys(map(tuple, one), 0.0)
            for state, probability in zip(map(tuple, one), row.tolist(), strict=True):
                self._table[key][state] += probability

    def fit(self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike) -> Self:
        """Learn nothing: the table is what it is."""
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return the table's probabilities, (n, n_states); NaN where it has none.

        As in `HumanListener`, captions must be the same to the letter.
        """
        return _looked_up(self._table, contexts, captions)


def _looked_up(
    table: Mapping[tuple, Mapping[State, float]], contexts: ArrayLike, captions: Sequence[str]
) -> Floats:
    states = check_contexts(contexts, captions)
    found = np.full(states.shape[:2], np.nan)
    for row, (key, one) in enumerate(zip(_keys(states, captions), states.tolist(), strict=True)):
        if key in table:
            there = [tuple(state) for state in one]
            found[row] = [table[key].get(state, 0) / there.count(state) for state in there]
    return found


def _keys(states: Floats, captions: Sequence[str]) -> list[tuple]:
    return list(zip(captions, state_sets(states), strict=True))


class EnsembleListener:
    """The mean of several listeners' probabilities.

    Parameters
    ----------
    listeners : sequence of listeners
        At least one. Where one has no opinion, neither has the ensemble.

    Examples
    --------
    >>> context, votes = [[0], [9]], [0, 0, 1]
    >>> ensemble = EnsembleListener([HumanListener(), HumanListener(smoothing=9)])
    >>> ensemble.fit([context] * 3, ["red"] * 3, votes).predict_proba([context], ["red"]).round(2)
    array([[0.6, 0.4]])
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        if not len(listeners):
            raise ValueError("an ensemble needs one listener at least.")
        self.listeners = list(listeners)

    def fit(
        self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike, **kws: Any
    ) -> Self:
        """Fit each on the same rounds; keywords are handed on. Not needed where they are fitted."""
        for listener in self.listeners:
            listener.fit(contexts, captions, targets, **kws)
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return mean probabilities, (n, n_states)."""
        answers = [
            check_proba(listener.predict_proba(contexts, captions)) for listener in self.listeners
        ]
        return np.asarray(np.mean(answers, axis=0))


class CalibratedListener:
    """A listener at a temperature: how a fitted one, as an ensemble, is calibrated on dev.

    Parameters
    ----------
    listener : listener
        Fitted already.

    Attributes
    ----------
    temperature : float
        From `fit_temperature`.

    Examples
    --------
    >>> context, votes = [[0], [9]], [0, 0, 0, 1]
    >>> human = HumanListener().fit([context] * 4, ["red"] * 4, votes)
    >>> calm = CalibratedListener(human).fit([context] * 2, ["red"] * 2, [0, 1])
    >>> calm.predict_proba([context], ["red"]).round(1)
    array([[0.5, 0.5]])
    """

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.temperature = 1.0

    def fit(self, contexts: ArrayLike, captions: Sequence[str], targets: ArrayLike) -> Self:
        """Fit the temperature, on rounds that the listener was not trained on."""
        proba = self.listener.predict_proba(contexts, captions)
        self.temperature = fit_temperature(proba, targets)
        return self

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return its probabilities at the temperature, (n, n_states)."""
        return temper(self.listener.predict_proba(contexts, captions), self.temperature)
