"""Williams' test has the values of R's psych, and adjusted p those of textbooks."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgbench.analysis.correlation import williams, williams_tests
from nlgbench.inference import adjust
from nlgbench.study import Study


@pytest.mark.parametrize(
    ("correlations", "n", "t", "p"),
    [
        # R's psych::r.test on mtcars: hp with mpg against hp with am (mpg with am: .5998324).
        ((-0.7761684, -0.2432043, 0.5998324), 32, -5.563815, 5.301858e-06),
        # Steiger (1980), case A, as in psych's examples: r.test(103, .4, .5, .1).
        ((0.4, 0.5, 0.1), 103, -0.89, 0.37),
    ],
)
def test_values_are_those_of_psych(correlations, n, t, p):
    found = williams(*correlations, n)
    digits = 2 if t == -0.89 else 6
    assert found[0] == pytest.approx(t, abs=0.6 * 10**-digits)
    assert found[1] == pytest.approx(p, rel=0.02 if digits == 2 else 1e-5)


def judged(scores, human):
    """Make a Study of a frame of scores, a column per evaluator, and of judgments."""
    ids = [f"o{n}" for n in range(len(scores))]
    outputs = pd.DataFrame(dict.fromkeys(("output_id", "item_id", "system"), ids))
    long = scores.assign(output_id=ids).melt("output_id", var_name="evaluator", value_name="score")
    judgments = outputs[["output_id"]].assign(annotator_id="w", value=human)
    return Study(outputs, judgments, scores=long)


def test_all_pairs_and_what_is_missing():
    rng = np.random.default_rng(1)
    h = rng.normal(size=40)
    scores = pd.DataFrame({"a": h + rng.normal(size=40), "b": rng.normal(size=40), "c": 1.0})
    scores.loc[0, "a"] = np.nan
    found = williams_tests(judged(scores, h)).set_index(["evaluator_a", "evaluator_b"])
    assert found["n"].tolist() == [39, 39, 39]
    a, b = (scores[name][1:] for name in "ab")
    r = [stats.pearsonr(one, two).statistic for one, two in ((a, h[1:]), (b, h[1:]), (a, b))]
    row = found.loc[("a", "b"), ["estimate_a", "correlation", "t", "p"]].tolist()
    assert row == pytest.approx([r[0], r[2], *williams(*r, 39)])
    assert found.loc[[("a", "c"), ("b", "c")], ["t", "p"]].isna().all(axis=None)
    assert williams_tests(judged(scores[:4], h[:4]))["p"].isna().tolist() == [True] * 3
    turned = williams_tests(judged(scores, h), evaluators=["b", "a"]).iloc[0]
    assert turned["evaluator_a"] == "b" and turned["t"] == pytest.approx(-row[2])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0.5, 0.4, 0.3, 3), "between -1 and 1, and n at least 4"),
        ((1.5, 0.4, 0.3, 30), "between -1 and 1"),
        ((0.9, -0.9, 0.9, 30), "cannot all hold"),
    ],
)
def test_impossible_correlations_are_refused(given, said):
    assert np.isfinite(williams(0.5, 0.4, 0.3, 4)).all()
    with pytest.raises(ValueError, match=said):
        williams(*given)


def test_adjusted_values_are_the_textbooks():
    # Holm by hand: .005 x 3; .03 x 2; .04 x 1, at least the one before.
    p = [0.03, 0.005, np.nan, 0.04]  # what is undefined is no test
    np.testing.assert_allclose(adjust(p), [0.06, 0.015, np.nan, 0.06])
    # Benjamini and Hochberg (1995), section 4.1: at .05 Holm's procedure rejects three of fifteen.
    trial = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    trial += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert (adjust(trial) <= 0.05).sum() == 3
