"""Decoding: nuclei are the smallest sets with their share, and texts come as often as probable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.generators.sampling import truncated

BROAD = np.log([0.1, 0.3, 0.2, 0.4])


@pytest.mark.parametrize(
    ("nucleus", "kept"),
    # .4 + .3 is exactly .7, though not in floating point
    [(0.4, [3]), (0.41, [1, 3]), (0.7, [1, 3]), (1.0, [0, 1, 2, 3])],
)
def test_the_smallest_sets_are_kept(nucleus, kept):
    p = np.exp(truncated(BROAD, nucleus))
    assert np.flatnonzero(p).tolist() == kept
    wanted = np.exp(BROAD[kept])
    np.testing.assert_allclose(p[kept], wanted / wanted.sum())


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8), st.floats(0.01, 1))
@settings(max_examples=100)
def test_truncation_keeps_order_and_ratios_and_no_less_than_asked(weights, nucleus):
    before = np.log(np.array([weights, weights[::-1]]) / np.sum(weights))
    after = truncated(before, nucleus)
    np.testing.assert_allclose(after[1], after[0][::-1], rtol=1e-12, atol=1e-12)
    kept = np.isfinite(after[0])
    np.testing.assert_allclose(np.exp(after[0]).sum(), 1)
    np.testing.assert_allclose(np.ptp((after - before)[0][kept]), 0, atol=1e-9)
    assert before[0][kept].min() >= before[0][~kept].max(initial=-np.inf)
    share = np.exp(before[0])
    assert share[kept].sum() >= nucleus - 1e-8
    above = before[0] > before[0][kept].min() + 1e-8  # without the least, and all that tie with it
    assert share[above].sum() < nucleus
