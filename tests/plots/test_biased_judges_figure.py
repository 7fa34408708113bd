"""The figure says from which planted bias on the test and the audit notice it."""

from itertools import product

import pandas as pd
import pytest
from gray import assert_readable

import nlgbench as nb
from nlgbench.analysis.judges import sweep_biases
from nlgbench.analysis.judges.planted import LEVELS


def test_the_audit_estimates_more_where_more_is_planted():
    swept = sweep_biases(n_studies=2, n_items=100, seed=3)
    assert len(swept) == 2 * 2 * 2 * len(LEVELS)
    means = swept.groupby(["method", "bias", "planted"])["estimate"].mean()
    for bias in ("length", "own"):
        assert abs(means["audit", bias, 0.0]) < 0.15 < means["audit", bias, 3.2]
    assert means["test"].between(0, 1).all()


def test_marks_are_means_and_the_words_say_from_where_a_bias_is_noticed():
    keys = ["study", "bias", "planted", "method"]
    rows = product((1, 2), ("length", "own"), (0.0, 1.0, 2.0), ("test", "audit"))
    made = pd.DataFrame(rows, columns=keys)
    made["estimate"] = made["planted"] / 10 + made["study"] / 100
    made["noticed"] = made["planted"] > made["method"].map({"test": 1, "audit": 0})
    drawn = nb.plot_biased_judges(made)
    data = drawn.data.set_index(["method", "bias", "planted"])
    assert data.loc[("audit", "length", 1.0), "estimate"] == pytest.approx(0.115)
    assert data.loc[("test", "own", 0.0), "ci_low"] == 0 > data.loc[("audit", "own", 0.0), "ci_low"]
    said = "the test detects it from 2 nats upward, and the audit detects it from 1 nats upward"
    assert f"Length bias: {said}" in drawn.alt and drawn.notes.startswith("Simulated judges")
    never = nb.plot_biased_judges(
        made.assign(noticed=made["noticed"] & (made["method"] == "audit"))
    )
    assert "the test does not detect it at 2 nats" in never.alt
    assert_readable(drawn)
