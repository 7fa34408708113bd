"""Statistics without each group of points, and under many weightings, are those one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.analysis.correlation import coefficients as module
from nlgbench.analysis.correlation.coefficients import (
    CROSSED,
    OF_PAIRS,
    accuracy_without,
    coefficients,
    coefficients_without,
    crossed_coefficients,
    many_points,
    weighted_accuracy_at,
    weighted_coefficients,
)

ALL = ["pearson", "spearman", *OF_PAIRS]


def points(rng, n_values):
    """Draw scores of three evaluators and judgments, tied as `n_values` has it, and groups."""
    n = int(rng.integers(2, 50))
    x = rng.integers(n_values, size=(3, n)) + rng.choice([0.0, 1e6])
    y = rng.integers(rng.choice([2, 5, 1000]), size=n) * 0.1
    group = np.unique(rng.integers(rng.integers(1, n + 1), size=n), return_inverse=True)[1]
    return x, y, group


@given(st.integers(0, 100_000), st.sampled_from([2, 4, 10_000]))
@settings(max_examples=60, deadline=None)
def test_without_a_group_is_with_weights_of_0_and_1(seed, n_values):
    x, y, group = points(np.random.default_rng(seed), n_values)
    weights = (group != np.arange(group.max() + 1)[:, None]) * 1.0
    expected = weighted_coefficients(x, y, weights, statistics=ALL)
    found = coefficients_without(x, y, group, statistics=ALL)
    for name in ALL:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-11, err_msg=name)
    for epsilon in (0.0, 2.0):
        np.testing.assert_allclose(
            accuracy_without(x[0], y, group, epsilon=epsilon),
            weighted_accuracy_at(x[0], y, weights, epsilon=epsilon),
            atol=1e-12,
        )


@given(st.integers(0, 100_000), st.sampled_from([1, 300, 1 << 19]))
@settings(max_examples=60, deadline=None)
def test_many_samples_under_many_weightings_are_each_by_itself(seed, at_once):
    rng = np.random.default_rng(seed)
    n, k, r = (int(one) for one in rng.integers([2, 1, 1], [10, 12, 12]))
    x = rng.integers(rng.choice([2, 3, 1000]), size=(2, k, n)) * 1.0
    y = rng.integers(rng.choice([2, 4, 1000]), size=(k, n)) * 1.0
    absent = rng.random((k, n)) < rng.choice([0, 0.3])
    x[:, absent] = y[absent] = np.nan
    weights = rng.multinomial(n, np.full(n, 1 / n), size=r) * 1.0
    found = {name: np.full((2, k, r), np.inf) for name in CROSSED}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CROSSED_AT_ONCE", at_once)
        for rows, part in crossed_coefficients(x, y, weights, statistics=CROSSED):
            for name in CROSSED:
                found[name][:, rows] = part[name]
    for at, weight in enumerate(weights):
        expected = coefficients(x, y, np.isfinite(y) * weight, statistics=CROSSED)
        for name in CROSSED:
            np.testing.assert_allclose(found[name][:, :, at], expected[name], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["pearson", "spearman", *OF_PAIRS])
def test_samples_of_many_points_are_those_of_few(name):
    rng = np.random.default_rng(0)
    x, y = rng.integers(6, size=(20, 40)) * 1.0, rng.integers(4, size=40) * 1.0
    x[3] = 2.0
    expected = coefficients(x, y, statistics=[name])[name]
    np.testing.assert_allclose(many_points(x, y, name), expected, rtol=0, atol=1e-12)


def test_where_hardly_anything_is_left_digits_are_not_lost():
    # The last group holds all that varies much: what is left differs by a millionth of it.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40))
    x[20:] = 1e6 * x[20:]
    group = np.r_[np.zeros(10, dtype=int), np.ones(10, dtype=int), np.full(20, 2)]
    found = coefficients_without(x[None], y, group, statistics=["pearson"])["pearson"][0, 2]
    assert found == pytest.approx(np.corrcoef(x[:20], y[:20])[0, 1], abs=1e-12)
