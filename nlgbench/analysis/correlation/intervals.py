"""Intervals of correlations between evaluators and people, each with what it is about.

Means of few items are noisy, and noise lowers correlations: over systems the noise is measured, by
how clusters of outputs differ, and taken off (`expectations`). Over outputs and items the statistic
is computed again without each cluster (`jackknife_intervals`). Here are arrays alone; what was
measured of each method is in docs/meta-evaluation.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv
from scipy.stats import norm
from scipy.stats import t as student

from nlgbench.analysis.correlation.coefficients import Floats, coefficients, divide
from nlgbench.crossed import FEWEST
from nlgbench.inference import bootstrap_interval, jackknife_error

ACCURACIES = ("pairwise_accuracy", "tie_calibrated", "soft_pairwise")


class Interval(NamedTuple):
    """An interval, or why there is none.

    `z` is the estimate less what chance gives, `standard_error` that of z, both on the scale on
    which it is tested; `n_drawn` and `n_undefined` count resamples, and those left aside.
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


def system_intervals(
    found: Expectations,
    full: Mapping[str, Floats],
    bootstrapped: Mapping[str, Floats],
    *,
    resample: str,
    n_resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> dict[tuple[int, str], Interval]:
    """Put intervals around statistics of systems' means, by evaluator and statistic.

    `full` holds the estimates (m, 1); those that are `bootstrapped` (m, r) take its percentiles.
    """
    intervals = {}
    for at in range(len(found.x)):
        drawn = None
        least = min(found.reliability_scores[at], found.reliability_judgments[at])
        without_signal = ""
        if len(found.y) < 3:
            without_signal = f"{len(found.y)} systems: a correlation of two is always 1 or -1"
        elif not least > 0.5:
            what = "scores" if found.reliability_scores[at] == least else "judgments"
            without_signal = (
                f"the reliability of systems' mean {what} is {least:.2f}, below .5: more outputs, "
                "or systems that differ more, are needed"
            )
        for name in full:
            estimate = float(full[name][at, 0])
            if name in bootstrapped:
                low, high, n_undefined, reason = bootstrap_interval(
                    bootstrapped[name][at], estimate, confidence
                )
                one = Interval(low, high, "percentile", reason)
                one = one._replace(n_drawn=n_resamples, n_undefined=n_undefined)
            elif not np.isfinite(estimate):
                one = _none(
                    "undefined: scores or judgments do not vary, or there are no two systems"
                )
            elif resample == "systems":
                one = _over_systems(found, at, name, estimate, confidence)
            elif without_signal:
                one = _none(without_signal)
            elif resample == "both":
                raw = _over_systems(found, at, name, estimate, confidence)
                one = _disattenuated(found, at, name, raw)
            elif name == "pearson":
                one = _over_clusters(found, at, confidence)
            else:
                if drawn is None:
                    ranks = [one for one in full if one not in (*bootstrapped, "pearson")]
                    expected = drawn_expectations(found, at, n_resamples, rng)
                    drawn = coefficients(*expected, statistics=ranks)
                tail = (1 - confidence) / 2
                low, high = np.nanquantile(drawn[name], [tail, 1 - tail])
                one = Interval(float(low), float(high), "posterior, systems normal")
                one = one._replace(n_drawn=n_resamples)
            intervals[at, name] = _extended(one, estimate)
    return intervals


def _none(reason: str) -> Interval:
    return Interval(float("nan"), float("nan"), "none", reason)


def _extended(one: Interval, estimate: float) -> Interval:
    """Extend an interval to the estimate, which noise of the means may have moved out of it."""
    low, high = min(one.low, estimate), max(one.high, estimate)
    reason = one.reason
    # Ends may miss the estimate by rounding alone.
    if not reason and (low < one.low - 1e-9 or high > one.high + 1e-9):
        reason = "extended to the estimate, which noise of the means has moved"
    return one._replace(low=low, high=high, reason=reason)


def _over_clusters(found: Expectations, at: int, confidence: float) -> Interval:
    """Take clusters as a sample: jackknifed correlation of the systems' expectations.

    An estimate beyond 1 is taken as 1, so that the interval is one-sided.
    """
    r, error = float(found.r[at]), float(found.over_clusters[at])
    if not np.isfinite(error):
        return _none("without one of the clusters noise explains all variance between systems")
    half = student.ppf(0.5 + confidence / 2, found.degrees) * error
    if half <= 1e-9:
        return Interval(r, r, "jackknife of expectations", "no width: clusters do not vary")
    center, reason = float(np.clip(r, -1, 1)), ""
    if center != r:
        reason = (
            f"one-sided: without noise of the means the correlation is estimated at {r:.2f}, "
            f"taken as {center:g}"
        )
    low, high = np.clip([center - half, center + half], -1, 1)
    return Interval(float(low), float(high), "jackknife of expectations", reason)


def _over_systems(
    found: Expectations, at: int, name: str, estimate: float, confidence: float
) -> Interval:
    """Take systems as a sample: jackknifed z of Pearson's r, an inverted test for ranks."""
    n = len(found.y)
    if n < 5:
        return _none(f"{n} systems: an interval over systems needs five")
    if name != "pearson":
        return _of_ranks(name, estimate, n, confidence)
    if abs(estimate) > 1 - 1e-12:
        return _none("perfect agreement: how it varies over systems cannot be seen")
    rest = ~np.eye(n, dtype=bool)
    x, y = (np.stack([one[keep] for keep in rest]) for one in (found.x[at], found.y))
    without = coefficients(x, y, statistics=["pearson"])["pearson"]
    with np.errstate(divide="ignore"):
        error = float(jackknife_error(np.arctanh(without), np.zeros(n, dtype=np.int64)))
    half = student.ppf(0.5 + confidence / 2, n - 2) * error
    if not np.isfinite(half):
        return _none("without one system agreement is perfect or undefined")
    low, high = np.tanh(np.arctanh(estimate) + np.array([-half, half]))
    return Interval(float(low), float(high), "jackknife of z")


#: Fisher's z of the populations, and the samples of each, in which a rank correlation is looked up.
_POPULATIONS, _N_DRAWN = np.linspace(0, 7, 71), 4_000
#: Systems of which samples are drawn; what is known of these is scaled to more.
_MOST_DRAWN = 30


def _of_ranks(name: str, estimate: float, n: int, confidence: float) -> Interval:
    """Hold the bivariate normal populations that give neither more nor less, by mid-p.

    Ranks are those of any population whose variables are monotone functions of such two. Ends are
    the population's value of the statistic; perfect agreement has an interval, too.
    """
    scaled = 2 * estimate - 1 if name in ACCURACIES else estimate
    name = name if name == "spearman" else "kendall_b"
    drawn = _drawn_ranks(name, min(n, _MOST_DRAWN))
    # A population of correlation -r gives -t as often as that of r gives t.
    above = 1 - _share_below(drawn, name, n, -scaled)[:0:-1]
    below = np.concatenate([above, _share_below(drawn, name, n, scaled)])
    z = np.concatenate([-_POPULATIONS[:0:-1], _POPULATIONS])
    # Normal quantiles of the shares are about linear in z between populations.
    rising = norm.isf(np.clip(np.minimum.accumulate(below), 0.1 / _N_DRAWN, 1 - 0.1 / _N_DRAWN))
    ends = norm.isf([(1 + confidence) / 2, (1 - confidence) / 2])
    r = np.tanh(np.interp(ends, rising, z, left=-np.inf, right=np.inf))
    low, high = 6 / np.pi * np.arcsin(r / 2) if name == "spearman" else 2 / np.pi * np.arcsin(r)
    if scaled != estimate:
        low, high = (low + 1) / 2, (high + 1) / 2
    return Interval(float(low), float(high), "normal populations, mid-p")


@cache
def _drawn_ranks(name: str, n: int) -> Floats:
    """Draw a rank correlation of n systems from each population; those of each are sorted."""
    rng = np.random.default_rng(0)
    x, own = rng.standard_normal((2, _N_DRAWN, n))
    x = np.sort(x, axis=1)  # the order of systems is nothing
    drawn = []
    for r in np.tanh(_POPULATIONS):
        y = r * x + np.sqrt(1 - r**2) * own
        if name == "spearman":
            apart = y.argsort(axis=1).argsort(axis=1) - np.arange(n)
            drawn.append(1 - 6 * (apart**2).sum(axis=1) / (n * (n**2 - 1)))
        else:
            after = sum((y[:, lag:] > y[:, :-lag]).sum(axis=1) for lag in range(1, n))
            drawn.append(4 * after / (n * (n - 1)) - 1)
    return np.sort(drawn, axis=1)


def _share_below(drawn: Floats, name: str, n: int, value: float) -> Floats:
    """Say for each population how many samples of n systems are below, and half of those at, it."""
    ends = np.broadcast_to(value, len(drawn))
    if n > _MOST_DRAWN:
        ends = _as_of_fewer(name, n, value)
    count = [
        row.searchsorted(end - 1e-9) + row.searchsorted(end + 1e-9, "right")
        for row, end in zip(drawn, ends, strict=True)
    ]
    return np.array(count) / (2 * drawn.shape[1])


def _as_of_fewer(name: str, n: int, value: float) -> Floats:
    """Find what deviates as far, of `_MOST_DRAWN` systems, as a value of n does.

    Kendall's tau by its exact variance (Esscher 1924), Spearman's rho, whose expectation is Moran's
    (1948), by the root of n on the scale of Fisher's z.
    """
    r = np.tanh(_POPULATIONS)
    whole, half = np.arcsin(r) / np.pi, np.arcsin(r / 2) / np.pi
    if name == "kendall_b":
        deviations = [
            np.sqrt((1 - 4 * whole**2 + 2 * (m - 2) * (1 / 9 - 4 * half**2)) / (m * (m - 1)))
            for m in (_MOST_DRAWN, n)
        ]
        return 2 * whole + (value - 2 * whole) * deviations[0] / deviations[1]
    expected = [np.arctanh(6 * (whole + (m - 2) * half) / (m + 1)) for m in (_MOST_DRAWN, n)]
    with np.errstate(divide="ignore"):
        away = np.arctanh(value) - expected[1]
    return np.tanh(expected[0] + away * np.sqrt(n / _MOST_DRAWN))


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


class OverSystems(NamedTuple):
    """What resamples of systems say of a correlation over outputs: of m evaluators, (m,) each."""

    low: Floats  # quantiles of the studentized Fisher's z
    high: Floats
    noise: Floats  # share of the variance over systems that outputs make by themselves


#: Resamples of systems in which a statistic is studentized.
_N_STUDENTIZED = 999


def over_systems(
    x: Floats, y: Floats, system: NDArray[np.int64], confidence: float, rng: np.random.Generator
) -> OverSystems:
    """Studentize Pearson's correlation over outputs in resamples of systems (bootstrap-t).

    One system that stands apart decides the correlation and its standard error at once, so that
    Student's t is too short on one side. Standard errors are infinitesimal jackknives (Efron 1982).
    """
    of_system = np.unique(system, return_inverse=True)[1]
    n = of_system.max() + 1
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=_N_STUDENTIZED)
    drawn = drawn[(drawn > 0).sum(axis=1) > 2]
    weights: Floats = np.concatenate([np.ones((1, n)), drawn])
    tail = (1 - confidence) / 2
    b = (y - y.mean()) / y.std()
    found = []
    for scores in x:
        with np.errstate(invalid="ignore", divide="ignore"):
            a = (scores - scores.mean()) / scores.std()
            parts = np.stack([np.ones_like(a), a, b, a * a, b * b, a * b])
            sums = np.stack([np.bincount(of_system, weights=one).astype(float) for one in parts])
            z, influence = _fishers_z(weights, sums)
            error = np.sqrt((weights * influence**2).sum(axis=1))
            t = (z[1:] - z[0]) / error[1:]
            by_itself = (_fishers_z(np.ones((1, len(a))), parts)[1] ** 2).sum()
            t = t[np.isfinite(t)] if np.isfinite(t).any() else np.array([np.nan])
            found.append((*np.quantile(t, [tail, 1 - tail]), by_itself / error[0] ** 2))
    return OverSystems(*np.array(found).T)


def _fishers_z(weights: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Compute z of groups weighted (b, n) and, divided by their weight, what each adds to it.

    `sums` (6, n) are numbers of outputs, sums of a, b, a a, b b and a b.
    """
    size, *of_groups = sums
    total = weights @ size
    a, b, *_ = ((weights @ one / total)[:, None] for one in of_groups)
    aa = of_groups[2] - 2 * a * of_groups[0] + a**2 * size
    bb = of_groups[3] - 2 * b * of_groups[1] + b**2 * size
    ab = of_groups[4] - a * of_groups[1] - b * of_groups[0] + a * b * size
    mean = [((weights * one).sum(axis=1) / total)[:, None] for one in (aa, bb, ab)]
    scale = np.sqrt(mean[0] * mean[1])
    r = mean[2] / scale
    change = (ab - size * mean[2]) / scale
    change -= r / 2 * ((aa - size * mean[0]) / mean[0] + (bb - size * mean[1]) / mean[1])
    return np.arctanh(r[:, 0]), change / (1 - r**2) / total[:, None]


def jackknife_intervals(
    full: Mapping[str, Floats],
    chance: Floats | None,
    deleted: Sequence[tuple[Mapping[str, Floats], NDArray[np.int64]]],
    *,
    granularity: str,
    confidence: float,
    studentized: Mapping[str, OverSystems],
) -> dict[tuple[int, str], Interval]:
    """Put intervals around statistics of outputs or items: delete-one jackknife, Student's t.

    `deleted` holds, for clusters and for systems, the statistics without each (m, units) and the
    units' strata; where both are drawn, their variances are added. Accuracy is tested against
    `chance` (m, 1), which a sample's ties decide. Statistics that are `studentized` take those
    quantiles over systems in the place of Student's, and noise of outputs, which is part of both
    variances, once.
    """
    errors: dict[str, list[Floats]] = {name: [] for name in (*full, "chance_accuracy")}
    for without, strata in deleted:
        for name in full:
            values = without[name]
            errors[name].append(jackknife_error(_scaled(name, granularity, values), strata))
            if name == "pairwise_accuracy":
                above = values - without["chance_accuracy"]
                errors["chance_accuracy"].append(jackknife_error(above, strata))
    degrees = min(len(strata) - len(np.unique(strata)) for _, strata in deleted)
    intervals = {}
    for name, estimates in full.items():
        for at, estimate in enumerate(estimates[:, 0].tolist()):
            variances = [float(one[at]) ** 2 for one in errors[name]]
            if name in studentized and len(variances) == 2:
                variances[0] -= min(variances[0], variances[1] * float(studentized[name].noise[at]))
            error = float(np.sqrt(sum(variances)))
            if not np.isfinite(estimate):
                one = _none("undefined: scores or judgments do not vary, or there are no two")
            elif degrees < 1 or not np.isfinite(error):
                one = _none("undefined without one of the clusters or systems")
            elif error <= 1e-9:
                one = Interval(estimate, estimate, "jackknife", "no width: nothing varies")
            else:
                center = _scaled(name, granularity, np.array(estimate))
                t, method = student.ppf(0.5 + confidence / 2, degrees), "jackknife"
                below = above = t * error
                if name in studentized:
                    *others, own = np.sqrt(variances)
                    by_others = t * sum(others)
                    low, high = (float(studentized[name][end][at]) for end in (0, 1))
                    below, above = (
                        np.hypot(max(part, 0) * own, by_others) for part in (high, -low)
                    )
                    method = "jackknife, bootstrap-t over systems"
                ends = np.array([center - below, center + above])
                if name not in ACCURACIES and granularity == "output":
                    ends = np.tanh(ends)
                low, high = np.clip(ends, 0.0 if name in ACCURACIES else -1.0, 1)
                one = Interval(float(low), float(high), method, "", error, float(center))
                if name == "pairwise_accuracy" and chance is not None:
                    tested = float(np.sqrt(sum(e[at] ** 2 for e in errors["chance_accuracy"])))
                    z = estimate - float(chance[at, 0])
                    one = one._replace(standard_error=tested, z=z)
            intervals[at, name] = one._replace(degrees=float(degrees))
    return intervals


def p_value(interval: Interval) -> float:
    """Test against 0, or chance, by Student's t; NaN where there is no standard error."""
    if not interval.standard_error > 0:
        return float("nan")
    return float(2 * student.sf(abs(interval.z) / interval.standard_error, interval.degrees))


def _scaled(name: str, granularity: str, values: Floats) -> Floats:
    """Stretch correlations over outputs to Fisher's z; means over items are about normal."""
    if name not in ACCURACIES and granularity == "output":
        with np.errstate(divide="ignore"):
            return np.arctanh(values)
    return values


def doubts(
    interval: Interval, n_clusters: int, n_systems: int, resample: str, granularity: str
) -> str:
    """Say why to doubt an interval: its own reason, how few made it, or its kind."""
    if interval.reason:
        return interval.reason
    of_systems = resample != "items" or granularity == "system"
    for unit, n, matters in (
        ("clusters", n_clusters, resample != "systems"),
        ("systems", n_systems, of_systems),
    ):
        if matters and n < FEWEST:
            return f"{n} {unit}: intervals from fewer than {FEWEST} may be too narrow"
    if granularity == "output" and resample != "items" and interval.method == "jackknife":
        return (
            "over systems of outputs, such 95% intervals of correlations held .86 to .96 of the "
            "time: take it for too narrow"
        )
    return ""


def interval_of_systems(
    name: str, estimate: float, n: int, confidence: float, *, n_given: int = 0
) -> Interval:
    """Put an interval over systems around a (partial) correlation of which nothing else is known.

    Pearson's by the normal theory of Fisher's z; a rank correlation as over systems' means.
    """
    is_pearson = name == "pearson"
    few = 3 + n_given if is_pearson else 4
    if n < 2 + 2 * n_given:
        return _none(f"undefined: {n} systems have all scores")
    if not np.isfinite(estimate):
        held = ", or that the one held constant determines" if n_given else ""
        return _none("undefined: scores that do not vary" + held)
    if name not in ("pearson", "spearman", "kendall_b"):
        return _none("no closed form: resample outputs with correlate")
    if n <= few:
        return _none(f"{n} systems: an interval needs at least {few + 1}")
    if not is_pearson:
        return _of_ranks(name, estimate, n, confidence)
    if 1 - abs(estimate) < 1e-12:
        return _none("perfect correlation: the standard error of z is undefined")
    half = norm.ppf(0.5 + confidence / 2) / np.sqrt(n - few)
    low, high = np.tanh(np.arctanh(estimate) + np.array([-half, half]))
    return Interval(float(low), float(high), "Fisher's z")


#: Candidate populations of systems, from which as many as asked for are drawn.
_CANDIDATES = 2048


@dataclass(frozen=True)
class Expectations:
    """Systems' means over clusters of outputs, their noise, and what they are without it."""

    x: Floats  # mean scores (m, s) of m evaluators, of the s systems there are
    y: Floats  # and mean judgments (s,)
    noise: Floats  # (3, m, s): variance of each mean score, its covariance with the judgment's, its
    r: Floats  # (m,) Pearson's, of the expectations; NaN where noise explains all variance
    over_clusters: Floats  # jackknife standard error of r, with so many degrees of freedom
    degrees: int
    reliability_scores: Floats  # share of the variance between mean scores that is not noise
    reliability_judgments: Floats


def expectations(count: Floats, x: Floats, y: Floats) -> Expectations:
    """Estimate the correlation of systems' expectations, and its standard error.

    `count`, `x` and `y` are numbers of outputs and sums of scores and judgments, of shape
    ([m,] clusters, systems).

    With C the covariance of the systems' means and N the part of it that is noise (where every
    cluster has every system: the mean product of system-by-cluster interactions over the number of
    clusters), ``r = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))``. Clusters are deleted one
    by one, within systems where each is of one.
    """
    means = [divide(one.sum(axis=-2), count.sum(axis=0)) for one in (x, y)]
    x, y = (one - count * mean[..., None, :] for one, mean in zip((x, y), means, strict=True))
    present = count > 0
    apart = (present.sum(axis=1) == 1).all()
    n = present.sum(axis=0)
    scale = np.sqrt(divide(n, n - 1.0)) / count.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, of_means, noise = [], [], []
        for a, b, mean_a, mean_b in (
            (x, x, *means[:1] * 2),
            (x, y, *means),
            (y, y, *means[1:] * 2),
        ):
            sigma = np.swapaxes(a * scale, -1, -2) @ (b * scale)
            of_means.append(_between(mean_a, mean_b))
            whole.append(of_means[-1] - _centered_trace(sigma))
            noise.append(_of_each(a * scale, b * scale))
        clusters = _without_clusters(count, x, y, means)
        r = _ratio(*whole)
        strata = present.argmax(axis=1) if apart else np.zeros(len(count), dtype=np.int64)
        return Expectations(
            x=means[0],
            y=means[1],
            noise=np.stack([np.broadcast_to(one, means[0].shape) for one in noise]),
            r=r,
            over_clusters=jackknife_error(_ratio(*clusters), strata),
            reliability_scores=divide(whole[0], of_means[0]),
            reliability_judgments=np.broadcast_to(divide(whole[2], of_means[2]), r.shape),
            degrees=len(count) - (len(n) if apart else 1),
        )


def drawn_expectations(
    found: Expectations, evaluator: int, n_samples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw systems' expectations from their posterior: scores and judgments, (n_samples, s).

    Systems are taken as a sample of a bivariate normal population, of which nothing is known
    before (flat in the correlation and in the logarithms of the means' variances), and their means
    as normal around their expectations with the measured noise.
    """
    means = np.stack([found.x[evaluator], found.y])
    noise = found.noise[:, evaluator]
    n = means.shape[1]
    spread = means.var(axis=1, ddof=1)
    pooled = noise[[0, 2]].mean(axis=1)
    # Variances of the means, at least those of the noise, as each variable alone suggests them.
    freedom = (n - 1) / 2
    upto = np.where(pooled > 0, gammainc(freedom, freedom * divide(spread, pooled)), 1.0)
    total = freedom * spread / gammaincinv(freedom, rng.random((_CANDIDATES, 2)) * upto)
    z = rng.uniform(-4, 4, _CANDIDATES)
    variance = np.maximum(total - pooled, 1e-9 * total).T
    population = np.stack([variance[0], np.tanh(z) * np.sqrt(variance.prod(axis=0)), variance[1]])
    proposed = -freedom * (np.log(total) + spread / total).sum(axis=1)
    likelihood = _likelihood(population, means, noise)
    weight = likelihood - proposed + 2 * np.log(1 / np.cosh(z))
    share = np.cumsum(np.exp(weight - weight.max()))
    at = np.searchsorted(share / share[-1], (np.arange(n_samples) + rng.random()) / n_samples)
    population = population[:, at]
    inverse, _, weights = _precision(population, noise)
    inner = _inverse(weights)
    center = _times(inner, _times(inverse, means[:, None]).sum(axis=-1))
    center = center + _normal(inner, rng)
    # Each system's expectation, given the population and the system's mean.
    pulled = _times(inverse, means[:, None] - center[..., None])
    wide = population[..., None]
    left = np.stack(
        [
            population[0][:, None] - _form(inverse, wide[0], wide[1], wide[0], wide[1]),
            population[1][:, None] - _form(inverse, wide[0], wide[1], wide[1], wide[2]),
            population[2][:, None] - _form(inverse, wide[1], wide[2], wide[1], wide[2]),
        ]
    )
    drawn = center[..., None] + _times(wide, pulled) + _normal(left, rng)
    return drawn[0], drawn[1]


def _between(a: Floats, b: Floats) -> Floats:
    """Covary two variables over systems, the last axis."""
    centered = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    return (centered[0] * centered[1]).sum(axis=-1) / (a.shape[-1] - 1.0)


def _centered_trace(sigma: Floats) -> Floats:
    """Expect the covariance over systems that errors of covariance sigma make."""
    n = sigma.shape[-1]
    diagonal = np.trace(sigma, axis1=-2, axis2=-1)
    return (diagonal - sigma.sum(axis=(-2, -1)) / n) / (n - 1.0)


def _of_each(a: Floats, b: Floats) -> Floats:
    """Covary each system's errors, without what all systems share."""
    n = a.shape[-1]
    centered = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    return (centered[0] * centered[1]).sum(axis=-2) * n / (n - 1.0)


def _ratio(xx: Floats, xy: Floats, yy: Floats) -> Floats:
    defined = (xx > 0) & (yy > 0)
    return np.where(defined, xy / np.sqrt(np.where(defined, xx * yy, 1.0)), np.nan)


def _without_clusters(
    count: Floats, x: Floats, y: Floats, means: list[Floats]
) -> tuple[Floats, Floats, Floats]:
    """Covary expectations without each cluster; x and y are sums of differences from the means."""
    left = count.sum(axis=0) - count
    n = (count > 0).sum(axis=0) - (count > 0)
    scale = divide(np.sqrt(divide(n * 1.0, n - 1.0)), left)
    shift = [divide(-one, left) for one in (x, y)]
    n_systems = count.shape[1]

    def covariance(a: Floats, b: Floats, i: int, j: int) -> Floats:
        of_a, of_b = scale * shift[i], scale * shift[j]
        own_a, own_b = scale * a - of_a * count, scale * b - of_b * count
        every = -own_a.sum(axis=-1) * own_b.sum(axis=-1)
        same = -(own_a * own_b).sum(axis=-1)
        for one, sums_one in ((scale, a), (-of_a, count)):
            for other, sums_other in ((scale, b), (-of_b, count)):
                products = np.swapaxes(sums_one, -1, -2) @ sums_other
                every = every + ((one @ products) * other).sum(axis=-1)
                diagonal = np.diagonal(products, axis1=-2, axis2=-1)[..., None, :]
                same = same + (one * other * diagonal).sum(axis=-1)
        moved = (means[k][..., None, :] + shift[k] for k in (i, j))
        return _between(*moved) - (same - every / n_systems) / (n_systems - 1.0)

    return covariance(x, x, 0, 0), covariance(x, y, 0, 1), covariance(y, y, 1, 1)


# Symmetric two-by-two matrices are arrays (3, ...) of xx, xy, yy; vectors are (2, ...).


def _inverse(matrix: Floats) -> Floats:
    determinant = matrix[0] * matrix[2] - matrix[1] ** 2
    return np.stack([matrix[2], -matrix[1], matrix[0]]) / determinant


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.stack(
        [
            matrix[0] * vector[0] + matrix[1] * vector[1],
            matrix[1] * vector[0] + matrix[2] * vector[1],
        ]
    )


def _form(matrix: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Multiply (a, b) by the matrix by (c, d)."""
    return a * (matrix[0] * c + matrix[1] * d) + b * (matrix[1] * c + matrix[2] * d)


def _normal(matrix: Floats, rng: np.random.Generator) -> Floats:
    """Draw a normal vector of each covariance matrix, by Cholesky's factor."""
    first = np.sqrt(np.maximum(matrix[0], 0))
    cross = divide(matrix[1], first)
    cross = np.where(first > 0, cross, 0)
    second = np.sqrt(np.maximum(matrix[2] - cross**2, 0))
    z = rng.standard_normal((2, *matrix.shape[1:]))
    return np.stack([first * z[0], cross * z[0] + second * z[1]])


def _precision(population: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """Invert each system's covariance matrix: inverses, their determinants' logs, their sum."""
    total = population[..., None] + noise[:, None]
    # Where noise is nil and the correlation 1, rounding must not turn the sign.
    determinant = total[0] * total[2] - total[1] ** 2
    determinant = np.maximum(determinant, 1e-12 * total[0] * total[2])
    inverse = np.stack([total[2], -total[1], total[0]]) / determinant
    return inverse, np.log(determinant), inverse.sum(axis=-1)


def _likelihood(population: Floats, means: Floats, noise: Floats) -> Floats:
    """Give the log-likelihood of populations, whatever their means."""
    inverse, logs, weights = _precision(population, noise)
    center = _times(_inverse(weights), _times(inverse, means[:, None]).sum(axis=-1))
    away = means[:, None] - center[..., None]
    squares = _form(inverse, *away, *away).sum(axis=-1)
    spread = np.log(weights[0] * weights[2] - weights[1] ** 2)
    return -(logs.sum(axis=-1) + squares + spread) / 2
