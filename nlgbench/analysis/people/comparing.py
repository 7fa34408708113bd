"""Which generator is better, by people's judgments: items and annotators are both samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata
from scipy.stats import t as student

from nlgbench.analysis.people import additive, wins
from nlgbench.analysis.people.additive import Fit, Ints, Judgments
from nlgbench.crossed import (
    FEWEST,
    OTHER_ANNOTATORS,
    choose_annotators,
    contrast_variance,
    effective_size,
    few_clusters,
    largest_variance,
    rank_ranges,
)
from nlgbench.inference import Floats, adjust, linked
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked

Annotators = Literal["fixed", "random"]
Scale = Literal["raw", "z", "rank"]


@dataclass(frozen=True, eq=False)
class SystemComparison(Reported):
    """Which system is better: what `compare_systems` found, as tables.

    Parameters
    ----------
    systems, pairs, details, annotators : DataFrame
        As `compare_systems` says.

    Examples
    --------
    >>> import nlgbench as nb
    >>> found = compare_systems(nb.simulate("judgments", n_items=30, seed=1))
    >>> isinstance(found, SystemComparison), len(found.pairs)
    (True, 20)
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    details: pd.DataFrame
    annotators: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.systems.round(3)


@checked
def compare_systems(
    study: Study,
    *,
    dimension: str | Sequence[str] | None = None,
    annotators: Annotators | None = None,
    scale: Scale = "raw",
    include_human: bool = False,
    margin: float | None = None,
    confidence: float = 0.95,
) -> SystemComparison:
    """Compare systems by human judgments: adjusted means, differences, tests and ranges of ranks.

    Parameters
    ----------
    study : Study
        With judgments of at least two systems. A column of outputs in ``settings["clusters"]``,
        such as document, says which items go together: clusters of items are then the sample, those
        that share items joined. (``group_id`` does not: who judged a group is a cluster already.)
    dimension : str, or sequence of str, optional
        Which judgments. Default: the study's quality dimension. Several are one family of tests:
        p are adjusted over all pairs of all dimensions, and rank ranges cover in all of them.
    annotators : {"fixed", "random"}, optional
        What intervals and tests generalize to. ``"fixed"``: other items, these annotators.
        ``"random"``: other items and other annotators. Default: random with at least ten effective
        annotators, else fixed; in all dimensions the same. Annotators that are positions in a file
        (``settings["annotators"]``) are fixed.
    scale : {"raw", "z", "rank"}
        ``"raw"``: judgments as given. ``"z"``: less the annotator's mean, over the annotator's
        standard deviation. ``"rank"``: their rank among the annotator's judgments, from 0 to 1, as
        for magnitude estimation, where a few large values decide the means.
    include_human : bool
        Whether human outputs are systems here. Default: they are left out, and counted.
    margin : float, optional
        The smallest difference that matters, on this scale, above 0 and declared before the data
        are looked at. It adds tests of equivalence and non-inferiority.
    confidence : float
        Coverage asked for, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    SystemComparison
        ``systems``, the best first: system, estimate (the adjusted mean: as if every system had
        been judged in every judgment's place), ci_low, ci_high, covers (what intervals generalize
        to), rank, rank_low, rank_high (simultaneous), n_judgments, reason. Of several dimensions
        the first column is dimension.

        ``details``, by dimension and system: label, se, confidence, better (``higher`` or
        ``lower``), scale, raw, centered (less the annotator's mean), z (over the annotator's
        standard deviation; higher is better), median (means over outputs of these), lowest, highest
        (the estimate if all missing outputs were worst, or best), n_outputs (judged), n_missing
        (items judged for others, not for it), cluster (1 is best: all of a cluster are
        significantly better than all of the next), superiority (mean over opponents),
        rank_superiority, rank_changes (whether difference and superiority disagree who is ahead of
        some opponent, and an interval of the two leaves no difference out), effective_items,
        effective_annotators, model.

        ``pairs``, two rows for each, one from either side: dimension, system, opponent, difference
        (above 0: system is better), ci_low, ci_high (one at a time), se, df, covers, p, p_adjusted
        (Holm over all pairs), superiority (P(system better than opponent) on an item, ties half),
        superiority_low, superiority_high, standardized (difference over the annotators' standard
        deviation), p_equivalent, p_not_inferior (Holm, too; NaN without a margin), verdict
        (``better``, ``worse``, ``equivalent``, ``not inferior``, ``undecided``), reason.

        ``annotators``: dimension, annotator_id, severity (how much worse than the average annotator
        they judge the same), ci_low, ci_high, se, n_judgments, n_items, n_systems, reason.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or no chain of items and annotators connects some
        (it says who is in which part); for an unknown dimension, or a margin that is not above 0.

    Notes
    -----
    Least squares of system + item + annotator, so that severe annotators and hard items do not
    penalize the systems they happened to judge (of system + item where each annotator judged once).
    For other items and annotators, the variance of a difference is the largest of ``V_I``, ``V_A``
    and ``V_I + V_A - V_IA`` (MacKinnon, Nielsen and Webb 2024, arXiv:2406.08880; the last is
    Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136), each a delete-one-cluster
    jackknife: items, annotators, and pairs of both. For these annotators it is ``V_I``. t has
    ``min(G) - 1`` degrees of freedom, G the effective number of clusters of a factor,
    ``(sum n)^2 / sum n^2``. Where ``settings["clusters"]`` is a column of outputs, its clusters
    replace items in variance and degrees of freedom; items keep their effects. Rank ranges count
    the pairs that Holm's tests reject: all cover at once. What is not significant is undecided,
    never equal. docs/comparing-systems.md has the measured coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[0.8, 0.0, -0.1], n_annotators=30, seed=1)
    >>> found = compare_systems(study)
    >>> found.systems[["system", "estimate", "rank_low", "rank_high"]].round(2)
      system  estimate  rank_low  rank_high
    0    s01      0.77       1.0        1.0
    1    s03     -0.03       2.0        3.0
    2    s02     -0.09       2.0        3.0
    """
    if margin is not None and margin <= 0:
        raise ValueError(
            f"margin must be above 0, the smallest difference that matters. Got {margin}."
        )
    chosen = [dimension] if dimension is None or isinstance(dimension, str) else dimension
    names = list(dict.fromkeys(map(study.dimension, chosen)))
    fitted = [_fitted(study, name, include_human, scale) for name in names]
    # One family of tests generalizes to one thing.
    fewest = min(effective_size(one.annotator) for one in fitted)
    covers, missing = choose_annotators(annotators, fewest, persons=study.persons)
    found = []
    for name, judged in zip(names, fitted, strict=True):
        spread, without_item = _spread(judged, covers, missing)
        pairs = _pairs(judged, spread, confidence)
        found.append(_Found(name, judged, spread, without_item, pairs))
    tables: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("details", "pairs", "annotators")
    }
    for one, pairs in zip(found, _verdicts(found, margin, confidence), strict=True):
        made = _tables(study, one, pairs, scale, confidence)
        for name, table in zip(tables, made, strict=True):
            table.insert(0, "dimension", one.dimension)
            tables[name].append(table)
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    details = whole.pop("details")
    systems = details[[*(["dimension"] if len(names) > 1 else []), *_SYSTEMS]]
    return SystemComparison(systems, details=details[list(_DETAILS)], **whole)


_SYSTEMS = (
    *("system", "estimate", "ci_low", "ci_high", "covers", "rank", "rank_low", "rank_high"),
    *("n_judgments", "reason"),
)
_DETAILS = (
    *("dimension", "system", "label", "se", "confidence", "better", "scale", "raw", "centered"),
    *("z", "median", "lowest", "highest", "n_outputs", "n_missing", "cluster", "superiority"),
    *("rank_superiority", "rank_changes", "effective_items", "effective_annotators", "model"),
)
_PAIRS = (
    *("system", "opponent", "difference", "ci_low", "ci_high", "se", "df", "covers"),
    *("p", "p_adjusted"),
    *("superiority", "superiority_low", "superiority_high", "standardized", "p_equivalent"),
    *("p_not_inferior", "verdict", "reason"),
)
_ALIKE = 1e-12


@dataclass(frozen=True, eq=False)
class _Judged:
    """The judgments of one dimension, in numbers, and what was fitted to them."""

    frame: pd.DataFrame
    names: list[str]
    people: list[str]
    system: Ints
    item: Ints
    annotator: Ints
    #: Items that were drawn together, such as those of a document; and the column that says so.
    group: Ints
    grouped_by: str
    #: Which group and annotator, as one number.
    cell: Ints
    #: Whether each item is of one system alone, so that items have no effects in the model.
    nested: bool
    #: How many parts of annotators share no item with each other.
    n_parts: int
    #: Whether each annotator gave one judgment, so that severities are part of the noise.
    once: bool
    data: Judgments
    by_annotator: bool
    whole: Fit


@dataclass(frozen=True, eq=False)
class _Found:
    """One dimension, before its tests are adjusted together with those of others."""

    dimension: str
    judged: _Judged
    spread: _Spread
    #: Effects without each item (`additive.without_clusters`).
    without_item: tuple[Floats, Floats, Floats]
    pairs: pd.DataFrame


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances of the systems' levels over what intervals generalize to."""

    items: Floats | None
    annotators: Floats | None
    #: Of pairs of both, where both are covered.
    cells: Floats | None
    df: float
    n_items: float
    n_annotators: float
    covers: str
    #: Why there are no intervals, and why those that there are may be doubted.
    missing: str
    doubt: str

    def variance(self, contrasts: Floats) -> Floats:
        """Give the variance of each contrast (n, systems)."""
        each = [one for one in (self.items, self.annotators, self.cells) if one is not None]
        return contrast_variance(contrasts, each) if each else np.full(len(contrasts), np.nan)


def judged_systems(study: Study, dimension: str, include_human: bool) -> pd.DataFrame:
    """Give a row per judgment with its output's item and system; higher is better."""
    frame = study.judged(dimension)
    if study.clusters in study.outputs and study.clusters != "item_id":
        named = frame["cluster"].astype(str).where(frame["cluster"].notna(), "")
        # Who is in no cluster is one of their own.
        frame["cluster"] = named.where(named != "", "item " + frame["item_id"])
    else:
        frame = frame.drop(columns="cluster")
    if not include_human:
        frame = frame[~frame["is_human"]].reset_index(drop=True)
    if frame["system"].nunique() < 2:
        more = "" if include_human else " (include_human=True adds human outputs)"
        raise ValueError(
            f"{study.name} has judgments of {dimension!r} of {frame['system'].nunique()} systems: "
            f"a comparison needs two{more}."
        )
    return frame


def _tables(
    study: Study, found: _Found, pairs: pd.DataFrame, scale: Scale, confidence: float
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Lay out systems, pairs and annotators of one dimension, the best first."""
    judged, level = found.judged, found.judged.whole.level
    systems = _systems(study, judged, found.spread, pairs, found.dimension, scale, confidence)
    systems = systems.assign(**_ranks(pairs, len(level), confidence))
    systems["cluster"] = _clusters(level, pairs, confidence)
    systems["rank_changes"] = _rank_changes(pairs, len(level))
    order = np.argsort(-level, kind="stable")
    names = np.array(judged.names, dtype=object)
    both = pairs.assign(system=names[pairs["system"]], opponent=names[pairs["opponent"]])
    sides = [_place(order, pairs["opponent"]), _place(order, pairs["system"])]
    return (
        systems.iloc[order].reset_index(drop=True),
        both.iloc[np.lexsort(sides)].reset_index(drop=True)[list(_PAIRS)],
        _annotators(judged, found.without_item, confidence),
    )


def _fitted(study: Study, dimension: str, include_human: bool, scale: Scale = "raw") -> _Judged:
    frame = _rescaled(judged_systems(study, dimension, include_human), scale)
    system, names = pd.factorize(frame["system"])
    item, _ = pd.factorize(frame["item_id"])
    annotator, people = pd.factorize(frame["annotator_id"])
    met = np.unique(item * len(people) + annotator, return_inverse=True)[1]
    group, grouped_by, cell = item, "", met
    if "cluster" in frame:
        group = linked(item, frame["cluster"])
        if group.max() < item.max():
            grouped_by = study.clusters
            cell = np.unique(group * len(people) + annotator, return_inverse=True)[1]
    nested = bool(len(np.unique(item * len(names) + system)) == item.max() + 1)
    # An item of one system alone does not say how hard it is: it is a sample, and has no effect.
    # Where annotators have one item each, their effects hold its own.
    # But somebody who judged once does not say how severe they are, and has none.
    once = len(people) > 1 and bool(np.bincount(annotator).max() == 1)
    absorbed = met.max() == annotator.max() and not once
    effect = np.zeros_like(item) if nested or absorbed else item
    data, by_annotator = additive.tabulate(
        frame["value"].to_numpy(dtype=np.float64),
        system,
        effect,
        np.zeros_like(annotator) if once else annotator,
    )
    whole = additive.fit(data)
    if whole is None:
        raise ValueError(_disconnected(frame, list(names), additive.parts(data)))
    n_parts = int(item.max()) + 1 if absorbed and not nested else additive.components(data)
    return _Judged(
        *(frame, list(names), list(people), system, item, annotator, group, grouped_by, cell),
        *(nested, n_parts, once, data, by_annotator, whole),
    )


def _rescaled(frame: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Standardize or rank judgments within annotator; z leaves out annotators of one value."""
    by = frame.groupby("annotator_id")["value"]
    if scale == "rank":
        return frame.assign(value=(by.rank() - 0.5) / by.transform("size"))
    if scale == "z":
        sd = by.transform("std")
        z = (frame["value"] - by.transform("mean")) / sd.where(sd > _ALIKE)
        frame = frame.assign(value=z).dropna(subset="value").reset_index(drop=True)
        if frame["system"].nunique() < 2:
            raise ValueError("scale='z': no two systems have annotators who gave different values.")
    return frame


def _disconnected(frame: pd.DataFrame, names: list[str], part: Ints) -> str:
    """Say who is in which part."""
    lines = []
    for number in range(part.max() + 1):
        own = [name for name, one in zip(names, part, strict=True) if one == number]
        rows = frame[frame["system"].isin(own)]
        people = [str(name) for name in rows["annotator_id"].unique()]
        who = ", ".join(people[:3]) + (f" and {len(people) - 3} more" if len(people) > 3 else "")
        lines.append(f"{', '.join(own)} (judged by {who}, on {rows['item_id'].nunique()} items)")
    return (
        "systems cannot be compared: no chain of shared items and annotators leads from part to "
        f"part, so that one part may only have met milder people. Parts: {'; '.join(lines)}. "
        "Compare systems of one part, by study.only(systems=[...]), or let some annotators judge "
        "systems of both."
    )


def _spread(
    judged: _Judged, covers: str, missing: str
) -> tuple[_Spread, tuple[Floats, Floats, Floats]]:
    """Refit without each item (or group of items) and, if annotators are a sample, annotator."""
    n_items = effective_size(judged.group)
    kind = judged.grouped_by or "item"
    n_annotators = effective_size(judged.annotator)
    random = covers == OTHER_ANNOTATORS and not missing
    # Annotators of one item each are part of what the item contributes.
    within = judged.group.max() > 0 and judged.cell.max() == judged.annotator.max()
    level = judged.whole.level
    without_item = additive.without_clusters(judged.data, judged.group)
    items = annotators = cells = None
    lost = []
    if judged.group.max() > 0:
        items = additive.spread(without_item[0], level)
        names = judged.frame["cluster" if judged.grouped_by else "item_id"]
        lost += _lost(without_item[0], names, judged.group, kind)
    if random and not within:
        without_annotator = additive.without_clusters(judged.data, judged.annotator)[0]
        annotators = additive.spread(without_annotator, level)
        lost += _lost(
            without_annotator, judged.frame["annotator_id"], judged.annotator, "annotator"
        )
    if items is not None and annotators is not None:
        cells = np.full_like(items, np.nan)
        if not lost:
            without_pair = additive.without_few(judged.data, judged.whole, judged.cell)
            cells = additive.spread(without_pair, level)
    doubt = ""
    if lost:
        missing = f"without {lost[0]} some systems cannot be compared, so there is no interval"
        missing += f" (such clusters: {len(lost)})" if len(lost) > 1 else ""
    elif items is None and not random:
        missing = missing or f"one {kind}: its spread is unknown"
    elif items is None:
        covers = f"other annotators, this {kind}"
        doubt = f"one {kind}: intervals are for other annotators and this {kind} alone"
    elif n_items < FEWEST and not missing:
        what = f"effective clusters ({kind})" if judged.grouped_by else "effective items"
        doubt = few_clusters(int(n_items), what)
    sizes = [n_items] * (items is not None) + [n_annotators] * (annotators is not None)
    df = max(min(sizes, default=0.0) - 1, 0.0)
    made = _Spread(*(items, annotators, cells, df, n_items, n_annotators, covers, missing, doubt))
    return made, without_item


def _lost(without: Floats, names: pd.Series, cluster: Ints, kind: str) -> list[str]:
    """Name the clusters without which systems cannot be compared."""
    bad = np.flatnonzero(np.isnan(without).any(axis=1))
    first = np.unique(cluster, return_index=True)[1]
    return [f"{kind} {names.iloc[first[one]]!r}" for one in bad]


def _pairs(judged: _Judged, spread: _Spread, confidence: float) -> pd.DataFrame:
    """Compare each two systems, from either side; systems by number."""
    k = len(judged.names)
    one, other = np.triu_indices(k, 1)
    contrasts = np.eye(k)[one] - np.eye(k)[other]
    variance = spread.variance(contrasts)
    difference = contrasts @ judged.whole.level
    flat = ~(np.sqrt(np.maximum(variance, 0)) > _ALIKE * max(1.0, np.abs(difference).max()))
    se = np.sqrt(np.where(flat, np.nan, variance))
    half = student.ppf(0.5 + confidence / 2, spread.df) * se if not spread.missing else se * np.nan
    superiority = _superiority(judged, spread, one, other, confidence)
    within = judged.frame["value"] - judged.frame.groupby("annotator_id")["value"].transform("mean")
    df = len(within) - len(judged.people)
    sd = float(np.sqrt((within**2).sum() / df)) if df > 0 else np.nan
    why = "every cluster gives the same difference: its spread is unknown"
    reason = np.where(flat & (not spread.missing), why, spread.missing or spread.doubt)
    always = "one side is higher on every item: superiority has no interval"
    one_sided = np.isnan(superiority["superiority_low"]) & np.isfinite(superiority["superiority"])
    reason = np.where(one_sided & (reason == ""), always, reason)
    p = 2 * student.sf(np.abs(difference) / se, spread.df)
    table = pd.DataFrame({"system": one, "opponent": other, "difference": difference})
    table = table.assign(ci_low=difference - half, ci_high=difference + half, se=se, df=spread.df)
    table = table.assign(p=np.nan if spread.missing else p, **superiority)
    table = table.assign(standardized=difference / sd if sd > 0 else np.nan)
    table = table.assign(covers=spread.covers, reason=reason)
    return pd.concat([table, _turned(table)], ignore_index=True)


def _turned(table: pd.DataFrame) -> pd.DataFrame:
    """See pairs from the other side."""
    names = {"system": "opponent", "ci_low": "ci_high", "superiority_low": "superiority_high"}
    other = table.rename(columns=names | {new: old for old, new in names.items()})
    for name in ("difference", "ci_low", "ci_high", "standardized"):
        other[name] = -other[name]
    for name in ("superiority", "superiority_low", "superiority_high"):
        other[name] = 1 - other[name]
    return other[list(table)]


def _superiority(
    judged: _Judged, spread: _Spread, one: Ints, other: Ints, confidence: float
) -> dict[str, Floats]:
    """Say how often a judgment of one system is higher than one of the other on the same item.

    In a nested design all judgments are one item. The variance is as that of a difference.
    """
    block = np.zeros_like(judged.item) if judged.nested else judged.item
    counted = wins.tabulate(judged.data.value, judged.system, block)
    mean = wins.share(counted)
    variance = np.full_like(mean, np.nan)
    if spread.items is not None:
        variance = wins.spread(counted, judged.group)
    elif spread.annotators is not None:
        variance = wins.spread(counted, judged.annotator)
    if spread.cells is not None:
        people, cells = (wins.spread(counted, one) for one in (judged.annotator, judged.cell))
        variance = largest_variance(variance, people, cells)
    mean, variance = mean[one, other], variance[one, other]
    bounded = (mean > 0) & (mean < 1) & (variance > _ALIKE) & (not spread.missing)
    inner = np.where(bounded, mean, np.nan)
    # On the logit, so that ends stay between 0 and 1.
    step = np.sqrt(np.where(bounded, variance, np.nan)) / (inner * (1 - inner))
    step *= student.ppf(0.5 + confidence / 2, spread.df)
    middle = np.log(inner / (1 - inner))
    return {
        "superiority": mean,
        "superiority_low": expit(middle - step),
        "superiority_high": expit(middle + step),
    }


def _verdicts(found: list[_Found], margin: float | None, confidence: float) -> list[pd.DataFrame]:
    """Adjust for the number of all pairs, and say what was shown: never that two are equal."""
    pairs = pd.concat([one.pairs for one in found], ignore_index=True)
    tested = np.repeat([not one.spread.missing for one in found], [len(one.pairs) for one in found])
    adjusted = _over_pairs(pairs, pairs["p"].to_numpy())
    same = worse = np.full(len(pairs), np.nan)
    if margin is not None:
        below = student.sf((pairs["difference"] + margin) / pairs["se"], pairs["df"])
        above = student.sf((margin - pairs["difference"]) / pairs["se"], pairs["df"])
        below, above = np.where(tested, below, np.nan), np.where(tested, above, np.nan)
        same = _over_pairs(pairs, np.maximum(below, above))
        worse = adjust(below)
    alpha = 1 - confidence
    verdicts = []
    for difference, p, p_same, p_worse in zip(
        pairs["difference"], adjusted, same, worse, strict=True
    ):
        shown = [("better" if difference > 0 else "worse")] if p < alpha else []
        shown += ["equivalent"] if p_same < alpha else []
        shown += ["not inferior"] if p_worse < alpha and not shown else []
        untested = np.isnan(p) and np.isnan(p_same)
        verdicts.append(", ".join(shown) or ("" if untested else "undecided"))
    pairs = pairs.assign(
        p_adjusted=adjusted, p_equivalent=same, p_not_inferior=worse, verdict=verdicts
    )
    ends = np.cumsum([len(one.pairs) for one in found])
    return [pairs.iloc[end - len(one.pairs) : end] for end, one in zip(ends, found, strict=True)]


def _over_pairs(pairs: pd.DataFrame, p: Floats) -> Floats:
    """Adjust over pairs, of which each stands here twice, in the same order from either side."""
    first = (pairs["system"] < pairs["opponent"]).to_numpy()
    adjusted = np.empty(len(p))
    adjusted[first] = adjusted[~first] = adjust(p[first])
    return adjusted


def _systems(
    study: Study,
    judged: _Judged,
    spread: _Spread,
    pairs: pd.DataFrame,
    dimension: str,
    scale: Scale,
    confidence: float,
) -> pd.DataFrame:
    """Give a row per system, by number, in the judgments' own units."""
    frame, level = judged.frame, judged.whole.level
    by_annotator = frame.groupby("annotator_id")["value"]
    less = frame["value"] - by_annotator.transform("mean")
    deviation = by_annotator.transform("std")
    values = frame[["output_id"]].assign(
        raw=frame["value"],
        centered=less + frame["value"].mean(),
        z=less / deviation.where(deviation > 0),
    )
    if judged.once:
        values["centered"] = np.nan
    outputs = values.groupby("output_id").mean()
    outputs["median"] = frame.groupby("output_id")["value"].median()
    system = frame.drop_duplicates("output_id").set_index("output_id")["system"]
    means = outputs.groupby(system.reindex(outputs.index)).mean().reindex(judged.names)
    n_items = frame.groupby("system")["item_id"].nunique().reindex(judged.names).to_numpy()
    if judged.nested:
        there = study.outputs.groupby("system")["item_id"].nunique()
        n_wanted = there.reindex(judged.names).to_numpy()
    else:
        n_wanted = np.full(len(level), frame["item_id"].nunique())
    n_missing = n_wanted - n_items
    low, high, declared = scale_of(study, dimension, frame, scale)
    lower = study.sign(dimension) < 0
    variance = spread.variance(np.eye(len(level)))
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    half = student.ppf(0.5 + confidence / 2, spread.df) * se if not spread.missing else se * np.nan
    superiority = pairs.groupby("system")["superiority"].mean().to_numpy()
    weight = n_missing / (n_items + n_missing)
    table = pd.DataFrame({"system": judged.names, "label": [*map(study.label, judged.names)]})
    table = table.assign(estimate=level, ci_low=level - half, ci_high=level + half)
    table = table.assign(**{str(name): means[name].to_numpy() for name in means})
    table["lowest"] = level + weight * (low - level)
    table["highest"] = level + weight * (high - level)
    if lower and scale == "raw":
        swapped = {"ci_low": "ci_high", "lowest": "highest"}
        table = table.rename(columns=swapped | {new: old for old, new in swapped.items()})
        flipped = ["estimate", *swapped, *swapped.values(), "raw", "centered", "median"]
        table[flipped] = -table[flipped]
    effects = ["system", *["item"] * (not judged.nested), *["annotator"] * (not judged.once)]
    words = {"z": "z-score within annotator", "rank": "rank within annotator, 0 to 1"}
    ends = (-high, -low) if lower else (low, high)
    given = "{:g} to {:g}".format(*ends) if declared else ""
    return table.assign(
        se=se,
        confidence=confidence,
        covers=spread.covers,
        better="lower" if lower and scale == "raw" else "higher",
        scale=words.get(scale, given),
        n_outputs=frame.groupby("system")["output_id"].nunique().reindex(judged.names).to_numpy(),
        n_judgments=np.bincount(judged.system),
        n_missing=n_missing,
        rank=rankdata(-level, method="min").astype(int),
        superiority=superiority,
        rank_superiority=rankdata(-superiority, method="min").astype(int),
        effective_items=spread.n_items,
        effective_annotators=spread.n_annotators,
        model=" + ".join(effects),
        reason=spread.missing or spread.doubt,
    )


def scale_of(
    study: Study, dimension: str, frame: pd.DataFrame, scale: Scale = "raw"
) -> tuple[float, float, bool]:
    """Give the worst and best judgment, higher being better, and whether they were declared."""
    declared = study.scale(dimension)
    if scale == "rank":
        return 0.0, 1.0, True
    if declared is None or scale == "z":
        return float(frame["value"].min()), float(frame["value"].max()), False
    low, high = sorted(study.sign(dimension) * end for end in declared)
    return low, high, True


def _ranks(pairs: pd.DataFrame, k: int, confidence: float) -> dict[str, Floats]:
    """Count who is significantly better and worse than each system; NaN where nothing is tested."""
    if pairs["p_adjusted"].isna().all():
        return dict.fromkeys(("rank_low", "rank_high"), np.full(k, np.nan))
    one, other = (pairs[name].to_numpy() for name in ("system", "opponent"))
    better = (pairs["p_adjusted"] < 1 - confidence) & (pairs["difference"] > 0)
    return rank_ranges(one, other, better.to_numpy(), k)


def _rank_changes(pairs: pd.DataFrame, k: int) -> NDArray[np.bool_]:
    """Say whose order with an opponent turns with the measure, where an interval supports it."""
    supported = (pairs["ci_low"] > 0) | (pairs["ci_high"] < 0)
    supported |= (pairs["superiority_low"] > 0.5) | (pairs["superiority_high"] < 0.5)
    turned = pairs["difference"] * (pairs["superiority"] - 0.5) < 0
    return np.bincount(pairs["system"], (turned & supported).astype(float), k) > 0


def _clusters(level: Floats, pairs: pd.DataFrame, confidence: float) -> Floats:
    """Part systems by the adjusted p."""
    k = len(level)
    if pairs["p_adjusted"].isna().all():
        return np.full(k, np.nan)
    below = np.zeros((k, k), dtype=bool)
    below[pairs["system"], pairs["opponent"]] = pairs["p_adjusted"] < 1 - confidence
    return clusters_of(np.argsort(-level, kind="stable"), below)


def clusters_of(order: Ints, better: NDArray[np.bool_]) -> Floats:
    """Part an order of systems where all before beat all after: numbers from 1, by system."""
    sorted_ = better[np.ix_(order, order)]
    ends = [sorted_[:n, n:].all() for n in range(1, len(order))]
    cluster = np.empty(len(order))
    cluster[order] = 1 + np.append(0, np.cumsum(ends))
    return cluster


def _annotators(
    judged: _Judged, without_item: tuple[Floats, Floats, Floats], confidence: float
) -> pd.DataFrame:
    """Say how severe annotators are, against their mean; intervals are for other items."""
    effect = judged.whole.wide if judged.by_annotator else judged.whole.narrow
    without = without_item[2] if judged.by_annotator else without_item[1]
    frame = judged.frame
    by = frame.groupby("annotator_id", sort=False)
    counts = pd.DataFrame(
        {
            "n_judgments": by.size(),
            "n_items": by["item_id"].nunique(),
            "n_systems": by["system"].nunique(),
        }
    ).reindex(judged.people)
    n_items = counts["n_items"].to_numpy()
    what = "items"
    if judged.grouped_by:
        first = np.unique(judged.cell, return_index=True)[1]
        n_items = np.bincount(judged.annotator[first])
        what = f"clusters ({judged.grouped_by})"
    if judged.once:
        effect, without = np.full(len(counts), np.nan), np.full((1, len(counts)), np.nan)
    severity = effect.mean() - effect
    there = np.isfinite(without)
    mean = np.where(there, without, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    se = np.sqrt(np.diag(additive.spread(mean[:, None] - without, severity)))
    se = np.where(se > _ALIKE, se, np.nan)
    half = student.ppf(0.5 + confidence / 2, np.maximum(n_items - 1, 1)) * se
    few = [few_clusters(int(n), what) for n in n_items]
    why = f"annotators are in {judged.n_parts} parts that share no item: none is known severer"
    unknown = "one item, or all items alike: its spread is unknown"
    table = pd.DataFrame({"annotator_id": judged.people, "severity": severity})
    table = table.assign(ci_low=severity - half, ci_high=severity + half, se=se)
    table = table.assign(**{str(name): counts[name].to_numpy() for name in counts})
    table["reason"] = np.where(np.isnan(se), unknown, few)
    if judged.once:
        table["reason"] = "each annotator judged one output: severity is not known from it"
    elif judged.n_parts > 1:
        table[["severity", "ci_low", "ci_high", "se"]] = np.nan
        table["reason"] = why
    return table.sort_values("severity", ascending=False, kind="stable").reset_index(drop=True)


def _place(order: Ints, system: pd.Series) -> Ints:
    return np.argsort(order)[system]
