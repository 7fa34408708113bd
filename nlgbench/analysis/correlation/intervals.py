"""Intervals of correlations between evaluators and human judgments.

Means of few items are noisy, and noise lowers correlations. Over systems, `estimate_expectations`
estimates the noise from differences between clusters of outputs, and corrects for it. Over outputs
and items, `jackknife_intervals` leaves out one cluster at a time. docs/validation.md reports
coverage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv
from scipy.stats import norm
from scipy.stats import t as student

from nlgbench.analysis.correlation.coefficients import coefficients, divide
from nlgbench.arrays import Floats
from nlgbench.clustering import few_clusters, jackknife_variance
from nlgbench.status import OK, Status, explain

#: An accuracy -> the statistic that is its expectation by chance.
CHANCE = {
    "pairwise_accuracy": "chance_accuracy",
    "pairwise_calibrated": "chance_pairwise_calibrated",
    "pairwise_calibrated_same": "chance_pairwise_calibrated_same",
}
ACCURACIES = (*CHANCE, "soft_pairwise")


class Options(NamedTuple):
    """The options of `correlate`."""

    granularity: str
    statistics: list[str]
    resample: str | None
    n_resamples: int
    confidence: float


class Interval(NamedTuple):
    """An interval, its status if it is undefined or doubtful, and p of the corresponding test."""

    low: float
    high: float
    method: str
    status: Status = OK
    p: float = float("nan")


def explain_undefined(granularity: str, n_systems: int) -> Interval:
    """Explain why a statistic is undefined."""
    if granularity != "output" and n_systems < 2:
        return _none("one_system")
    return _none("constant", within=" within items" if granularity == "item" else "")


def system_intervals(
    means: Expectations, estimates_of: Mapping[str, Floats], options: Options, rng: Generator
) -> dict[tuple[int, str], Interval]:
    """Compute intervals of defined statistics of systems' means (m, 1), by evaluator and name."""
    resample, confidence = options.resample, options.confidence
    ranks = [name for name in estimates_of if name not in ("pearson", "soft_pairwise")]
    intervals = {}
    for evaluator in range(len(means.x)):
        undefined = _explain_lack_of_signal(means, evaluator)
        posterior: dict[str, Floats] = {}
        for name, estimates in estimates_of.items():
            estimate = float(estimates[evaluator, 0])
            if not np.isfinite(estimate):
                continue
            if name == "soft_pairwise":
                interval = _none("not_validated", what=name)
            elif resample == "systems":
                interval = _over_systems(means, evaluator, name, estimate, confidence)
            elif undefined is not None:
                interval = undefined
            elif resample == "both":
                raw = _over_systems(means, evaluator, name, estimate, confidence)
                interval = _disattenuated(means, evaluator, name, raw)
            elif name == "pearson":
                interval = _over_clusters(means, evaluator, confidence)
            else:
                if not posterior:
                    expected = draw_expectations(means, evaluator, options.n_resamples, rng)
                    posterior = coefficients(*expected, statistics=ranks)
                tail = (1 - confidence) / 2
                low, high = np.nanquantile(posterior[name], [tail, 1 - tail])
                interval = Interval(float(low), float(high), "posterior, systems normal")
            interval = _extend_to_estimate(interval, estimate)
            if interval.high - interval.low <= 1e-9:
                interval = _none("no_variation")
            intervals[evaluator, name] = interval
    return intervals


def _explain_lack_of_signal(means: Expectations, evaluator: int) -> Interval | None:
    """Explain why systems' expectations cannot be distinguished from noise, if they cannot."""
    reliability = means.reliability_scores[evaluator], means.reliability_judgments[evaluator]
    least = np.minimum(*reliability)
    if len(means.y) < 3:
        return _none("two_systems")
    if np.isnan(least):
        return _none("lone_cluster")
    if least > 0.5:
        return None
    noisier = "scores" if reliability[0] == least else "judgments"
    return _none("low_reliability", what=noisier, value=least)


def _none(code: str, **numbers: Any) -> Interval:
    return Interval(float("nan"), float("nan"), "none", explain(code, **numbers))


def _extend_to_estimate(interval: Interval, estimate: float) -> Interval:
    """Extend an interval to the estimate, which noise in the means can move outside."""
    low, high = min(interval.low, estimate), max(interval.high, estimate)
    status = interval.status
    # Rounding alone is no reason for a warning.
    if not status and (low < interval.low - 1e-9 or high > interval.high + 1e-9):
        status = explain("extended")
    return interval._replace(low=low, high=high, status=status)


def _over_clusters(means: Expectations, evaluator: int, confidence: float) -> Interval:
    """Compute an interval over clusters: a jackknife of the correlation of systems' expectations.

    An estimate beyond 1 is set to 1, so that the interval is one-sided.
    """
    r, error = float(means.r[evaluator]), float(means.over_clusters[evaluator])
    if not np.isfinite(error):
        return _none("noise_without_one")
    half = student.ppf(0.5 + confidence / 2, means.degrees) * error
    if half <= 1e-9:
        return _none("no_variation")
    center, status = float(np.clip(r, -1, 1)), OK
    if center != r:
        status = explain("one_sided", r=r, bound=center)
    low, high = np.clip([center - half, center + half], -1, 1)
    return Interval(float(low), float(high), "jackknife of expectations", status)


def _over_systems(
    means: Expectations, row: int, statistic: str, estimate: float, confidence: float
) -> Interval:
    """Compute an interval over systems: a jackknife for Pearson, an inverted test for ranks."""
    n = len(means.y)
    if n < 5:
        return _none("too_few_systems", n=n, least=5)
    if statistic != "pearson":
        return _rank_interval(statistic, estimate, n, confidence)
    if abs(estimate) > 1 - 1e-12:
        return _none("perfect")
    # One system is left out of each row.
    x, y = (np.stack([np.delete(v, i) for i in range(n)]) for v in (means.x[row], means.y))
    without = coefficients(x, y, statistics=["pearson"])["pearson"]
    with np.errstate(divide="ignore"):
        error = float(np.sqrt(jackknife_variance(np.arctanh(without))))
    half = student.ppf(0.5 + confidence / 2, n - 2) * error
    if not np.isfinite(half):
        return _none("perfect_without_one", units="systems")
    low, high = np.tanh(np.arctanh(estimate) + np.array([-half, half]))
    return Interval(float(low), float(high), "jackknife of z")


#: Fisher's z of simulated populations, and the number of samples drawn from each.
_POPULATIONS, _N_DRAWN = np.linspace(0, 7, 71), 4_000
#: The most systems in a simulated sample; results for more systems are extrapolated.
_MOST_DRAWN = 30


def _rank_interval(name: str, estimate: float, n: int, confidence: float) -> Interval:
    """Compute a mid-p interval of normal populations compatible with a rank correlation.

    It applies to all populations whose variables are monotone functions of two normal ones. Its
    ends are population values of the statistic, and are defined for perfect agreement too.
    """
    kind = name if name == "spearman" else "kendall_b"
    scaled = 2 * estimate - 1 if name in ACCURACIES else estimate
    simulated = _simulate_ranks(kind, min(n, _MOST_DRAWN))
    # By symmetry: a population with correlation -r gives -t as often as one with r gives t.
    above = 1 - _share_below(simulated, kind, n, -scaled)[:0:-1]
    below = np.concatenate([above, _share_below(simulated, kind, n, scaled)])
    z = np.concatenate([-_POPULATIONS[:0:-1], _POPULATIONS])
    # Interpolate normal quantiles of the shares, which are about linear in z.
    rising = norm.isf(np.clip(np.minimum.accumulate(below), 0.1 / _N_DRAWN, 1 - 0.1 / _N_DRAWN))
    ends = norm.isf([(1 + confidence) / 2, (1 - confidence) / 2])
    low, high = _from_pearson(name, np.tanh(np.interp(ends, rising, z, left=-np.inf, right=np.inf)))
    return Interval(float(low), float(high), "normal populations, mid-p")


def _from_pearson(name: str, r: Floats) -> Floats:
    """Convert Pearson's r of a bivariate normal population to another statistic."""
    if name == "pearson":
        return r
    value = 6 / np.pi * np.arcsin(r / 2) if name == "spearman" else 2 / np.pi * np.arcsin(r)
    return (value + 1) / 2 if name in ACCURACIES else value


@cache
def _simulate_ranks(name: str, n: int) -> Floats:
    """Draw rank correlations of n systems from each population, and sort those of each."""
    rng = np.random.default_rng(0)
    x, independent = rng.standard_normal((2, _N_DRAWN, n))
    x = np.sort(x, axis=1)  # the order of systems is arbitrary
    simulated = [
        coefficients(x, r * x + np.sqrt(1 - r**2) * independent, statistics=[name])[name]
        for r in np.tanh(_POPULATIONS)
    ]
    return np.sort(simulated, axis=1)


def _share_below(simulated: Floats, name: str, n: int, value: float) -> Floats:
    """Compute each population's share of samples below a value, plus half of those equal to it."""
    ends = np.broadcast_to(value, len(simulated))
    if n > _MOST_DRAWN:
        ends = _scale_to_fewer(name, n, value)
    count = [
        row.searchsorted(end - 1e-9) + row.searchsorted(end + 1e-9, "right")
        for row, end in zip(simulated, ends, strict=True)
    ]
    return np.array(count) / (2 * simulated.shape[1])


def _scale_to_fewer(name: str, n: int, value: float) -> Floats:
    """Convert a value for n systems to an equally extreme one for `_MOST_DRAWN` systems.

    Kendall's tau is scaled by its exact variance (Esscher 1924), and Spearman's rho, with Moran's
    (1948) expectation, by the square root of n on the scale of Fisher's z.
    """
    r = np.tanh(_POPULATIONS)
    angle, half = np.arcsin(r) / np.pi, np.arcsin(r / 2) / np.pi
    if name == "kendall_b":
        deviations = [
            np.sqrt((1 - 4 * angle**2 + 2 * (m - 2) * (1 / 9 - 4 * half**2)) / (m * (m - 1)))
            for m in (_MOST_DRAWN, n)
        ]
        return 2 * angle + (value - 2 * angle) * deviations[0] / deviations[1]
    expected = [np.arctanh(6 * (angle + (m - 2) * half) / (m + 1)) for m in (_MOST_DRAWN, n)]
    with np.errstate(divide="ignore"):
        away = np.arctanh(value) - expected[1]
    return np.tanh(expected[0] + away * np.sqrt(n / _MOST_DRAWN))


def _disattenuated(means: Expectations, evaluator: int, name: str, raw: Interval) -> Interval:
    """Correct the ends of an interval over systems for noise in the means.

    Rank correlations are converted to the Pearson correlation of a normal population, and back.
    """
    if raw.method == "none":
        return raw
    wide = np.sqrt(means.x[evaluator].var(ddof=1) * means.y.var(ddof=1))
    reliability = means.reliability_scores * means.reliability_judgments
    narrow = wide * np.sqrt(reliability[evaluator])
    ends = np.array([raw.low, raw.high])
    if name in ACCURACIES:
        ends = 2 * ends - 1
    if name == "spearman":
        ends = 2 * np.sin(np.pi * ends / 6)
    elif name != "pearson":
        ends = np.sin(np.pi * ends / 2)
    ends = np.clip((ends * wide - means.noise[1, evaluator].mean()) / narrow, -1, 1)
    low, high = _from_pearson(name, ends).tolist()
    return Interval(low, high, f"{raw.method}, corrected for noise", raw.status)


def jackknife_intervals(
    estimates_of: Mapping[str, Floats],
    without: Mapping[str, Floats],
    strata: NDArray[np.int64],
    options: Options,
) -> dict[tuple[int, str], Interval]:
    """Compute intervals of defined statistics over outputs or items, by a jackknife and t.

    `estimates_of` are the statistics (m, 1), `without` those without each cluster (m, clusters),
    `strata` the clusters' strata. Accuracy is tested against the sample's accuracy by chance.
    """
    degrees = len(strata) - len(np.unique(strata))
    intervals = {}
    for name in options.statistics:
        estimates = estimates_of[name]
        on_z = options.granularity == "output" and name not in ACCURACIES  # others are about normal
        with np.errstate(divide="ignore"):
            centers, replicates = (
                np.arctanh(values) if on_z else values for values in (estimates, without[name])
            )
        errors = above_chance = np.sqrt(jackknife_variance(replicates.T, strata))
        excess = centers
        if name in CHANCE:
            excess = estimates - estimates_of[CHANCE[name]]
            excess_without = without[name] - without[CHANCE[name]]
            above_chance = np.sqrt(jackknife_variance(excess_without.T, strata))
        for evaluator, estimate in enumerate(estimates[:, 0].tolist()):
            error = float(errors[evaluator])
            if not np.isfinite(estimate):
                continue
            if degrees < 1:
                interval = _none("one_cluster" if len(strata) < 2 else "lone_cluster")
            elif np.isinf(centers[evaluator, 0]):
                interval = _none("perfect")
            elif not np.isfinite(error):
                code = "perfect_without_one" if on_z else "undefined_without_one"
                interval = _none(code, units="clusters")
            elif error <= 1e-9:
                interval = _none("no_variation")
            else:
                half = student.ppf(0.5 + options.confidence / 2, degrees) * error
                ends = centers[evaluator, 0] + np.array([-half, half])
                ends = np.tanh(ends) if on_z else ends
                low, high = np.clip(ends, 0.0 if name in ACCURACIES else -1.0, 1)
                p = float("nan")
                if above_chance[evaluator] > 0:
                    t = abs(excess[evaluator, 0]) / above_chance[evaluator]
                    p = float(2 * student.sf(t, degrees))
                interval = Interval(float(low), float(high), "jackknife", p=p)
            intervals[evaluator, name] = interval
    return intervals


def warn_of_few(n_clusters: int, n_systems: int, resample: str, granularity: str) -> Status:
    """Return a warning if an interval is based on few clusters or systems."""
    status = OK if resample == "systems" else few_clusters(n_clusters)
    return status or (few_clusters(n_systems, "systems") if granularity == "system" else OK)


def interval_of_systems(
    name: str, estimate: float, n: int, confidence: float, *, n_given: int = 0
) -> Interval:
    """Compute an interval over systems for a (partial) correlation of exact scores.

    Pearson's interval uses Fisher's z under normality; ranks use `_rank_interval`.
    """
    is_pearson = name == "pearson"
    few = 3 + n_given if is_pearson else 4
    if n < 2 + 2 * n_given:
        return _none("systems_without_scores", n=n)
    if not np.isfinite(estimate):
        return _none("determined" if n_given else "constant", within="")
    if name not in ("pearson", "spearman", "kendall_b"):
        return _none("not_validated", what=f"{name} of systems' scores alone")
    if n <= few:
        return _none("too_few_systems", n=n, least=few + 1)
    if not is_pearson:
        return _rank_interval(name, estimate, n, confidence)
    if 1 - abs(estimate) < 1e-12:
        return _none("perfect")
    half = norm.ppf(0.5 + confidence / 2) / np.sqrt(n - few)
    low, high = np.tanh(np.arctanh(estimate) + np.array([-half, half]))
    return Interval(float(low), float(high), "Fisher's z")


#: The number of candidate populations of systems, from which posterior samples are drawn.
_CANDIDATES = 2048


@dataclass(frozen=True)
class Expectations:
    """Systems' means over clusters of outputs, their noise, and noise-corrected correlations."""

    x: Floats  # mean scores (m, s) of s systems by m evaluators
    y: Floats  # mean judgments (s,)
    noise: Floats  # (3, m, s): variance of mean scores, covariance, variance of mean judgments
    r: Floats  # (m,) Pearson's r of expectations; NaN where noise explains all variance
    over_clusters: Floats  # jackknife standard error of r, with `degrees` of freedom
    degrees: int
    reliability_scores: Floats  # share of the variance between mean scores that is not noise
    reliability_judgments: Floats


def estimate_expectations(count: Floats, x: Floats, y: Floats) -> Expectations:
    """Estimate the correlation of systems' expectations, and its standard error.

    `count`, `x` and `y` are numbers of outputs and sums of scores and judgments, of shape
    ([m,] clusters, systems).

    With C the covariance of the systems' means and N its part due to noise,
    ``r = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))``. If every cluster has every system, N
    is the mean product of system-by-cluster interactions, divided by the number of clusters. The
    jackknife deletes one cluster at a time, within systems if each cluster has only one.
    """
    means = [divide(sums.sum(axis=-2), count.sum(axis=0)) for sums in (x, y)]
    x, y = (sums - count * mean[..., None, :] for sums, mean in zip((x, y), means, strict=True))
    present = count > 0
    apart = (present.sum(axis=1) == 1).all()
    strata = present.argmax(axis=1) if apart else np.zeros(len(count), dtype=np.int64)
    n, n_systems = present.sum(axis=0), count.shape[1]
    pairs = ((x, x, *means[:1] * 2), (x, y, *means), (y, y, *means[1:] * 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = [sums * np.sqrt(divide(n, n - 1.0)) / count.sum(axis=0) for sums in (x, y)]
        # Remove the error that all systems share.
        a, b = (centered - centered.mean(axis=-1, keepdims=True) for centered in errors)
        noise = [
            (i * j).sum(axis=-2) * n_systems / (n_systems - 1.0)
            for i, j in ((a, a), (a, b), (b, b))
        ]
        covariances = [_without_each_cluster(count, *pair) for pair in pairs]
        xx, xy, yy = covariances
        r = np.where((xx > 0) & (yy > 0), xy / np.sqrt(xx * yy), np.nan)
        reliability = [
            divide(
                variance[..., 0], ((mean - mean.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1)
            )
            * ((n_systems - 1.0) / n_systems)
            for variance, mean in zip(covariances[::2], means, strict=True)
        ]
        return Expectations(
            x=means[0],
            y=means[1],
            noise=np.stack([np.broadcast_to(variances, means[0].shape) for variances in noise]),
            r=r[:, 0],
            over_clusters=np.sqrt(jackknife_variance(r[:, 1:].T, strata)),
            reliability_scores=reliability[0],
            reliability_judgments=np.broadcast_to(reliability[1], r.shape[:1]),
            degrees=len(count) - (n_systems if apart else 1),
        )


def _without_each_cluster(
    count: Floats, a: Floats, b: Floats, mean_a: Floats, mean_b: Floats
) -> Floats:
    """Compute covariances of expectations along the last axis: all clusters, then without each.

    `a` and `b` are sums of differences from the means. Sums of products over clusters are computed
    once, and each cluster's own product is subtracted.
    """
    n_systems = count.shape[1]
    out, of_a, of_b = (
        np.concatenate([np.zeros_like(sums[..., :1, :]), sums], axis=-2) for sums in (count, a, b)
    )
    remaining = count.sum(axis=0) - out
    n = (count > 0).sum(axis=0) - (out > 0)
    scale = divide(np.sqrt(divide(n, n - 1.0)), remaining)
    move_a, move_b = (divide(-sums, remaining) for sums in (of_a, of_b))
    # A cluster's error for a system is (sum - move * count) * scale.
    own_a, own_b = scale * (of_a - move_a * out), scale * (of_b - move_b * out)
    same, every = -(own_a * own_b).sum(axis=-1), -own_a.sum(axis=-1) * own_b.sum(axis=-1)
    for i, sums_i in ((scale, a), (-scale * move_a, count)):
        for j, sums_j in ((scale, b), (-scale * move_b, count)):
            products = np.swapaxes(sums_i, -1, -2) @ sums_j
            diagonal = np.diagonal(products, axis1=-2, axis2=-1)[..., None, :]
            same = same + (i * j * diagonal).sum(axis=-1)
            every = every + ((i @ products) * j).sum(axis=-1)
    u, v = mean_a[..., None, :] + move_a, mean_b[..., None, :] + move_b
    u, v = (shifted - shifted.mean(axis=-1, keepdims=True) for shifted in (u, v))
    return ((u * v).sum(axis=-1) - same + every / n_systems) / (n_systems - 1.0)


def draw_expectations(
    expectations: Expectations, evaluator: int, n_samples: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Draw systems' expectations from their posterior: scores and judgments, (n_samples, s).

    Systems are a sample of a bivariate normal population with a prior that is flat in the
    correlation and in the logarithms of the means' variances. Their means are normal around their
    expectations, with the estimated noise.
    """
    means = np.stack([expectations.x[evaluator], expectations.y])
    noise = expectations.noise[:, evaluator]
    n = means.shape[1]
    spread = means.var(axis=1, ddof=1)
    pooled = noise[[0, 2]].mean(axis=1)
    # Candidate variances of the means, from each variable alone; at least those of the noise.
    freedom = (n - 1) / 2
    upto = np.where(pooled > 0, gammainc(freedom, freedom * divide(spread, pooled)), 1.0)
    total = freedom * spread / gammaincinv(freedom, rng.random((_CANDIDATES, 2)) * upto)
    z = rng.uniform(-4, 4, _CANDIDATES)
    variance = np.maximum(total - pooled, 1e-9 * total).T
    between = np.tanh(z) * np.sqrt(variance.prod(axis=0))
    population = _symmetric(variance[0], between, variance[1])
    proposed = -freedom * (np.log(total) + spread / total).sum(axis=1)
    likelihood = _likelihood(population, means.T, _symmetric(*noise))
    weight = likelihood - proposed + 2 * np.log(1 / np.cosh(z))
    share = np.cumsum(np.exp(weight - weight.max()))
    chosen = np.searchsorted(share / share[-1], (np.arange(n_samples) + rng.random()) / n_samples)
    inverse, _, weights = _precision(population[chosen], _symmetric(*noise))
    inner = np.asarray(np.linalg.inv(weights), dtype=np.float64)
    wide = population[chosen][:, None]
    center = np.einsum("rij,rsjk,sk->ri", inner, inverse, means.T) + _normal(inner, rng)
    # Each system's expectation, conditional on the population and the system's mean.
    pulled = wide @ inverse @ (means.T - center[:, None])[..., None]
    values = center[:, None] + pulled[..., 0] + _normal(wide - wide @ inverse @ wide, rng)
    return values[..., 0], values[..., 1]


def _symmetric(xx: Floats, xy: Floats, yy: Floats) -> Floats:
    """Build symmetric matrices (..., 2, 2)."""
    return np.moveaxis(np.array([[xx, xy], [xy, yy]]), (0, 1), (-2, -1))


def _normal(matrix: Floats, rng: Generator) -> Floats:
    """Draw a normal vector for each covariance matrix by Cholesky decomposition."""
    first = np.sqrt(np.maximum(matrix[..., 0, 0], 0))
    cross = np.where(first > 0, divide(matrix[..., 0, 1], first), 0)
    second = np.sqrt(np.maximum(matrix[..., 1, 1] - cross**2, 0))
    z = rng.standard_normal((2, *first.shape))
    return np.stack([first * z[0], cross * z[0] + second * z[1]], axis=-1)


def _precision(population: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """Invert systems' covariance matrices: inverses, log-determinants, sums of inverses."""
    total = population[:, None] + noise
    xx, xy, yy = total[..., 0, 0], total[..., 0, 1], total[..., 1, 1]
    # With zero noise and correlation 1, rounding must not make the determinant negative.
    determinant = np.maximum(xx * yy - xy**2, 1e-12 * xx * yy)
    inverse = _symmetric(yy, -xy, xx) / determinant[..., None, None]
    return inverse, np.log(determinant), inverse.sum(axis=1)


def _likelihood(population: Floats, means: Floats, noise: Floats) -> Floats:
    """Compute the log-likelihood of populations, profiled over their means."""
    inverse, logs, weights = _precision(population, noise)
    center = np.einsum("rij,rsjk,sk->ri", np.linalg.inv(weights), inverse, means)
    away = means - center[:, None]
    squares = np.einsum("rsi,rsij,rsj->r", away, inverse, away)
    return -(logs.sum(axis=-1) + squares + np.log(np.linalg.det(weights))) / 2
