"""Correlations of systems' expectations: what means over more and more items would give.

Means of few items are noisy, and noise lowers correlations. Here the noise is measured, by how
clusters of outputs differ, and taken off.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from nlgbench.analysis.coefficients.pair_statistics import Floats, divide
from nlgbench.analysis.correlation.samples import Sample

#: Candidate populations of systems, from which as many as asked for are drawn.
_CANDIDATES = 2048


@dataclass(frozen=True)
class Expectations:
    """Systems' means over clusters of outputs, how noisy they are, and what they are without noise.

    Attributes
    ----------
    x, y : ndarray of shape (m, s), (s,)
        Mean scores of m evaluators and mean judgments, of the s systems there are.
    noise : ndarray of shape (3, m, s)
        Variance of each mean score, its covariance with the mean judgment, variance of that.
    r : ndarray of shape (m,)
        Pearson's correlation of the expectations; NaN where noise explains all variance.
    over_clusters, over_systems : ndarray of shape (m,)
        Jackknife standard errors of r.
    reliability_scores, reliability_judgments : ndarray of shape (m,)
        Share of the variance between mean scores (judgments) that is not noise.
    degrees : int
        Of freedom of `over_clusters`.
    """

    x: Floats
    y: Floats
    noise: Floats
    r: Floats
    over_clusters: Floats
    over_systems: Floats
    reliability_scores: Floats
    reliability_judgments: Floats
    degrees: int


def expectations(sample: Sample) -> Expectations:
    """Estimate the correlation of systems' expectations, and its standard errors.

    With C the covariance of the systems' means and N the part of it that is noise (where every
    cluster has every system: the mean product of system-by-cluster interactions over the number of
    clusters), ``r = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))``. Clusters, or systems, are
    deleted one by one; clusters within systems where each is of one.
    """
    count, x, y = _sums(sample)
    means = [divide(one.sum(axis=-2), count.sum(axis=0)) for one in (x, y)]
    x, y = (one - count * mean[..., None, :] for one, mean in zip((x, y), means, strict=True))
    present = count > 0
    apart = (present.sum(axis=1) == 1).all()
    n = present.sum(axis=0)
    scale = np.sqrt(divide(n, n - 1.0)) / count.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, of_means, systems, noise = [], [], [], []
        for a, b, mean_a, mean_b in (
            (x, x, *means[:1] * 2),
            (x, y, *means),
            (y, y, *means[1:] * 2),
        ):
            sigma = np.swapaxes(a * scale, -1, -2) @ (b * scale)
            of_means.append(_between(mean_a, mean_b))
            whole.append(of_means[-1] - _centered_trace(sigma))
            systems.append(_without_systems(mean_a, mean_b, sigma))
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
            over_systems=jackknife_error(_ratio(*systems), np.zeros(len(n), dtype=np.int64)),
            reliability_scores=divide(whole[0], of_means[0]),
            reliability_judgments=np.broadcast_to(divide(whole[2], of_means[2]), r.shape),
            degrees=len(count) - (len(n) if apart else 1),
        )


def jackknife_error(replicates: Floats, strata: NDArray[np.int64]) -> Floats:
    """Give the standard error from deleting one unit at a time, within strata (Tukey 1958).

    `replicates` are of shape (..., units), without the unit; NaN where one is undefined.
    """
    variance = np.zeros(replicates.shape[:-1])
    for stratum in np.unique(strata):
        part = replicates[..., strata == stratum]
        variance += part.var(axis=-1) * (part.shape[-1] - 1)
    return np.sqrt(variance)


def drawn_expectations(
    found: Expectations, evaluator: int, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw systems' expectations from their posterior, of shape (n_draws, s) for scores, judgments.

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
    at = np.searchsorted(share / share[-1], (np.arange(n_draws) + rng.random()) / n_draws)
    population = population[:, at]
    inverse, _, weights = _precision(population, noise)
    inner = _inverse(weights)
    center = _times(inner, _times(inverse, means[:, None]).sum(axis=-1))
    center = center + _normal(inner, rng)
    # Each system's expectation, given the population and the system's mean.
    kept = _times(inverse, means[:, None] - center[..., None])
    wide = population[..., None]
    left = np.stack(
        [
            population[0][:, None] - _form(inverse, wide[0], wide[1], wide[0], wide[1]),
            population[1][:, None] - _form(inverse, wide[0], wide[1], wide[1], wide[2]),
            population[2][:, None] - _form(inverse, wide[1], wide[2], wide[1], wide[2]),
        ]
    )
    drawn = center[..., None] + _times(wide, kept) + _normal(left, rng)
    return drawn[0], drawn[1]


def _sums(sample: Sample) -> tuple[Floats, Floats, Floats]:
    """Count outputs, and sum scores and judgments, by cluster and system; those without leave."""
    cell = sample.cluster * sample.n_systems + sample.system
    n_cells, shape = sample.n_clusters * sample.n_systems, (sample.n_clusters, sample.n_systems)
    count, *sums = (
        np.bincount(cell, weights=one, minlength=n_cells).reshape(shape).astype(np.float64)
        for one in (np.ones(len(cell)), *sample.x, sample.y)
    )
    there = np.ix_(count.any(axis=1), count.any(axis=0))
    return count[there], np.stack([one[there] for one in sums[:-1]]), sums[-1][there]


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


def _without_systems(a: Floats, b: Floats, sigma: Floats) -> Floats:
    """Covary expectations without each system."""
    n = sigma.shape[-1]
    own = np.diagonal(sigma, axis1=-2, axis2=-1)
    rest = sigma.sum(axis=(-2, -1))[..., None] - sigma.sum(axis=-1) - sigma.sum(axis=-2) + own
    noise = (own.sum(axis=-1, keepdims=True) - own - rest / (n - 1)) / (n - 2.0)
    away = (a - a.mean(axis=-1, keepdims=True)) * (b - b.mean(axis=-1, keepdims=True))
    return (away.sum(axis=-1, keepdims=True) - away * n / (n - 1)) / (n - 2.0) - noise


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
