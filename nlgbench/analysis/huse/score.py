"""HUSE: how well a system's outputs can be distinguished from human ones, with intervals.

The functions come in the order of the computation: the two features, the scores, the scores of
resampled outputs and annotators, the intervals, and the public `huse`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.stats import rankdata

from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.neighbors import LabelTies
from nlgbench.arrays import Bools, Floats, Ints, Seed
from nlgbench.inference import half_samples, interval, split_interval
from nlgbench.names import known, unknown
from nlgbench.status import OK, Status, Unsupported, explain
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Ties = Literal["exact", "released"]
Scaling = Literal["unit variance", "none", "rank"]
Length = Literal["per token", "whole text"]
Resample = Literal["outputs", "items", "annotators"]

#: The scores, in the order of every table.
SCORES = ("huse", "huse_q", "huse_d")
#: Score -> which of the two features (log-probability, judgment) its classifier uses.
MAPS = {"huse": slice(0, 2), "huse_q": slice(1, 2)}
#: Tie rule -> the largest difference between tied distances, in unit-variance features.
TOLERANCE: dict[Ties, float] = {"exact": neighbors.EXACT_TOLERANCE, "released": 0.0}
#: The columns of estimates and intervals, for a system and tie rule.
_COLUMNS = [
    *("score", "estimate", "se", "ci_low", "ci_high", "confidence", "center"),
    *("n_resamples", "n_undefined", "status", "reason", "n_clusters", "method"),
]

#: The limits within which coverage was measured; below them, `status` has a warning.
LEAST_UNITS = 10  # outputs of the rarer class, or items with such outputs
LEAST_SHARE = 3  # outputs in a half, as a multiple of k
MOST_UNEQUAL = 3  # outputs of the larger class, as a multiple of the smaller
LEAST_VALUES = 20  # distinct mean judgments, for HUSE-Q and therefore HUSE-D
#: If a HIT has fewer annotators, halves vary too little for an interval.
LEAST_ANNOTATORS = 10


@dataclass(frozen=True, eq=False)
class Compared:
    """One system's outputs and the human ones, with the classifier's features."""

    study: Study
    system: str
    dimension: str
    rows: Ints  # the compared outputs, as rows of the study's table
    is_machine: Bools  # True for the system's outputs
    raw: Floats  # log-probability (nats) and mean judgment of each output
    points: Floats  # the same, scaled for distances
    scales: tuple[float, float]
    n_neighbors: int
    ties: Ties
    label_ties: LabelTies
    scaling: Scaling
    n_floored: int

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """The compared outputs."""
        names = ["output_id", "item_id", "system", "is_human"]
        return self.study.outputs[names].take(self.rows).reset_index(drop=True)

    @cached_property
    def judged(self) -> pd.DataFrame:
        """The judgments of the compared outputs."""
        assert self.study.judgments is not None  # `compare` has checked this
        judged = self.study.judgments[self.study.judgments["dimension"] == self.dimension]
        return judged[judged["output_id"].isin(self.outputs["output_id"])]

    @cached_property
    def annotators(self) -> pd.DataFrame:
        """The annotators of each group (HIT): group_id, annotator_id."""
        return self.judged[["group_id", "annotator_id"]].drop_duplicates(ignore_index=True)

    @cached_property
    def scores(self) -> dict[str, float]:
        """The three scores (eq. 7 to 9 of the paper)."""
        return dict(zip(SCORES, output_replicates(self, True).iloc[0], strict=True))


def compare(
    study: Study,
    system: str,
    *,
    dimension: str | None = None,
    n_neighbors: int = 16,
    ties: Ties = "exact",
    label_ties: LabelTies = "human",
    scaling: Scaling = "unit variance",
    length: Length = "per token",
) -> Compared:
    """Compute both features of a system's outputs and the human ones, and check all arguments."""
    dimension = study.dimension(dimension)
    if study.judgments is None or study.logprobs is None:
        raise Unsupported(
            "no_logprobs" if study.logprobs is None else "no_judgments",
            f"{study.name} has no logprobs: HUSE needs the log-probability of every output under "
            "the system's model. Add a table of logprobs to the study.",
        )
    is_human = study.outputs["is_human"].to_numpy(dtype=bool)
    of_system = (study.outputs["system"].to_numpy() == system) & ~is_human
    if not is_human.any():
        raise Unsupported(
            "no_human",
            f"HUSE needs human and machine outputs. Found 0 human and {len(is_human)} machine "
            "outputs: add human ones, or correct is_human.",
        )
    if not of_system.any():
        known(system, study.systems, "system")
    rows = np.flatnonzero(is_human | of_system)
    check_n(n_neighbors, "n_neighbors")
    if len(rows) < n_neighbors + 1:
        raise Unsupported(
            "few_outputs",
            f"n_neighbors = {n_neighbors} needs at least {n_neighbors + 1} outputs of humans and "
            f"{system!r} together. Got {len(rows)}: add outputs, or reduce n_neighbors.",
        )
    ids = pd.Index(study.outputs["output_id"].to_numpy()[rows])
    logprob, n_floored = _logprob(ids, study.logprobs, system, length)
    judgment = _mean_judgment(ids, study.judgments, dimension)
    x, x_scale = scaled(logprob, scaling, "logprob")
    y, y_scale = scaled(judgment, scaling, "judgment")
    return Compared(
        study=study,
        system=system,
        dimension=dimension,
        rows=rows,
        is_machine=of_system[rows],
        raw=np.column_stack([logprob, judgment]),
        points=np.column_stack([x, y]),
        scales=(x_scale, y_scale),
        n_neighbors=int(n_neighbors),
        ties=ties,
        label_ties=label_ties,
        scaling=scaling,
        n_floored=n_floored,
    )


def chosen_systems(study: Study, systems: str | Iterable[str] | None) -> list[str]:
    """List the selected systems; by default all."""
    if systems is not None:
        return [systems] if isinstance(systems, str) else list(systems)
    if not study.systems:
        raise Unsupported(
            "no_outputs",
            f"HUSE needs human and machine outputs. Found {len(study.outputs)} human and 0 machine "
            "outputs: add machine ones, or correct is_human.",
        )
    return study.systems


def the_system(study: Study, system: str | None) -> str:
    """Return the selected system, by default the only one."""
    names = chosen_systems(study, system)
    if len(names) > 1:
        raise ValueError(f"the study has {len(names)} systems ({', '.join(names)}): set system.")
    return names[0]


def _check_complete(ids: pd.Index, missing: Bools, code: str, problem: str, fix: str) -> None:
    if missing.any():
        named = ids[missing].tolist()
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        raise Unsupported(
            code,
            f"{problem} for {len(named)} of {len(ids)} outputs: {', '.join(named[:5])}{more}. "
            f"Every compared output needs one: {fix}.",
        )


def _logprob(ids: pd.Index, logprobs: pd.DataFrame, system: str, length: str) -> tuple[Floats, int]:
    """Look up log-probabilities (nats) under the system's model, and count the floored ones."""
    under = logprobs[logprobs["model"] == system]
    if under.empty:
        models = sorted(logprobs["model"].unique())
        raise Unsupported("no_logprobs", f"model in logprobs: {unknown(system, models)}")
    features = under.set_index("output_id")[["logprob", "n_tokens"]].reindex(ids)
    logprob, n_tokens = features.to_numpy(dtype=np.float64).T
    problem = f"no log-probability under model {system!r}"
    fix = "add it to logprobs, or remove the output"
    _check_complete(ids, np.isnan(logprob), "no_logprobs", problem, fix)
    logprob = logprob / n_tokens if length == "per token" else logprob
    finite = np.isfinite(logprob)
    if not finite.any():
        raise Unsupported(
            "no_logprobs",
            f"every log-probability under model {system!r} is infinite. Check how logprobs were "
            "computed.",
        )
    return np.where(finite, logprob, logprob[finite].min() - 1), int((~finite).sum())


def _mean_judgment(ids: pd.Index, judgments: pd.DataFrame, dimension: str) -> Floats:
    """Average each output's judgments."""
    judged = judgments[judgments["dimension"] == dimension]
    positions = ids.get_indexer(pd.Index(judged["output_id"].to_numpy()))
    value, positions = judged["value"].to_numpy()[positions >= 0], positions[positions >= 0]
    count = np.bincount(positions, minlength=len(ids))
    fix = "add it to judgments, or remove the output"
    problem = f"no judgment of {dimension!r}"
    _check_complete(ids, count == 0, "no_judgments", problem, fix)
    return np.asarray(np.bincount(positions, weights=value, minlength=len(ids)) / count)


def scaled(feature: Floats, scaling: str, name: str) -> tuple[Floats, float]:
    """Scale a feature for distances, and return the divisor (NaN for ranks)."""
    scale = float(np.std(feature))
    # Means of equal judgments may differ by rounding, and still count as constant.
    if not scale > 1e-12 * float(np.abs(feature).max()):
        raise Unsupported(
            "no_variation",
            f"the {name} feature is constant ({feature[0]:g} for all {len(feature)} outputs), so "
            "it cannot distinguish outputs. Check the column.",
        )
    if scaling == "rank":
        # Means of equal judgments may differ by rounding, and must have equal ranks.
        ranks = rankdata(np.round(feature / scale, 9))
        return ranks / np.std(ranks), float("nan")
    scale = scale if scaling == "unit variance" else 1.0
    return feature / scale, scale


def output_replicates(
    compared: Compared, members: ArrayLike, labels: ArrayLike | None = None
) -> pd.DataFrame:
    """Score m subsamples of the n outputs, or other labels, in the scales of the full sample."""
    huse, huse_q = (
        neighbors.sample_errors(
            compared.points[:, columns],
            members,
            compared.is_machine if labels is None else labels,
            compared.n_neighbors,
            tolerance=TOLERANCE[compared.ties],
            label_ties=compared.label_ties,
        )
        for columns in MAPS.values()
    )
    return pd.DataFrame({"huse": huse, "huse_q": huse_q, "huse_d": 1 + huse - huse_q})


def annotator_replicates(compared: Compared, members: Bools) -> pd.DataFrame:
    """Score the outputs from the judgments of fewer annotators; NaN where undefined.

    For each replicate, `members` (m, u) selects rows of `Compared.annotators`, with all their
    judgments. Judgments are rescaled in each replicate.
    """
    judged = compared.judged
    # Number annotators by first appearance, as in `Compared.annotators`.
    unit = judged.groupby(["group_id", "annotator_id"], sort=False).ngroup()
    row = pd.Index(compared.outputs["output_id"]).get_indexer(judged["output_id"])
    shape = (len(compared.outputs), len(compared.annotators))
    selected = members.T.astype(np.float64)
    total = csr_array((judged["value"].to_numpy(), (row, unit)), shape=shape) @ selected
    count = csr_array((np.ones(len(judged)), (row, unit)), shape=shape) @ selected
    scores = np.full((selected.shape[1], len(SCORES)), np.nan)
    for replicate in np.flatnonzero((count > 0).all(axis=0)):
        mean = total[:, replicate] / count[:, replicate]
        try:
            judgment = scaled(mean, compared.scaling, "judgment")[0]
        except Unsupported:  # constant: undefined, and counted by the caller
            continue
        points = np.column_stack([compared.points[:, 0], judgment])
        scores[replicate] = list(replace(compared, points=points).scores.values())
    return pd.DataFrame(scores, columns=list(SCORES))


def with_complements(members: Bools) -> Bools:
    """Append the complement of each half-sample."""
    return np.vstack([members, ~members])


def intervals(
    compared: Compared,
    *,
    resample: Resample,
    n_resamples: int,
    confidence: float = 0.95,
    seed: Seed,
) -> pd.DataFrame:
    """Compute intervals of one system's three scores, a row each."""
    few = [OK] * len(SCORES)
    n_units, method = 0, ""
    if n_resamples == 0:
        table = pd.DataFrame({"estimate": compared.scores.values()})
        table = table.assign(confidence=confidence, n_resamples=0, n_undefined=0)
        table["status"], few = "ok", [explain("no_resamples")] * len(SCORES)
    elif resample == "annotators":
        groups = compared.annotators["group_id"]
        members = half_samples(groups, n_resamples=n_resamples, seed=seed)
        replicates, sizes = annotator_replicates(compared, members), groups.value_counts()
        n_units, df = int(sizes.min()), max(1, int((sizes - 1).sum()))
        table = pd.DataFrame(
            [
                interval(replicates[s], x, df=df, confidence=confidence)
                for s, x in compared.scores.items()
            ]
        )
        if n_units < LEAST_ANNOTATORS:
            table[["se", "ci_low", "ci_high"]] = np.nan
            few = [explain("few_in_hit", n=n_units, least=LEAST_ANNOTATORS)] * len(SCORES)
        method = f"half-samples of annotators, k = {compared.n_neighbors}, t"
    else:
        clusters = compared.outputs["item_id" if resample == "items" else "output_id"]
        is_human = compared.outputs["is_human"]
        members = half_samples(is_human, clusters=clusters, n_resamples=n_resamples, seed=seed)
        replicates = output_replicates(compared, with_complements(members))
        n_units = int(clusters.groupby(is_human).nunique().min())
        table = halves_interval(replicates, compared.scores, n_units, confidence)
        few = few_outputs(compared, n_units)
        method = f"splits of {resample} into halves, k = {compared.n_neighbors}, t"
    fine = table["status"] == "ok"
    table = table.assign(score=SCORES, n_clusters=n_units, method=method)
    for row, warning in zip(table.index, few, strict=True):
        if fine[row]:
            table.loc[row, ["status", "reason"]] = warning.code, warning.reason
    return table.reindex(columns=_COLUMNS)


def halves_interval(
    replicates: pd.DataFrame, estimates: dict[str, float], n_units: int, confidence: float
) -> pd.DataFrame:
    """Compute intervals from halves and their complements, with n_units / 2 degrees of freedom."""
    rows = []
    for score, estimate in estimates.items():
        halves, complements = np.split(replicates[score].to_numpy(), 2)
        options = {"df": n_units / 2, "confidence": confidence}
        rows.append(split_interval(halves, complements, estimate, **options))
    return pd.DataFrame(rows)


def few_outputs(compared: Compared, n_units: int) -> list[Status]:
    """Return for each score a warning about its interval, or `OK`."""
    k, n_half = compared.n_neighbors, len(compared.rows) // 2
    judgment = compared.points[:, 1]
    n_values = len(np.unique((judgment / judgment.std()).round(9)))
    classes = np.bincount(compared.is_machine)
    few, tied = OK, OK
    if n_units < LEAST_UNITS:
        few = explain("few_units", n=n_units, least=LEAST_UNITS)
    elif n_half < LEAST_SHARE * k:
        few = explain("small_halves", n=n_half, least=LEAST_SHARE)
    elif max(classes) > MOST_UNEQUAL * min(classes):
        few = explain("unequal_classes", most=MOST_UNEQUAL, n=min(classes), larger=max(classes))
    elif n_values < LEAST_VALUES:
        tied = explain("few_values", n=n_values, least=LEAST_VALUES)
    return [few, few or tied, few or tied]


@checked
def huse(
    study: Study,
    *,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    ties: Ties | Sequence[Ties] = "exact",
    label_ties: LabelTies = "human",
    scaling: Scaling = "unit variance",
    length: Length = "per token",
    n_resamples: int = 1000,
    resample: Resample = "outputs",
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Score systems by HUSE: twice the error of distinguishing their outputs from human ones.

    Parameters
    ----------
    study : Study
        A study with human outputs, judgments and, for each system, log-probabilities of its outputs
        and of all human ones under the model with the system's name.
    systems : str or iterable of str, optional
        Systems to score. Default: all.
    dimension : str, optional
        The dimension of the judgments. Default: quality.
    n_neighbors : int, default 16
        k of the k-nearest-neighbor classifier.
    ties : {"exact", "released"} or a sequence of them
        ``"exact"``: distances that differ by at most 1e-9 (in unit-variance features) are equal.
        ``"released"``: distances are compared exactly in floating point, as in the authors' code;
        the result then depends on rounding and on the order of the outputs.
    label_ties : {"human", "system", "half"}
        Prediction for a tied vote; ``"half"`` counts half an error. The authors use ``"human"``.
    scaling : {"unit variance", "none", "rank"}
        The scale of the features: divided by their standard deviation (ddof 0, as in the paper),
        unscaled, or converted to average ranks and divided by the ranks' standard deviation.
    length : {"per token", "whole text"}
        Whether the log-probability is divided by the number of tokens, as in the paper (eq. 5).
    n_resamples : int, default 1000
        Number of random splits into two halves; 0 skips intervals.
    resample : {"outputs", "items", "annotators"}
        What is split into halves, and so what intervals generalize to. ``"outputs"``: outputs,
        stratified by class. ``"items"``: items, each with all its outputs. ``"annotators"``: the
        annotators of each ``group_id`` (HIT), or all annotators if it is empty; outputs are fixed.
    confidence : float, default 0.95
        Confidence level of intervals, between 0 and 1.
    seed : int or Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    DataFrame
        A row per system, tie rule and score: ``system``, ``ties``, ``score`` (huse: both features;
        huse_q, quality: the judgment alone; huse_d, diversity: ``1 + huse - huse_q``), ``estimate``
        (0: always distinguished, 1: at chance; higher is better, not clipped), ``se``,
        ``ci_low``, ``ci_high`` (not clipped; NaN with a reason), ``confidence``, ``center`` (mean
        of the halves), ``n_resamples``, ``n_undefined``, ``status`` (a code; ``ok``), ``reason``
        (its text), ``n_clusters`` (outputs or items of the rarer class; annotators of the smallest
        HIT), ``method``, ``resample``, the options used (``n_neighbors``, ``label_ties``,
        ``scaling``, ``length``, ``dimension``), ``n_outputs``, ``n_judgments``,
        ``n_floored`` (log-probabilities of minus infinity), ``label`` and ``source``.

    Raises
    ------
    ValueError
        When a judgment or log-probability is missing, all log-probabilities are infinite, a name is
        unknown, a class is empty, a feature is constant, or there are fewer than k + 1 outputs.

    Notes
    -----
    ``L(phi) = 2 inf_f P[f(phi) != z]`` is twice the smallest error of predicting the class z from
    features phi. HUSE estimates it for both features, and HUSE-Q for the judgment alone; HUSE-D is
    1 + HUSE - HUSE-Q (Hashimoto, Zhang and Liang 2019, sections 3 and 4, eq. 3 and 7-9, algorithm
    1, doi:10.18653/v1/N19-1169). A neighborhood contains the k nearest outputs and all others at
    the distance of the k-th; classes have equal weight. A log-probability of minus infinity is
    replaced by the smallest finite one minus one nat. Halves are drawn without replacement, because
    a bootstrap places copies of an output among its own neighbors. Intervals are for the expected
    score at this number of outputs and annotators. docs/validation.md reports their coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> scores = nb.huse(nb.simulate("gaussian", seed=0), systems="t0.7", n_resamples=200)
    >>> scores[["system", "score", "status"]].values.tolist()
    [['t0.7', 'huse', 'ok'], ['t0.7', 'huse_q', 'ok'], ['t0.7', 'huse_d', 'ok']]
    >>> bool((scores["ci_low"] < scores["estimate"]).all())
    True
    """
    tables = []
    for system in chosen_systems(study, systems):
        features = compare(
            study,
            system,
            dimension=dimension,
            n_neighbors=n_neighbors,
            label_ties=label_ties,
            scaling=scaling,
            length=length,
        )
        for rule in [ties] if isinstance(ties, str) else ties:
            table = intervals(
                replace(features, ties=rule),
                resample=resample,
                n_resamples=n_resamples,
                confidence=confidence,
                seed=seed,
            )
            table.insert(0, "system", system)
            table.insert(1, "ties", rule)
            tables.append(
                table.assign(
                    resample=resample,
                    n_neighbors=n_neighbors,
                    label_ties=label_ties,
                    scaling=scaling,
                    length=length,
                    dimension=features.dimension,
                    n_outputs=len(features.rows),
                    n_judgments=len(features.judged),
                    n_floored=features.n_floored,
                    label=study.label(system),
                    source=study.source,
                )
            )
    return pd.concat(tables, ignore_index=True)


def outputs_of(compared: Compared) -> pd.DataFrame:
    """Return the classifier's features and predictions, a row per output.

    Columns: ``compared`` (the system), ``logprob_per_token`` (nats), ``judgment`` (mean), and both
    features scaled. Predictions from both features (``_huse``) and from the judgment alone
    (``_huse_q``) have ``neighbors_*`` (their number), ``machine_share_*`` (class-weighted, 0 to 1),
    ``predicted_human_*``, ``correct_*`` (missing for tied votes under ``label_ties="half"``).
    """
    table = compared.outputs.assign(
        logprob_per_token=compared.raw[:, 0],
        judgment=compared.raw[:, 1],
        scaled_logprob=compared.points[:, 0],
        scaled_judgment=compared.points[:, 1],
    )
    table.insert(0, "compared", compared.system)
    n_human, n_machine = np.bincount(compared.is_machine)
    for name, columns in MAPS.items():
        size, machine = neighbors.leave_one_out(
            compared.points[:, columns],
            compared.is_machine,
            compared.n_neighbors,
            tolerance=TOLERANCE[compared.ties],
        )
        for_machine, for_human = neighbors.votes(size, machine, n_human, n_machine)
        says_machine = neighbors.predict(for_machine, for_human, compared.label_ties)
        human = pd.Series(says_machine == 0, index=table.index, dtype="boolean")
        human[says_machine == 0.5] = pd.NA
        table[f"neighbors_{name}"] = size
        table[f"machine_share_{name}"] = for_machine / (for_machine + for_human)
        table[f"predicted_human_{name}"] = human
        table[f"correct_{name}"] = human == table["is_human"]
    return table
