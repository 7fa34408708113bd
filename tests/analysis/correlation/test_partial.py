"""Partial correlations are those of residuals, over the systems with all three scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_study import alone, table

from nlgbench.analysis.correlation import partial_correlations


def partial(x, g, h, **options):
    study = alone(pd.concat([table("x", x), table("g", g)]))
    return partial_correlations(study, against=table("h", h), **{"given": "g"} | options)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(5, 30))
def test_it_is_the_correlation_of_residuals(seed, n):
    x, g, h = np.random.default_rng(seed).normal(size=(3, n))
    row = partial(x, g, h).iloc[0]
    left = [one - np.polyval(np.polyfit(g, one, 1), g) for one in (x, h)]
    assert row["estimate"] == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-9)
    assert row["n"] == n
    assert row["ci_low"] < row["estimate"] < row["ci_high"]


def test_its_interval_is_that_of_one_system_less():
    # Pearson's of 11 systems: SciPy's interval has the same z and n - 3 = 8.
    rng = np.random.default_rng(3)
    x, g, h = rng.normal(size=(3, 12))
    row = partial(x, g, h).iloc[0]
    half = 1.959964 / np.sqrt(12 - 4)
    expected = np.tanh(np.arctanh(row["estimate"]) + np.array([-half, half]))
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(expected.tolist())


def test_only_systems_with_all_three_scores_count():
    rng = np.random.default_rng(0)
    x, g, h = rng.normal(size=(3, 12))
    holed = x.copy()
    holed[:4] = np.nan
    row = partial(holed, g, h).iloc[0]
    whole = partial(x[4:], g[4:], h[4:]).iloc[0]
    assert row["n"] == 8
    same = ["estimate", "with_human", "with_given", "given_with_human", "ci_low", "ci_high"]
    assert row[same].tolist() == pytest.approx(whole[same].tolist())
