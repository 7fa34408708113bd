"""Permutations are all or drawn, and p counts the data once."""

import numpy as np

from nlgbench.analysis.correlation.correlations import orders_of, permutation_p


def test_orders_are_all_or_drawn():
    orders, is_all = orders_of(4, 10, np.random.default_rng(0))
    assert is_all
    assert len(np.unique(orders, axis=0)) == 24
    orders, is_all = orders_of(9, 10, np.random.default_rng(0))
    assert not is_all
    assert (np.sort(orders, axis=1) == np.arange(9)).all()
    assert len(orders_of(8, 10, np.random.default_rng(0))[0]) == 40_320


def test_permutation_p_counts_the_data_once():
    values, observed = np.array([0.1, -0.9, 0.5, 0.5 - 1e-15]), np.array([0.5])
    assert permutation_p(values, observed, exact=True, two_sided=False) == 0.5
    assert permutation_p(values, observed, exact=True, two_sided=True) == 0.75
    assert permutation_p(values, observed, exact=False, two_sided=False) == 3 / 5
    assert np.isnan(permutation_p(values, np.array([np.nan]), exact=True, two_sided=True))
