"""Intervals of correlations between evaluators and people, each with what it is about.

`expectations` holds what takes noise off systems' means; docs/meta-evaluation.md says what was
measured of each method.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.expectations import (
    Expectations,
    drawn_expectations,
    jackknife_error,
)
from nlgbench.analysis.correlation.inference import bootstrap_interval
from nlgbench.analysis.correlation.judged import Judged
from nlgbench.analysis.correlation.levels import ACCURACIES, PLAIN, resampled, statistics_at
from nlgbench.analysis.correlation.samples import Sample

#: Fewer clusters or systems than these are marked.
FEW_CLUSTERS, FEW_SYSTEMS = 10, 10
#: Most groups of clusters that are deleted one by one.
_MOST_GROUPS = 1000
_CORRELATIONS = tuple(name for name in PLAIN if name not in ACCURACIES)


class Interval(NamedTuple):
    """An interval, or why there is none.

    Attributes
    ----------
    low, high : float
        NaN where there is none.
    standard_error : float
        Of the estimate less what chance gives, on the scale of `z`; NaN where there is none.
    z : float
        The estimate less chance, on that scale.
    degrees : float
        Of freedom.
    n_drawn, n_undefined : int
        Resamples or draws, and those left aside as undefined.
    method, reason : str
        How it was computed; why there is none, or why to doubt it.
    """

    low: float
    high: float
    method: str
    reason: str = ""
    standard_error: float = float("nan")
    z: float = float("nan")
    degrees: float = float("nan")
    n_drawn: int = 0
    n_undefined: int = 0


def of_systems(
    judged: Judged | None,
    sample: Sample,
    found: Expectations,
    full: dict[str, Floats],
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    resample: str,
    n_resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> dict[tuple[int, str], Interval]:
    """Put intervals around statistics of systems' means, by evaluator and statistic."""
    percentile = [name for name in statistics if name not in PLAIN]
    replicates = {}
    if percentile and judged is not None:
        replicates = resampled(
            judged, sample, "system", percentile, epsilons, resample, n_resamples, rng
        )
    intervals = {}
    for at in range(len(sample.x)):
        drawn = None
        for name in statistics:
            estimate = float(full[name][at, 0])
            if name in percentile:
                whole = bootstrap_interval(replicates[name][at], estimate, confidence)
                ends = float(whole["ci_low"]), float(whole["ci_high"])
                one = Interval(*ends, "percentile", str(whole["reason"]))
                one = one._replace(
                    n_drawn=n_resamples, n_undefined=int(whole["n_undefined_resamples"])
                )
            elif not np.isfinite(estimate):
                one = _none(
                    "undefined: scores or judgments do not vary, or there are no two systems"
                )
            elif resample == "systems":
                one = _over_systems(found, at, name, estimate, confidence)
            elif reason := _without_signal(found, at):
                one = _none(reason)
            elif resample == "both":
                one = _disattenuated(
                    found, at, name, _over_systems(found, at, name, estimate, confidence)
                )
            elif name == "pearson":
                one = _jackknifed_expectations(found, at, confidence)
            else:
                if drawn is None:
                    ranks = [one for one in statistics if one in PLAIN and one != "pearson"]
                    expected = drawn_expectations(found, at, n_resamples, rng)
                    drawn = coefficients(*expected, statistics=ranks)
                tail = (1 - confidence) / 2
                low, high = np.nanquantile(drawn[name], [tail, 1 - tail])
                one = Interval(float(low), float(high), "posterior, systems normal")
                one = one._replace(n_drawn=n_resamples)
                # A posterior's steps end where estimates lie, up to rounding.
                if not low - 1e-9 <= estimate <= high + 1e-9:
                    one = one._replace(
                        reason="the estimate lies outside: noise of the means pulls it down"
                    )
            intervals[at, name] = one
    return intervals


def _none(reason: str) -> Interval:
    return Interval(float("nan"), float("nan"), "none", reason)


def _without_signal(found: Expectations, at: int) -> str:
    """Say where noise leaves too little of the variance between systems."""
    least = min(found.reliability_scores[at], found.reliability_judgments[at])
    if len(found.y) < 3:
        return f"{len(found.y)} systems: a correlation of two is always 1 or -1"
    if not least > 0.5:
        what = "scores" if found.reliability_scores[at] == least else "judgments"
        return (
            f"the reliability of systems' mean {what} is {least:.2f}, below .5: more outputs, or "
            "systems that differ more, are needed"
        )
    return ""


def _jackknifed_expectations(found: Expectations, at: int, confidence: float) -> Interval:
    r, error = float(found.r[at]), float(found.over_clusters[at])
    if not np.isfinite(error):
        return _none("without one of the clusters noise explains all variance between systems")
    half = student.ppf(0.5 + confidence / 2, found.degrees) * error
    if half <= 1e-9:
        return Interval(r, r, "jackknife of expectations", "no width: clusters do not vary")
    low, high = np.clip([r - half, r + half], -1, 1)
    return Interval(float(low), float(high), "jackknife of expectations")


def _over_systems(
    found: Expectations, at: int, name: str, estimate: float, confidence: float
) -> Interval:
    """Take systems as a sample: jackknifed z of Pearson's r, closed forms for ranks."""
    n = len(found.y)
    scaled = 2 * estimate - 1 if name in ACCURACIES else estimate
    if n < 5:
        return _none(f"{n} systems: an interval over systems needs five")
    if abs(scaled) > 1 - 1e-12:
        return _none("perfect agreement: how it varies over systems cannot be seen")
    tail = 0.5 + confidence / 2
    if name == "pearson":
        rest = ~np.eye(n, dtype=bool)
        x, y = (np.stack([one[keep] for keep in rest]) for one in (found.x[at], found.y))
        without = coefficients(x, y, statistics=["pearson"])["pearson"]
        with np.errstate(divide="ignore"):
            error = float(jackknife_error(np.arctanh(without), np.zeros(n, dtype=np.int64)))
        method, half = "jackknife of z", student.ppf(tail, n - 2) * error
    elif name == "spearman":
        method = "Bonett and Wright"
        half = norm.ppf(tail) * np.sqrt((1 + scaled**2 / 2) / (n - 3))
    else:
        method, half = "Fieller, t", student.ppf(tail, n - 2) * np.sqrt(0.437 / (n - 4))
    if not np.isfinite(half):
        return _none("without one system agreement is perfect or undefined")
    low, high = np.tanh(np.arctanh(scaled) + np.array([-half, half]))
    if name in ACCURACIES:
        low, high = (low + 1) / 2, (high + 1) / 2
    return Interval(float(low), float(high), method)


def _disattenuated(found: Expectations, at: int, name: str, raw: Interval) -> Interval:
    """Take the noise of the means off the ends of an interval over systems.

    Ranks by way of the Pearson correlation that a normal population with theirs has.
    """
    if raw.method == "none":
        return raw
    variances = found.x[at].var(ddof=1), found.y.var(ddof=1)
    wide = np.sqrt(variances[0] * variances[1])
    narrow = wide * np.sqrt(found.reliability_scores[at] * found.reliability_judgments[at])
    ends = np.array([raw.low, raw.high])
    is_accuracy = name in ACCURACIES
    if is_accuracy:
        ends = 2 * ends - 1
    if name == "spearman":
        ends = 2 * np.sin(np.pi * ends / 6)
    elif name != "pearson":
        ends = np.sin(np.pi * ends / 2)
    ends = np.clip((ends * wide - found.noise[1, at].mean()) / narrow, -1, 1)
    if name == "spearman":
        ends = 6 / np.pi * np.arcsin(ends / 2)
    elif name != "pearson":
        ends = 2 / np.pi * np.arcsin(ends)
    if is_accuracy:
        ends = (ends + 1) / 2
    return raw._replace(
        low=float(ends[0]), high=float(ends[1]), method=f"{raw.method}, without the means' noise"
    )


def of_outputs(
    sample: Sample,
    level: str,
    full: dict[str, Floats],
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    resample: str,
    confidence: float,
    rng: np.random.Generator,
) -> dict[tuple[int, str], Interval]:
    """Put intervals around statistics of outputs or items: delete-one jackknife, Student's t.

    Where both are drawn, the variances over clusters and over systems are added.
    """
    computed = [*statistics, *(["chance_accuracy"] * ("pairwise_accuracy" in statistics))]
    errors: dict[str, list[Floats]] = {name: [] for name in computed}
    degrees = []
    chance = {}
    if "chance_accuracy" in computed:
        ones = np.ones((1, sample.n_clusters)), np.ones((1, sample.n_systems))
        chance = statistics_at(sample, level, ["chance_accuracy"], epsilons, *ones)
    for unit in ("items", "systems"):
        if resample not in (unit, "both"):
            continue
        if unit == "items":
            counts, strata = _without_groups(sample, rng)
            of_each = counts, np.ones((len(counts), sample.n_systems))
        else:
            there = np.unique(sample.system)
            counts = np.ones((len(there), sample.n_systems))
            counts[np.arange(len(there)), there] = 0
            strata = np.zeros(len(there), dtype=np.int64)
            of_each = np.ones((len(there), sample.n_clusters)), counts
        degrees.append(len(counts) - len(np.unique(strata)))
        replicates = statistics_at(sample, level, computed, epsilons, *of_each)
        for name in computed:
            values = replicates[name]
            if name == "pairwise_accuracy":
                # Tested against chance, which a sample's ties decide.
                errors["chance_accuracy"].append(
                    jackknife_error(values - replicates["chance_accuracy"], strata)
                )
            if name != "chance_accuracy":
                errors[name].append(jackknife_error(_scaled(name, level, values), strata))
    intervals = {}
    for at in range(len(sample.x)):
        for name in statistics:
            estimate = float(full[name][at, 0])
            error = float(np.sqrt(sum(one[at] ** 2 for one in errors[name])))
            if not np.isfinite(estimate):
                one = _none("undefined: scores or judgments do not vary, or there are no two")
            elif min(degrees) < 1 or not np.isfinite(error):
                one = _none("undefined without one of the clusters or systems")
            elif error <= 1e-9:
                one = Interval(estimate, estimate, "jackknife", "no width: nothing varies")
            else:
                center = _scaled(name, level, np.array(estimate))
                half = student.ppf(0.5 + confidence / 2, min(degrees)) * error
                ends = np.array([center - half, center + half])
                if name in _CORRELATIONS and level == "output":
                    ends = np.tanh(ends)
                least = -1.0 if name in _CORRELATIONS else 0.0
                low, high = np.clip(ends, least, 1)
                one = Interval(float(low), float(high), "jackknife", "", error, float(center))
                if name == "pairwise_accuracy":
                    tested = float(np.sqrt(sum(e[at] ** 2 for e in errors["chance_accuracy"])))
                    above = estimate - float(chance["chance_accuracy"][at, 0])
                    one = one._replace(standard_error=tested, z=above)
            intervals[at, name] = one._replace(degrees=float(min(degrees)))
    return intervals


def p_value(interval: Interval) -> float:
    """Test against 0, or chance, by Student's t; NaN where there is no standard error."""
    if not interval.standard_error > 0:
        return float("nan")
    return float(2 * student.sf(abs(interval.z) / interval.standard_error, interval.degrees))


def _scaled(name: str, level: str, values: Floats) -> Floats:
    """Stretch correlations over outputs to Fisher's z; means over items are about normal."""
    if name in _CORRELATIONS and level == "output":
        with np.errstate(divide="ignore"):
            return np.arctanh(values)
    return values


def _without_groups(sample: Sample, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Delete clusters one by one, or in random groups where there are more than a thousand."""
    there = np.unique(sample.cluster)
    pairs = np.unique(np.stack([sample.cluster, sample.system]), axis=1)
    apart = pairs.shape[1] == len(there)
    stratum = pairs[1] if apart else np.zeros(len(there), dtype=np.int64)
    group = np.arange(len(there))
    if len(there) > _MOST_GROUPS:
        # Shuffled within strata, then dealt out in turn, so that groups are of one stratum.
        order = np.lexsort((rng.random(len(there)), stratum))
        group[order] = np.arange(len(there)) * _MOST_GROUPS // len(there)
    n = group.max() + 1
    counts = np.ones((n, sample.n_clusters))
    counts[group, there] = 0
    return counts, pd.Series(stratum).groupby(group).first().to_numpy()


def doubts(interval: Interval, sample: Sample, resample: str) -> str:
    """Say why to doubt an interval: its own reason, or that few clusters or systems made it."""
    n_clusters, n_systems = (len(np.unique(one)) for one in (sample.cluster, sample.system))
    if interval.reason:
        return interval.reason
    if resample != "systems" and n_clusters < FEW_CLUSTERS:
        return f"{n_clusters} clusters: hardly an interval from fewer than {FEW_CLUSTERS}"
    if resample != "items" and n_systems < FEW_SYSTEMS:
        return f"{n_systems} systems: hardly an interval from fewer than {FEW_SYSTEMS}"
    return ""
