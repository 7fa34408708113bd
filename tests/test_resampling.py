"""Subsamples follow their strata and clusters, and give a mean its textbook error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.inference import half_samples, interval, split_interval


def test_halves_are_without_replacement_and_stratified():
    strata = np.repeat(["a", "b"], [10, 30])
    drawn = half_samples(strata, n_resamples=500, seed=1)
    assert drawn.shape == (500, 40)
    assert (drawn[:, :10].sum(axis=1) == 5).all()
    assert (drawn[:, 10:].sum(axis=1) == 15).all()
    # Each row in half of them: standard error .022.
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.1
    assert len(np.unique(drawn, axis=0)) == 500
    three = half_samples(strata, per_stratum=3, n_resamples=50, seed=3)
    assert (three[:, :10].sum(axis=1) == 3).all()
    assert (three[:, 10:].sum(axis=1) == 3).all()


def test_odd_strata_are_rounded_at_random_and_balanced():
    drawn = half_samples(np.repeat(["a", "b"], [9, 11]), n_resamples=2000, seed=1)
    assert set(drawn[:, :9].sum(axis=1)) == {4, 5}
    assert (drawn.sum(axis=1) == 10).all()
    assert drawn[:, :9].sum(axis=1).mean() == pytest.approx(4.5, abs=0.05)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.05, 0.95))
def test_the_number_drawn_is_off_by_less_than_one(seed, n, fraction):
    strata = np.random.default_rng(seed).integers(0, 5, size=n)
    n_drawn = half_samples(strata, fraction=fraction, n_resamples=20, seed=seed).sum(axis=1)
    assert (np.abs(n_drawn - fraction * n) < 1).all()


def test_clusters_stay_together_and_are_stratified_by_what_they_hold():
    clusters = np.concatenate([np.arange(12), np.arange(6), np.arange(20, 24)])
    strata = np.repeat(["human", "system", "system"], [12, 6, 4])
    drawn = half_samples(strata, clusters=clusters, n_resamples=100, seed=3)
    for cluster in np.unique(clusters):
        rows = drawn[:, clusters == cluster]
        assert (rows == rows[:, :1]).all()
    assert (drawn[:, :6].sum(axis=1) == 3).all()  # of both
    assert (drawn[:, 6:12].sum(axis=1) == 3).all()  # human only
    assert (drawn[:, 18:].sum(axis=1) == 2).all()  # the system's only


def test_seeds_repeat_and_generators_move_on():
    one, two = (half_samples(20, n_resamples=10, seed=0) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(half_samples(20, n_resamples=10, seed=rng), one)
    assert (half_samples(20, n_resamples=10, seed=rng) != one).any()


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.8])
def test_the_factor_gives_the_textbook_error_of_a_mean(fraction):
    values = np.random.default_rng(0).gamma(2, size=200)
    drawn = half_samples(200, fraction=fraction, n_resamples=4000, seed=1)
    means = (drawn * values).sum(axis=1) / drawn.sum(axis=1)
    found = interval(means, values.mean(), fraction=fraction)
    # The standard error of 4,000 replicates' standard deviation is 1.1%.
    assert found["se"] == pytest.approx(values.std(ddof=1) / math.sqrt(200), rel=0.05)
    assert found["ci_high"] - found["estimate"] == pytest.approx(1.959964 * found["se"], rel=1e-6)


def test_splits_give_the_textbook_error_of_a_mean():
    values = np.random.default_rng(0).gamma(2, size=200)
    drawn = half_samples(200, n_resamples=4000, seed=1)
    halves, others = ((own * values).sum(axis=1) / 100 for own in (drawn, ~drawn))
    found = split_interval(halves, others, values.mean(), df=50)
    assert found["se"] == pytest.approx(values.std(ddof=1) / math.sqrt(200), rel=0.05)
    assert found["ci_high"] - found["estimate"] == pytest.approx(2.008559 * found["se"], rel=1e-6)
    assert found["center"] == pytest.approx(values.mean())


def test_undefined_splits_are_counted_and_said():
    found = split_interval([0.1, math.nan, 0.3], [0.3, 0.2, math.nan], 0.2, df=10)
    assert (found["n_undefined"], found["n_resamples"]) == (2, 3)
    assert found["se"] == pytest.approx(0.1) and found["center"] == pytest.approx(0.2)
    assert found["reason"].startswith("undefined in 2 of 3 splits")
    none = split_interval([math.nan], [0.1], 0.2, df=10)
    assert math.isnan(none["se"]) and math.isnan(none["ci_low"]) and math.isnan(none["center"])


@pytest.mark.parametrize("replicates", [[], [math.nan, math.nan], [0.5, math.nan]])
def test_what_is_undefined_is_nan_counted_and_has_a_reason(replicates):
    found = interval(replicates, 0.5)
    assert all(math.isnan(found[name]) for name in ("se", "ci_low", "ci_high"))
    assert found["n_undefined"] == np.isnan(replicates).sum()
    assert "too few outputs for n_neighbors" in found["reason"]
    assert interval([0.4, 0.5], 0.5)["reason"] == ""


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"per_stratum": 5}, "between 1 and the smallest stratum's size, 4. Got 5"),
        ({"n_resamples": 0}, "n_resamples must be a whole number, at least 1. Got 0"),
        ({"n_resamples": True}, "n_resamples must be a whole number"),
    ],
)
def test_bad_draws_are_refused(wrong, match):
    with pytest.raises(ValueError, match=match):
        half_samples(4, seed=0, **wrong)
