"""Does a text communicate? The measure M, and listeners to take it with.

A listener is anything with ``fit(contexts, captions, targets)`` and ``predict_proba(contexts,
captions)``, which returns an ndarray (n, n_states) whose rows sum to one. People's votes, tables of
probabilities and ensembles are in `plain`; trained ones are in `neural`, which
needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from nlgbench import tables
from nlgbench.evaluators.listeners.color_features import COLOR
from nlgbench.evaluators.listeners.contexts import (
    check_proba,
    check_targets,
    context_arrays,
    state_rows,
)

Floats = NDArray[np.float64]


class Listener(Protocol):
    """What can be asked which state a caption means."""

    def fit(self, contexts: Any, captions: Any, targets: Any) -> Any:
        """Learn from rounds."""

    def predict_proba(self, contexts: Any, captions: Any) -> Floats:
        """Return the probability of each state, (n, n_states)."""


Asked = Listener | Callable[[Floats, list[str]], ArrayLike]


def m_score(speaker: ArrayLike, listener_proba: ArrayLike) -> Floats:
    """Measure how far a listener's beliefs are from the speaker's.

    Parameters
    ----------
    speaker : array-like of shape (n, n_states) or (n,)
        S(w), rows with sum one; or the position of the one state that is meant.
    listener_proba : array-like of shape (n, n_states)
        L(w | u).

    Returns
    -------
    ndarray of shape (n,)
        M in nats: 0 where they agree, higher is worse, infinite where the listener rules out what
        the speaker does not. NaN where the listener has no opinion. ``exp(-M)`` is 0 to 1, higher
        is better: the probability of the target, where the speaker means one state.

    Raises
    ------
    ValueError
        When either are no probabilities, or the shapes differ.

    Notes
    -----
    ``M(u | S, L) = KL(S(w) || L(w | u))``, equation 1 of Newman, Cohn-Gordon and Potts (2020,
    arXiv:1909.07290, section 4).

    Examples
    --------
    >>> m_score([[1, 0, 0], [0.5, 0.5, 0]], [[0.5, 0.25, 0.25]] * 2).round(3)
    array([0.693, 0.347])
    >>> m_score([0], [[0.5, 0.25, 0.25]]).round(3)
    array([0.693])
    """
    found = check_proba(listener_proba)
    n, n_states = found.shape
    meant = np.asarray(speaker)
    if meant.ndim == 1:
        meant = np.eye(n_states)[check_targets(meant, n, n_states)]
    meant = check_proba(meant, n=n, n_states=n_states)
    return np.asarray(rel_entr(meant, found).sum(axis=1))


def beliefs(
    listener: Asked,
    outputs: pd.DataFrame,
    contexts: pd.DataFrame,
    *,
    evaluator: str,
    features: Sequence[str] = COLOR,
) -> pd.DataFrame:
    """Ask a listener which state each output means.

    Parameters
    ----------
    listener : listener or callable
        Or only ``function(contexts, captions)``, as `predict_proba`.
    outputs, contexts : DataFrame
        Tables of these names; `contexts` may hold items of different numbers of states.
    evaluator : str
        Name of the listener.
    features : sequence of str
        Columns of `contexts` that the listener sees.

    Returns
    -------
    DataFrame
        A row per output and state: dataset, output_id, item_id, evaluator, state, is_target,
        probability (rows of an output sum to one, or are all NaN).

    Raises
    ------
    TableError
        If a table breaks its rules; a target that is missing or doubled does.
    ValueError
        When an item has no context, a column is missing, or the listener's answer is none.

    Examples
    --------
    >>> context = pd.DataFrame({"dataset": "d", "item_id": "i", "state": ["1", "2"], "hue": [0, 9]})
    >>> context["is_target"] = [True, False]
    >>> output = pd.DataFrame({"dataset": ["d"], "output_id": "o", "item_id": "i", "system": "s"})
    >>> output = output.assign(text="red", is_human=True, context="")
    >>> def guess(contexts, captions):
    ...     return np.full(contexts.shape[:2], 0.5)
    >>> found = beliefs(guess, output, context, evaluator="guess", features=["hue"])
    >>> found["probability"].tolist()
    [0.5, 0.5]
    """
    names = ["dataset", "output_id", "item_id", "evaluator", "state", "is_target", "probability"]
    frames = []
    for part, own, proba in _answers(listener, outputs, contexts, features):
        n_states = proba.shape[1]
        ids = part.loc[part.index.repeat(n_states), ["dataset", "output_id", "item_id"]]
        states = own.iloc[state_rows(own, part["item_id"]).ravel()]
        found = ids.assign(evaluator=evaluator, probability=proba.ravel())
        found["state"], found["is_target"] = states["state"].array, states["is_target"].array
        frames.append(found[names])
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def score_listener(
    listener: Asked,
    outputs: pd.DataFrame,
    contexts: pd.DataFrame,
    *,
    evaluator: str,
    features: Sequence[str] = COLOR,
    speaker: str | None = None,
) -> pd.DataFrame:
    """Score outputs by how well a listener understands them.

    Parameters
    ----------
    listener, outputs, contexts, evaluator, features
        As in `beliefs`.
    speaker : str, optional
        Column of `contexts` with S(w), which sums to one over the states of an item. Default:
        the speaker means the target.

    Returns
    -------
    DataFrame
        A `scores` table: ``exp(-M)``, 0 to 1, higher is better: the probability of the target,
        unless `speaker` is given. NaN where the listener has no opinion.

    Raises
    ------
    TableError, ValueError
        As `beliefs`, or when what the speaker believes does not sum to one.

    Notes
    -----
    Scores are of single outputs: put intervals on what is made of them, by resampling items.

    Examples
    --------
    >>> context = pd.DataFrame({"dataset": "d", "item_id": "i", "state": ["1", "2"], "hue": [0, 9]})
    >>> context["is_target"] = [True, False]
    >>> output = pd.DataFrame({"dataset": ["d"], "output_id": "o", "item_id": "i", "system": "s"})
    >>> output = output.assign(text="red", is_human=True, context="")
    >>> def guess(contexts, captions):
    ...     return np.full(contexts.shape[:2], 0.5)
    >>> score_listener(guess, output, context, evaluator="g", features=["hue"])["score"].tolist()
    [0.5]
    """
    frames = []
    for part, own, proba in _answers(listener, outputs, contexts, features):
        array, targets = context_arrays(
            own, part["item_id"], features=features if speaker is None else [speaker]
        )
        score = np.exp(-m_score(targets if speaker is None else array[:, :, 0], proba))
        frames.append(part[["dataset", "output_id"]].assign(evaluator=evaluator, score=score))
    found = pd.concat(frames).sort_index()
    meant = "target" if speaker is None else speaker
    return tables.check(
        found.assign(signature=f"exp(-KL(S||L))|speaker:{meant}|scale:0-1"), "scores"
    )


def _answers(
    listener: Asked, outputs: pd.DataFrame, contexts: pd.DataFrame, features: Sequence[str]
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, Floats]]:
    """Ask about outputs whose items have as many states, with the contexts of their dataset."""
    outputs = tables.check(outputs, "outputs")
    contexts = tables.check(contexts, "contexts")
    ask: Any = getattr(listener, "predict_proba", listener)
    for dataset, rows in outputs.groupby("dataset", sort=False):
        own = contexts[contexts["dataset"] == dataset]
        n_states = rows["item_id"].map(own["item_id"].value_counts())
        if n_states.isna().any():
            raise ValueError(
                f"contexts has no item {rows.loc[n_states.isna(), 'item_id'].iloc[0]!r} of "
                f"{dataset!r} ({int(n_states.isna().sum())} outputs): add its states, or leave its "
                "outputs out."
            )
        for n, part in rows.groupby(n_states.astype(np.int64), sort=False):
            array, _ = context_arrays(own, part["item_id"], features=features)
            answer = ask(array, part["text"].tolist())
            yield part, own, check_proba(answer, n=len(part), n_states=int(n))
