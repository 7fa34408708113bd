"""Tests between evaluators are those of swaps, max-T and joint intervals written out."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_study import SCIPY, alone, table

from nlgbench.analysis.correlation import compare_evaluators
from nlgbench.analysis.correlation.comparing import (
    _joint_interval,
    _p_from_half_width,
    max_t,
)
from nlgbench.inference import adjust


def evaluators(values):
    return pd.concat([table(f"e{number}", one) for number, one in enumerate(values)])


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_p_is_that_of_all_swaps_written_out(statistic):
    rng = np.random.default_rng(4)
    x, h = rng.normal(size=(2, 7)) * [[1.0], [100.0]], rng.normal(size=7).round(1)
    z = [(one - one.mean()) / one.std() for one in x]

    def gap(a, b):
        r_a, r_b = (SCIPY[statistic](one, h)[0] for one in (a, b))
        return studentized(a, b, h, r_a, r_b) if statistic == "pearson" else r_a - r_b

    swaps = np.array(list(product([False, True], repeat=7)))
    far = np.abs([gap(np.where(one, z[1], z[0]), np.where(one, z[0], z[1])) for one in swaps])
    asked = {"against": table("h", h), "statistic": statistic}
    found = compare_evaluators(alone(evaluators(x)), **asked).iloc[0]
    assert found["p"] == (far >= far[0] - 1e-9).mean()
    r_a, r_b = (SCIPY[statistic](one, h)[0] for one in z)
    assert found["estimate"] == pytest.approx(r_a - r_b)
    assert found["p_method"] == "swaps, all"


def studentized(a, b, h, r_a, r_b):
    """Fisher's z over its standard error, of influences taken by moving a system's weight."""

    def z(weights):
        cov = np.cov([h, a, b], aweights=weights, ddof=0)
        r = cov[0, 1:] / np.sqrt(cov[0, 0] * np.diag(cov)[1:])
        return np.arctanh(r) @ [1, -1]

    n, step = len(h), 1e-6
    weights = np.ones(n) / n
    moved = (1 - step) * weights + step * np.eye(n)
    influence = np.array([(z(one) - z(weights)) / step for one in moved])
    return (np.arctanh(r_a) - np.arctanh(r_b)) / np.sqrt((influence**2).mean())


def test_many_systems_are_swapped_at_random():
    rng = np.random.default_rng(0)
    h = rng.normal(size=17)
    x = h + rng.normal(size=(2, 17))

    def compared(n):
        asked = {"against": table("h", h[:n]), "n_resamples": 500, "seed": 3}
        return compare_evaluators(alone(evaluators(x[:, :n])), **asked).iloc[0]

    found = compared(17)
    assert found["p_method"] == "swaps, 500 drawn" and found["p"] == compared(17)["p"]
    assert found["p"] >= found["p_least"] == pytest.approx(1 / 501)
    assert compared(16)["p_method"] == "swaps, all"


def test_all_pairs_of_many_evaluators_can_be_told_apart_at_twelve_systems():
    # Holm over 703 pairs at twelve systems lifts the least p, 2 / 4,096, to .343.
    rng = np.random.default_rng(2)
    h = rng.normal(size=12)
    noise = rng.normal(size=(38, 12)) * np.where(np.arange(38) < 3, 0.05, 3)[:, None]
    found = compare_evaluators(alone(evaluators(h + noise)), against=table("h", h))
    assert len(found) == 703
    assert 703 * found["p"].min() > 0.34
    assert (found["p_adjusted"] <= 0.05).any()
    assert (found["p_least"] == 2 / 4096).all()
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["status"].eq("swaps").all()
    assert found["adjustment"].eq("max-T over all pairs, approximate").all()


def test_named_pairs_are_the_family_and_say_what_it_can_reach():
    rng = np.random.default_rng(0)
    h = rng.normal(size=12)
    asked, votes = alone(evaluators(h + rng.normal(size=(16, 12)))), {"against": table("h", h)}
    names = [(f"e{a}", f"e{b}") for a, b in combinations(range(16), 2)]
    found = compare_evaluators(asked, evaluators=names[:102], **votes)
    assert found["p_least"].iloc[0] == pytest.approx(102 * 2 / 4096)
    assert found["status"].eq("swaps").all()
    assert found["p_adjusted"].tolist() == pytest.approx(adjust(found["p"]).tolist())
    many = compare_evaluators(asked, evaluators=names[:103], **votes)
    said = "cannot be significant with 12 systems: the smallest possible adjusted p is 0.0503"
    assert many["status"].eq("few_swaps").all() and many["reason"].eq(said).all()
    one = compare_evaluators(asked, evaluators=[("e3", "e1")], **votes).iloc[0]
    assert [one["evaluator_a"], one["evaluator_b"]] == ["e3", "e1"]
    assert one["p_adjusted"] == one["p"] and one["adjustment"] == "Holm over 1 named pair"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"evaluators": [("e0", "e0")]}, "pairs must be of two different evaluators"),
        ({"evaluators": [("e0", "e1"), ("e1", "e0")]}, "occur once. Got .* twice"),
        ({"evaluators": [("e0", "e9")]}, "evaluators: 'e9' is unknown"),
        ({"evaluators": []}, "evaluators must be None, or a non-empty list of"),
        ({"evaluators": ["e0"]}, r"a comparison needs two evaluators\. Got only e0"),
        ({"statistic": "tau"}, "statistic: 'tau' is unknown"),
    ],
)
def test_pairs_that_are_none_are_refused(asked, message):
    x = np.random.default_rng(0).normal(size=(3, 6))
    with pytest.raises(ValueError, match=message):
        compare_evaluators(alone(evaluators(x[:2])), against=table("h", x[2]), **asked)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_max_t_is_that_of_westfall_and_young_written_out(seed, m):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m, 40)).round(1)
    size = np.abs(values)
    order = np.argsort(-size[:, 0], kind="stable")
    expected, last = np.full(m + 1, np.nan), 0.0
    for place, at in enumerate(order):
        largest = size[order[place:]].max(axis=0)
        last = expected[at] = max(last, (largest >= size[at, 0]).mean())
    # Which of equal statistics comes first does not matter to the p that each gets.
    shuffled = rng.permutation(m + 1)
    with_undefined = np.vstack([values, np.full(40, np.nan)])
    p, least = max_t(with_undefined[shuffled])
    np.testing.assert_allclose(p, expected[shuffled])
    assert least == (size.max(axis=0) == size.max()).mean()


def test_the_interval_of_a_difference_is_zous_where_ends_are_symmetric_or_unrelated():
    # Zou (2007, doi:10.1037/1082-989X.12.4.399), equation 10: ends of each, and rho.
    both = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=200).T
    gap, *reaches = _joint_interval(np.array([[0.5, 0.2, 0.8], [0.3, 0.1, 0.5]]), both)
    assert gap == pytest.approx(0.2)
    reach = np.sqrt(0.3**2 + 0.2**2 - 2 * np.corrcoef(both)[0, 1] * 0.3 * 0.2)
    assert reaches == pytest.approx([reach, reach], rel=1e-4)
    unrelated = np.array([[1.0, 1, -1, -1], [1.0, -1, 1, -1]])
    _, *reaches = _joint_interval(np.array([[0.5, 0.1, 0.6], [0.3, 0.2, 0.7]]), unrelated)
    assert reaches == pytest.approx([np.hypot(0.4, 0.4), np.hypot(0.1, 0.1)], rel=1e-4)
    assert np.isnan(_p_from_half_width(0.2, 0.0, 0.95, 9))
    # The half-width is Student's quantile times the standard error, of which 4 are observed.
    half_width = 0.05 * stats.t.ppf(0.975, 9)
    assert _p_from_half_width(0.2, half_width, 0.95, 9) == pytest.approx(2 * stats.t.sf(4, 9))
