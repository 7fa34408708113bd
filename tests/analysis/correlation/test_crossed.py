"""Many small samples under many weightings are each as by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.analysis.correlation import coefficients as module
from nlgbench.analysis.correlation.coefficients import (
    CROSSED,
    coefficients,
    crossed_coefficients,
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
