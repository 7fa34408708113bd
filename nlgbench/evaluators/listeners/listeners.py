"""The interface of listeners, their scores of outputs, and their calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from nlgbench.arrays import Floats
from nlgbench.evaluators.listeners.features import (
    count_states,
    feature_columns,
    keys_of_items,
    state_rows,
)
from nlgbench.evaluators.listeners.probabilities import check_proba, measure_calibration, temper
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked


class Listener:
    """Infer which state a caption refers to; implement `predict_proba` for your own listener.

    Tables show its `name`, and its `signature`: recipe, unit and scale of its scores.

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
    #: Keys of contexts used for training or calibration, which the listener refuses to score.
    seen: frozenset[str] = frozenset()

    @property
    def signature(self) -> str:
        """Describe its scores: recipe, unit and scale."""
        return f"exp(-KL(S||L))|{self._recipe()}|speaker:target|scale:0-1"

    def _recipe(self) -> str:
        return self.name

    def predict_proba(self, contexts: Any, captions: Any) -> Floats:
        """Return the probability of each state, (n, n_states); a row of NaN where undefined.

        `contexts` are features of the states, (n, n_states, n_features), with one caption each.
        """
        raise NotImplementedError

    def score_outputs(self, study: Study) -> pd.Series:
        """Score outputs by the probability that the listener assigns to the target, by output_id.

        Higher is better, from 0 to 1. If the speaker means the target, it is ``exp(-M)``, where M
        is the divergence of Newman, Cohn-Gordon and Potts (2020, arXiv:1909.07290, equation 1). NaN
        where the listener returns NaN.
        """
        answers = ask_listener(self, study)
        if self.seen:
            assert study.contexts is not None
            items, keys = keys_of_items(study.contexts)
            learned = [item for item, key in zip(items, keys, strict=True) if key in self.seen]
            refused = study.outputs.loc[study.outputs["item_id"].isin(learned), "item_id"]
            if len(refused):
                raise ValueError(
                    f"{self.name} learned from contexts of this study, such as that of item "
                    f"{refused.iloc[0]!r}. Remove them from its training and calibration data."
                )
        of_target = answers[answers["is_target"]].set_index("output_id")["probability"]
        return of_target.rename("score").rename_axis(None)


def tabulate_scores(study: Study, listeners: Mapping[str, Listener]) -> pd.DataFrame:
    """Score a study's outputs with listeners: a row per name and output."""
    frames = []
    for name, listener in listeners.items():
        scores = listener.score_outputs(study).rename_axis("output_id").reset_index()
        frames.append(scores.assign(evaluator=name, signature=listener.signature))
    return pd.concat(frames, ignore_index=True)


def ask_listener(listener: Listener, study: Study) -> pd.DataFrame:
    """Return a listener's probabilities for each output: a row per state, in outputs' order."""
    contexts, outputs = study.contexts, study.outputs
    if contexts is None:
        raise Unsupported(
            "no_contexts",
            f"{study.name} has no contexts, so the possible states are unknown. Add a table of "
            "contexts to the study, with item_id, state, is_target and a column per feature.",
        )
    n_states = count_states(contexts, outputs["item_id"])
    values = contexts[feature_columns(contexts)].to_numpy(dtype=np.float64)
    tables = []
    for n, group in outputs.groupby(n_states, sort=False):  # one number of states at a time
        rows = state_rows(contexts, group["item_id"])
        answer = listener.predict_proba(values[rows], group["text"].tolist())
        proba = check_proba(answer, n=len(group), n_states=int(n))
        states = contexts[["state", "is_target"]].iloc[rows.ravel()]
        table = group.loc[group.index.repeat(n), ["output_id", "item_id"]]
        table[["state", "is_target"]] = states.set_axis(table.index)
        tables.append(table.assign(probability=proba.ravel()))
    return pd.concat(tables).sort_index(kind="stable")


Listeners = Listener | Mapping[str, Listener] | Iterable[Listener]


def named(listeners: Listeners) -> dict[str, Listener]:
    """Return listeners by name."""
    if isinstance(listeners, Listener):
        listeners = [listeners]
    if not isinstance(listeners, Mapping):
        listeners = {listener.name: listener for listener in listeners}
    return dict(listeners)


@checked
def beliefs(study: Study, listeners: Listeners) -> pd.DataFrame:
    """Compute each listener's probability that an output refers to a state, for every state.

    Parameters
    ----------
    study : Study
        A study with contexts; items may have different numbers of states.
    listeners : Listener, several, or a mapping of name to Listener
        Listeners, such as those from `train_listeners`.

    Returns
    -------
    DataFrame
        A row per listener, output and state: output_id, item_id, evaluator, state, is_target,
        probability (for each listener and output, they sum to one, or all are NaN).

    Raises
    ------
    ValueError
        If an output has no context, or a listener's probabilities are invalid.

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
        frames.append(ask_listener(listener, study).assign(evaluator=name))
    columns = ["output_id", "item_id", "evaluator", "state", "is_target", "probability"]
    return pd.concat(frames, ignore_index=True)[columns]


@dataclass(frozen=True)
class Calibration:
    """Accuracy, log loss and calibration error of listeners' probabilities.

    ``measures`` has a row per listener, stage (before or after temperature scaling) and measure,
    with estimate, ci_low, ci_high, confidence, n, n_undefined, status (a code; ``ok``), reason.
    ``accuracy`` (0 to 1): share of outputs whose most probable state is the target (1/m if m states
    tie). ``nll`` (nats, lower is better): mean negative log-probability of the target. ``ece`` (0
    to 1, lower is better): expected calibration error.

    ``bins`` has a row per listener, stage and bin of probability: bin_low (exclusive), bin_high
    (inclusive), probability (mean in the bin), estimate (share correct, ties split), ci_low,
    ci_high, confidence, n, ece (over all bins). NaN in an empty bin.
    """

    measures: pd.DataFrame
    bins: pd.DataFrame


@checked
def calibration(study: Study, listeners: Listeners, *, confidence: float = 0.95) -> Calibration:
    """Measure the calibration of listeners' probabilities, before and after temperature scaling.

    Parameters
    ----------
    study : Study
        A study with contexts, whose outputs refer to their targets. Use rounds that were not used
        in training, model selection or temperature scaling.
    listeners : Listener, several, or a mapping of name to Listener
        Listeners with a temperature are also measured without it (stage ``before``).
    confidence : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    Calibration
        Tables of measures and of bins, for `plot_reliability`.

    Raises
    ------
    ValueError
        Under the same conditions as `beliefs`, or if all of a listener's probabilities are NaN.

    Notes
    -----
    Expected calibration error (Guo et al. 2017, arXiv:1706.04599, section 2) over fifteen bins,
    ``sum(n_b / n * |share_b - probability_b|)``, has no interval, because it is biased upward: its
    mean exceeds 0 even for a calibrated listener. Intervals assume independent outputs: Wilson's
    for accuracy and shares, normal for nll.

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
        answers = ask_listener(listener, study)
        answers["place"] = answers.groupby("output_id").cumcount()
        wide = answers.pivot(index="output_id", columns="place", values="probability")
        targets = answers[answers["is_target"]].set_index("output_id")["place"].loc[wide.index]
        # Items with fewer states are padded with 0; undefined rows stay undefined.
        proba = np.where(wide[[0]].isna(), np.nan, wide.fillna(0.0))
        stages = {"after": proba}
        temperature = getattr(listener, "temperature", None)
        if temperature is not None:
            stages = {"before": temper(proba, 1 / temperature), **stages}
        kind, seed = getattr(listener, "kind", name), getattr(listener, "seed", None)
        for stage, proba in stages.items():
            table, curve = measure_calibration(proba, targets.to_numpy(), confidence=confidence)
            tables.append(table.assign(listener=kind, seed=seed, stage=stage))
            curves.append(curve.assign(listener=kind, seed=seed, stage=stage))
    return Calibration(pd.concat(tables, ignore_index=True), pd.concat(curves, ignore_index=True))


class EnsembleListener(Listener):
    """Average the probabilities of several fitted listeners; NaN where any of them is NaN."""

    name = "ensemble"

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.listeners = list(listeners)
        self.seen = frozenset().union(*(listener.seen for listener in self.listeners))

    def _recipe(self) -> str:
        return f"mean of {', '.join(listener._recipe() for listener in self.listeners)}"

    def predict_proba(self, contexts: ArrayLike, captions: Sequence[str]) -> Floats:
        """Return mean probabilities, (n, n_states)."""
        probabilities = [listener.predict_proba(contexts, captions) for listener in self.listeners]
        return np.asarray(np.mean(probabilities, axis=0))
