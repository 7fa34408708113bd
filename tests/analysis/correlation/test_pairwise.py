import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nlgbench.analysis.correlation.coefficients import (
    accuracy_at,
    best_epsilon,
    calibrated_accuracies,
    pair_confidences,
    tie_calibration,
    weighted_accuracy_at,
)

# Two worked examples and one regression example of mt-metrics-eval's tests
# (mt_metrics_eval/tau_optimization_test.py, Apache 2.0): numbers only.
METRIC = [0.0, 2.0, 6.0, 8.0]
ROWS = np.array(
    [
        [0, 5, 2, 3, 2],
        [np.nan, 2, 1, 5, 3],
        [9, 1, 5, 3, 8],
        [9, 3, 4, 4, 1],
        [np.nan] * 5,
    ]
)
HUMAN_ROWS = np.array(
    [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, np.nan, 3, 2], [np.nan] * 5]
)


@pytest.mark.parametrize(
    ("human", "accuracies", "best"),
    [
        ([1.0, 2.0, 3.0, 4.0], [6 / 6, 4 / 6, 3 / 6, 1 / 6, 0 / 6], 0),
        ([1.0, 1.0, 1.0, 4.0], [3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6], 4),
    ],
)
def test_thresholds_are_those_of_the_authors_worked_examples(human, accuracies, best):
    table = tie_calibration(METRIC, human)
    assert table["epsilon"].tolist() == [0, 2, 4, 6, 8]
    assert table["accuracy"].tolist() == pytest.approx(accuracies)
    assert best_epsilon(table) == best


def test_thresholds_of_several_items_are_the_authors():
    table = tie_calibration(ROWS, HUMAN_ROWS)
    assert table["epsilon"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    expected = [0.46666667, 0.49166667, 0.38333333, 0.29166667, 0.26666667]
    assert table["accuracy"].tolist() == pytest.approx(
        [*expected, 0.2, 0.15833333, 0.15833333, 0.11666667]
    )
    assert best_epsilon(table) == 1


VALUES = st.integers(-2, 3).map(float)


def brute_force(x, y, epsilon, w):
    right = total = 0.0
    for i in range(len(x)):
        for j in range(i):
            tie_x, tie_y = abs(x[i] - x[j]) <= epsilon, y[i] == y[j]
            alike = (x[i] > x[j]) == (y[i] > y[j])
            right += w[i] * w[j] * ((tie_x and tie_y) or (not tie_x and not tie_y and alike))
            total += w[i] * w[j]
    return right / total if total else np.nan


@given(
    arrays(float, 7, elements=VALUES),
    arrays(float, 7, elements=VALUES),
    arrays(float, 7, elements=st.integers(0, 3).map(float)),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
def test_accuracy_is_that_of_two_loops(x, y, w, epsilon):
    expected = brute_force(x, y, epsilon, w)
    np.testing.assert_allclose(accuracy_at(x, y, w, epsilon=epsilon)[0], expected, atol=1e-12)
    found = weighted_accuracy_at(x, y, w[None], epsilon=epsilon)[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(arrays(float, 6, elements=VALUES), arrays(float, (3, 6), elements=VALUES))
def test_calibrated_accuracy_is_the_best_of_all_thresholds(x, ys):
    expected = [tie_calibration(x, y)["accuracy"].max() for y in ys]
    np.testing.assert_allclose(calibrated_accuracies(x, ys), expected, atol=1e-12)
    for y in ys:
        table = tie_calibration(x, y)
        at_best = accuracy_at(x, y, epsilon=best_epsilon(table))
        assert at_best[0] == pytest.approx(table["accuracy"].max())


def test_no_pair_has_no_threshold():
    table = tie_calibration([[1.0, np.nan]], [[1.0, 2.0]])
    assert table.empty
    assert np.isnan(best_epsilon(table))
    assert np.isnan(accuracy_at([1.0], [1.0], epsilon=0.0)).all()


def test_confidence_is_near_that_of_the_authors_permutations():
    """Thompson et al.: the share of sums of swapped scores that are at or above the sum."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(100, 5)) + np.linspace(0, 0.5, 5)
    flips = rng.integers(2, size=(20_000, 100)) * 2.0 - 1
    first, second = np.triu_indices(5, 1)
    gap = values[:, first] - values[:, second]
    expected = (flips @ gap >= gap.sum(axis=0)).mean(axis=0)
    found = pair_confidences(values, np.ones((1, 100)))[0]
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_unpaired_samples_have_the_permutation_distribution_of_labels():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.2, 1, size=60), rng.normal(0, 1, size=80)
    grid = np.full((140, 2), np.nan)
    grid[:60, 0], grid[60:, 1] = a, b
    found = pair_confidences(grid, np.ones((1, 140)))[0, 0]
    pooled = np.concatenate([a, b])
    shuffled = rng.permuted(np.tile(pooled, (20_000, 1)), axis=1)
    null = shuffled[:, :60].mean(axis=1) - shuffled[:, 60:].mean(axis=1)
    assert found == pytest.approx((null >= a.mean() - b.mean()).mean(), abs=0.01)
    moved = pair_confidences(grid + 1e6, np.ones((1, 140)))[0, 0]
    assert moved == pytest.approx(found, abs=1e-6)


def test_confidence_does_not_depend_on_the_order_of_systems():
    x = np.random.default_rng(3).integers(0, 3, size=(20, 2)).astype(float)
    forward, back = (pair_confidences(one, np.ones((1, 20))) for one in (x, x[:, ::-1]))
    np.testing.assert_allclose(back, 1 - forward, atol=1e-12)
    assert (pair_confidences(np.ones((20, 4)), np.ones((1, 20))) == 0.5).all()


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=2, max_size=12))
def test_tenths_tie_as_whole_numbers_do(pairs):
    # Of [0, 1, 2, 3] against [0, 1, 1, 1] two thirds are right; divided by ten it was .833.
    x, y = np.array(pairs, dtype=np.float64).T
    whole, tenths = tie_calibration(x, y), tie_calibration(x / 10, y / 10)
    np.testing.assert_allclose(tenths["accuracy"], whole["accuracy"])
    np.testing.assert_allclose(tenths["epsilon"] * 10, whole["epsilon"])
    epsilon = best_epsilon(tenths)
    best = whole["accuracy"].max()
    assert calibrated_accuracies(x / 10, y[None] / 10)[0] == pytest.approx(best)
    assert accuracy_at(x / 10, y / 10, epsilon=epsilon)[0] == pytest.approx(best)
    ones = np.ones((1, len(x)))
    assert weighted_accuracy_at(x / 10, y / 10, ones, epsilon=epsilon)[0] == pytest.approx(best)
