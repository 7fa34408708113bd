"""Biases are planted as asked, and the figure says from which on each method notices them."""

import numpy as np
import pandas as pd
import pytest
from gray import assert_readable

import nlgbench as nb
from nlgbench.analysis.judges import sweep_biases
from nlgbench.analysis.judges.planted import LEVELS


def test_the_audit_estimates_more_where_more_is_planted():
    swept = sweep_biases(n_studies=2, n_items=100, seed=3)
    assert len(swept) == 2 * 2 * len(LEVELS)
    means = swept.groupby(["bias", "planted"])["estimate"].mean()
    for bias in ("length", "own"):
        assert abs(means[bias, 0.0]) < 0.15 < means[bias, 3.2]
    assert swept["omega"].between(0, 1).all()


def test_marks_are_means_and_filled_from_where_a_bias_is_noticed():
    rows = [
        {"study": study, "bias": bias, "planted": planted, "omega": 1 - 0.3 * planted * study}
        for study in (1, 2)
        for bias in ("length", "own")
        for planted in (0.0, 1.0, 2.0)
    ]
    made = pd.DataFrame(rows).assign(ci_low=0.0, ci_high=1.0)
    made["test"] = np.where(made["omega"] >= 0.5, "replaces", "not shown")
    made["estimate"] = made["planted"] / 10 + made["study"] / 100
    made["verdict"] = np.where(made["planted"] > 0, "found", "not shown")
    drawn = nb.plot_biased_judges(made)
    data = drawn.data.set_index(["method", "bias", "planted"])
    assert data.loc[("test", "own", 2.0), "estimate"] == pytest.approx((0.4 - 0.2) / 2)
    assert data.loc[("test", "own", 2.0), "ci_low"] == 0
    assert data.loc[("audit", "length", 1.0), "estimate"] == pytest.approx(0.115)
    assert "Length bias: the test notices it from 1 nats on, and the audit notices it" in drawn.alt
    never = nb.plot_biased_judges(made.assign(test="replaces"))
    assert "the test does not notice it, up to 2 nats" in never.alt
    assert drawn.alt.startswith("Simulated judges")
    assert_readable(drawn)
