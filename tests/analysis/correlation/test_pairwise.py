"""Soft accuracy and its confidences are those of permutations, swaps and items left out."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import made, study

from nlgbench.analysis.correlation import compare_evaluators, correlate
from nlgbench.analysis.correlation.coefficients import pair_p_values


def test_confidence_is_near_that_of_the_authors_permutations():
    """Thompson et al.: the share of sums of swapped scores that are at or above the sum."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(100, 5)) + np.linspace(0, 0.5, 5)
    flips = rng.integers(2, size=(20_000, 100)) * 2.0 - 1
    first, second = np.triu_indices(5, 1)
    gap = values[:, first] - values[:, second]
    expected = (flips @ gap >= gap.sum(axis=0)).mean(axis=0)
    found = pair_p_values(values)
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_unpaired_samples_have_the_permutation_distribution_of_labels():
    rng = np.random.default_rng(2)
    grid = np.full((140, 2), np.nan)
    grid[:60, 0], grid[60:, 1] = rng.normal(0.2, 1, size=60), rng.normal(0, 1, size=80)
    pooled = np.concatenate([grid[:60, 0], grid[60:, 1]])
    shuffled = np.vstack([pooled, rng.permuted(np.tile(pooled, (20_000, 1)), axis=1)])
    gap = shuffled[:, :60].mean(axis=1) - shuffled[:, 60:].mean(axis=1)
    found, moved = (pair_p_values(one)[0] for one in (grid, grid + 1e6))
    assert found == pytest.approx((gap >= gap[0]).mean(), abs=0.01)
    assert moved == pytest.approx(found, abs=1e-6)


def soft_values(x, y):
    """Compute soft accuracy of scores and judgments of shape (items, systems)."""
    return 1 - np.abs(pair_p_values(x) - pair_p_values(y)).mean()


def test_soft_accuracy_is_tested_by_swapping_items():
    n_items, keys = 7, ["item_id", "system"]
    tables = outputs, scores, judgments = study(n_systems=4, n_items=n_items, seed=3)
    table = compare_evaluators(made(*tables), statistic="soft_pairwise").iloc[0]
    rows = outputs.merge(scores).pivot(index=keys, columns="evaluator", values="score")
    y = outputs.merge(judgments).groupby(keys)["value"].mean().unstack().to_numpy()
    a, b = (rows[name].unstack().to_numpy() for name in ("e0", "e1"))
    a, b = a / a.std(), b / b.std()
    a, b = a - a.mean(), b - b.mean()
    gaps = []
    for swapped in product([False, True], repeat=n_items):
        mask = np.array(swapped)[:, None]
        pair = np.where(mask, b, a), np.where(mask, a, b)
        gaps.append(soft_values(pair[0], y) - soft_values(pair[1], y))
    assert table["estimate"] == pytest.approx(gaps[0])
    assert table["p"] == np.mean(np.abs(gaps) >= abs(gaps[0]) - 1e-12)
    assert (table["p_method"], table["n"]) == ("swaps, all", 4)
    with pytest.raises(ValueError, match="leave out against="):
        against = pd.DataFrame({"system": ["s0"], "evaluator": "h", "score": 1.0})
        compare_evaluators(made(*tables), statistic="soft_pairwise", against=against)


@pytest.mark.parametrize("shared", [True, False])
def test_soft_accuracy_has_the_jackknife_interval_of_items_left_out(shared):
    tables = outputs, scores, judgments = study(n_systems=4, n_items=9, shared=shared)
    table = correlate(made(*tables), evaluators=["e1"], statistics=["soft_pairwise"]).iloc[0]
    x, y = (
        outputs.merge(values).pivot_table(column, "item_id", "system").to_numpy()
        for values, column in ((scores[scores["evaluator"] == "e1"], "score"), (judgments, "value"))
    )
    without = [soft_values(*(np.delete(v, n, axis=0) for v in (x, y))) for n in range(len(x))]
    stratum = np.zeros(len(x)) if shared else np.isfinite(y).argmax(axis=1)
    variance = sum(
        np.var(part) * (len(part) - 1)
        for part in (np.array(without)[stratum == s] for s in np.unique(stratum))
    )
    half = stats.t(len(x) - len(np.unique(stratum))).ppf(0.975) * np.sqrt(variance)
    expected = np.clip(soft_values(x, y) + np.array([-half, half]), 0, 1)
    assert table[["ci_low", "ci_high"]].tolist() == pytest.approx(expected.tolist())
    assert table["estimand"] == "these systems, other items"
