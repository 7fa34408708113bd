import numpy as np
import pytest
from scipy.stats import norm

from nlgbench.inference import bootstrap_interval, orders_of, permutation_p

NORMAL = norm.ppf((np.arange(20_000) + 0.5) / 20_000)


def test_quantiles_of_normal_resamples():
    low, high, n_undefined, _ = bootstrap_interval(NORMAL, 0.0, 0.95)
    assert [low, high] == pytest.approx([-1.96, 1.96], abs=0.001)
    assert n_undefined == 0


def test_what_has_no_interval_has_a_reason():
    for values, estimate, reason in (
        (np.ones(3), np.nan, "undefined"),
        (np.empty(0), 0.5, "nothing was resampled"),
        (np.array([np.nan, 1.0]), 0.5, "1 of 2 resamples are undefined"),
    ):
        low, high, _, found = bootstrap_interval(values, estimate, 0.9)
        assert found.startswith(reason)
        assert np.isnan([low, high]).all()
    two = bootstrap_interval(np.array([0.25, np.nan, 0.75]), 0.5, 0.9)
    assert two == pytest.approx((0.275, 0.725, 1, ""))


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
