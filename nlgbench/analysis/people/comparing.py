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
from nlgbench.checks import checked
from nlgbench.inference import (
    FEWEST,
    Floats,
    adjust,
    few_clusters,
    linked,
    permutation_p,
    positive_part,
    two_way_variance,
)
from nlgbench.reported import Reported, in_words
from nlgbench.study import Study
from nlgbench.text import check_n

Test = Literal["t", "permutation"]


@dataclass(frozen=True, eq=False)
class SystemComparison(Reported):
    """Which system is better: what `compare_systems` found, as tables.

    Parameters
    ----------
    systems, pairs, annotators : DataFrame
        As `compare_systems` says.
    report : DataFrame
        ``what`` and ``value``: what was estimated of what, and how, in words.

    Examples
    --------
    >>> import nlgbench as nb
    >>> found = compare_systems(nb.simulate("judgments", n_items=30, seed=1))
    >>> isinstance(found, SystemComparison), len(found.pairs)
    (True, 20)
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    annotators: pd.DataFrame
    report: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        """Shorten the table of systems for reading."""
        table = self.systems
        first = ["dimension"] if "dimension" in table else []
        rounded = table[[*first, "label", "estimate", "ci_low", "ci_high"]].round(3)
        ranks = [
            f"{low:.0f} to {high:.0f}" if low == low else ""
            for low, high in zip(table["rank_low"], table["rank_high"], strict=True)
        ]
        rounded = rounded.assign(rank=table["rank"], ranks=ranks, cluster=table["cluster"])
        counts = table[["n_outputs", "n_judgments", "n_missing", "reason"]]
        return pd.concat([rounded.rename(columns={"label": "system"}), counts], axis=1)


@checked
def compare_systems(
    study: Study,
    *,
    dimension: str | Sequence[str] | None = None,
    include_human: bool = False,
    test: Test = "t",
    margin: float | None = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
) -> SystemComparison:
    """Say which system is better by people's judgments, over other items and other annotators.

    Parameters
    ----------
    study : Study
        With judgments of at least two systems. A column of outputs in ``settings["clusters"]``,
        such as document, says which items go together: clusters of items are then the sample, those
        that share items joined. (``group_id`` does not: who judged a group is a cluster already.)
    dimension : str, or sequence of str, optional
        Which judgments. Default: the study's quality dimension. One in which lower is better
        (``settings["lower_is_better"]``) has its signs turned, and the report says so. Several are
        one family of tests: p are adjusted over all pairs of all dimensions, and rank ranges hold
        in all dimensions at once.
    include_human : bool
        Whether human outputs are systems here. Default: they are left out, and counted.
    test : {"t", "permutation"}
        ``"t"``: intervals and tests for other items and other annotators. ``"permutation"``: for
        other items and *these annotators* only: p by flipping signs over items, and intervals that
        leave the annotators' sampling out. It can be asked of few annotators, and says less.
    margin : float, optional
        The smallest difference that matters, in points, above 0 and declared before the data are
        looked at. It adds tests of equivalence and non-inferiority.
    confidence : float
        Coverage asked for, between 0 and 1; 1 - confidence is the level of tests.
    n_resamples : int
        Draws for the rank ranges, and of flipped signs.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    SystemComparison
        ``systems``, the best first: system, label, estimate (the adjusted mean: as if every system
        had been judged in every judgment's place), ci_low, ci_high, se, raw, centered (less the
        annotator's mean), z (over the annotator's standard deviation), median (means over outputs
        of these), lowest, highest (the estimate if all missing outputs were worst, or best),
        n_outputs (judged), n_judgments, n_missing (items judged for others, not for it), rank,
        rank_low, rank_high (simultaneous), cluster (1 is best: all of a cluster are significantly
        better than all of the next), superiority (mean over opponents), rank_superiority,
        rank_changes (whether difference and superiority disagree who is ahead of some opponent, and
        an interval of the two leaves no difference out; ranks that differ by chance alone do not
        count), reason.

        ``pairs``, two rows for each, one from either side: system, opponent, difference (above 0:
        system is better), ci_low, ci_high (one at a time), se, df, p, p_adjusted (Holm over all
        pairs), superiority (P(system > opponent) on an item, ties half), superiority_low,
        superiority_high, standardized (difference over the annotators' standard deviation),
        p_equivalent, p_not_inferior (Holm, too; NaN without a margin), verdict (``better``,
        ``worse``, ``equivalent``, ``not inferior``, ``undecided``), reason.

        ``annotators``: annotator_id, severity (how much lower than the average annotator they judge
        the same), ci_low, ci_high, se, n_judgments, n_items, n_systems, reason.

        ``report``: what, value.

        Where `dimension` is a sequence, the first column of ``systems``, ``pairs`` and
        ``annotators`` is dimension.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or no chain of items and annotators connects some
        (it says who is in which part); for an unknown dimension, a margin that is not above 0, or
        signs to be flipped where no item is of two systems.

    Notes
    -----
    Least squares of system + item + annotator, so that severe annotators and hard items do no harm
    to who met them (of system + item where each annotator judged once). The variance of a
    difference is ``V_I + V_A - V_IA`` (Cameron, Gelbach and Miller 2011,
    doi:10.1198/jbes.2010.07136), ``V_I + V_A`` where that is not positive; each is a
    delete-one-cluster jackknife: items, annotators, and pairs of both (MacKinnon, Nielsen and Webb
    2023, doi:10.1002/jae.2969). t has ``min(G) - 1`` degrees of freedom, G the effective number of
    clusters of a factor, ``(sum n)^2 / sum n^2``. Where ``settings["clusters"]`` is a column of
    outputs, its clusters take the items' place in variance and degrees of freedom; items keep their
    effects. With fewer than ten effective annotators there are no intervals for other annotators,
    and ``reason`` says so. Rank ranges hold all ranks at once: the greatest absolute t over all
    pairs, stepwise (Mogstad, Romano, Shaikh and Wilhelm 2024, doi:10.1093/restud/rdad006). What is
    not significant is undecided, never equal. docs/comparing-systems.md has the coverage that was
    measured.

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
    check_n(n_resamples, "n_resamples")
    rng = np.random.default_rng(seed)
    listed = not (dimension is None or isinstance(dimension, str))
    if dimension is None or isinstance(dimension, str):
        names = [study.dimension(dimension)]
    else:
        names = list(dict.fromkeys(map(study.dimension, dimension)))
    found = [
        _found(study, name, include_human, test, confidence, len(names), n_resamples, rng)
        for name in names
    ]
    asked = {"test": test, "margin": margin, "confidence": confidence}
    tables: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("systems", "pairs", "annotators")
    }
    reports = []
    for one, pairs in zip(found, _verdicts(found, margin, confidence), strict=True):
        made = _tables(study, one, pairs, confidence)
        for name, table in zip(tables, made, strict=True):
            if listed:
                table.insert(0, "dimension", one.dimension)
            tables[name].append(table)
        reports.append(_report(study, one, found, made[0], pairs, include_human, asked))
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    return SystemComparison(**whole, report=_joined(reports, names))


_SYSTEMS = (
    *("system", "label", "estimate", "ci_low", "ci_high", "se", "raw", "centered", "z", "median"),
    *("lowest", "highest", "n_outputs", "n_judgments", "n_missing", "rank", "rank_low"),
    *("rank_high", "cluster", "superiority", "rank_superiority", "rank_changes", "reason"),
)
_PAIRS = (
    *("system", "opponent", "difference", "ci_low", "ci_high", "se", "df", "p", "p_adjusted"),
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
    ranks: dict[str, Floats]
    critical: float


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances of the systems' levels; None of a factor that is not covered."""

    items: Floats | None
    annotators: Floats | None
    cells: Floats
    df: float
    n_items: float
    n_annotators: float
    #: Why there are no intervals, and why those that there are may be doubted.
    missing: str
    doubt: str

    def variance(self, contrasts: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Give the variance of each contrast (n, systems), and whether V_IA was left out of it."""
        each = {
            name: np.einsum("ps,st,pt->p", contrasts, one, contrasts)
            for name, one in (("i", self.items), ("a", self.annotators), ("c", self.cells))
            if one is not None
        }
        if len(each) < 3:
            alone = each.get("i", each.get("a", np.full(len(contrasts), np.nan)))
            return alone, np.zeros(len(alone), dtype=bool)
        return two_way_variance(each["i"], each["a"], each["c"])

    def covariance(self) -> Floats:
        """Give the joint covariance, with negative eigenvalues at 0."""
        whole = self.items if self.annotators is None else self.annotators
        assert whole is not None
        if self.items is not None and self.annotators is not None:
            whole = self.items + self.annotators - self.cells
        return positive_part(whole)


def judged_systems(study: Study, dimension: str, include_human: bool) -> pd.DataFrame:
    """Give a row per judgment with its output's item and system; higher is better."""
    judgments, outputs = study.judgments, study.outputs
    assert judgments is not None
    judgments = judgments[judgments["dimension"] == dimension]
    place = pd.Index(outputs["output_id"]).get_indexer(judgments["output_id"])
    frame = judgments[["output_id", "annotator_id", "value"]].reset_index(drop=True)
    for name in ("item_id", "system", "is_human"):
        frame[name] = outputs[name].to_numpy()[place]
    column = (study.settings or {}).get("clusters", "item_id")
    if column in outputs and column != "item_id":
        named = outputs[column].astype(str).where(outputs[column].notna(), "").to_numpy()[place]
        # Who is in no cluster is one of their own.
        frame["cluster"] = np.where(named == "", "item " + frame["item_id"], named)
    if dimension in (study.settings or {}).get("lower_is_better", ()):
        frame["value"] = -frame["value"]
    if not include_human:
        frame = frame[~frame["is_human"].to_numpy(dtype=bool)].reset_index(drop=True)
    if frame["system"].nunique() < 2:
        more = "" if include_human else " (include_human=True adds human outputs)"
        raise ValueError(
            f"{study.name} has judgments of {dimension!r} of {frame['system'].nunique()} systems: "
            f"a comparison needs two{more}."
        )
    return frame


def _found(
    study: Study,
    dimension: str,
    include_human: bool,
    test: Test,
    confidence: float,
    n_dimensions: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> _Found:
    """Compare systems on one dimension of several."""
    judged = _fitted(study, dimension, include_human)
    if test == "permutation" and judged.nested:
        raise ValueError(
            "test='permutation' flips signs of items' differences, and here each item is of one "
            "system: take test='t', or let systems answer the same items."
        )
    spread, without_item = _spread(judged, test)
    pairs = _pairs(judged, spread, confidence)
    if test == "permutation":
        pairs["p"] = _sign_flips(judged, pairs, n_resamples, rng)
    # Ranges hold in all dimensions at once: Bonferroni.
    each = 1 - (1 - confidence) / n_dimensions
    ranks, critical = _rank_ranges(judged.whole.level, spread, pairs, each, n_resamples, rng)
    return _Found(dimension, judged, spread, without_item, pairs, ranks, critical)


def _tables(
    study: Study, found: _Found, pairs: pd.DataFrame, confidence: float
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Lay out systems, pairs and annotators of one dimension, the best first."""
    judged, level = found.judged, found.judged.whole.level
    systems = _systems(study, judged, found.spread, pairs, found.dimension, confidence)
    systems = systems.assign(**found.ranks, cluster=_clusters(level, pairs, confidence))
    systems["rank_changes"] = _rank_changes(pairs, len(level))
    order = np.argsort(-level, kind="stable")
    names = np.array(judged.names, dtype=object)
    both = pairs.assign(system=names[pairs["system"]], opponent=names[pairs["opponent"]])
    sides = [_place(order, pairs["opponent"]), _place(order, pairs["system"])]
    return (
        systems.iloc[order].reset_index(drop=True)[list(_SYSTEMS)],
        both.iloc[np.lexsort(sides)].reset_index(drop=True)[list(_PAIRS)],
        _annotators(judged, found.without_item, confidence),
    )


def _fitted(study: Study, dimension: str, include_human: bool) -> _Judged:
    frame = judged_systems(study, dimension, include_human)
    system, names = pd.factorize(frame["system"])
    item, _ = pd.factorize(frame["item_id"])
    annotator, people = pd.factorize(frame["annotator_id"])
    met = np.unique(item * len(people) + annotator, return_inverse=True)[1]
    group, grouped_by, cell = item, "", met
    if "cluster" in frame:
        group = linked(item, frame["cluster"])
        if group.max() < item.max():
            grouped_by = str((study.settings or {})["clusters"])
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


def _spread(judged: _Judged, test: Test) -> tuple[_Spread, tuple[Floats, Floats, Floats]]:
    """Refit without each item (or group of items), annotator, and pair of both."""
    n_items = additive.effective_size(judged.group)
    kind = judged.grouped_by or "item"
    n_annotators = additive.effective_size(judged.annotator)
    several = [judged.group.max() > 0, judged.annotator.max() > 0 and test == "t"]
    level = judged.whole.level
    without_item = additive.without_clusters(judged.data, judged.group)
    over: list[Floats | None] = [None, None]
    lost = []
    if several[0]:
        over[0] = additive.spread(without_item[0], level)
        names = judged.frame["cluster" if judged.grouped_by else "item_id"]
        lost += _lost(without_item[0], names, judged.group, kind)
    if several[1]:
        without_annotator = additive.without_clusters(judged.data, judged.annotator)[0]
        over[1] = additive.spread(without_annotator, level)
        lost += _lost(
            without_annotator, judged.frame["annotator_id"], judged.annotator, "annotator"
        )
    cells = np.zeros((len(level), len(level)))
    if all(several):
        if lost:
            cells[:] = np.nan
        else:
            without_pair = additive.without_few(judged.data, judged.whole, judged.cell)
            cells = additive.spread(without_pair, level)
    missing, doubt = "", ""
    if not any(several):
        missing = f"one {kind}, or one {kind} and one annotator: no spread to learn from"
    elif lost:
        missing = f"without {lost[0]} some systems cannot be compared, so there is no interval"
        missing += f" (such clusters: {len(lost)})" if len(lost) > 1 else ""
    elif several[1] and n_annotators < FEWEST:
        missing = (
            f"{n_annotators:.1f} effective annotators: fewer than {FEWEST} do not speak for "
            "others; test='permutation' speaks of these alone"
        )
    elif judged.annotator.max() == 0:
        doubt = "one annotator: intervals are for other items and this annotator alone"
    elif not several[0]:
        doubt = f"one {kind}: intervals are for other annotators and this {kind} alone"
    if several[0] and n_items < FEWEST and not missing:
        what = f"effective clusters ({kind})" if judged.grouped_by else "effective items"
        doubt = few_clusters(int(n_items)).replace("clusters", what, 1)
    sizes = [n for n, covered in zip((n_items, n_annotators), several, strict=True) if covered]
    df = max(min(sizes, default=0.0) - 1, 0.0)
    made = _Spread(over[0], over[1], cells, df, n_items, n_annotators, missing, doubt)
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
    variance, doubled = spread.variance(contrasts)
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
    p = 2 * student.sf(np.abs(difference) / se, spread.df)
    table = pd.DataFrame({"system": one, "opponent": other, "difference": difference})
    table = table.assign(ci_low=difference - half, ci_high=difference + half, se=se, df=spread.df)
    table = table.assign(p=np.nan if spread.missing else p, **superiority)
    table = table.assign(standardized=difference / sd if sd > 0 else np.nan)
    table = table.assign(doubled=doubled, reason=reason)
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

    In a nested design all judgments are one item. The variance is as that of a difference: the
    share is taken again without each item, annotator, and pair of both.
    """
    block = np.zeros_like(judged.item) if judged.nested else judged.item
    counted = wins.tabulate(judged.data.value, judged.system, block)
    mean = wins.share(counted)
    variance = np.zeros_like(mean)
    if spread.items is not None:
        variance = variance + wins.spread(counted, judged.group)
    if spread.annotators is not None:
        variance = variance + wins.spread(counted, judged.annotator)
    if spread.items is not None and spread.annotators is not None:
        less = variance - wins.spread(counted, judged.cell)
        variance = np.where(less > 0, less, variance)
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


def _sign_flips(
    judged: _Judged, pairs: pd.DataFrame, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Test each pair by flipping signs of items' differences, less the annotators' severities.

    Items of a group are flipped together.
    """
    half = len(pairs) // 2
    effect, of = judged.whole.narrow, judged.data.narrow
    if judged.by_annotator:
        effect, of = judged.whole.wide, judged.data.wide
    value = judged.data.value - effect[of]
    k, n = len(judged.names), judged.item.max() + 1
    flat = judged.item * k + judged.system
    with np.errstate(invalid="ignore"):
        mean = np.bincount(flat, value, n * k) / np.bincount(flat, minlength=n * k)
    mean = mean.reshape(n, k)
    one, other = pairs["system"][:half], pairs["opponent"][:half]
    gap = mean[:, one] - mean[:, other]
    shared = np.isfinite(gap).sum(axis=0)
    gap = np.nan_to_num(gap) / np.where(shared > 0, shared, np.nan)
    if judged.grouped_by:
        of = np.zeros(n, dtype=np.int64)
        of[judged.item] = judged.group
        n = int(of.max()) + 1
        gap = np.stack([np.bincount(of, column, n) for column in gap.T], axis=1)
    exact = 2**n <= n_resamples
    if exact:
        signs = 1.0 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    else:
        signs = rng.choice([-1.0, 1.0], size=(n_resamples, n))
    p = permutation_p((signs @ gap).T, gap.sum(axis=0)[:, None], exact=exact, two_sided=True)
    return np.tile(p, 2)


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
    confidence: float,
) -> pd.DataFrame:
    """Give a row per system, by number."""
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
    low, high = scale_of(study, dimension, frame)
    variance, _ = spread.variance(np.eye(len(level)))
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    half = student.ppf(0.5 + confidence / 2, spread.df) * se if not spread.missing else se * np.nan
    superiority = pairs.groupby("system")["superiority"].mean().to_numpy()
    table = pd.DataFrame({"system": judged.names, "label": [*map(study.label, judged.names)]})
    table = table.assign(estimate=level, ci_low=level - half, ci_high=level + half, se=se)
    table = table.assign(**{str(name): means[name].to_numpy() for name in means})
    weight = n_missing / (n_items + n_missing)
    return table.assign(
        lowest=level + weight * (low - level),
        highest=level + weight * (high - level),
        n_outputs=frame.groupby("system")["output_id"].nunique().reindex(judged.names).to_numpy(),
        n_judgments=np.bincount(judged.system),
        n_missing=n_missing,
        rank=rankdata(-level, method="min").astype(int),
        superiority=superiority,
        rank_superiority=rankdata(-superiority, method="min").astype(int),
        reason=spread.missing or spread.doubt,
    )


def scale_of(study: Study, dimension: str, frame: pd.DataFrame) -> tuple[float, float]:
    """Give the least and greatest judgment, declared or else observed, higher being better."""
    settings = study.settings or {}
    declared = settings.get("scales", {}).get(dimension)
    if declared is None:
        return float(frame["value"].min()), float(frame["value"].max())
    low, high = float(declared["min"]), float(declared["max"])
    return (-high, -low) if dimension in settings.get("lower_is_better", ()) else (low, high)


def _rank_ranges(
    level: Floats,
    spread: _Spread,
    pairs: pd.DataFrame,
    confidence: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], float]:
    """Count who is better and worse than each system at once: ranges of ranks, and critical t.

    Ordered pairs are tested together by the greatest t under their joint covariance, and again
    without those that were rejected, until no more are (Romano and Wolf 2005).
    """
    k = len(level)
    one, other = (pairs[name].to_numpy() for name in ("system", "opponent"))
    t = (pairs["difference"] / pairs["se"]).to_numpy()
    if spread.missing or not np.isfinite(t).all():
        return dict.fromkeys(("rank_low", "rank_high"), np.full(k, np.nan)), float("nan")
    return simultaneous_ranks(
        t, one, other, spread.covariance(), spread.df, confidence, n_resamples, rng
    )


def simultaneous_ranks(
    t: Floats,
    one: Ints,
    other: Ints,
    covariance: Floats,
    df: float,
    confidence: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], float]:
    """Give ranges of ranks at once, and the first critical t.

    `t` is of each pair, `one` against `other`, first from one side and then from the other;
    `covariance` is that of the levels.
    """
    k = len(covariance)
    value, vector = np.linalg.eigh(covariance)
    half = len(t) // 2
    drawn = rng.normal(size=(n_resamples, k)) @ (vector * np.sqrt(np.maximum(value, 0))).T
    gap = drawn[:, one[:half]] - drawn[:, other[:half]]
    width = np.sqrt(np.diag(covariance)[one] + np.diag(covariance)[other])
    width = np.sqrt(np.maximum(width**2 - 2 * covariance[one, other], 0))[:half]
    gap /= np.where(width > 0, width, np.inf)
    gap /= np.sqrt(rng.chisquare(df, size=(n_resamples, 1)) / df)
    gap = np.hstack([gap, -gap])
    open_, first = np.ones(len(t), dtype=bool), float("nan")
    while open_.any():
        critical = float(np.quantile(gap[:, open_].max(axis=1), confidence))
        first = critical if np.isnan(first) else first
        rejected = open_ & (t > critical)
        if not rejected.any():
            break
        open_ &= ~rejected
    n_worse, n_better = (
        np.bincount(one[~open_], minlength=k),
        np.bincount(other[~open_], minlength=k),
    )
    ends = {"rank_low": 1 + n_better, "rank_high": k - n_worse}
    return {name: end.astype(np.float64) for name, end in ends.items()}, first


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
    few = [few_clusters(int(n)).replace("clusters", what, 1) for n in n_items]
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


def _report(
    study: Study,
    found: _Found,
    family: list[_Found],
    systems: pd.DataFrame,
    pairs: pd.DataFrame,
    include_human: bool,
    asked: dict,
) -> dict[str, str]:
    """Say in words what was estimated, of what, and how."""
    dimension, judged, spread = found.dimension, found.judged, found.spread
    settings = study.settings or {}
    turned = dimension in settings.get("lower_is_better", ())
    k, frame = len(judged.names), judged.frame
    these = asked["test"] == "permutation" or judged.annotator.max() == 0
    judgments, outputs = study.judgments, study.outputs
    assert judgments is not None
    human = set(outputs.loc[outputs["is_human"], "output_id"])
    n_human = int(judgments.loc[judgments["dimension"] == dimension, "output_id"].isin(human).sum())
    constant = int(frame.groupby("annotator_id")["value"].transform("nunique").eq(1).sum())
    low, high = scale_of(study, dimension, frame)
    declared = dimension in settings.get("scales", {})
    level = asked["confidence"]
    both = spread.items is not None and spread.annotators is not None
    method = "V_I + V_A - V_IA" if both else "V_I" if spread.items is not None else "V_A"
    n_doubled = int(pairs["doubled"].sum()) // 2
    items, others = f"{judged.item.max() + 1} ({spread.n_items:.1f} effective)", "items"
    if judged.grouped_by:
        items = f"{judged.item.max() + 1} in {judged.group.max() + 1} clusters by "
        items += f"{judged.grouped_by} ({spread.n_items:.1f} effective)"
        others = f"clusters of items ({judged.grouped_by})"
    effects = ["system", *["item"] * (not judged.nested), *["annotator"] * (not judged.once)]
    left = ["each item is of one system"] * judged.nested
    left += ["each annotator judged one output, so severities are noise"] * judged.once
    if both and n_doubled:
        method += f" (V_I + V_A in {n_doubled} pairs, where that is not positive)"
    test = "Student's t"
    if asked["test"] == "permutation":
        test = f"sign flips over {others}, which speak of these annotators only"
    n_pairs, n_dimensions = sum(len(one.pairs) // 2 for one in family), len(family)
    of_all, all_ranks = "pairs", f"simultaneous {100 * level:g}%"
    if n_dimensions > 1:
        of_all = f"pairs, all of {n_dimensions} dimensions ({', '.join(_names(family))})"
        each = 100 * (1 - (1 - level) / n_dimensions)
        all_ranks += f" in all {n_dimensions} dimensions (Bonferroni: {each:.4g}% in each)"
    return {
        "estimand": f"mean {dimension} of each system, as if each had been judged in every "
        f"judgment's place, over other {others} and "
        f"{'these annotators only' if these else 'other annotators'}",
        "direction": f"signs are turned: a lower {dimension} is better"
        if turned
        else f"a higher {dimension} is better",
        "systems": f"{k}",
        "items": items,
        "annotators": f"{len(judged.people)} ({spread.n_annotators:.1f} effective)",
        "judgments": f"{len(frame)} of {frame['output_id'].nunique()} outputs",
        "model": f"least squares of {' + '.join(effects)}{'; '.join(['', *left])}",
        "intervals": spread.missing
        or f"{100 * level:g}%, {method}, each a delete-one-cluster jackknife, t with "
        f"{spread.df:.1f} degrees of freedom"
        + (f"; {spread.doubt}" if spread.doubt else ""),
        "tests": f"one family of {n_pairs} {of_all}, Holm, at {1 - level:.2g}; {test}",
        "ranks": "none"
        if np.isnan(found.critical)
        else f"{all_ranks}: greatest absolute t over all pairs, stepwise from {found.critical:.2f}",
        "margin": "none declared: nothing is called equivalent"
        if asked["margin"] is None
        else f"{asked['margin']:g} points; two one-sided tests, Holm",
        "missing": f"{systems['n_missing'].sum()} outputs; lowest and highest by the "
        f"{'declared' if declared else 'observed'} range, {low:g} to {high:g}",
        "left out": f"{0 if include_human else n_human} judgments of human outputs"
        + (f"; {constant} judgments of annotators who gave one value, from z" if constant else ""),
        "source": study.origin or study.source,
    }


def _names(family: list[_Found]) -> list[str]:
    return [one.dimension for one in family]


def _joined(reports: list[dict[str, str]], names: list[str]) -> pd.DataFrame:
    """Say once what is so in all dimensions, and the rest of each."""
    rows = []
    for what in reports[0]:
        said = [report[what] for report in reports]
        alike = len(set(said)) == 1
        rows += (
            [(what, said[0])]
            if alike
            else [(f"{what} ({name})", one) for name, one in zip(names, said, strict=True)]
        )
    return in_words(rows)
