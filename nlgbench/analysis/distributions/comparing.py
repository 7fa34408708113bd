"""Compare the distributions of systems' and human texts by all measures, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.random import Generator

from nlgbench.analysis.distributions import frontier, measures
from nlgbench.analysis.distributions.features import Features, distances, embedding, similarities
from nlgbench.analysis.distributions.measures import MANIFOLDS, permuted_mmd, swapped_mmd
from nlgbench.arrays import Bools, Floats, Ints
from nlgbench.clustering import few_clusters
from nlgbench.inference import half_samples, interval
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Measure = Literal[
    "mmd_gaussian", "mmd_linear", "precision", "recall", "density", "coverage", "vendi", "frontier"
]
MEASURES: tuple[Measure, ...] = get_args(Measure)
#: The share of units in a subsample.
_FRACTION = 2 / 3
#: Measures whose intervals cover too rarely if less than this share of a side's texts is distinct.
_HURT_BY_COPIES = ("precision", "coverage", "frontier")
_DISTINCT = 0.75
#: With fewer texts per side, intervals cover too rarely; 100 texts make ten clusters.
_FEWEST: dict[str, int] = {"frontier": 100} | dict.fromkeys(MANIFOLDS, 50)
#: If the smallest possible p of a test is above this, the reason has a warning.
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
    """Measure how similar systems' texts are to human ones, and how diverse, without judgments.

    Parameters
    ----------
    study : Study
        A study with human texts (``is_human``) and texts of systems.
    measures : sequence of str
        ``"mmd_gaussian"``, ``"mmd_linear"`` (lower is more human-like, about 0 if distributions are
        equal), ``"precision"``, ``"density"`` (higher: the system's texts lie among human ones),
        ``"recall"``, ``"coverage"`` (higher: the system's texts cover human ones), ``"vendi"``
        (higher is more diverse; from 1 to the number of texts), ``"frontier"`` (0 to 1, higher is
        more human-like).
    features : {"tfidf", "embeddings"}
        ``"tfidf"``: tokens split at white space, weighted by TF-IDF fitted on all compared texts.
        ``"embeddings"``: sentence embeddings, which need the extra ``encoder``.
    n_neighbors : int
        k of precision, recall, density and coverage.
    n_permutations : int
        Number of permutations for the MMD test; 0 skips the test.
    n_resamples : int
        Number of subsamples for the intervals; 0 skips the intervals.
    confidence : float
        Confidence level of intervals, between 0 and 1.
    seed : int or Generator
        Seed of the random numbers, which are the same for every system.

    Returns
    -------
    DataFrame
        A row per system and measure: system, measure, estimate, se, ci_low, ci_high (not clipped;
        NaN with a reason), p_value (of no difference; NaN for measures without a test),
        between_humans (the measure with other human texts in place of the system's, NaN if too few;
        for Vendi, of the human texts), n_human, n_system (texts compared), n_items, features,
        confidence, n_resamples, n_undefined, status (a code; ``ok``), reason (its text), signature
        (recipe and direction), method.

    Raises
    ------
    ValueError
        When there are no human texts or no system outputs, or a parameter is out of range.

    Notes
    -----
    Each system is compared with an equal number of human texts, from shared items (or from the
    study's clusters) where these exist. All measures except MMD depend on the number of texts, so
    compare systems only where ``n_system`` is equal. MMD^2 (Gretton et al. 2012, JMLR 13, lemma 6)
    is unbiased. The linear kernel is the cosine; the Gaussian one is ``exp(-d^2 / (2 s^2))``, where
    s is the median distance d. MMD excludes pairs within an item; its test swaps all texts of an
    item together. docs/distributions.md has the other definitions: Kynkäänniemi et al. (2019,
    arXiv:1904.06991), Naeem et al. (2020, arXiv:2002.09797), Friedman and Dieng (2023,
    arXiv:2210.02410), Pillutla et al. (2021, arXiv:2102.01454). Intervals are for the expected
    value at this sample size.

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
    check_n(n_neighbors, "n_neighbors")
    outputs = study.outputs.sort_values("output_id", ignore_index=True)
    if not outputs["is_human"].any() or outputs["is_human"].all():
        raise Unsupported(
            "no_human" if not outputs["is_human"].any() else "no_outputs",
            f"{study.name} needs texts of humans and of a system: mark human texts by is_human.",
        )
    if (outputs["text"] == "").all():
        raise Unsupported("no_texts", f"{study.name} has no texts: add a column text to outputs.")
    unit = study.clusters if study.clusters in outputs else "item_id"
    # All systems share seeds, so that results depend neither on other systems nor on row order.
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
        rng = np.random.default_rng(task.seeds["match"])
        sample, baseline = _match(human, theirs, unit, rng)
        system_rows = _rows(task, sample, baseline)
        rows += [{"system": system} | row | {"features": features} for row in system_rows]
    order = "system measure estimate se ci_low ci_high p_value between_humans n_human n_system "
    order += "n_items features confidence n_resamples n_undefined status reason signature method"
    return split_status(pd.DataFrame(rows))[order.split()]


@dataclass(frozen=True)
class _Sample:
    """Equal numbers of human and system texts, human ones first, with their items."""

    texts: list[str]
    is_human: Bools
    item: Ints
    paired: bool  # items have equal numbers of human and system texts; else one text each

    @property
    def n(self) -> int:
        """The number of texts of each side."""
        return int(self.is_human.sum())

    @property
    def n_items(self) -> int:
        """The number of items of both sides together."""
        return int(self.item.max(initial=-1)) + 1


@dataclass(frozen=True)
class _Task:
    """The measures and options of a comparison, and its seeds."""

    measures: tuple[Measure, ...]
    embed: Callable[[Sequence[str]], Any]
    made_of: str
    n_neighbors: int
    n_permutations: int
    n_resamples: int
    confidence: float
    seeds: dict[str, int]


def _match(
    human: pd.DataFrame, theirs: pd.DataFrame, unit: str, rng: Generator
) -> tuple[_Sample, _Sample | None]:
    """Draw a sample of human and system texts, and one of human texts alone if enough exist.

    If items have texts of both sides, only such items count, with equal numbers of both; otherwise,
    each item contributes one text. In the second sample, other human texts replace the system's.
    """
    ours = human.iloc[rng.permutation(len(human))]
    machine = theirs.iloc[rng.permutation(len(theirs))]
    # Number texts within items in random order, so that the first n are a random draw.
    ours = ours.assign(place=ours.groupby(unit).cumcount())
    machine = machine.assign(place=machine.groupby(unit).cumcount())
    shared = sorted(set(ours[unit]) & set(machine[unit]))
    if not shared:
        ours, machine = ours[ours["place"] == 0], machine[machine["place"] == 0]
        n = min(len(ours), len(machine))
        more = ours.iloc[n : 2 * n]
        people = _sample(ours.iloc[:n], more, unit, False) if len(more) == n else None
        return _sample(ours.iloc[:n], machine.iloc[:n], unit, False), people
    ours, machine = ours[ours[unit].isin(shared)], machine[machine[unit].isin(shared)]
    size = ours[unit].value_counts().combine(machine[unit].value_counts(), min)
    of_ours, of_other = ours[unit].map(size), machine[unit].map(size)
    sampled = ours[ours["place"] < of_ours]
    more = ours[(ours["place"] >= of_ours) & (ours["place"] < 2 * of_ours)]
    people = _sample(sampled, more, unit, True) if len(more) == len(sampled) else None
    return _sample(sampled, machine[machine["place"] < of_other], unit, True), people


def _sample(ours: pd.DataFrame, machine: pd.DataFrame, unit: str, paired: bool) -> _Sample:
    rows = pd.concat([ours.sort_index(), machine.sort_index()])
    is_human = np.arange(len(rows)) < len(ours)
    item = pd.factorize(rows[unit])[0] if paired else np.arange(len(rows))
    return _Sample(rows["text"].tolist(), is_human, np.asarray(item, dtype=np.int64), paired)


class _Measured:
    """A sample's vectors, kernels and distances, computed once, and measures of its subsets."""

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
        """Compute the measures of subsets (n_subsets, n) of the texts."""
        sample, names = self.sample, self.task.measures
        values: dict[Any, Floats] = {
            name: measures.mmd_of_subsets(kernel, sample.is_human, sample.item, members)
            for name, kernel in self.kernels.items()
        }
        if set(names) & set(MANIFOLDS):
            values |= measures.manifolds_of_subsets(
                self.distance, sample.is_human, members, self.task.n_neighbors
            )
        if "vendi" in names:
            theirs = members & ~sample.is_human
            values["vendi"] = measures.vendi_of_subsets(self.similarity, theirs)
        if "frontier" in names:
            areas = frontier.frontier_of_subsets(self.cluster, sample.is_human, members)
            values["frontier"] = areas
        return {name: values[name] for name in names}

    def of_all(self) -> dict[Measure, float]:
        """Compute the measures of all texts."""
        everything = np.ones((1, len(self.sample.texts)), dtype=bool)
        return {name: float(value[0]) for name, value in self.of_subsets(everything).items()}


def _rows(task: _Task, sample: _Sample, baseline: _Sample | None) -> list[dict[str, object]]:
    """Return a row per measure of one system."""
    measured = _Measured(task, sample)
    estimates = measured.of_all()
    people = {} if baseline is None else _Measured(task, baseline).of_all()
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
        row = _interval_of_subsamples(name, replicates[name], estimates[name], task.confidence)
        status = _explain_missing(name, sample, task.n_neighbors, row)
        if status:
            row |= {"se": np.nan, "ci_low": np.nan, "ci_high": np.nan}
        elif sample.paired:
            status = few_clusters(sample.n_items, "items")
        else:
            status = few_clusters(sample.n, "texts per side")
        p_value = float("nan")
        if name in measured.kernels and task.n_permutations and math.isfinite(estimates[name]):
            p_value = _p_value(measured, name, estimates[name])
            status += _warn_of_few(sample, task.n_permutations)
        rows.append(
            {
                "measure": name,
                **row,
                "status": status,
                "p_value": p_value,
                "between_humans": people.get(name, float("nan")),
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
    # Equal values may differ by rounding.
    return float((1 + (values >= estimate - 1e-12).sum()) / (1 + len(values)))


def _interval_of_subsamples(
    name: Measure, replicates: Floats, estimate: float, confidence: float
) -> dict[str, Any]:
    """Compute an interval from values in subsamples, for Vendi on the log scale."""
    # Vendi grows with the number of texts, so its spread in subsamples is too small.
    on_log = name == "vendi"
    values = (np.log(replicates), math.log(estimate)) if on_log else (replicates, estimate)
    row = interval(*values, fraction=_FRACTION, confidence=confidence)
    if on_log:
        row |= {end: np.exp(row[end]) for end in ("ci_low", "ci_high")}
        row |= {"estimate": estimate, "se": estimate * float(row["se"])}
    del row["center"]
    return row


def _explain_missing(name: Measure, sample: _Sample, k: int, row: dict[str, Any]) -> Status:
    """Return why the estimate or its interval is undefined, or `OK` if both are defined."""
    undefined, total = row["n_undefined"], row["n_resamples"]
    if not math.isfinite(row["estimate"]):
        if name in MANIFOLDS:
            return explain("few_neighbors", k=k, least=k + 1, n=sample.n)
        if not sample.paired:
            return explain("one_text", n=sample.n)
        return explain("one_shared_item", n=sample.n_items)
    if not total and sample.n > 1:
        return explain("no_resamples")
    if undefined:
        return explain("undefined_subsamples", n=undefined, total=total)
    if sample.n < _FEWEST.get(name, 2):
        return explain("too_few_texts", n=sample.n, least=_FEWEST.get(name, 2))
    distinct = pd.Series(sample.texts).groupby(sample.is_human).nunique().min() / sample.n
    if name in _HURT_BY_COPIES and distinct < _DISTINCT:
        return explain("few_distinct", share=distinct)
    return Status(row["status"], row["reason"])


def _warn_of_few(sample: _Sample, n_permutations: int) -> Status:
    """Return a warning if there are too few items or permutations for a small p, else `OK`."""
    # Exchanging the sides does not change MMD.
    of_sides = (
        2.0 ** (1 - sample.n_items) if sample.paired else 2 / math.comb(2 * sample.n, sample.n)
    )
    least = max(of_sides, 1 / (1 + n_permutations))
    if least <= _LEVEL:
        return OK
    return explain("few_permutations", n=sample.n, permutations=n_permutations, least=least)


def _signature(measured: _Measured, name: Measure) -> str:
    """Describe how a measure is computed, from how many texts, and its direction."""
    k, n = measured.task.n_neighbors, measured.sample.n
    n_clusters = int(measured.cluster.max()) + 1 if name == "frontier" else 0
    how = {
        "mmd_gaussian": f"unbiased|kernel:gaussian, bandwidth {measured.bandwidth:.4g} (median)",
        "mmd_linear": "unbiased|kernel:linear",
        "vendi": "kernel:cosine|q:1",
        "frontier": f"clusters:{n_clusters}|scale:{frontier.SCALE:g}|smooth:one half",
    }.get(name, f"k:{k}|ball:open, equal texts inside")
    way = {
        "mmd_gaussian": "lower is more human-like",
        "mmd_linear": "lower is more human-like",
        "vendi": "higher is more diverse",
        "recall": "higher covers more human texts",
        "coverage": "higher covers more human texts",
    }.get(name, "higher is more human-like")
    items = "items:shared" if measured.sample.paired else "items:not shared"
    return f"{name}|{how}|features:{measured.task.made_of}|texts:{n}|{items}|direction:{way}"


def _method(sample: _Sample, name: Measure, n_permutations: int) -> str:
    """Describe how the interval and the p-value are computed."""
    units = "items" if sample.paired else "texts per side"
    test = "; no test"
    if name.startswith("mmd") and n_permutations:
        test = f"; {n_permutations} "
        test += "swaps within items" if sample.paired else "permutations of texts"
    return f"subsamples of 2/3 of {units}, normal{test}"
