"""Listeners: what they are asked, and how outputs are scored by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.evaluators.listeners.features import (
    feature_columns,
    keys_of_items,
    numbers_of_states,
    state_rows,
)
from nlgbench.evaluators.listeners.probabilities import check_proba, measured, temper
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
        said = answers(self, study)
        if self.seen:
            assert study.contexts is not None
            items, keys = keys_of_items(study.contexts)
            learned = [item for item, key in zip(items, keys, strict=True) if key in self.seen]
            asked = study.outputs.loc[study.outputs["item_id"].isin(learned), "item_id"]
            if len(asked):
                raise ValueError(
                    f"{self.name} learned from the context of item {asked.iloc[0]!r} "
                    f"({len(asked)} outputs): leave such rounds out of what it is trained and "
                    "calibrated on."
                )
        of_target = said[said["is_target"]].set_index("output_id")["probability"]
        return of_target.rename("score").rename_axis(None)


def answers(listener: Listener, study: Study) -> pd.DataFrame:
    """Ask a listener of each output: a row per state, in the order of the outputs."""
    contexts, outputs = study.contexts, study.outputs
    if contexts is None:
        raise ValueError(
            f"{study.name} has no contexts, which say what could be meant: give Study(contexts=...)"
            " with item_id, state, is_target and a column per feature."
        )
    n_states = numbers_of_states(contexts, outputs["item_id"])
    values = contexts[feature_columns(contexts)].to_numpy(dtype=np.float64)
    parts = []
    for n, part in outputs.groupby(n_states, sort=False):  # as many states at once
        rows = state_rows(contexts, part["item_id"])
        answer = listener.predict_proba(values[rows], part["text"].tolist())
        proba = check_proba(answer, n=len(part), n_states=int(n))
        states = contexts[["state", "is_target"]].iloc[rows.ravel()]
        found = part.loc[part.index.repeat(n), ["output_id", "item_id"]]
        found[["state", "is_target"]] = states.set_axis(found.index)
        parts.append(found.assign(probability=proba.ravel()))
    return pd.concat(parts).sort_index(kind="stable")


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
    frames = [answers(one, study).assign(evaluator=name) for name, one in named(listeners).items()]
    columns = ["output_id", "item_id", "evaluator", "state", "is_target", "probability"]
    return pd.concat(frames, ignore_index=True)[columns]


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
        said = answers(listener, study)
        said["place"] = said.groupby("output_id").cumcount()
        wide = said.pivot(index="output_id", columns="place", values="probability")
        targets = said[said["is_target"]].set_index("output_id")["place"].loc[wide.index]
        # Items of fewer states are filled up by 0; outputs of which nothing is said stay undefined.
        proba = np.where(wide[[0]].isna(), np.nan, wide.fillna(0.0))
        stages = {"after": proba}
        temperature = getattr(listener, "temperature", None)
        if temperature is not None:
            stages = {"before": temper(proba, 1 / temperature), **stages}
        kind, seed = getattr(listener, "kind", name), getattr(listener, "seed", None)
        for stage, found in stages.items():
            table, curve = measured(found, targets.to_numpy(), confidence=confidence)
            tables.append(table.assign(listener=kind, seed=seed, stage=stage))
            curves.append(curve.assign(listener=kind, seed=seed, stage=stage))
    return Calibration(pd.concat(tables, ignore_index=True), pd.concat(curves, ignore_index=True))


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
        found = [one.predict_proba(contexts, captions) for one in self.listeners]
        return np.asarray(np.mean(found, axis=0))
