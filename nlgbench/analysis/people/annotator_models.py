"""One label from several annotators: majority, mean, and models of who can be trusted.

`aggregate_judgments` from top to bottom, then the two models. Both alternate between the outputs'
classes and the annotators' chances to give each label (EM). All that either needs of the judgments
are sums over an annotator's labels, weighted by the classes' probabilities: one sparse product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from nlgbench.crossed import THESE_ANNOTATORS, few_clusters
from nlgbench.inference import Floats, bootstrap_counts, linked
from nlgbench.names import brief
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked

Ints = NDArray[np.int64]
Method = Literal["majority", "mean", "dawid_skene", "mace"]

#: More different values than these are no classes.
MOST_CLASSES = 30
#: An annotator's accuracy from fewer judgments is marked.
FEWEST_JUDGMENTS = 20
#: Of the chances that a model holds for impossible.
_TINY = 1e-10
_CLOSE, _MOST_STEPS = 1e-6, 1000
#: Refits are for a spread: nearer costs many steps and moves it little.
_CLOSE_AGAIN = 1e-4
#: Starts of MACE: the shares of votes, and random ones.
_STARTS = 10
#: Hovy and others' priors: Beta(.5, .5) of competence, Dirichlet(10) of what spammers answer.
_COMPETENCE, _STRATEGY = 0.5, 10.0


@dataclass(frozen=True, eq=False)
class AggregatedJudgments(Reported):
    """One label for each output, and how far annotators agree with it, as tables.

    Parameters
    ----------
    outputs, systems, annotators, confusion, judgments : DataFrame
        As `aggregate_judgments` says.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("labels", n_items=20, seed=1)
    >>> found = aggregate_judgments(study, method="mean", n_resamples=0)
    >>> isinstance(found, AggregatedJudgments), len(found.outputs)
    (True, 80)
    """

    outputs: pd.DataFrame
    systems: pd.DataFrame
    annotators: pd.DataFrame
    confusion: pd.DataFrame
    judgments: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.systems.round(3)


@checked
def aggregate_judgments(
    study: Study,
    *,
    method: Method = "majority",
    dimension: str | None = None,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> AggregatedJudgments:
    """Make one label of each output's judgments, by counting or by a model of the annotators.

    Parameters
    ----------
    study : Study
        With judgments.
    method : {"majority", "mean", "dawid_skene", "mace"}
        ``"majority"``: the commonest value. ``"mean"``: the mean value. ``"dawid_skene"``: every
        annotator has chances to say each value of each true class (Dawid and Skene 1979).
        ``"mace"``: every annotator either knows, or answers by a habit that looks at no output
        (Hovy and others 2013), by variational Bayes.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    n_resamples : int
        Bootstrap samples for intervals, each of which is fitted anew; 0 leaves intervals out.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    AggregatedJudgments
        ``outputs``, a row per judged output: output_id, system, label (a value; the mean for
        "mean"; NaN where two classes are equally likely), probability (of the label, by the model;
        for "majority" the share of votes), n_judgments, and for each value ``p_<value>``.

        ``systems``, a row per system and value (for "mean" one, value NaN): system, value, estimate
        (the expected share of its outputs in that class, 0 to 1, where equally likely classes have
        equal parts; or the mean), se, ci_low, ci_high, covers, n_outputs, n_clusters, reason.

        ``annotators``, in order of first appearance: annotator_id, accuracy (expected share of
        their judgments that are the output's class), ci_low, ci_high, competence ("mace": how often
        they know, mean of its posterior; else NaN), n_judgments, reason.

        ``confusion`` (models): annotator_id, true_value, value, probability (NaN where the
        annotator judged nothing of that class). ``judgments``: the labels as judgments of one
        annotator, called as the method: ``study.replace(judgments=found.judgments)`` is the study
        as this annotator judged it, which every analysis takes.

    Raises
    ------
    ValueError
        When there are no judgments, the dimension is unknown, or there are more than 30
        different values, or one, and the method wants classes.

    Notes
    -----
    **Values are nominal classes** for all but the mean: of 1 to 5, a 4 is as wrong for a 5 as a 1
    is. An annotator who judged an output twice counts twice. Nothing is known of true classes:
    where most annotators err alike, accuracy is agreement with an error.

    **Dawid-Skene.** ``P(votes, class k of output i) = pi_k prod_j C_j[k, v_ij]``, maximum
    likelihood (doi:10.2307/2346806), from the shares of votes, as another maximum may have the
    classes' names exchanged. Chances of 0 are held at 1e-10.

    **MACE.** ``C_j[k, v] = theta_j [v = k] + (1 - theta_j) xi_j[v]``, all classes equally likely;
    theta has the prior Beta(.5, .5), xi Dirichlet(10) (https://aclanthology.org/N13-1132, section
    3). Of ten starts the one with the greatest bound is taken.

    Intervals of systems: a bootstrap over clusters (HITs, which are linked where they share
    outputs; items where there are none) of which each is fitted anew, t with G - 1 degrees of
    freedom times the standard error, cut at 0 and 1. Of annotators: Wilson's
    (doi:10.1080/01621459.1927.10502953) with the number of judgments that gives the variance of a
    bootstrap over outputs, at most the true one. Refits start where the fit ended. They say what
    other outputs would give, if the model holds, not how far its labels are off: of systems' shares
    95% intervals held .81 to .88 for Dawid-Skene, .56 to .83 for MACE and, with skewed classes, .01
    (docs/annotator-models.md). Of annotators they held .92 to .97 where the model holds.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("labels", n_items=50, seed=1)
    >>> found = aggregate_judgments(study, method="dawid_skene", n_resamples=50)
    >>> found.outputs[["output_id", "label", "probability"]].head(2).round(2)
        output_id  label  probability
    0  i001-sys_a    0.0         1.00
    1  i001-sys_b    1.0         0.99
    >>> judged = study.replace(judgments=found.judgments)
    >>> judged.judgments["annotator_id"].unique().tolist()
    ['dawid_skene']
    """
    rng = np.random.default_rng(seed)
    dimension = study.dimension(dimension)
    votes = _votes(study, dimension)
    if method != "mean":
        _check_classes(votes, study, dimension, method)
    fit = _fitted(votes, method, rng)
    again = _bootstrapped(votes, fit, method, n_resamples, rng)
    outputs = _outputs_of(votes, fit, method)
    annotators = _annotators_of(votes, fit, again, confidence)
    systems = _systems_of(votes, fit, again, confidence)
    labelled = outputs[outputs["label"].notna()]
    judgments = pd.DataFrame(
        {
            "output_id": labelled["output_id"],
            "annotator_id": method,
            "dimension": dimension,
            "group_id": votes.page[labelled.index],
            "value": labelled["label"],
        }
    ).reset_index(drop=True)
    return AggregatedJudgments(
        outputs=outputs,
        systems=systems,
        annotators=annotators,
        confusion=_confusion_of(votes, fit),
        judgments=judgments,
    )


# What is given -------------------------------------------------------------------------------


class _Votes(NamedTuple):
    """Judgments as numbers: outputs x (annotator, value) counts, and what each output is."""

    said: csr_array
    mean: Floats
    classes: Floats
    annotators: NDArray
    outputs: pd.DataFrame
    page: NDArray
    cluster: Ints

    @property
    def shape(self) -> tuple[int, int, int]:
        """Outputs, annotators, values."""
        n_classes = len(self.classes)
        return self.said.shape[0], self.said.shape[1] // n_classes, n_classes

    def by_value(self) -> Floats:
        """Count each output's votes by value."""
        _, n_annotators, n_classes = self.shape
        into = csr_array(np.tile(np.eye(n_classes), (n_annotators, 1)))
        return np.asarray((self.said @ into).toarray())


def _votes(study: Study, dimension: str) -> _Votes:
    assert study.judgments is not None
    rows = study.judgments[study.judgments["dimension"] == dimension]
    frame = rows.merge(study.outputs, on="output_id", validate="many_to_one")
    task, ids = pd.factorize(frame["output_id"])
    who, annotators = pd.factorize(frame["annotator_id"])
    values, label = np.unique(frame["value"].to_numpy(dtype=float), return_inverse=True)
    n_cells = len(annotators) * len(values)
    said = csr_array((np.ones(len(frame)), (task, who * len(values) + label)), (len(ids), n_cells))
    unit = frame["group_id"].mask(frame["group_id"] == "", "item " + frame["item_id"])
    part = linked(frame["output_id"], unit)
    whole = frame.drop_duplicates("output_id")
    several = frame.groupby("output_id", sort=False)["group_id"].nunique().to_numpy() > 1
    return _Votes(
        said=said,
        mean=frame.groupby("output_id", sort=False)["value"].mean().to_numpy(),
        classes=values,
        annotators=np.asarray(annotators),
        outputs=whole[["output_id", "system"]].reset_index(drop=True),
        page=np.where(several, "", whole["group_id"].to_numpy()),
        cluster=pd.factorize(part[whole.index])[0],
    )


def _check_classes(votes: _Votes, study: Study, dimension: str, method: str) -> None:
    n = len(votes.classes)
    if n > MOST_CLASSES:
        raise ValueError(
            f"method={method!r} takes values for classes, and {dimension!r} of {study.name} has "
            f"{n} different ones ({brief(votes.classes[:3].tolist())}, ...), more than "
            f"{MOST_CLASSES}: use method='mean', or put values into a few bins first."
        )
    if n < 2:
        raise ValueError(
            f"all judgments of {dimension!r} of {study.name} are {votes.classes[0]:g}: there is "
            "nothing to tell apart. Use method='mean', or another dimension."
        )


# The models ----------------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Classes' probabilities (outputs, k), what annotators say (annotators, value, k), the rest."""

    posterior: Floats
    chances: Floats | None = None
    competence: Floats | None = None
    state: tuple[Floats, ...] = ()
    n_steps: int = 0


def _fitted(votes: _Votes, method: str, rng: np.random.Generator) -> _Fit:
    if method == "mean":
        return _Fit(votes.mean[:, None])
    counts = votes.by_value()
    if method == "majority":
        return _Fit(_hardest(counts))
    n, n_annotators, n_classes = votes.shape
    once = np.ones(n)
    first = rng.dirichlet(np.ones(n_classes), (n, _STARTS))
    first[:, 0] = counts / counts.sum(axis=1, keepdims=True)
    if method == "dawid_skene":
        run = converge(votes.said, method, first[:, 0], once)
        sums = (votes.said.T @ run.posterior).reshape(n_annotators, n_classes, n_classes)
        total = sums.sum(axis=1, keepdims=True)
        return _Fit(run.posterior, sums / np.where(total > 1e-9, total, np.nan), None, (), run.n)
    knows = rng.uniform(0.2, 0.8, (n_annotators, _STARTS))
    habit = rng.dirichlet(np.full(n_classes, 5.0), (n_annotators, _STARTS))
    knows[:, 0], habit[:, 0] = 0.5, 1 / n_classes
    starts = [
        (knows[:, at], (1 - knows[:, [at]]) * habit[:, at], first[:, at]) for at in range(_STARTS)
    ]
    runs = [converge(votes.said, method, start, once, state) for *state, start in starts]
    best = max(runs, key=lambda run: run.objective)
    mean, habits = best.state[2:]
    chances = (1 - mean)[:, None, None] * habits[:, :, None]
    chances = chances + mean[:, None, None] * np.eye(n_classes)
    return _Fit(best.posterior, chances, mean, best.state, best.n)


class Run(NamedTuple):
    """Where EM ended."""

    posterior: Floats
    state: tuple[Floats, ...]
    #: The log-likelihood, or with priors its lower bound.
    objective: float
    n: int


def converge(
    said: csr_array,
    method: str,
    posterior: Floats,
    weight: Floats,
    state: Sequence[Floats] = (),
    *,
    close: float = _CLOSE,
) -> Run:
    """Alternate between annotators' chances and outputs' classes until these stay.

    `said` counts outputs x (annotator, value), `posterior` is (outputs, k), and `weight` says how
    often each output is drawn.
    """
    n_classes, to_annotators = posterior.shape[1], said.T.tocsr()
    lost, share = 0.0, np.full(n_classes, 1 / n_classes)
    state = tuple(state)
    n = 0
    while n < _MOST_STEPS:
        n += 1
        drawn = weight[:, None] * posterior
        sums = (to_annotators @ drawn).reshape(-1, n_classes, n_classes)
        if method == "mace":
            state, log_chances, lost = _mace(sums, state)
        else:
            sums = np.maximum(sums, _TINY)
            log_chances = np.log(sums / sums.sum(axis=1, keepdims=True))
            share = drawn.sum(axis=0) / weight.sum()
        joint = said @ log_chances.reshape(-1, n_classes) + np.log(np.maximum(share, _TINY))
        before, of_output = posterior, np.logaddexp.reduce(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - of_output)
        if np.abs(posterior - before).max() < close:
            break
    return Run(posterior, state, float(weight @ of_output[:, 0]) - lost, n)


def _mace(sums: Floats, state: tuple[Floats, ...]) -> tuple[tuple[Floats, ...], Floats, float]:
    """Update MACE's posteriors of competence and habit, and their distance from the priors."""
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
    means = mean, of_habit / of_habit.sum(axis=1, keepdims=True)
    both = habit[:, :, None] + knows[:, None, None] * np.eye(habit.shape[1])
    return (knows, habit, *means), np.log(np.maximum(both, _TINY)), lost


def _expected_logs(parameters: Floats) -> Floats:
    """Give the expected logarithms of shares that are Dirichlet over axis 1."""
    return np.asarray(digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True)))


def _from_prior(parameters: Floats, prior: float) -> float:
    """Sum the Kullback-Leibler divergences of Dirichlet posteriors from a symmetric prior."""
    n = parameters.shape[1]
    of_posterior = gammaln(parameters.sum(axis=1)) - gammaln(parameters).sum(axis=1)
    of_prior = gammaln(n * prior) - n * gammaln(prior)
    moved = ((parameters - prior) * _expected_logs(parameters)).sum(axis=1)
    return float((of_posterior - of_prior + moved).sum())


def _hardest(weights: Floats) -> Floats:
    """Put all of a row on its greatest, in equal parts where several are."""
    greatest = weights >= weights.max(axis=1, keepdims=True) - 1e-9
    return greatest / greatest.sum(axis=1, keepdims=True)


# Intervals, and tables -----------------------------------------------------------------------


class _Resampled(NamedTuple):
    """Systems' shares (resamples, systems, k) over clusters, accuracies (resamples, annotators)."""

    shares: Floats
    accuracies: Floats


def _bootstrapped(
    votes: _Votes, fit: _Fit, method: str, n_resamples: int, rng: np.random.Generator
) -> _Resampled:
    """Fit to clusters drawn with replacement, and to outputs."""
    n, n_annotators, _ = votes.shape
    n_classes = fit.posterior.shape[1]
    n_clusters = int(votes.cluster.max()) + 1
    shares = np.zeros((0, votes.outputs["system"].nunique(), n_classes))
    if n_resamples < 1:
        return _Resampled(shares, np.zeros((0, n_annotators)))
    drawn = bootstrap_counts(np.zeros(n_clusters), n_resamples, rng)[:, votes.cluster]
    posteriors = _refitted(votes, fit, method, drawn)
    shares = np.array(list(map(_shares, repeat(votes), posteriors, drawn)))
    if n_clusters < n:
        drawn = bootstrap_counts(np.zeros(n), n_resamples, rng)
        posteriors = _refitted(votes, fit, method, drawn)
    accuracies = np.full((n_resamples, n_annotators), np.nan)
    if method != "mean":
        accuracies = np.array(list(map(_accuracies, repeat(votes), posteriors, drawn)))
    return _Resampled(shares, accuracies)


def _refitted(votes: _Votes, fit: _Fit, method: str, drawn: Floats) -> list[Floats]:
    """Fit again to outputs that are drawn so often; give posteriors."""
    if fit.chances is None:
        return [fit.posterior] * len(drawn)
    given, start = (votes.said, method, fit.posterior), fit.state
    runs = (converge(*given, weight, start, close=_CLOSE_AGAIN) for weight in drawn)
    return [run.posterior for run in runs]


def _shares(votes: _Votes, posterior: Floats, weight: Floats) -> Floats:
    """Average classes' probabilities by system: (systems, k); NaN where none is drawn."""
    place, names = pd.factorize(votes.outputs["system"])
    sums = np.zeros((len(names), posterior.shape[1]))
    np.add.at(sums, place, weight[:, None] * posterior)
    total = np.bincount(place, weight, minlength=len(names))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / np.where(total > 0, total, np.nan)[:, None])


def _accuracies(votes: _Votes, posterior: Floats, weight: Floats) -> Floats:
    """Say which share of each annotator's judgments is the output's class."""
    _, n_annotators, n_classes = votes.shape
    sums = (votes.said.T @ (weight[:, None] * posterior)).reshape(-1, n_classes, n_classes)
    total = sums.sum(axis=(1, 2))
    right = np.einsum("avv->a", sums)
    return np.divide(right, total, out=np.full(n_annotators, np.nan), where=total > 1e-9)


def _outputs_of(votes: _Votes, fit: _Fit, method: str) -> pd.DataFrame:
    table = votes.outputs.copy()
    n_judgments = np.asarray(votes.said.sum(axis=1)).astype(int)
    if method == "mean":
        return table.assign(label=votes.mean, probability=np.nan, n_judgments=n_judgments)
    shown = votes.by_value() / n_judgments[:, None] if method == "majority" else fit.posterior
    best = shown.max(axis=1)
    tied = (shown >= best[:, None] - 1e-9).sum(axis=1) > 1
    label = np.where(tied, np.nan, votes.classes[shown.argmax(axis=1)])
    table = table.assign(label=label, probability=best, n_judgments=n_judgments)
    return table.assign(**{f"p_{one:g}": shown[:, at] for at, one in enumerate(votes.classes)})


def _systems_of(votes: _Votes, fit: _Fit, again: _Resampled, confidence: float) -> pd.DataFrame:
    estimates = _shares(votes, fit.posterior, np.ones(len(votes.outputs)))
    names = votes.outputs["system"].unique()
    of_mean = fit.posterior.shape[1] == 1
    values = [np.nan] if of_mean else votes.classes
    doubt = _doubt(votes, fit)
    rows = []
    for at, name in enumerate(names):
        inside = (votes.outputs["system"] == name).to_numpy()
        n_clusters = len(np.unique(votes.cluster[inside]))
        for k, value in enumerate(values):
            drawn = again.shares[:, at, k]
            drawn = drawn[np.isfinite(drawn)]
            se, reason = np.nan, few_clusters(n_clusters)
            if n_clusters < 2:
                reason = "one cluster: its spread is unknown"
            elif len(drawn) < 2:
                reason = "nothing was resampled"
            else:
                se = float(drawn.std(ddof=1) * np.sqrt(n_clusters / (n_clusters - 1)))
                if se < 1e-12:
                    se, reason = np.nan, "all clusters give the same: their spread is unknown"
                elif fit.chances is not None:
                    reason = reason or "too narrow: how far labels are off is not in it"
            half = student.ppf(0.5 + confidence / 2, max(n_clusters - 1, 1)) * se
            low, high = estimates[at, k] - half, estimates[at, k] + half
            if not of_mean:
                low, high = max(low, 0.0), min(high, 1.0)
            row = {"system": name, "value": value, "estimate": estimates[at, k], "se": se}
            row |= {"ci_low": low, "ci_high": high, "covers": THESE_ANNOTATORS}
            reason = "; ".join(filter(None, [reason, doubt]))
            row |= {"n_outputs": int(inside.sum()), "n_clusters": n_clusters, "reason": reason}
            rows.append(row)
    return pd.DataFrame(rows)


def _annotators_of(votes: _Votes, fit: _Fit, again: _Resampled, confidence: float) -> pd.DataFrame:
    _, n_annotators, n_classes = votes.shape
    n = np.asarray(votes.said.sum(axis=0)).reshape(n_annotators, n_classes).sum(axis=1)
    table = pd.DataFrame({"annotator_id": votes.annotators})
    none = np.full(n_annotators, np.nan)
    competence = none if fit.competence is None else fit.competence
    if fit.posterior.shape[1] == 1:
        why = "a mean has no classes that an annotator could name"
        parts = {"accuracy": none, "ci_low": none, "ci_high": none, "competence": none}
        return table.assign(**parts, n_judgments=n.astype(int), reason=why)
    accuracy = _accuracies(votes, fit.posterior, np.ones(len(votes.outputs)))
    low, high, reason = none.copy(), none.copy(), np.full(n_annotators, "", dtype=object)
    if len(again.accuracies) < 2:
        reason[:] = "nothing was resampled"
    else:
        variance = pd.DataFrame(again.accuracies).var(axis=0, ddof=1).to_numpy()
        size = np.divide(accuracy * (1 - accuracy), variance, out=n.copy(), where=variance > 1e-12)
        size = np.clip(size, 1.0, n)
        low, high = proportion_confint(accuracy * size, size, alpha=1 - confidence, method="wilson")
        few = f"fewer than {FEWEST_JUDGMENTS} judgments: an interval of them cannot be trusted"
        reason[n < FEWEST_JUDGMENTS] = few
    table = table.assign(accuracy=accuracy, ci_low=low, ci_high=high, competence=competence)
    return table.assign(n_judgments=n.astype(int), reason=reason)


def _confusion_of(votes: _Votes, fit: _Fit) -> pd.DataFrame:
    if fit.chances is None:
        return pd.DataFrame(columns=["annotator_id", "true_value", "value", "probability"])
    _, n_annotators, n_classes = votes.shape
    return pd.DataFrame(
        {
            "annotator_id": np.repeat(votes.annotators, n_classes**2),
            "true_value": np.tile(np.repeat(votes.classes, n_classes), n_annotators),
            "value": np.tile(votes.classes, n_annotators * n_classes),
            "probability": fit.chances.transpose(0, 2, 1).ravel(),
        }
    )


def _doubt(votes: _Votes, fit: _Fit) -> str:
    """Say where few judgments tell whom to trust, or EM came to no end."""
    if fit.chances is None:
        return ""
    found = []
    if fit.n_steps == _MOST_STEPS:
        found.append(f"not converged after {_MOST_STEPS:,} steps")
    rows, cells = votes.said.nonzero()
    n_parts = len(np.unique(linked(rows, cells // len(votes.classes))))
    if n_parts > 1:
        found.append(f"annotators and outputs fall into {n_parts} parts that share nothing")
    if n_parts > 1 or votes.said.sum() / len(votes.annotators) < FEWEST_JUDGMENTS:
        found.append("so few judgments may leave the labels worse than a majority's")
    return "; ".join(found)
