"""Intervals of correlations are those of loops and analyses of variance, and hold the truth."""

from itertools import permutations

import numpy as np
import pytest
from correlation_coverage import measure, sample_of, world_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_study import made, study

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.coefficients import coefficients
from nlgbench.analysis.correlation.correlations import intervals_over_outputs, statistics_of
from nlgbench.analysis.correlation.intervals import (
    Options,
    draw_expectations,
    estimate_expectations,
    interval_of_systems,
    system_intervals,
)
from nlgbench.analysis.correlation.samples import Sample, cluster_sums

RANKS = ["spearman", "kendall_b", "pairwise_accuracy"]


def sample_from(x, y, item, system, n_items, n_systems):
    return Sample(np.atleast_2d(x), y, item, system, item, n_systems, n_items)


def without(sample, keep):
    parts = {name: getattr(sample, name)[..., keep] for name in ("x", "y", "item", "system")}
    return sample._replace(cluster=sample.cluster[keep], **parts)


def layout(kind, rng, n_systems=5, n_items=12):
    """Outputs of all systems for all items, of some, or each item's of one system."""
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    if kind == "apart":
        item = system * n_items + item
    keep = rng.random(len(item)) < 0.75 if kind == "some" else np.ones(len(item), dtype=bool)
    system, item = system[keep], item[keep]
    quality, hard = 2 * rng.normal(size=n_systems), rng.normal(size=item.max() + 1)
    x, y = (quality[system] + hard[item] + rng.normal(size=(2, len(item)))).astype(float)
    return sample_from(
        np.stack([x, -x + rng.normal(size=len(x))]), y, item, system, item.max() + 1, n_systems
    )


def test_expectations_are_those_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 6, 15)) + 2 * rng.normal(size=(6, 1))
    system, item = np.divmod(np.arange(90), 15)
    sample = sample_from(x.ravel(), y.ravel(), item, system, 15, 6)
    found = estimate_expectations(*cluster_sums(sample))

    def parts(a, b):
        """Covariance of means, and the interaction's mean product over the items."""
        rest = [one - one.mean(axis=0) - one.mean(axis=1, keepdims=True) for one in (a, b)]
        rest = [one - one.mean() for one in rest]
        product = (rest[0] * rest[1]).sum() / (5 * 14)
        return np.cov(a.mean(axis=1), b.mean(axis=1))[0, 1], product / 15

    (xx, nxx), (xy, nxy), (yy, nyy) = parts(x, x), parts(x, y), parts(y, y)
    assert found.r[0] == pytest.approx((xy - nxy) / np.sqrt((xx - nxx) * (yy - nyy)))
    assert found.reliability_scores[0] == pytest.approx(1 - nxx / xx)
    assert found.reliability_judgments[0] == pytest.approx(1 - nyy / yy)
    assert found.noise[:, 0].mean(axis=1) == pytest.approx([nxx, nxy, nyy])
    # An interval over systems is brought from the means to the expectations likewise.
    full = {"pearson": np.array([[xy / np.sqrt(xx * yy)]])}
    raw, both = (
        system_intervals(found, full, Options("system", ["pearson"], resample, 0, 0.5), rng)
        for resample in ("systems", "both")
    )
    ends = np.array(raw[0, "pearson"][:2])
    expected = (ends * np.sqrt(xx * yy) - nxy) / np.sqrt((xx - nxx) * (yy - nyy))
    assert both[0, "pearson"][:2] == pytest.approx(tuple(np.minimum(expected, 1)))


@pytest.mark.parametrize("kind", ["all", "some", "apart"])
@pytest.mark.parametrize("seed", range(3))
def test_jackknives_are_those_of_outputs_left_out(kind, seed):
    sample = layout(kind, np.random.default_rng(seed))
    units, first = np.unique(sample.cluster, return_index=True)
    left_out = np.array(
        [
            estimate_expectations(*cluster_sums(without(sample, sample.cluster != u))).r
            for u in units
        ]
    )
    stratum = sample.system[first] if kind == "apart" else np.zeros(len(units))
    parts = [left_out[stratum == one] for one in np.unique(stratum)]
    variance = sum(part.var(axis=0) * (len(part) - 1) for part in parts)
    found = estimate_expectations(*cluster_sums(sample))
    assert found.over_clusters == pytest.approx(np.sqrt(variance))


def test_draws_of_expectations_are_those_of_the_posterior():
    """Its means of a grid of populations, flat in r and the logarithms of the means' variances."""
    rng = np.random.default_rng(1)
    found = estimate_expectations(*cluster_sums(sample_of(world_of(8, 6, 0.8, "normal", rng), rng)))
    means = np.stack([found.x[0], found.y], axis=1)
    noise = np.moveaxis(found.noise[[[0, 1], [1, 2]], 0], 2, 0)
    least, steps = np.diagonal(noise.mean(axis=0)), np.exp(np.linspace(0, 5, 31)[1:])
    grid = np.meshgrid(*(one * (steps - 1) for one in least), np.linspace(-0.99, 0.99, 61))
    xx, yy, r = (one.ravel() for one in grid)
    xy = r * np.sqrt(xx * yy)
    population = np.array([[xx, xy], [xy, yy]]).transpose(2, 0, 1)[:, None]
    inverse = np.linalg.inv(population + noise)
    whole = inverse.sum(axis=1)
    center = np.linalg.solve(whole, (inverse @ means[..., None]).sum(axis=1))[:, None]
    away = means[..., None] - center
    logs = np.linalg.slogdet(inverse)[1].sum(axis=1) - np.linalg.slogdet(whole)[1]
    logs -= (away.swapaxes(-1, -2) @ inverse @ away)[..., 0, 0].sum(axis=1)
    pulled = (center + population @ inverse @ away)[..., 0]
    expected = np.average(pulled, axis=0, weights=np.exp((logs - logs.max()) / 2))
    drawn = np.stack(draw_expectations(found, 0, 4000, rng), axis=-1)
    distance = np.abs(drawn.mean(axis=0) - expected) / means.std(axis=0)
    assert (distance < 0.06).all()
    # Drawn systems differ from these by about the noise of the means.
    spread, of_noise = drawn.std(axis=0), np.sqrt(np.diagonal(noise, axis1=1, axis2=2))
    assert spread.mean() == pytest.approx(of_noise.mean(), rel=0.2)


@pytest.mark.parametrize(
    ("granularity", "cell", "n_worlds"),
    [
        # Bias-corrected percentiles held .49 to .85 in cells of this kind.
        pytest.param("system", (24, 100, 0.96, "normal"), 40, marks=pytest.mark.release),
        ("system", (12, 30, 0.8, "ordinal"), 40),
    ],
)
def test_intervals_hold_as_often_as_they_say(granularity, cell, n_worlds):
    table = measure(granularity, *cell, n_worlds, seed=1)
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_worlds)
    assert (table["covered"] >= least).all(), table.to_string()
    assert (table["marked"] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_worlds)).all()
    assert table["width"].between(0.4, 1.8).all()


@pytest.mark.parametrize("granularity", ["output", "item"])
def test_jackknives_of_outputs_and_items_are_those_written_out(granularity):
    outputs, scores, judgments = study(n_systems=10, n_items=12, n_evaluators=1)
    rows = outputs.merge(judgments.groupby("output_id", as_index=False)["value"].mean())
    rows = rows.merge(scores[["output_id", "score"]])

    def statistic(part):
        if granularity == "output":
            return np.arctanh(stats.spearmanr(part["score"], part["value"]).statistic)
        by_item = part.groupby("item_id")[["score", "value"]]
        return by_item.apply(lambda one: stats.spearmanr(*one.to_numpy().T).statistic).mean()

    each = np.array([statistic(rows[rows["item_id"] != name]) for name in rows["item_id"].unique()])
    error, t = np.sqrt(each.var() * 11), stats.t(11)
    ends = statistic(rows) + np.array([-1, 1]) * t.ppf(0.975) * error
    ends = np.tanh(ends) if granularity == "output" else np.clip(ends, -1, 1)
    options = {"granularity": granularity, "statistics": ["spearman"]}
    found = correlate(made(outputs, scores, judgments), **options).iloc[0]
    p = 2 * t.sf(abs(statistic(rows) / error))
    assert found[["ci_low", "ci_high", "p"]].tolist() == pytest.approx([*ends, p])


def marks(*tables_of, **options):
    options = {"statistics": ["pearson"], "n_resamples": 50, "seed": 0} | options
    return correlate(made(*tables_of), **options)


def test_perfect_agreement_says_nothing_of_other_systems():
    outputs, scores, judgments = study(n_systems=12, n_evaluators=1)
    own = outputs["output_id"].map(judgments.groupby("output_id")["value"].mean())
    options = {"resample": "systems", "statistics": ["pearson", *RANKS]}
    found = marks(outputs, scores.assign(score=own), judgments, **options)
    assert found["estimate"].eq(1).all()
    assert found["status"].eq("perfect").tolist() == [True] + [False] * 3
    # It does of ranks, and accuracy is tau's.
    tau, accuracy = found["ci_low"].iloc[2:]
    assert accuracy == pytest.approx((1 + tau) / 2)


def population_of(name, r):
    """The rank correlation of a bivariate normal population (Kruskal 1958)."""
    return 6 / np.pi * np.arcsin(r / 2) if name == "spearman" else 2 / np.pi * np.arcsin(r)


@pytest.mark.parametrize("name", ["spearman", "kendall_b"])
def test_an_interval_of_ranks_leaves_out_independence_where_an_exact_test_does(name):
    # All orders of six systems, under independence: mid-p of each value that there is.
    orders = np.array(list(permutations(range(6))))
    if name == "spearman":
        values = 1 - 6 * ((orders - np.arange(6)) ** 2).sum(axis=1) / (6 * 35)
    else:
        first, second = np.triu_indices(6, 1)
        values = (2.0 * (orders[:, second] > orders[:, first]) - 1).mean(axis=1)
    values = values.round(9)
    for value in np.unique(values):
        mid_p = (values > value).mean() + (values == value).mean() / 2
        found = interval_of_systems(name, value, 6, 0.9)
        if abs(mid_p - 0.05) > 0.01:  # three standard errors of 4,000 draws
            assert (found.low > 0) == (mid_p < 0.05)
        assert found.low - 1e-9 <= value <= found.high + 1e-9
        mirrored = interval_of_systems(name, -value, 6, 0.9)
        assert (-mirrored.high, -mirrored.low) == pytest.approx(found[:2], abs=0.02)


@pytest.mark.parametrize(("n", "r"), [(6, 0.8), pytest.param(60, 0.98, marks=pytest.mark.release)])
def test_intervals_of_ranks_hold_in_small_samples_and_large(n, r):
    rng = np.random.default_rng(1)
    x, own = rng.normal(size=(2, 300, n))
    y = np.exp(r * x + np.sqrt(1 - r**2) * own)  # ranks do not see skew
    for name in ("spearman", "kendall_b"):
        estimates = coefficients(x, y, statistics=[name])[name]
        ends = np.array([interval_of_systems(name, one, n, 0.95)[:2] for one in estimates])
        held = (ends[:, 0] <= population_of(name, r)) & (population_of(name, r) <= ends[:, 1])
        # Three standard errors of a share of .95 of 300 are .038; few systems give few values.
        assert 0.912 <= held.mean() <= (0.99 if n > 10 else 1)


@settings(max_examples=20)
@given(
    st.integers(0, 10_000),
    st.integers(3, 12),
    st.integers(3, 30),
    st.floats(0.05, 4),
    st.sampled_from(["items", "systems", "both"]),
)
def test_an_interval_contains_its_estimate(seed, n_systems, n_items, noise, resample):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n_systems, 1))
    x, y = quality + noise * rng.normal(size=(2, n_systems, n_items))
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    sample = sample_from(x.ravel(), y.ravel(), item, system, n_items, n_systems)
    names = ["pearson", *RANKS]
    for granularity in ("system", "output", "item"):
        full = statistics_of(sample, granularity, names)
        options = Options(granularity, names, resample, 50, 0.95)
        if granularity == "system":
            found = system_intervals(
                estimate_expectations(*cluster_sums(sample)), full, options, rng
            )
        else:
            with np.errstate(invalid="ignore"):  # perfect agreement without a cluster
                found = intervals_over_outputs(sample, options, rng)
        for (at, name), one in found.items():
            if np.isfinite(one.low):
                assert one.low - 1e-9 <= full[name][at, 0] <= one.high + 1e-9, (name, one)
                assert one.low < one.high or one.status or name != "pearson"
