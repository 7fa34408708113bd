"""Listeners: what they are asked, and how outputs are scored by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.evaluators.listeners.features import (
    context_keys,
    feature_columns,
    numbers_of_states,
    state_rows,
)
from nlgbench.evaluators.listeners.probabilities import (
    check_proba,
    measures,
    reliability,
    temper,
)
from nlgbench.study import Study
from nlgbench.study.checks import checked

Floats = NDArray[np.float64]


class Listener:
    """What can be asked which state a caption means: give `predict_proba` to make one of your own.

    Attributes
    ----------
    name : str
        What tables call it.
    signature : str
        What its scores are: recipe, unit and scale.

    Examples
    --------
    >>> class Guess(Listener):
    ...     name = "guess"
    ...
    ...     def predict_proba(self, contexts, captions):
    ...         return np.full(contexts.shape[:2], 1 / contexts.shape[1])
    >>> output = pd.DataFrame({"output_id": ["o"], "item_id": "i", "system": "s", "text": "red"})
    >>> context = pd.DataFrame({"item_id": "i", "state": ["1", "2"], "hue": [0.0, 9.0]})
    >>> context["is_target"] = [True, False]
    >>> Guess().score_outputs(Study(output, contexts=context)).to_dict()
    {'o': 0.5}
    """

    name: str = "listener"
    #: Contexts that it learned from or was calibrated on, which it does not score.
    seen: frozenset[str] = frozenset()

    @property
    def signature(self) -> str:
        """Say what its scores are: recipe, unit and scale."""
        return f"exp(-KL(S||L))|{self._recipe()}|speaker:target|scale:0-1"

    def _recipe(self) -> str:
        return self.name

    def predict_proba(self, contexts: Any, captions: Any) -> Floats:
        """Give the probability of each state, (n, n_states); a row of NaN where it cannot say.

        Parameters
        ----------
        contexts : array-like of shape (n, n_states, n_features)
            States as they are.
        captions : sequence of str
            One per context.
        """
        raise NotImplementedError

    def score_outputs(self, study: Study) -> pd.Series:
        """Score outputs by how well the listener understands them.

        Parameters
        ----------
        study : Study
            With contexts.

        Returns
        -------
        Series
            By output_id: the probability of the target, 0 to 1, higher is better. It is ``exp(-M)``
            where the speaker means the target, M being the divergence of Newman, Cohn-Gordon and
            Potts (2020, arXiv:1909.07290, equation 1). NaN where the listener has no opinion.

        Raises
        ------
        ValueError
            When an output has no context, the listener learned from one of the contexts, or its
            answer is none.
        """
        scores = []
        for part, rows, keys, proba in answers(self, study):
            at = [n for n, key in enumerate(keys) if key in self.seen]
            if at:
                raise ValueError(
                    f"{self.name} learned from the context of item {part['item_id'].iloc[at[0]]!r} "
                    f"({len(at)} outputs): leave such rounds out of what it is trained and "
                    "calibrated on."
                )
            assert study.contexts is not None
            target = study.contexts["is_target"].to_numpy()[rows]
            score = np.where(target, proba, 0).sum(axis=1)
            scores.append(pd.Series(score, index=part.index))
        found = pd.concat(scores).reindex(study.outputs.index)
        return found.set_axis(study.outputs["output_id"].to_numpy()).rename("score")


def answers(
    listener: Listener, study: Study
) -> Iterator[tuple[pd.DataFrame, NDArray[np.int64], list[str], Floats]]:
    """Ask of outputs whose items have as many states: outputs, rows of states, keys, answer."""
    contexts = study.contexts
    if contexts is None:
        raise ValueError(
            f"{study.name} has no contexts, which say what could be meant: give Study(contexts=...)"
            " with item_id, state, is_target and a column per feature."
        )
    n_states = numbers_of_states(contexts, study.outputs["item_id"])
    values = contexts[feature_columns(contexts)].to_numpy(dtype=np.float64)
    for n, part in study.outputs.groupby(n_states, sort=False):
        rows = state_rows(contexts, part["item_id"])
        states = values[rows]
        answer = listener.predict_proba(states, part["text"].tolist())
        keys = context_keys(states) if listener.seen else [""] * len(part)
        yield part, rows, keys, check_proba(answer, n=len(part), n_states=int(n))


Listeners = Listener | Mapping[str, Listener] | Iterable[Listener]


def named(listeners: Listeners) -> dict[str, Listener]:
    """List listeners by name."""
    if isinstance(listeners, Listener):
        listeners = [listeners]
    if not isinstance(listeners, Mapping):
        listeners = {one.name: one for one in listeners}
    return dict(listeners)


@checked
def beliefs(study: Study, listeners: Listeners) -> pd.DataFrame:
    """Ask listeners which state each output means.

    Parameters
    ----------
    study : Study
        With contexts; items may have different numbers of states.
    listeners : Listener, several, or a mapping of name to Listener
        Such as from `train_listeners`.

    Returns
    -------
    DataFrame
        A row per listener, output and state: output_id, item_id, evaluator, state, is_target,
        probability (rows of an output sum to one, or are all NaN).

    Raises
    ------
    ValueError
        When an output has no context, or a listener's answer is none.

    Examples
    --------
    >>> output = pd.DataFrame({"output_id": ["o"], "item_id": "i", "system": "s", "text": "red"})
    >>> context = pd.DataFrame({"item_id": "i", "state": ["1", "2"], "hue": [0.0, 9.0]})
    >>> context["is_target"] = [True, False]
    >>> class Guess(Listener):
    ...     def predict_proba(self, contexts, captions):
    ...         return np.array([[0.7, 0.3]])
    >>> found = beliefs(Study(output, contexts=context), Guess())
    >>> found["probability"].tolist()
    [0.7, 0.3]
    """
    frames = []
    for name, listener in named(listeners).items():
        parts = []
        for part, rows, _, proba in answers(listener, study):
            assert study.contexts is not None
            states = study.contexts.iloc[rows.ravel()]
            found = part.loc[part.index.repeat(proba.shape[1]), ["output_id", "item_id"]]
            parts.append(
                found.assign(
                    evaluator=name,
                    state=states["state"].array,
                    is_target=states["is_target"].array,
                    probability=proba.ravel(),
                )
            )
        frames.append(pd.concat(parts).sort_index(kind="stable"))
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class Calibration:
    """How good listeners' probabilities are.

    Attributes
    ----------
    measures : DataFrame
        A row per listener, stage and measure: measure, estimate, ci_low, ci_high, confidence, n,
        n_undefined, reason, listener, seed, stage. ``accuracy`` (0 to 1, higher is better): the
        most probable state is the target; where m are equally probable and the target is one of
        them, 1 / m. ``nll`` (nats, lower is better): mean minus log-probability of the target.
        ``ece`` (0 to 1, lower is better): expected calibration error.
    bins : DataFrame
        A row per listener, stage and bin of probability: bin_low (exclusive), bin_high (inclusive),
        probability (mean in the bin), share (how often right, ties split), ci_low, ci_high,
        confidence, n, ece (of all bins), listener, seed, stage. NaN in an empty bin.
    """

    measures: pd.DataFrame
    bins: pd.DataFrame


@checked
def calibration(study: Study, listeners: Listeners, *, confidence: float = 0.95) -> Calibration:
    """Measure whether listeners' probabilities mean what they say, before and after calibration.

    Parameters
    ----------
    study : Study
        With contexts, and outputs that mean their targets: rounds that nothing was chosen on.
    listeners : Listener, several, or a mapping of name to Listener
        Those with a temperature are measured without it, too (stage ``before``).
    confidence : float, default 0.95
        Coverage asked for.

    Returns
    -------
    Calibration
        Tables of measures and of bins; `plot_reliability` draws it.

    Raises
    ------
    ValueError
        As `beliefs`, or when a listener has no opinion at all.

    Notes
    -----
    Expected calibration error (Guo et al. 2017, arXiv:1706.04599, section 2) over fifteen bins,
    ``sum(n_b / n * |share_b - probability_b|)``, has no interval: it is above 0 even for a
    calibrated listener. Intervals take outputs as independent: Wilson's for accuracy and shares,
    normal for nll.

    Examples
    --------
    >>> class Guess(Listener):
    ...     def predict_proba(self, contexts, captions):
    ...         return np.array([[0.7, 0.3]])
    >>> output = pd.DataFrame({"output_id": ["o"], "item_id": "i", "system": "s", "text": "red"})
    >>> context = pd.DataFrame({"item_id": "i", "state": ["1", "2"], "hue": [0.0, 9.0]})
    >>> context["is_target"] = [True, False]
    >>> found = calibration(Study(output, contexts=context), Guess()).measures
    >>> found.set_index("measure")["estimate"].round(3).to_dict()
    {'accuracy': 1.0, 'nll': 0.357, 'ece': 0.3}
    """
    tables, curves = [], []
    for name, listener in named(listeners).items():
        proba, targets = _of_all(listener, study)
        stages = {"after": proba}
        temperature = getattr(listener, "temperature", None)
        if temperature is not None:
            stages = {"before": temper(proba, 1 / temperature), **stages}
        about = {
            "listener": getattr(listener, "kind", name),
            "seed": getattr(listener, "seed", None),
        }
        for stage, found in stages.items():
            about["stage"] = stage
            tables.append(measures(found, targets, confidence=confidence).assign(**about))
            curves.append(reliability(found, targets, confidence=confidence).assign(**about))
    return Calibration(pd.concat(tables, ignore_index=True), pd.concat(curves, ignore_index=True))


def _of_all(listener: Listener, study: Study) -> tuple[Floats, NDArray[np.int64]]:
    """Give beliefs of all outputs and places of their targets; fewer states are padded by 0."""
    found, targets = [], []
    for _, rows, _, proba in answers(listener, study):
        assert study.contexts is not None
        found.append(pd.DataFrame(proba))
        targets.append(study.contexts["is_target"].to_numpy()[rows].argmax(axis=1))
    whole = pd.concat(found)
    silent = whole[0].isna().to_numpy()
    proba = whole.fillna(0.0).to_numpy(copy=True)
    proba[silent] = np.nan
    return proba, np.concatenate(targets)


class EnsembleListener(Listener):
    """The mean of several fitted listeners' probabilities; undefined where one has no opinion."""

    name = "ensemble"

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.listeners = list(listeners)
        self.seen = frozenset().union(*(one.seen for one in self.listeners))

    def _recipe(self) -> str:
        return f"mean of {', '.join(one._recipe() for one in self.listeners)}"

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return mean probabilities, (n, n_states)."""
        n, n_states = np.shape(contexts)[:2]
        found = (one.predict_proba(contexts, captions) for one in self.listeners)
        sound = [check_proba(answer, n=n, n_states=n_states) for answer in found]
        return np.asarray(np.mean(sound, axis=0))
