"""Permutations are all orders or drawn ones, and p counts the data once."""

import numpy as np

from nlgbench.analysis.correlation.correlations import orders_of, permutation_p


def test_orders_are_all_or_drawn():
    rng = np.random.default_rng(0)
    for n, n_orders, expected in ((4, 24, True), (8, 40_320, True), (9, 10, False)):
        orders, is_all = orders_of(n, 10, rng)
        assert is_all == expected and len(np.unique(orders, axis=0)) == n_orders
        assert (np.sort(orders, axis=1) == np.arange(n)).all()


def test_permutation_p_counts_the_data_once():
    values, observed = np.array([0.1, -0.9, 0.5, 0.5 - 1e-15]), np.array([0.5])
    assert permutation_p(values, observed, exact=True, two_sided=False) == 0.5
    assert permutation_p(values, observed, exact=True, two_sided=True) == 0.75
    assert permutation_p(values, observed, exact=False, two_sided=False) == 3 / 5
    assert np.isnan(permutation_p(values, np.array([np.nan]), exact=True, two_sided=True))
