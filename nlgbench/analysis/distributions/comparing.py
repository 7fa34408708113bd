"""Where systems' texts lie beside people's: one call for all measures, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from nlgbench.analysis.distributions import frontier, measures
from nlgbench.analysis.distributions.features import Features, distances, embedding, similarities
from nlgbench.analysis.distributions.measures import MANIFOLDS, permuted_mmd, swapped_mmd
from nlgbench.crossed import few_clusters
from nlgbench.inference import Bools, Floats, Ints, half_samples, interval
from nlgbench.study import Study
from nlgbench.study.checks import checked

Measure = Literal[
    "mmd_gaussian",
    "mmd_linear",
    "precision",
    "recall",
    "density",
    "coverage",
    "vendi",
    "frontier",
]
MEASURES: tuple[Measure, ...] = get_args(Measure)
#: Of a subsample.
_FRACTION = 2 / 3
#: Measures whose intervals hold too rarely where fewer of a side's texts than this are distinct.
_HURT_BY_COPIES = ("precision", "coverage", "frontier")
_DISTINCT = 0.75
#: With fewer texts of either side intervals hold too rarely; 100 are ten clusters.
_FEWEST: dict[str, int] = {"frontier": 100} | dict.fromkeys(MANIFOLDS, 50)
#: A test whose smallest p is above this is said to reject nothing.
_LEVEL = 0.05


@checked
def compare_distributions(
    study: Study,
    *,
    measures: Sequence[Measure] = MEASURES,
    features: Features = "tfidf",
    n_neighbors: int = 5,
    n_permutations: int = 999,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Measure how near texts lie to human ones, and how diverse they are, without judgments.

    Parameters
    ----------
    study : Study
        With human texts (``is_human``) and texts of systems.
    measures : sequence of str
        ``"mmd_gaussian"``, ``"mmd_linear"`` (lower is nearer to human texts, about 0 where there is
        no difference), ``"precision"``, ``"density"`` (higher: the system's texts lie among human
        ones), ``"recall"``, ``"coverage"`` (higher: human texts are covered by the system's),
        ``"vendi"`` (higher is more diverse; from 1 to the number of texts), ``"frontier"`` (0 to 1,
        higher is nearer).
    features : {"tfidf", "embeddings"}
        ``"tfidf"``: tokens at white space, weighted by TF-IDF fitted on both sides' texts.
        ``"embeddings"``: of the extra ``encoder``.
    n_neighbors : int
        k of precision, recall, density and coverage.
    n_permutations : int
        Of the test of MMD; 0 leaves it out.
    n_resamples : int
        Subsamples for the intervals; 0 leaves them out.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from; the same are used for every system.

    Returns
    -------
    DataFrame
        A row per system and measure: system, measure, estimate, se, ci_low, ci_high (not clipped;
        NaN with a reason), p_value (of no difference; NaN for what is no test), between_people (the
        measure with other human texts in the system's place, where there are enough, else NaN; for
        Vendi the score of human texts), n_human, n_system (texts compared), n_items, features,
        confidence, n_resamples, n_undefined, reason, signature (recipe and direction), method.

    Raises
    ------
    ValueError
        When there are no texts, or none of humans or of a system, or a parameter is out of range.

    Notes
    -----
    Each system is compared with as many human texts as it has, of shared items where
    there are any (or clusters, where the study names them). All measures but MMD change with the
    number of texts: compare systems only where ``n_system`` is equal. MMD^2 (Gretton et al. 2012,
    JMLR 13, lemma 6) is unbiased, with the cosine and ``exp(-d^2 / (2 s^2))``, s the median
    distance, as kernels; pairs of one item are left out, and all texts of an item are permuted
    together. Precision, recall (Kynkäänniemi et al. 2019, arXiv:1904.06991, eq. 1), density,
    coverage (Naeem et al. 2020, arXiv:2002.09797, section 3), Vendi score (Friedman and Dieng
    2023, arXiv:2210.02410), frontier (after Pillutla et al. 2021, arXiv:2102.01454; its values
    are not those of the authors' program). Intervals come from subsamples of two thirds, for the
    expectation at this number of texts. docs/distributions.md has definitions and coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("reviews", systems=["grammar_t0.5"], n_outputs=50, n_truth=0)
    >>> found = compare_distributions(study, n_resamples=20).set_index("measure")
    >>> found.loc[["mmd_gaussian", "precision", "recall"], "estimate"].round(2).tolist()
    [0.06, 1.0, 0.22]
    >>> float(found.loc["mmd_gaussian", "p_value"])
    0.001
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number, at least 1. Got {n_neighbors}.")
    outputs = study.outputs.sort_values("output_id", ignore_index=True)
    if not outputs["is_human"].any() or outputs["is_human"].all():
        raise ValueError(
            f"{study.name} needs texts of people and of a system: mark people's by is_human."
        )
    if (outputs["text"] == "").all():
        raise ValueError(f"{study.name} has no texts: give outputs a column text.")
    unit = study.clusters if study.clusters in outputs else "item_id"
    # The same for every system: neither the others nor the order of rows change what is found.
    seeds = np.random.default_rng(seed).integers(2**31, size=4).tolist()
    task = _Task(
        tuple(dict.fromkeys(measures)),
        *embedding(features),
        n_neighbors,
        n_permutations,
        n_resamples,
        confidence,
        dict(zip(("match", "clusters", "test", "subsets"), seeds, strict=True)),
    )
    human, rows = outputs[outputs["is_human"]], []
    for system in study.systems:
        theirs = outputs[(outputs["system"] == system) & ~outputs["is_human"]]
        sample, rest = _matched(human, theirs, unit, np.random.default_rng(task.seeds["match"]))
        found = _rows(task, sample, rest)
        rows += [{"system": system} | row | {"features": features} for row in found]
    order = "system measure estimate se ci_low ci_high p_value between_people n_human n_system "
    order += "n_items features confidence n_resamples n_undefined reason signature method"
    return pd.DataFrame(rows)[order.split()]


@dataclass(frozen=True)
class _Sample:
    """Equally many texts of people and of a system: people's first, and what goes together."""

    texts: list[str]
    is_human: Bools
    item: Ints
    paired: bool  # each item has as many texts of either; else each text its own item

    @property
    def n(self) -> int:
        """Texts of each side."""
        return int(self.is_human.sum())

    @property
    def n_items(self) -> int:
        """Items, of both sides together."""
        return int(self.item.max(initial=-1)) + 1


@dataclass(frozen=True)
class _Task:
    """What is to be computed of samples, and the seeds of it."""

    measures: tuple[Measure, ...]
    embed: Callable[[Sequence[str]], Any]
    made_of: str
    n_neighbors: int
    n_permutations: int
    n_resamples: int
    confidence: float
    seeds: dict[str, int]


def _matched(
    human: pd.DataFrame, theirs: pd.DataFrame, unit: str, rng: np.random.Generator
) -> tuple[_Sample, _Sample | None]:
    """Draw equally many texts of either side; and, where people wrote enough, of people and people.

    Where an item has texts of both, only such items are taken, and of each item as many of either;
    else one text of each item. The second sample has people's other texts in the system's place.
    """
    ours = human.iloc[rng.permutation(len(human))]
    other = theirs.iloc[rng.permutation(len(theirs))]
    # Numbered within items in random order, so that the first so many are a draw.
    ours, other = (one.assign(place=one.groupby(unit).cumcount()) for one in (ours, other))
    shared = sorted(set(ours[unit]) & set(other[unit]))
    if not shared:
        ours, other = ours[ours["place"] == 0], other[other["place"] == 0]
        n = min(len(ours), len(other))
        more = ours.iloc[n : 2 * n]
        people = _sample(ours.iloc[:n], more, unit, False) if len(more) == n else None
        return _sample(ours.iloc[:n], other.iloc[:n], unit, False), people
    ours, other = ours[ours[unit].isin(shared)], other[other[unit].isin(shared)]
    size = ours[unit].value_counts().combine(other[unit].value_counts(), min)
    of_ours, of_other = ours[unit].map(size), other[unit].map(size)
    drawn = ours[ours["place"] < of_ours]
    more = ours[(ours["place"] >= of_ours) & (ours["place"] < 2 * of_ours)]
    people = _sample(drawn, more, unit, True) if len(more) == len(drawn) else None
    return _sample(drawn, other[other["place"] < of_other], unit, True), people


def _sample(ours: pd.DataFrame, other: pd.DataFrame, unit: str, paired: bool) -> _Sample:
    both = pd.concat([ours.sort_index(), other.sort_index()])
    is_human = np.arange(len(both)) < len(ours)
    item = pd.factorize(both[unit])[0] if paired else np.arange(len(both))
    return _Sample(both["text"].tolist(), is_human, np.asarray(item, dtype=np.int64), paired)


class _Measured:
    """A sample's vectors, kernels and distances, each made once, and what subsets of it give."""

    def __init__(self, task: _Task, sample: _Sample) -> None:
        self.task, self.sample = task, sample
        rows = task.embed(sample.texts)
        self.similarity = similarities(rows)
        self.bandwidth = float("nan")
        self.kernels: dict[Measure, Floats] = {}
        self.distance = distances(self.similarity)
        if "mmd_linear" in task.measures:
            self.kernels["mmd_linear"] = measures.across_items(self.similarity, sample.item)
        if "mmd_gaussian" in task.measures:
            kernel, self.bandwidth = measures.gaussian_kernel(self.distance)
            self.kernels["mmd_gaussian"] = measures.across_items(kernel, sample.item)
        n_kinds = int((~np.triu(self.similarity >= 1, 1).any(axis=0)).sum())
        if "frontier" in task.measures:
            n_clusters = min(max(2, sample.n // frontier.PER_CLUSTER), n_kinds)
            self.cluster = frontier.clusters(rows, n_clusters, n_kinds, task.seeds["clusters"])

    def of_subsets(self, members: Bools) -> dict[Measure, Floats]:
        """Compute what is asked within subsets (n_subsets, n) of the texts."""
        sample, asked = self.sample, self.task.measures
        found: dict[Any, Floats] = {
            name: measures.mmd_of_subsets(kernel, sample.is_human, sample.item, members)
            for name, kernel in self.kernels.items()
        }
        if set(asked) & set(MANIFOLDS):
            found |= measures.manifolds_of_subsets(
                self.distance, sample.is_human, members, self.task.n_neighbors
            )
        if "vendi" in asked:
            theirs = members & ~sample.is_human
            found["vendi"] = measures.vendi_of_subsets(self.similarity, theirs)
        if "frontier" in asked:
            found["frontier"] = frontier.frontier_of_subsets(self.cluster, sample.is_human, members)
        return {name: found[name] for name in asked}

    def whole(self) -> dict[Measure, float]:
        """Compute what is asked of all texts."""
        everything = np.ones((1, len(self.sample.texts)), dtype=bool)
        return {name: float(value[0]) for name, value in self.of_subsets(everything).items()}


def _rows(task: _Task, sample: _Sample, rest: _Sample | None) -> list[dict[str, object]]:
    """Give a row per measure of one system."""
    measured = _Measured(task, sample)
    estimates = measured.whole()
    people = {} if rest is None else _Measured(task, rest).whole()
    if "vendi" in task.measures:
        ours = sample.is_human[None]
        people["vendi"] = float(measures.vendi_of_subsets(measured.similarity, ours)[0])
    replicates = {name: np.empty(0) for name in task.measures}
    if task.n_resamples and sample.n > 1:
        members = half_samples(
            sample.is_human,
            clusters=sample.item if sample.paired else None,
            fraction=_FRACTION,
            n_resamples=task.n_resamples,
            seed=task.seeds["subsets"],
        )
        replicates = measured.of_subsets(members)
    rows: list[dict[str, object]] = []
    for name in task.measures:
        found = _interval(name, replicates[name], estimates[name], task.confidence)
        reason = _reason(name, sample, task.n_neighbors, found)
        if reason:
            found |= {"se": np.nan, "ci_low": np.nan, "ci_high": np.nan}
        units = "items" if sample.paired else "texts of either side"
        found["reason"] = reason or few_clusters(
            sample.n_items if sample.paired else sample.n, units
        )
        p_value = float("nan")
        if name in measured.kernels and task.n_permutations and math.isfinite(estimates[name]):
            p_value = _p_value(measured, name, estimates[name])
            reasons = (str(found["reason"]), _too_few(sample, task.n_permutations))
            found["reason"] = "; ".join(filter(None, reasons))
        rows.append(
            {
                "measure": name,
                **found,
                "p_value": p_value,
                "between_people": people.get(name, float("nan")),
                "n_human": sample.n,
                "n_system": sample.n,
                "n_items": sample.n_items,
                "signature": _signature(measured, name),
                "method": _method(sample, name, task.n_permutations),
            }
        )
    return rows


def _p_value(measured: _Measured, name: Measure, estimate: float) -> float:
    task, sample, kernel = measured.task, measured.sample, measured.kernels[name]
    rng = np.random.default_rng(task.seeds["test"])  # the same permutations for every kernel
    if sample.paired:
        values = swapped_mmd(kernel, sample.is_human, sample.item, task.n_permutations, rng)
    else:
        values = permuted_mmd(kernel, sample.is_human, task.n_permutations, rng)
    # Equal values may differ in their last bits.
    return float((1 + (values >= estimate - 1e-12).sum()) / (1 + len(values)))


def _interval(
    name: Measure, replicates: Floats, estimate: float, confidence: float
) -> dict[str, Any]:
    """Put an interval around an estimate from its values in subsamples; Vendi's on the log."""
    # It grows with the number of texts, so that its spread in subsamples is too small.
    on_log = name == "vendi"
    values = (np.log(replicates), math.log(estimate)) if on_log else (replicates, estimate)
    found = interval(*values, fraction=_FRACTION, confidence=confidence)
    if on_log:
        found |= {one: np.exp(found[one]) for one in ("ci_low", "ci_high")}
        found |= {"estimate": estimate, "se": estimate * float(found["se"])}
    del found["center"]
    return found


def _reason(name: Measure, sample: _Sample, k: int, found: dict[str, Any]) -> str:
    """Say why there is no estimate, or no interval; nothing where there are both."""
    undefined, of = found["n_undefined"], found["n_resamples"]
    if not math.isfinite(found["estimate"]):
        if name in MANIFOLDS:
            return f"undefined: {sample.n} texts of either side; n_neighbors = {k} takes more"
        if not sample.paired:
            return f"undefined: {sample.n} text of either side, and two are needed"
        return (
            f"undefined: {sample.n_items} item has texts of both sides, and two are needed: where "
            "there is no prompt, give each text an item_id of its own"
        )
    if not of:
        return "nothing was resampled"
    if undefined:
        return f"{undefined} of {of} subsamples are undefined: too few texts"
    if sample.n < _FEWEST.get(name, 0):
        return f"{sample.n} texts of either side: {_FEWEST[name]} are needed for an interval"
    distinct = pd.Series(sample.texts).groupby(sample.is_human).nunique().min() / sample.n
    if name in _HURT_BY_COPIES and distinct < _DISTINCT:
        return (
            f"only {distinct:.0%} of a side's texts are distinct: subsamples do not show how this "
            "varies where texts are copies"
        )
    return str(found["reason"])


def _too_few(sample: _Sample, n_permutations: int) -> str:
    """Say that so few items, or permutations, cannot give a small p; nothing for more."""
    # MMD is the same with the sides exchanged.
    of_sides = (
        2.0 ** (1 - sample.n_items) if sample.paired else 2 / math.comb(2 * sample.n, sample.n)
    )
    least = max(of_sides, 1 / (1 + n_permutations))
    if least <= _LEVEL:
        return ""
    return (
        f"p cannot be below {least:.3g} with {sample.n} texts of either side and {n_permutations} "
        "permutations: it rejects nothing"
    )


def _signature(measured: _Measured, name: Measure) -> str:
    """Say how a measure is made, of how many texts, and which way is better."""
    k, n = measured.task.n_neighbors, measured.sample.n
    n_clusters = int(measured.cluster.max()) + 1 if name == "frontier" else 0
    how = {
        "mmd_gaussian": f"unbiased|kernel:gaussian, bandwidth {measured.bandwidth:.4g} (median)",
        "mmd_linear": "unbiased|kernel:linear",
        "vendi": "kernel:cosine|q:1",
        "frontier": f"clusters:{n_clusters}|scale:{frontier.SCALE:g}|smooth:one half",
    }.get(name, f"k:{k}|ball:open, equal texts inside")
    way = {
        "mmd_gaussian": "lower is nearer to people",
        "mmd_linear": "lower is nearer to people",
        "vendi": "higher is more diverse",
        "recall": "higher covers more of people's texts",
        "coverage": "higher covers more of people's texts",
    }.get(name, "higher is nearer to people")
    of = "items:shared" if measured.sample.paired else "items:not shared"
    return f"{name}|{how}|features:{measured.task.made_of}|texts:{n}|{of}|direction:{way}"


def _method(sample: _Sample, name: Measure, n_permutations: int) -> str:
    """Say where interval and p-value come from."""
    of = "items" if sample.paired else "texts of either side"
    test = "; no test"
    if name.startswith("mmd") and n_permutations:
        test = f"; {n_permutations} "
        test += "swaps within items" if sample.paired else "permutations of texts"
    return f"subsamples of 2/3 of {of}, normal{test}"
