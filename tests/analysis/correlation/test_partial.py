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
def test_it_is_the_correlation_of_residuals_with_the_interval_of_one_system_less(seed, n):
    x, g, h = np.random.default_rng(seed).normal(size=(3, n))
    row = partial(x, g, h).iloc[0]
    left = [one - np.polyval(np.polyfit(g, one, 1), g) for one in (x, h)]
    r = stats.pearsonr(*left).statistic
    # Pearson's of n - 1 systems has the same z and n - 1 - 3.
    half = stats.norm.ppf(0.975) / np.sqrt(n - 4)
    expected = [n, r, *np.tanh(np.arctanh(r) + np.array([-half, half]))]
    found = row[["n", "estimate", "ci_low", "ci_high"]].tolist()
    assert found == pytest.approx(expected, abs=1e-9)


def test_only_systems_with_all_three_scores_count():
    x, g, h = np.random.default_rng(0).normal(size=(3, 12))
    row = partial(np.where(np.arange(12) < 4, np.nan, x), g, h).iloc[0]
    whole = partial(x[4:], g[4:], h[4:]).iloc[0]
    same = ["n", "estimate", "with_human", "with_given", "given_with_human", "ci_low", "ci_high"]
    assert row["n"] == 8 and row[same].tolist() == pytest.approx(whole[same].tolist())
