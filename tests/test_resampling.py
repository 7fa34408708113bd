"""Subsamples follow their strata and clusters, and give a mean its textbook error."""

import math

import numpy as np
import pytest

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
