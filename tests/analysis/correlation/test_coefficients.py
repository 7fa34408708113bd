"""Coefficients are SciPy's, of samples written out and of weighted points."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nlgbench.analysis.correlation.coefficients import coefficients, weighted_coefficients

ALL = ("pearson", "spearman", "kendall_b", "pairwise_accuracy", "chance_accuracy")


def scipy_values(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Constant input: NaN.
        tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
        return [test(x, y).statistic for test in tests]


@st.composite
def samples(draw, most=12):
    """Values of two variables with many ties, and counts of a bootstrap."""
    n = draw(st.integers(2, most))
    value = st.integers(-2, 3) | st.floats(-5, 5).map(lambda one: round(one, 2))
    x, y = (draw(st.lists(value, min_size=n, max_size=n)) for _ in "xy")
    drawn = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return np.array(x, float), np.array(y, float), np.array(drawn)


@given(samples())
def test_coefficients_are_scipys(sample):
    x, y, _ = sample
    found = coefficients(x, y, statistics=ALL)
    expected = scipy_values(x, y)
    if len(np.unique(x)) > 1 and len(np.unique(y)) > 1:
        np.testing.assert_allclose([found[name] for name in ALL[:3]], expected, atol=1e-12)
    else:
        assert all(np.isnan(found[name]) for name in ALL[:3])


@given(samples())
def test_weights_are_the_sample_written_out(sample):
    x, y, drawn = sample
    weights = np.bincount(drawn, minlength=len(x))
    rows = coefficients(x, y, weights, statistics=ALL)
    points = weighted_coefficients(x[None], y, weights[None], statistics=ALL)
    written_out = coefficients(x[drawn], y[drawn], statistics=ALL)
    for name in ALL:
        np.testing.assert_allclose(points[name][0, 0], rows[name], atol=1e-12, err_msg=name)
        if name in ALL[:3]:
            np.testing.assert_allclose(rows[name], written_out[name], atol=1e-12, err_msg=name)


@pytest.mark.parametrize("n", [63, 64, 65, 200, 700])
@pytest.mark.parametrize("digits", [0, 1, 6])
def test_many_points_are_scipys_in_every_resample(n, digits):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(2, n)).round(digits)
    y = (x[0] + rng.normal(size=n)).round(digits)
    drawn = rng.integers(n, size=(4, n))
    weights = np.stack([np.bincount(one, minlength=n) for one in drawn])
    found = weighted_coefficients(x, y, weights, statistics=ALL[:3])
    expected = [[scipy_values(own[one], y[one]) for one in drawn] for own in x]
    found = np.stack([found[name] for name in ALL[:3]], axis=-1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [5, 100])
def test_accuracy_is_that_of_all_pairs(n):
    x, y, w = np.random.default_rng(0).integers(0, 6, size=(3, n)).astype(float)
    of_x, of_y = (np.sign(one[:, None] - one) for one in (x, y))
    pairs = np.triu(np.outer(w, w), 1)
    expected = pairs[of_x == of_y].sum() / pairs.sum()
    one = coefficients(x, y, w, statistics=["pairwise_accuracy"])
    many = weighted_coefficients(x[None], y, w[None], statistics=["pairwise_accuracy"])
    for found in (one, many):
        assert float(np.squeeze(found["pairwise_accuracy"])) == expected


def test_pearson_keeps_its_digits_where_a_resample_is_nearly_constant():
    x = np.append([0.0, 1e-7, 3e-7], 1e3 + np.arange(97.0))
    y = np.append([1.0, 2.0, 2.5], np.arange(97.0))
    weights = (np.arange(100) < 3).astype(float)[None]
    found = weighted_coefficients(x[None], y, weights, statistics=["pearson"])["pearson"]
    assert found[0, 0] == pytest.approx(stats.pearsonr(x[:3], y[:3]).statistic, abs=1e-9)


@settings(max_examples=25)
@given(samples(most=5))
def test_accuracy_by_chance_is_the_mean_over_all_orders(sample):
    x, y, _ = sample
    chance = coefficients(x, y, statistics=ALL)["chance_accuracy"]
    orders = np.array(list(permutations(range(len(x)))))
    every = coefficients(x, y[orders], statistics=["accuracy_with_constants"])
    np.testing.assert_allclose(every["accuracy_with_constants"].mean(), chance, atol=1e-12)


def test_weighted_spearman_is_exact_where_thousands_tie():
    """Sums of ranks pass what single precision holds: such a study was off by 4e-5."""
    rng = np.random.default_rng(0)
    y = rng.integers(1, 4, size=12_000).astype(np.float64)
    x = (rng.random(12_000) < y / 4).astype(np.float64)
    kept = rng.random((4, 12_000)) < 0.99
    found = weighted_coefficients(x[None], y, kept.astype(float), statistics=["spearman"])
    wanted = [stats.spearmanr(x[one], y[one])[0] for one in kept]
    np.testing.assert_allclose(found["spearman"][0], wanted, rtol=0, atol=1e-13)
