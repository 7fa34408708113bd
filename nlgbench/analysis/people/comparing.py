"""Comparison of systems by human judgments, with items and annotators as samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from nlgbench import clustering
from nlgbench.analysis.people import additive, binary, decisive, grouped, repeats, wins
from nlgbench.analysis.people.additive import Fit, Judgments
from nlgbench.analysis.people.coefficients import logit_interval
from nlgbench.analysis.people.scores import scores_as_judgments
from nlgbench.arrays import Floats, Ints
from nlgbench.inference import adjust, linked
from nlgbench.reported import Reported
from nlgbench.status import OK, Status, Unsupported, explain, first_status, split_status
from nlgbench.study import Study, with_tables
from nlgbench.study.checks import checked
from nlgbench.study.overview import PLACEHOLDER

Annotators = Literal["fixed", "random"]
Scale = Literal["raw", "z", "rank"]


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison(Reported):
    """The tables of `compare_systems`.

    Parameters
    ----------
    systems, pairs, details, annotators, groups : DataFrame
        The tables described at `compare_systems`.
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    details: pd.DataFrame
    annotators: pd.DataFrame
    groups: pd.DataFrame


@checked
def compare_systems(
    study: Study,
    *,
    dimension: str | Sequence[str] | None = None,
    evaluator: str | Sequence[str] | None = None,
    annotators: Annotators | None = None,
    scale: Scale = "raw",
    include_human: bool = False,
    by: str | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
) -> SystemComparison:
    """Compare systems by judgments or scores: adjusted means, differences, tests, ranges of ranks.

    Parameters
    ----------
    study : Study
        A study with judgments or scores of at least two systems. If it names clusters of items,
        such as documents, these are the sampled units; clusters that share items are merged.
    dimension : str, or sequence of str, optional
        Dimensions of the judgments. Default: the study's quality dimension. Several form one family
        of tests: p is adjusted, and rank ranges are simultaneous, over all pairs of all dimensions.
    evaluator : str, or sequence of str, optional
        Evaluators whose scores are compared instead of judgments, such as ``"accuracy"``; they
        take the place of dimensions. Scores of several outputs of a system for one item, such as
        repeated runs, are averaged. Intervals cover other items.
    annotators : {"fixed", "random"}, optional
        What intervals and tests generalize to. ``"fixed"``: other items, these annotators.
        ``"random"``: other items and other annotators. Default: random if the effective number of
        annotators is at least ten, else fixed, for all dimensions alike.
    scale : {"raw", "z", "rank"}
        ``"raw"``: unchanged judgments. ``"z"``: minus the annotator's mean, divided by the
        annotator's standard deviation. ``"rank"``: the rank among the annotator's judgments, 0 to
        1; use it for magnitude estimation, where a few large values dominate the means.
    include_human : bool
        Whether human texts count as a system. Default: they are left out.
    by : str, optional
        A column of ``outputs`` that groups items (`settings: extra` keeps it), such as a category:
        systems are also compared within each group.
    margin : float, optional
        The smallest difference that matters on `scale`, above 0. Choose it before you see the
        data. It adds tests of equivalence and non-inferiority.
    confidence : float
        Confidence level of intervals, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    SystemComparison
        ``systems``, the best first: system, estimate (adjusted mean: the mean judgment if every
        judgment were of this system), ci_low, ci_high, covers (what intervals generalize to), rank,
        rank_low, rank_high (simultaneous), n_judgments, status (a code; ``ok``), reason (its text).
        With several dimensions, the first column is dimension; of scores, it is evaluator.

        ``details``, by dimension and system: label, se, confidence, better (``higher`` or
        ``lower``), scale, raw (mean over outputs of their mean judgment), n_outputs (judged),
        n_missing (items judged only for other systems), effective_items, effective_annotators. Of
        scores also sd_within (of outputs of an item), n_repeats (outputs per item) and, with
        `margin`, of the system's least precise difference: repeats_needed and items_needed for an
        interval of half-width `margin`, needed_status (``items_dominate``: no repeats suffice).

        ``pairs``, two rows per pair, one in each direction: dimension, system, opponent, estimate
        (the difference; above 0: system is better), ci_low, ci_high (not simultaneous), se, df,
        covers, p, p_adjusted (Holm over all pairs), superiority (P(system better than opponent) on
        an item; ties count half), superiority_low, superiority_high, standardized (difference
        divided by the SD within annotators), p_equivalent, p_not_inferior (Holm; NaN without
        margin), verdict (``better``, ``worse``, ``equivalent``, ``not inferior``, ``undecided``),
        status, reason. With 0/1 scores also won, lost, tied: numbers of items.

        ``annotators``: dimension, annotator_id, estimate (severity: how much lower the annotator
        judges than the average annotator), ci_low, ci_high, se, confidence, n_judgments, n_items,
        n_systems, status, reason.

        ``groups`` (empty without `by`): the columns of ``pairs`` for each group, adjusted over all
        groups and pairs; n_items; shrunk, shrunk_low, shrunk_high (towards the mean of at least
        three groups, by a random-effects model); p_interaction (Welch's test of equal differences,
        Holm over pairs). A group of fewer than ten items has no interval.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, when an item is in several groups, when shared
        items and annotators do not connect all systems, when both are more than 5,000, when a
        dimension or evaluator is unknown or both are given, or when `margin` is not above 0.

    Notes
    -----
    Least squares fits system + item + annotator (or system + item if each annotator judged only
    once). Variances come from a delete-one-cluster jackknife over items and, with random
    annotators, from `nlgbench.clustering.largest_variance` of items, annotators and pairs of both.
    t has ``min(G) - 1`` degrees of freedom, with G each factor's effective number of clusters, or a
    system's own if below ten. The study's clusters replace items as sampled units. Rank ranges
    count significant pairs (p_adjusted), so coverage is simultaneous.

    Where fewer than 30 sampled units differ between two systems, and at least as many do not, or
    where differences do not vary, p is the share of all flips of their signs whose sum is at least
    as far from 0. This exact test needs fixed annotators, who judged both systems on the same items
    equally often; otherwise p is that of t, with status ``few_decisive``. An interval that
    contradicts it is left out.

    If two systems have one 0/1 score (or one annotator's judgment) each for the same items, without
    clusters, p is that of McNemar's exact test, and the interval is Tango's (1998) score interval,
    extended to 0 where that test does not reject. Margins are tested by Tango's score.

    Systems that cannot be compared without some one item (or cluster, or random annotator) have no
    interval, rank or test. docs/validation.md reports the measured coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[0.8, 0.0, -0.1], n_annotators=30, seed=1)
    >>> found = compare_systems(study)
    >>> found.systems[["system", "estimate", "rank_low", "rank_high"]].round(2)
      system  estimate  rank_low  rank_high
    0    s02      0.77       1.0        1.0
    1    s03     -0.03       2.0        3.0
    2    s01     -0.09       2.0        3.0
    """
    if margin is not None and margin <= 0:
        raise ValueError(
            f"margin must be above 0. Got {margin}: set it to the smallest difference that matters."
        )
    if evaluator is not None:
        if dimension is not None or annotators is not None:
            raise ValueError(
                f"evaluator={evaluator!r} compares scores, which have no dimension and no "
                f"annotators. Got dimension={dimension!r}, annotators={annotators!r}: leave out "
                "both to compare scores, or evaluator to compare judgments."
            )
        dimension, annotators = evaluator, "fixed"
        study, by_item = scores_as_judgments(study, evaluator)
    chosen = [dimension] if dimension is None or isinstance(dimension, str) else dimension
    names = list(dict.fromkeys(map(study.dimension, chosen)))
    models = [_fit_dimension(study, name, include_human, scale) for name in names]
    # All tests of a family generalize to the same population.
    fewest = min(clustering.effective_size(model.annotator) for model in models)
    covers, missing = clustering.choose_annotators(annotators, fewest, persons=study.persons)
    # Products of small matrices take longer with several threads, which wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        results = [
            (name, *_leave_out(model, covers, missing))
            for name, model in zip(names, models, strict=True)
        ]
        tables = [
            _compare_pairs(model, spread, confidence).assign(dimension=name)
            for name, model, spread, _ in results
        ]
        groups = pd.DataFrame(columns=list(grouped.COLUMNS))
        if by is not None:
            group_of = clustering.group_items(study.outputs, by)
            kind: Annotators = "fixed" if covers == clustering.THESE_ANNOTATORS else "random"
            compare = partial(_compare_frame, study, annotators=kind, confidence=confidence)
            by_dimension = [
                grouped.compare_within(model.frame.assign(dimension=name), group_of, compare)
                for name, model in zip(names, models, strict=True)
            ]
            within = add_verdicts(pd.concat(by_dimension, ignore_index=True), margin, confidence)
            groups = grouped.compare_groups(within, confidence)
    pairs = add_verdicts(pd.concat(tables, ignore_index=True), margin, confidence)
    pairs = split_status(pairs)
    systems, severities, ordered = [], [], []
    for name, model, spread, connected in results:
        selected = pairs[pairs["dimension"] == name]
        rows = _describe_systems(study, model, spread, name, scale, confidence)
        rows = rows.assign(**_rank_limits(selected, spread.left_out, confidence))
        # Systems without a rank are last.
        order = np.lexsort([-model.fit.level, spread.left_out])
        rank = np.argsort(order)
        selected = selected.iloc[np.lexsort([rank[selected["opponent"]], rank[selected["system"]]])]
        by_name = {end: np.array(model.names, dtype=object)[selected[end]] for end in _ENDS}
        systems.append(rows.iloc[order].assign(dimension=name))
        ordered.append(selected.assign(**by_name))
        severities.append(_estimate_severities(model.frame, connected, spread, confidence))
        severities[-1].insert(0, "dimension", name)
    table = split_status(pd.concat(systems, ignore_index=True))
    pairs, people = pd.concat(ordered, ignore_index=True), pd.concat(severities, ignore_index=True)
    if evaluator is not None:
        people = people.iloc[:0]
        table, pairs, groups = (
            frame.assign(covers=clustering.OTHER_ITEMS) for frame in (table, pairs, groups)
        )
        planned = repeats.plan_repeats(by_item, pairs, margin, confidence)
        table = table.join(planned, on=["dimension", "system"]).assign(evaluator=table["dimension"])
    first = ["evaluator"] if evaluator is not None else ["dimension"] if len(names) > 1 else []
    return SystemComparison(
        table[[*first, *_SYSTEMS]],
        pairs=pairs[[*_PAIRS, *(name for name in binary.COUNTS if name in pairs)]],
        details=table[[*_DETAILS, *(name for name in repeats.COLUMNS if name in table)]],
        annotators=people,
        groups=groups,
    )


_SYSTEMS = (
    *("system", "estimate", "ci_low", "ci_high", "covers", "rank", "rank_low", "rank_high"),
    *("n_judgments", "status", "reason"),
)
_DETAILS = (
    *("dimension", "system", "label", "se", "confidence", "better", "scale", "raw", "n_outputs"),
    *("n_missing", "effective_items", "effective_annotators"),
)
_ENDS = ("system", "opponent")
_PAIRS = (
    *("dimension", *_ENDS, "estimate", "ci_low", "ci_high", "se", "df", "covers"),
    *("p", "p_adjusted"),
    *("superiority", "superiority_low", "superiority_high", "standardized", "p_equivalent"),
    *("p_not_inferior", "verdict", "status", "reason"),
)
#: Standard errors below this share of the largest absolute value are due to rounding.
_ALIKE = 1e-11
#: So are variances below this share of those that cancel in them.
_CANCELLED = 1e-13


@dataclass(frozen=True, eq=False)
class _Model:
    """The judgments of one dimension as arrays, and the effects fitted to them."""

    frame: pd.DataFrame
    names: list[str]
    people: list[str]
    system: Ints
    item: Ints
    annotator: Ints
    #: Items that were sampled together, such as those of a document, and their column's name.
    group: Ints
    grouped_by: str
    #: The combination of group and annotator, as one number.
    cell: Ints
    #: Whether each item has outputs of only one system, so that the model has no item effects.
    nested: bool
    #: The number of sets of annotators that share no item with each other.
    n_parts: int
    #: Whether each annotator gave one judgment, so that severities are part of the noise.
    once: bool
    data: Judgments
    by_annotator: bool
    fit: Fit

    @property
    def least(self) -> float:
        """The smallest standard error that is not due to rounding."""
        return _ALIKE * float(np.abs(self.data.value).max())

    @property
    def units(self) -> str:
        """What was sampled: items, or clusters of them."""
        return f"clusters ({self.grouped_by})" if self.grouped_by else "items"


@dataclass(frozen=True, eq=False)
class _Uncertainty:
    """Covariances of the systems' levels, over the factors that intervals generalize to."""

    #: Over items; or over items, annotators, and pairs of both if annotators are random. Keys are
    #: the clusters (attributes of `_Model`).
    covariances: dict[str, Floats]
    #: Annotators' effects without each item; NaN where systems cannot be compared without it.
    severities: Floats
    #: By system; NaN for those that are left out.
    df: Floats
    n_items: float
    n_annotators: float
    covers: str
    #: Why intervals are missing, and why they may be doubtful.
    missing: Status
    doubt: list[Status]
    #: The systems that cannot be compared without some one cluster, and why.
    cut: dict[str, Status]

    def variance(self, contrasts: Floats) -> Floats:
        """Compute the variance of each contrast (n, systems)."""
        if not self.covariances:
            return np.full(len(contrasts), np.nan)
        variance = clustering.contrast_variance(contrasts, list(self.covariances.values()))
        return np.where((contrasts != 0) @ self.left_out, np.nan, variance)

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Which systems are left out."""
        return np.isnan(self.df)


def judged_systems(study: Study, dimension: str, include_human: bool) -> pd.DataFrame:
    """Return a row per judgment with its output's item and system; higher is better."""
    frame = study.judged(dimension)
    if study.clusters in study.outputs and study.clusters != "item_id":
        named = frame["cluster"].astype(str).where(frame["cluster"].notna(), "")
        # An output without a cluster is its own cluster.
        frame["cluster"] = named.where(named != "", "item " + frame["item_id"])
    else:
        frame = frame.drop(columns="cluster")
    if not include_human:
        frame = frame[~frame["is_human"]].reset_index(drop=True)
    if frame["system"].nunique() < 2:
        more = "" if include_human else " Set include_human=True to add human outputs."
        raise Unsupported(
            "one_system",
            f"a comparison needs judgments of at least two systems. Found "
            f"{frame['system'].nunique()} in {dimension!r} of {study.name}.{more}",
        )
    return frame


def _fit_dimension(study: Study, dimension: str, include_human: bool, scale: Scale) -> _Model:
    frame = judged_systems(study, dimension, include_human)
    return _fit_frame(_rescale(frame, scale), study.clusters)


def _fit_frame(frame: pd.DataFrame, clusters: str) -> _Model:
    system, names = pd.factorize(frame["system"])
    item, _ = pd.factorize(frame["item_id"])
    annotator, people = pd.factorize(frame["annotator_id"])
    met = np.unique(item * len(people) + annotator, return_inverse=True)[1]
    group, grouped_by, cell = item, "", met
    if "cluster" in frame:
        group = linked(item, frame["cluster"])
        if group.max() < item.max():
            grouped_by = clusters
            cell = np.unique(group * len(people) + annotator, return_inverse=True)[1]
    nested = bool(len(np.unique(item * len(names) + system)) == item.max() + 1)
    # If items have outputs of only one system, their difficulty is unknown: they have no effects.
    # If annotators have one item each, their effects include that of the item.
    # If annotators judged only once, their severity is unknown: they have no effects.
    once = len(people) > 1 and bool(np.bincount(annotator).max() == 1)
    absorbed = met.max() == annotator.max() and not once
    effect = np.zeros_like(item) if nested or absorbed else item
    data, by_annotator = additive.normal_equations(
        frame["value"].to_numpy(dtype=np.float64),
        system,
        effect,
        np.zeros_like(annotator) if once else annotator,
    )
    fit = data.fit()
    if fit is None:
        raise Unsupported("disconnected", _describe_parts(frame, list(names), data.parts()))
    n_parts = int(additive.components(data.normal, data.n_systems).max()) + 1
    if absorbed and not nested:
        n_parts = int(item.max()) + 1
    labels = {"system": system, "item": item, "annotator": annotator, "group": group, "cell": cell}
    return _Model(
        **labels,
        frame=frame,
        names=list(names),
        people=list(people),
        grouped_by=grouped_by,
        nested=nested,
        n_parts=n_parts,
        once=once,
        data=data,
        by_annotator=by_annotator,
        fit=fit,
    )


def _rescale(frame: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Standardize or rank judgments by annotator; z excludes annotators with one distinct value."""
    values = frame.groupby("annotator_id")["value"]
    if scale == "rank":
        return frame.assign(value=(values.rank() - 0.5) / values.transform("size"))
    if scale == "z":
        sd, largest = values.transform("std"), frame["value"].abs().max()
        z = (frame["value"] - values.transform("mean")) / sd.where(sd > _ALIKE * largest)
        frame = frame.assign(value=z).dropna(subset="value").reset_index(drop=True)
        if frame["system"].nunique() < 2:
            raise Unsupported(
                "no_variation",
                "scale='z' needs two systems judged by annotators whose values vary.",
            )
    return frame


def rescale_judgments(
    study: Study, scale: Scale, *, dimension: str | None = None, include_human: bool = False
) -> Study:
    """Return the study with one dimension's judgments on the scale that `compare_systems` uses."""
    if scale == "raw" or study.judgments is None:
        return study
    name = study.dimension(dimension)
    frame = _rescale(judged_systems(study, name, include_human), scale)
    frame["value"] *= study.sign(name)
    return with_tables(study, judgments=frame[list(study.judgments.columns)])


def _describe_parts(frame: pd.DataFrame, names: list[str], component: Ints) -> str:
    """Describe the systems and annotators of each connected part."""
    lines = []
    for number in range(component.max() + 1):
        systems = [name for name, label in zip(names, component, strict=True) if label == number]
        rows = frame[frame["system"].isin(systems)]
        people = [str(name) for name in rows["annotator_id"].unique()]
        who = ", ".join(people[:3]) + (f" and {len(people) - 3} more" if len(people) > 3 else "")
        n_items = rows["item_id"].nunique()
        lines.append(f"{', '.join(systems)} (items: {n_items}; annotators: {who})")
    return (
        "systems cannot be compared: they form parts that share no items or annotators, so higher "
        f"means may only reflect milder annotators. Parts: {'; '.join(lines)}. "
        "Compare systems within a part with study.only(systems=[...]), or let some annotators "
        "judge systems of several parts."
    )


def _leave_out(model: _Model, covers: str, missing: Status) -> tuple[_Model, _Uncertainty, _Model]:
    """Leave out systems that cannot be compared without some one item, cluster or annotator.

    Return all systems, their covariances, and the judgments of the systems that are not left out.
    """
    connected, left_out = model, dict[str, Status]()
    spread = _estimate_spread(connected, covers, missing)
    while 0 < len(spread.cut) < len(connected.names):
        frame = connected.frame[~connected.frame["system"].isin(list(spread.cut))]
        try:
            refit = _fit_frame(frame.reset_index(drop=True), model.grouped_by)
        except Unsupported:  # only the systems to leave out connect the others
            break
        left_out |= spread.cut
        connected, spread = refit, _estimate_spread(refit, covers, missing)
    is_connected = np.array([name not in left_out for name in model.names])
    level, df = model.fit.level.copy(), np.full(len(is_connected), np.nan)
    level[is_connected], df[is_connected] = connected.fit.level, spread.df
    expand = np.eye(len(is_connected))[is_connected]
    covariances = {name: expand.T @ matrix @ expand for name, matrix in spread.covariances.items()}
    doubts = iter(spread.doubt)
    doubt = [left_out.get(name) or next(doubts) for name in model.names]
    model = replace(model, fit=model.fit._replace(level=level))
    return model, replace(spread, covariances=covariances, df=df, doubt=doubt), connected


def _estimate_spread(model: _Model, covers: str, missing: Status) -> _Uncertainty:
    """Refit without each item (or group of items) and, if annotators are random, each annotator."""
    kind = model.grouped_by or "item"
    n_items, n_annotators = map(clustering.effective_size, (model.group, model.annotator))
    random = covers == clustering.OTHER_ANNOTATORS and not missing
    several = bool(model.group.max() > 0)
    factor: additive.Factor = "wide" if model.by_annotator else "narrow"
    levels, severities = additive.without_clusters(model.data, model.group, factor)
    # If annotators have one item each, leaving out items leaves them out, too.
    within = several and model.cell.max() == model.annotator.max()
    without = {"group": levels} if several else {}
    if random and not within:
        without["annotator"] = additive.without_clusters(model.data, model.annotator)[0]
    used = [n_annotators if name == "annotator" else n_items for name in without]
    cut: dict[str, Status] = {}
    lost = [text for name in without for text in _find_lost(model, name, without[name], cut)]
    if len(without) > 1 and not lost:
        block = model.annotator if model.by_annotator else model.group
        without["cell"] = additive.without_few(model.data, model.fit, model.cell, block)
    doubt = [OK] * len(model.names)
    df = np.full(len(model.names), max(min(used, default=0.0) - 1, 0.0))
    if lost and len(cut) == len(model.names):
        missing = cut[model.names[0]]
    elif lost:
        more = f" (the same is true of {len(lost) - 1} more)" if len(lost) > 1 else ""
        missing = explain("one_connection", cluster=lost[0], more=more)
    elif not several and not random:
        missing = missing or explain("one_item", unit=kind)
    elif not several:
        covers = f"other annotators, this {kind}"
        doubt = [explain("this_item", unit=kind)] * len(doubt)
    elif not missing:
        group = np.unique(np.column_stack([model.system, model.group]), axis=0)[:, 0]
        n_groups = np.bincount(group)
        if n_items < 2:  # one has almost all judgments
            missing = explain("one_effective", n=n_items, units=model.units)
        few = clustering.few_clusters(n_items, f"effective {model.units}")
        doubt = [few or clustering.few_clusters(int(n), model.units) for n in n_groups]
        if n_items >= clustering.FEWEST:  # a system with few items has its own degrees of freedom
            df = np.where(n_groups < clustering.FEWEST, np.minimum(df, n_groups - 1), df)
    covariances = {}
    if not lost:
        level = model.fit.level
        covariances = {n: clustering.jackknife_covariance(w, level) for n, w in without.items()}
    sizes = {"n_items": n_items, "n_annotators": n_annotators}
    return _Uncertainty(
        covariances, severities, df, **sizes, covers=covers, missing=missing, doubt=doubt, cut=cut
    )


def _find_lost(model: _Model, factor: str, without: Floats, cut: dict[str, Status]) -> list[str]:
    """List the clusters without which systems cannot be compared; add single systems to `cut`."""
    kind, units, column = "annotator", "annotators", "annotator_id"
    if factor == "group":
        kind, units = model.grouped_by or "item", model.units
        column = "cluster" if model.grouped_by else "item_id"
    lost = []
    for number in np.flatnonzero(np.isnan(without).any(axis=1)):
        rows = np.flatnonzero(getattr(model, factor) == number)
        lost.append(f"{kind} {model.frame[column].iloc[rows[0]]!r}")
        component = model.data.parts(rows)
        n_systems = np.bincount(component)
        n_left = np.bincount(np.delete(model.system, rows), minlength=len(component))
        for system in np.flatnonzero(n_systems[component] == 1):
            if n_left[system] == 0:
                cut[model.names[system]] = clustering.few_clusters(1, units)
            elif n_systems.max() > 1:
                status = explain("one_connection", cluster=lost[-1], more="")
                cut.setdefault(model.names[system], status)
    return lost


def _compare_pairs(model: _Model, spread: _Uncertainty, confidence: float) -> pd.DataFrame:
    """Compare each pair of systems in both directions; systems are numbered."""
    k = len(model.names)
    first, second = np.triu_indices(k, 1)
    contrasts = np.eye(k)[first] - np.eye(k)[second]
    variance = spread.variance(contrasts)
    difference = contrasts @ model.fit.level
    # Variances of levels, which cancel in that of a difference, leave rounding errors.
    cancelled = spread.variance(np.eye(k))
    rounding = _CANCELLED * (cancelled[first] + cancelled[second])
    flat = ~(variance > np.maximum(rounding, model.least**2))
    df = np.minimum(spread.df[first], spread.df[second])
    se = np.sqrt(np.where(flat, np.nan, variance))
    half = np.nan if spread.missing else student.ppf(0.5 + confidence / 2, df) * se
    superiority = _estimate_superiority(model, spread, first, second, df, confidence)
    within = model.frame["value"] - model.frame.groupby("annotator_id")["value"].transform("mean")
    n_within = len(within) - len(model.people)
    sd = float(np.sqrt((within**2).sum() / n_within)) if n_within > 0 else np.nan
    p = 2 * student.sf(np.abs(difference) / se, df)
    met = np.unique(model.item * len(model.people) + model.annotator, return_inverse=True)[1]
    labels = model.system, model.group, met
    units = decisive.compare_units(model.data.value, labels, (first, second), flat)
    exact = np.isfinite(units.p + df) & (spread.covers == clustering.THESE_ANNOTATORS)
    p = np.where(exact, units.p, p)
    low, high = difference - half, difference + half
    scores = _compare_binary(model, spread, (first, second), confidence)
    is_binary = np.isfinite(scores.p + df)
    p, low, high = np.where(is_binary, scores[1:], (p, low, high))
    contradicts = (exact | is_binary) & ((p < 1 - confidence) != ((low > 0) | (high < 0)))
    low, high = np.where(contradicts, np.nan, (low, high))
    few = units.few & ~(exact & ~contradicts & (units.n_decisive >= clustering.FEWEST))
    few = np.where(is_binary, contradicts, few)
    for name, limit in (("superiority_low", low), ("superiority_high", high)):
        superiority[name] = np.where(is_binary, (1 + limit) / 2, superiority[name])
    fates = np.where(contradicts, "left out, because it contradicts the exact test", "unreliable")
    few_decisive = [
        explain("few_decisive", n=n_decisive, total=n, units=model.units, fate=fate)
        for n_decisive, n, fate in zip(units.n_decisive, units.n, fates, strict=True)
    ]
    status = first_status(
        len(first),
        (True, spread.missing),
        (spread.left_out[first], [spread.doubt[i] for i in first]),
        (spread.left_out[second], [spread.doubt[i] for i in second]),
        (flat & ~is_binary, explain("no_variation")),
        (few, few_decisive),
        (True, [spread.doubt[i] for i in first]),
        (True, [spread.doubt[i] for i in second]),
        (~is_binary, superiority.pop("status")),
    )
    table = pd.DataFrame({"system": first, "opponent": second, "estimate": difference})
    table = table.assign(ci_low=low, ci_high=high, se=se, df=df)
    table = table.assign(p=np.nan if spread.missing else p, **superiority)
    table = table.assign(standardized=difference / sd if sd > model.least else np.nan)
    table = table.assign(covers=spread.covers, status=status)
    if is_binary.any():
        table[list(binary.COUNTS)] = np.where(is_binary, scores.counts, np.nan).T
    return pd.concat([table, _mirror_pairs(table)], ignore_index=True)


def _compare_binary(
    model: _Model, spread: _Uncertainty, pairs: tuple[Ints, Ints], confidence: float
) -> binary.Binary:
    """Compare pairs of systems with 0/1 scores; NaN for clusters, or several annotators."""
    if len(model.people) > 1 or model.grouped_by or spread.missing:
        return binary.Binary(*np.full((4, len(pairs[0])), np.nan))
    labels = model.system, model.item
    return binary.compare_binary(model.data.value, labels, pairs, confidence)


def _compare_frame(
    study: Study, frame: pd.DataFrame, annotators: Annotators, confidence: float
) -> pd.DataFrame:
    """Compare each pair of systems, by name, in some of the judgments."""
    model = _fit_frame(frame, study.clusters)
    n_annotators = clustering.effective_size(model.annotator)
    options = clustering.choose_annotators(annotators, n_annotators, persons=study.persons)
    pairs = _compare_pairs(*_leave_out(model, *options)[:2], confidence)
    return pairs.assign(**{end: np.array(model.names, dtype=object)[pairs[end]] for end in _ENDS})


def _mirror_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Reverse the direction of pairs."""
    names = {"system": "opponent", "ci_low": "ci_high", "superiority_low": "superiority_high"}
    names["won"] = "lost"
    mirrored = table.rename(columns=names | {new: old for old, new in names.items()})
    for name in ("estimate", "ci_low", "ci_high", "standardized"):
        mirrored[name] = 0.0 - mirrored[name]
    for name in ("superiority", "superiority_low", "superiority_high"):
        mirrored[name] = 1 - mirrored[name]
    return mirrored[list(table)]


def _estimate_superiority(
    model: _Model, spread: _Uncertainty, first: Ints, second: Ints, df: Floats, confidence: float
) -> dict[str, Any]:
    """Estimate how often a judgment of one system is higher than one of another on the same item.

    In a nested design, all judgments count as one item. The variance uses the clusters of `spread`.
    """
    block = np.zeros_like(model.item) if model.nested else model.item
    counted = wins.tabulate(model.data.value, model.system, block)
    share_of = wins.share(counted)
    variance_of = np.full_like(share_of, np.nan)
    if spread.covariances:
        variance_of = clustering.largest_variance(
            *(wins.jackknife_variance(counted, getattr(model, name)) for name in spread.covariances)
        )
    share, variance = share_of[first, second], variance_of[first, second]
    bounded = (share > 0) & (share < 1) & (variance > _ALIKE) & (not spread.missing)
    inner = np.where(bounded, share, np.nan)
    se = np.sqrt(np.where(bounded, variance, np.nan))
    low, high = logit_interval(inner, student.ppf(0.5 + confidence / 2, df) * se)
    statuses = first_status(
        len(first),
        (np.isnan(share), explain("no_common_items")),
        ((share == 0) | (share == 1), explain("always_higher")),
        (np.isnan(variance), explain("few_common_items")),
        (~bounded, explain("superiority_constant")),
    )
    columns = {"superiority": share, "superiority_low": low, "superiority_high": high}
    return {"status": statuses, **columns}


def add_verdicts(
    pairs: pd.DataFrame, margin: float | None, confidence: float, *, mirrored: bool = True
) -> pd.DataFrame:
    """Adjust p over all pairs, and derive verdicts, which never claim exact equality.

    `mirrored`: each pair is listed in both directions.
    """
    over_pairs = partial(_over_pairs, pairs) if mirrored else adjust
    adjusted = over_pairs(pairs["p"].to_numpy())
    same = worse = np.full(len(pairs), np.nan)
    if margin is not None:
        below = student.sf((pairs["estimate"] + margin) / pairs["se"], pairs["df"])
        above = student.sf((margin - pairs["estimate"]) / pairs["se"], pairs["df"])
        if "won" in pairs:  # 0/1 scores
            counts = pairs[list(binary.COUNTS)].to_numpy().T
            z = [binary.score_difference(counts, bound) for bound in (-margin, margin)]
            below, above = np.where(np.isnan(z), (below, above), (norm.sf(z[0]), norm.cdf(z[1])))
        below, above = (np.where(pairs["p"].isna(), np.nan, p) for p in (below, above))
        same, worse = over_pairs(np.maximum(below, above)), adjust(below)
    alpha = 1 - confidence
    verdicts = []
    for difference, p, p_same, p_worse in zip(
        pairs["estimate"], adjusted, same, worse, strict=True
    ):
        verdict = [("better" if difference > 0 else "worse")] if p < alpha else []
        verdict += ["equivalent"] if p_same < alpha else []
        verdict += ["not inferior"] if p_worse < alpha and not verdict else []
        verdicts.append(", ".join(verdict) or ("" if np.isnan(p) else "undecided"))
    return pairs.assign(
        p_adjusted=adjusted, p_equivalent=same, p_not_inferior=worse, verdict=verdicts
    )


def _over_pairs(pairs: pd.DataFrame, p: Floats) -> Floats:
    """Adjust over pairs, each of which is listed in both directions, in the same order."""
    first = (pairs["system"] < pairs["opponent"]).to_numpy()
    adjusted = np.empty(len(p))
    adjusted[first] = adjusted[~first] = adjust(p[first])
    return adjusted


def _describe_systems(
    study: Study,
    model: _Model,
    spread: _Uncertainty,
    dimension: str,
    scale: Scale,
    confidence: float,
) -> pd.DataFrame:
    """Return a row per system, by number; raw judgments regain their original direction."""
    frame, level = model.frame, model.fit.level
    counted = frame.groupby("system", sort=False).agg(
        n_outputs=("output_id", "nunique"),
        n_missing=("item_id", "nunique"),
        n_judgments=("value", "size"),
    )
    outputs = frame.groupby(["system", "output_id"])["value"].mean()
    n_wanted: Any = frame["item_id"].nunique()
    if model.nested:
        n_wanted = study.outputs.groupby("system")["item_id"].nunique()
    counted["n_missing"] = n_wanted - counted["n_missing"]
    counted["raw"] = outputs.groupby(level="system").mean()
    variance = spread.variance(np.eye(len(level)))
    se = np.sqrt(np.where(variance > model.least**2, variance, np.nan))
    half = np.nan if spread.missing else student.ppf(0.5 + confidence / 2, spread.df) * se
    # Systems that are left out have no rank.
    rank = pd.Series(rankdata(np.where(spread.left_out, np.inf, -level), method="min").astype(int))
    table = (
        counted.reset_index(drop=True)
        .astype({"n_missing": int})
        .assign(
            system=model.names,
            label=[*map(study.label, model.names)],
            estimate=level,
            ci_low=level - half,
            ci_high=level + half,
            se=se,
            confidence=confidence,
            covers=spread.covers,
            better="higher",
            scale=_WORDS.get(scale, ""),
            rank=rank.where(~spread.left_out),
            effective_items=spread.n_items,
            effective_annotators=spread.n_annotators,
            status=first_status(
                len(level),
                (True, spread.missing),
                (spread.left_out, spread.doubt),
                (np.isnan(se), explain("no_variation")),
                (True, spread.doubt),
                (_skewed(model), explain("skewed")),
            ),
        )
    )
    declared = study.scale(dimension)
    if scale == "raw" and declared is not None:
        table["scale"] = "{:g} to {:g}".format(*declared)
    if scale == "raw" and study.sign(dimension) < 0:
        table = table.rename(columns={"ci_low": "ci_high", "ci_high": "ci_low"})
        flipped = ["estimate", "ci_low", "ci_high", "raw"]
        table[flipped] = -table[flipped]
        table["better"] = "lower"
    return table


def _skewed(model: _Model) -> NDArray[np.bool_]:
    """Return by system whether its means by unit are too skewed for a t interval.

    They are as skewed as zeros with fewer than ten other values: G^2 > n / 10 (Cochran 1977,
    *Sampling Techniques*, asks for n > 25 G^2). G up to 2 also occurs in ratings of few items.
    """
    rows = pd.DataFrame({"system": model.system, "unit": model.group, "value": model.data.value})
    units = rows.groupby(["system", "unit"])["value"].mean().groupby("system")
    skewness = units.skew().abs()
    return np.asarray((skewness > 2) & (skewness > np.sqrt(units.size() / clustering.FEWEST)))


_WORDS = {"z": "z-score within annotator", "rank": "rank within annotator, 0 to 1"}


def _rank_limits(
    pairs: pd.DataFrame, left_out: NDArray[np.bool_], confidence: float
) -> dict[str, Floats]:
    """Compute rank ranges from the pairs that differ significantly; NaN without tests."""
    k = len(left_out)
    if pairs["p_adjusted"].isna().all():
        return dict.fromkeys(("rank_low", "rank_high"), np.full(k, np.nan))
    first, second = (pairs[name].to_numpy() for name in ("system", "opponent"))
    better = (pairs["p_adjusted"] < 1 - confidence) & (pairs["estimate"] > 0)
    ranges = clustering.rank_ranges(first, second, better.to_numpy(), k)
    ranges["rank_high"] -= left_out.sum()
    return {name: np.where(left_out, np.nan, ends) for name, ends in ranges.items()}


def _estimate_severities(
    frame: pd.DataFrame, model: _Model, spread: _Uncertainty, confidence: float
) -> pd.DataFrame:
    """Estimate annotators' severities relative to their mean, with intervals over items."""
    effect = model.fit.wide if model.by_annotator else model.fit.narrow
    without = spread.severities
    counts = frame.groupby("annotator_id", sort=False).agg(
        n_judgments=("value", "size"),
        n_items=("item_id", "nunique"),
        n_systems=("system", "nunique"),
    )
    n_items = np.bincount(model.annotator[np.unique(model.cell, return_index=True)[1]])
    if model.once or model.n_parts > 1:
        effect, without = np.full(len(n_items), np.nan), np.full((1, len(n_items)), np.nan)
    severity = effect.mean() - effect
    estimable = np.isfinite(without)
    mean = np.where(estimable, without, 0).sum(axis=1) / np.maximum(estimable.sum(axis=1), 1)
    squares = ((mean[:, None] - without - severity) ** 2).sum(axis=0)
    se = np.sqrt(squares * (len(without) - 1) / len(without))
    se = np.where(se > model.least, se, np.nan)
    half = student.ppf(0.5 + confidence / 2, np.maximum(n_items - 1, 1)) * se
    few = [clustering.few_clusters(int(n), model.units) for n in n_items]
    table = pd.DataFrame({"annotator_id": model.people, "estimate": severity})
    table = table.assign(ci_low=severity - half, ci_high=severity + half, se=se)
    table["confidence"] = confidence
    table["status"] = first_status(
        len(table),
        (model.once, explain("one_judgment")),
        (model.n_parts > 1, explain("separate_annotators", n=model.n_parts)),
        (n_items < 2, explain("one_item", unit=model.grouped_by or "item")),
        (len(table) < 2, explain("one_annotator")),
        # Without some item, nothing is estimable.
        (np.isnan(without).all(axis=1).any(), spread.missing),
        (np.isnan(se), explain("no_variation")),
        (True, few),
    )
    table = table.merge(counts.reset_index(), on="annotator_id", how="right")
    if list(table["annotator_id"]) == [PLACEHOLDER]:
        table = table[:0]  # unknown annotators
    left_out: Any = explain("left_out")
    table = split_status(table.assign(status=table.pop("status").fillna(left_out)))
    return table.sort_values("estimate", ascending=False, kind="stable").reset_index(drop=True)
