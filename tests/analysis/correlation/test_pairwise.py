"""Soft confidence that one system is better is that of its authors' permutations."""

import numpy as np
import pytest

from nlgbench.analysis.correlation.coefficients import pair_confidences


def test_confidence_is_near_that_of_the_authors_permutations():
    """Thompson et al.: the share of sums of swapped scores that are at or above the sum."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(100, 5)) + np.linspace(0, 0.5, 5)
    flips = rng.integers(2, size=(20_000, 100)) * 2.0 - 1
    first, second = np.triu_indices(5, 1)
    gap = values[:, first] - values[:, second]
    expected = (flips @ gap >= gap.sum(axis=0)).mean(axis=0)
    found = pair_confidences(values)
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_unpaired_samples_have_the_permutation_distribution_of_labels():
    rng = np.random.default_rng(2)
    grid = np.full((140, 2), np.nan)
    grid[:60, 0], grid[60:, 1] = rng.normal(0.2, 1, size=60), rng.normal(0, 1, size=80)
    pooled = np.concatenate([grid[:60, 0], grid[60:, 1]])
    shuffled = np.vstack([pooled, rng.permuted(np.tile(pooled, (20_000, 1)), axis=1)])
    gap = shuffled[:, :60].mean(axis=1) - shuffled[:, 60:].mean(axis=1)
    found, moved = (pair_confidences(one)[0] for one in (grid, grid + 1e6))
    assert found == pytest.approx((gap >= gap[0]).mean(), abs=0.01)
    assert moved == pytest.approx(found, abs=1e-6)
