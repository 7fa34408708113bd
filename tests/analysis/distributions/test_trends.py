"""A measure's trend is its least-squares line against the truth, with the widest interval."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import linregress

import nlgbench as nb

TRUTH = pd.DataFrame({"system": [*"abcd"], "l_star": [1.0, 0.8, 0.5, 0.1]})


def table(measure, estimates, se=0.01, systems="abcd"):
    rows = {"system": [*systems], "measure": measure, "estimate": estimates, "se": se}
    return pd.DataFrame(rows)


def verdict(measure, estimates, **more):
    found = nb.measure_trends(table(measure, estimates, **more), TRUTH, against=["l_star"])
    return found["verdict"].item()


def test_the_verdict_is_the_sign_of_the_slope_and_of_the_direction():
    falling, rising = [0.9, 0.7, 0.5, 0.2], [0.1, 0.2, 0.5, 0.8]
    assert verdict("vendi", falling) == "detects"
    assert verdict("vendi", rising) == "detects the reverse"
    assert verdict("mmd_gaussian", rising) == "detects"
    assert verdict("mmd_linear", falling) == "detects the reverse"
    assert verdict("vendi", falling, se=1.0) == "inconclusive"
    assert verdict("vendi", [0.5, 0.51, 0.5, 0.5]) == "inconclusive"


@settings(max_examples=30)
@given(
    st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    st.lists(st.floats(0.01, 2), min_size=4, max_size=4),
)
def test_the_slope_is_that_of_least_squares_and_its_error_the_largest(estimates, errors):
    found = nb.measure_trends(table("vendi", estimates, errors), TRUTH, against=["l_star"]).iloc[0]
    x = TRUTH["l_star"].to_numpy()
    assert found["estimate"] == pytest.approx(linregress(x, estimates).slope, abs=1e-9)
    # The slope is linear in the estimates; errors may have any correlations but negative ones.
    parts = np.array([linregress(x, np.eye(4)[i]).slope * errors[i] for i in range(4)])
    loading = np.random.default_rng(0).random((50, 4, 3))
    loading /= np.linalg.norm(loading, axis=2, keepdims=True)
    variance = parts @ (loading @ loading.swapaxes(1, 2)) @ parts
    side = (parts > 0) == (parts > 0)[:, None]  # one error above the mean, one below it
    assert found["se"] == pytest.approx(np.sqrt(parts @ side @ parts))
    assert (np.sqrt(variance) <= found["se"] + 1e-12).all()
    assert np.linalg.norm(parts) <= found["se"] + 1e-12
    half = (found["ci_high"] - found["ci_low"]) / 2
    assert half == pytest.approx(1.959964 * found["se"], rel=1e-6)


def test_what_is_left_out_may_be_what_would_have_been_seen():
    flat, errors = [0.9, 0.9, 0.9, 0.0], [0.01, 0.01, 0.01, np.nan]
    found = nb.measure_trends(table("recall", flat, errors), TRUTH, against=["l_star"]).iloc[0]
    assert found["verdict"] == "" and found["n_systems"] == 3
    assert found["status"] == "excluded" and found["reason"].endswith("missing: d")
    # A fall from .9 to 0 is not hidden, though there is no error to test it by.
    assert found["estimate"] == pytest.approx(linregress(TRUTH["l_star"], flat).slope)
    assert found[["se", "ci_low", "ci_high"]].isna().all()


def test_what_falls_and_rises_again_is_not_said_to_follow_the_truth():
    assert verdict("huse_d", [0.95, 0.8, 0.5, 0.8]) == "not monotone"
    assert verdict("huse_d", [0.95, 0.8, 0.5, 0.51]) == "detects"
    assert verdict("huse_d", [0.95, 0.8, 0.5, 0.8], se=0.15) != "not monotone"


def test_what_cannot_be_joined_is_named():
    right = table("vendi", [0.9, 0.7, 0.5, 0.2])
    only = {"against": ["l_star"]}
    for rows, truth, options, message in (
        (right, TRUTH, {}, "truth has no column 'huse_q'"),
        (pd.concat([right, right]), TRUTH, only, "two rows for vendi of a"),
        (right, pd.concat([TRUTH, TRUTH]), only, "truth has two rows for a"),
        (right, TRUTH, {"systems": [*"abe"], **only}, "no row of system 'e': leave it out"),
        (right, TRUTH, {"systems": [*"ab"], **only}, r"at least 3 systems. Got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            nb.measure_trends(rows, truth, **options)
