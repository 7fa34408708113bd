"""Aggregation of judgments to one label per output: majority vote, Dawid-Skene, MACE.

Both models are fitted by EM, which alternates between the outputs' classes and the annotators'
probabilities of each label. Each step needs only sums over an annotator's labels, weighted by class
probabilities: one sparse product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln

from nlgbench.crossed import Floats
from nlgbench.reported import Reported
from nlgbench.status import OK, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

Method = Literal["majority", "dawid_skene", "mace"]

#: Judgments with more distinct values cannot be aggregated as classes.
MOST_CLASSES = 30
#: With fewer judgments by an annotator, the accuracy's reason has a warning.
FEWEST_JUDGMENTS = 20
#: The smallest probability in a model, to avoid log(0).
_TINY = 1e-10
_CLOSE, _MOST_STEPS = 1e-6, 1000
#: Number of starts of MACE: one from the shares of votes, the others random.
_STARTS = 10
#: Priors of Hovy and others: Beta(.5, .5) for competence, Dirichlet(10) for spammers' answers.
_COMPETENCE, _STRATEGY = 0.5, 10.0


@dataclass(frozen=True, eq=False)
class AggregatedJudgments(Reported):
    """One label for each output, and annotators' agreement with it, as tables.

    Parameters
    ----------
    systems, outputs, annotators, judgments : DataFrame
        The tables described at `aggregate_judgments`.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=40, n_truth=0)
    >>> found = aggregate_judgments(study, method="majority")
    >>> isinstance(found, AggregatedJudgments), len(found.outputs)
    (True, 80)
    """

    systems: pd.DataFrame
    outputs: pd.DataFrame
    annotators: pd.DataFrame
    judgments: pd.DataFrame


@checked
def aggregate_judgments(
    study: Study,
    *,
    method: Method,
    dimension: str | None = None,
    seed: int | np.random.Generator = 0,
) -> AggregatedJudgments:
    """Aggregate each output's judgments to one label, by majority or by a model of annotators.

    Parameters
    ----------
    study : Study
        A study with judgments.
    method : {"majority", "dawid_skene", "mace"}
        ``"majority"``: the most frequent value. ``"dawid_skene"``: each annotator has a probability
        of each value for each true class (Dawid and Skene 1979). ``"mace"``: for each output, an
        annotator either knows the class or answers independently of it (Hovy and others 2013).
    dimension : str, optional
        A dimension of the judgments. Default: the study's quality dimension.
    seed : int or Generator
        Seed of MACE's random starts.

    Returns
    -------
    AggregatedJudgments
        ``outputs``, a row per judged output: output_id, system, label (NaN where two classes are
        equally likely), probability (of the label; for "majority" the share of votes), n_judgments,
        and ``p_<value>`` for each value.

        ``systems``, a row per system and value: system, value, estimate (the expected share of its
        outputs in that class, 0 to 1), n_outputs. For intervals, analyze ``judgments``.

        ``annotators``, in order of first appearance: annotator_id, accuracy (expected share of
        judgments equal to the output's class), competence (for "mace", the posterior mean
        probability of knowing the class; else NaN), n_judgments, status and reason (why there is no
        interval).

        ``judgments``: the labels as judgments of one annotator named after the method, for
        ``study.replace(judgments=found.judgments)``.

    Raises
    ------
    ValueError
        When there are no judgments, the dimension is unknown, or the number of distinct values is
        not between 2 and 30.

    Notes
    -----
    Values are nominal classes: on a scale of 1 to 5, mistaking a 5 for a 4 is as wrong as mistaking
    it for a 1. If most annotators make the same error, accuracy measures agreement with that error.

    **Dawid-Skene.** ``P(votes, class k of output i) = pi_k prod_j C_j[k, v_ij]``, by maximum
    likelihood (doi:10.2307/2346806), starting from the shares of votes. **MACE.** ``C_j[k, v] =
    theta_j [v = k] + (1 - theta_j) xi_j[v]``, with equally likely classes and the priors
    Beta(.5, .5) for theta and Dirichlet(10) for xi (https://aclanthology.org/N13-1132, section 3),
    by variational Bayes, with the best of ten starts.

    Accuracies have no intervals, because labels come from the same votes. In simulations, Wilson's
    intervals had coverage .51 to .89 (majority), and .77 to .92 if corrected for uncertain labels.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=40, n_truth=0)
    >>> found = aggregate_judgments(study, method="dawid_skene")
    >>> found.outputs[["output_id", "label", "probability"]].head(2).round(2)
      output_id  label  probability
    0     o0001    1.0          1.0
    1     o0002    1.0          1.0
    >>> judged = study.replace(judgments=found.judgments)
    >>> judged.judgments["annotator_id"].unique().tolist()
    ['dawid_skene']
    """
    dimension = study.dimension(dimension)
    votes = _votes(study, dimension)
    posterior, competence = _fitted(votes, method, np.random.default_rng(seed))
    outputs = _outputs_of(votes, posterior, method)
    judgments = outputs[["output_id"]].assign(
        annotator_id=method,
        dimension=dimension,
        group_id=votes.outputs["group_id"],
        value=outputs["label"],
    )
    return AggregatedJudgments(
        outputs=outputs,
        systems=_systems_of(votes, posterior),
        annotators=_annotators_of(votes, posterior, competence),
        judgments=judgments.dropna(subset="value").reset_index(drop=True),
    )


class _Votes(NamedTuple):
    """Counts of judgments, outputs x (annotator, value), and the outputs' ids."""

    said: csr_array
    classes: Floats
    annotators: NDArray
    #: output_id, system, group_id ("" if an output is in several groups).
    outputs: pd.DataFrame

    def by_annotator(self, posterior: Floats) -> Floats:
        """Sum class probabilities over each annotator's judgments (annotators, values, k)."""
        k = len(self.classes)
        return np.asarray(self.said.T @ posterior).reshape(-1, k, k)

    def by_value(self) -> Floats:
        """Count each output's votes by value."""
        into = csr_array(np.tile(np.eye(len(self.classes)), (len(self.annotators), 1)))
        return np.asarray((self.said @ into).toarray())


def _votes(study: Study, dimension: str) -> _Votes:
    assert study.judgments is not None
    rows = study.judgments[study.judgments["dimension"] == dimension]
    frame = rows.merge(study.outputs, on="output_id", validate="many_to_one")
    who, annotators = pd.factorize(frame["annotator_id"])
    values, label = np.unique(frame["value"].to_numpy(dtype=float), return_inverse=True)
    if not 1 < len(values) <= MOST_CLASSES:
        raise Unsupported(
            "many_values" if len(values) > 1 else "one_value",
            f"aggregation needs 2 to {MOST_CLASSES} distinct values. Found {len(values)} in "
            f"{dimension!r} of {study.name} (smallest: {values[0]:g}). Choose another dimension, "
            "or group the values into bins if there are too many.",
        )
    n_groups = frame.groupby("output_id")["group_id"].transform("nunique")
    frame["group_id"] = frame["group_id"].where(n_groups == 1, "")
    outputs = frame.drop_duplicates("output_id").reset_index(drop=True)
    at = pd.Index(outputs["output_id"]).get_indexer(frame["output_id"])
    shape = len(outputs), len(annotators) * len(values)
    said = csr_array((np.ones(len(frame)), (at, who * len(values) + label)), shape)
    columns = ["output_id", "system", "group_id"]
    return _Votes(said, values, np.asarray(annotators), outputs[columns])


def _fitted(votes: _Votes, method: str, rng: np.random.Generator) -> tuple[Floats, Floats | float]:
    """Return class probabilities (outputs, k), and for MACE each annotator's competence."""
    counts = votes.by_value()
    if method == "majority":
        most = counts == counts.max(axis=1, keepdims=True)
        return most / most.sum(axis=1, keepdims=True), np.nan
    shares = counts / counts.sum(axis=1, keepdims=True)
    if method == "dawid_skene":
        return converge(votes.said, shares).posterior, np.nan
    n, k = counts.shape
    n_annotators = len(votes.annotators)
    first = rng.dirichlet(np.ones(k), (n, _STARTS))
    knows = rng.uniform(0.2, 0.8, (n_annotators, _STARTS))
    habit = rng.dirichlet(np.full(k, 5.0), (n_annotators, _STARTS))
    first[:, 0], knows[:, 0], habit[:, 0] = shares, 0.5, 1 / k
    runs = [
        converge(votes.said, first[:, at], (knows[:, at], (1 - knows[:, [at]]) * habit[:, at]))
        for at in range(_STARTS)
    ]
    best = max(runs, key=lambda run: run.objective)
    return best.posterior, best.state[2]


class Run(NamedTuple):
    """The result of EM."""

    posterior: Floats
    state: tuple[Floats, ...]
    #: The log-likelihood, or its lower bound for MACE.
    objective: float


def converge(
    said: csr_array, posterior: Floats, state: tuple[Floats, ...] = (), *, close: float = _CLOSE
) -> Run:
    """Alternate between annotators' probabilities and outputs' classes until convergence.

    `said` counts outputs x (annotator, value), and `posterior` has shape (outputs, k). With a
    `state` (competences, and answers by guessing), the model is MACE, else that of Dawid and Skene.
    """
    k, to_annotators = posterior.shape[1], said.T.tocsr()
    lost, share = 0.0, np.full(k, 1 / k)
    for _ in range(_MOST_STEPS):
        sums = (to_annotators @ posterior).reshape(-1, k, k)
        if state:
            state, log_chances, lost = _mace(sums, state)
        else:
            sums = np.maximum(sums, _TINY)
            log_chances = np.log(sums / sums.sum(axis=1, keepdims=True))
            share = posterior.mean(axis=0)
        joint = said @ log_chances.reshape(-1, k) + np.log(np.maximum(share, _TINY))
        before, of_output = posterior, np.logaddexp.reduce(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - of_output)
        if np.abs(posterior - before).max() < close:
            break
    return Run(posterior, state, float(of_output.sum()) - lost)


def _mace(sums: Floats, state: tuple[Floats, ...]) -> tuple[tuple[Floats, ...], Floats, float]:
    """Update MACE's posteriors of competence and guesses, and their divergence from the priors."""
    knows, habit = state[:2]
    known = np.einsum("avv->av", sums) * knows[:, None]
    known /= np.maximum(knows[:, None] + habit, np.finfo(float).tiny)
    answered = np.maximum(sums.sum(axis=2) - known, 0)
    of_knowing = np.stack([known.sum(axis=1), answered.sum(axis=1)], axis=1) + _COMPETENCE
    of_habit = answered + _STRATEGY
    logs = _expected_logs(of_knowing)
    knows, habit = np.exp(logs[:, 0]), np.exp(logs[:, [1]] + _expected_logs(of_habit))
    lost = _from_prior(of_knowing, _COMPETENCE) + _from_prior(of_habit, _STRATEGY)
    mean = of_knowing[:, 0] / of_knowing.sum(axis=1)
    both = habit[:, :, None] + knows[:, None, None] * np.eye(habit.shape[1])
    return (knows, habit, mean), np.log(np.maximum(both, _TINY)), lost


def _expected_logs(parameters: Floats) -> Floats:
    """Compute expected logarithms of shares with a Dirichlet distribution over axis 1."""
    return np.asarray(digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True)))


def _from_prior(parameters: Floats, prior: float) -> float:
    """Sum divergences of Dirichlet posteriors from a symmetric prior, up to a constant."""
    of_posterior = gammaln(parameters.sum(axis=1)) - gammaln(parameters).sum(axis=1)
    moved = ((parameters - prior) * _expected_logs(parameters)).sum(axis=1)
    return float((of_posterior + moved).sum())


def _outputs_of(votes: _Votes, posterior: Floats, method: str) -> pd.DataFrame:
    counts = votes.by_value()
    n_judgments = counts.sum(axis=1)
    shown = counts / n_judgments[:, None] if method == "majority" else posterior
    best = shown.max(axis=1)
    tied = (shown >= best[:, None] - 1e-9).sum(axis=1) > 1
    label = np.where(tied, np.nan, votes.classes[shown.argmax(axis=1)])
    table = votes.outputs[["output_id", "system"]]
    table = table.assign(label=label, probability=best, n_judgments=n_judgments.astype(int))
    return table.assign(**{f"p_{one:g}": shown[:, at] for at, one in enumerate(votes.classes)})


def _systems_of(votes: _Votes, posterior: Floats) -> pd.DataFrame:
    shares = pd.DataFrame(posterior, columns=votes.classes)
    by = shares.groupby(votes.outputs["system"], sort=False)
    mean: Any = by.mean().rename_axis(columns="value").stack()
    table = mean.rename("estimate").reset_index()
    return table.assign(n_outputs=table["system"].map(by.size()))


def _annotators_of(votes: _Votes, posterior: Floats, competence: Floats | float) -> pd.DataFrame:
    sums = votes.by_annotator(posterior)
    n = sums.sum(axis=(1, 2))
    few, same = explain("few_judgments", least=FEWEST_JUDGMENTS), explain("same_judgments")
    table = pd.DataFrame(
        {
            "annotator_id": votes.annotators,
            "accuracy": np.einsum("avv->a", sums) / n,
            "competence": competence,
            "n_judgments": np.round(n).astype(int),
            "status": [(few if size < FEWEST_JUDGMENTS else OK) + same for size in np.round(n)],
        }
    )
    return split_status(table)
