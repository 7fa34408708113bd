"""Tests between evaluators are those of swaps, max-T and joint intervals written out."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_study import alone, made, study, table

from nlgbench.analysis.correlation import compare_evaluators, correlate
from nlgbench.analysis.correlation.comparing import (
    _joined,
    _p_of_reach,
    max_t,
)
from nlgbench.inference import adjust

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


def evaluators(values):
    return pd.concat([table(f"e{number}", one) for number, one in enumerate(values)])


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_p_is_that_of_all_swaps_written_out(statistic):
    rng = np.random.default_rng(4)
    x, h = rng.normal(size=(2, 7)) * [[1.0], [100.0]], rng.normal(size=7).round(1)
    z = [(one - one.mean()) / one.std() for one in x]
    test = SCIPY[statistic]

    def gap(a, b):
        r_a, r_b = test(a, h)[0], test(b, h)[0]
        return studentized(a, b, h, r_a, r_b) if statistic == "pearson" else r_a - r_b

    observed, beyond = abs(gap(*z)), []
    for swap in product([False, True], repeat=7):
        a, b = np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])
        beyond.append(abs(gap(a, b)) >= observed - 1e-9)
    found = compare_evaluators(
        alone(evaluators(x)), against=table("h", h), statistic=statistic
    ).iloc[0]
    assert found["p"] == np.mean(beyond)
    assert found["difference"] == pytest.approx(test(z[0], h)[0] - test(z[1], h)[0])
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
    options = {"n_resamples": 500, "seed": 3}
    found = compare_evaluators(alone(evaluators(x)), against=table("h", h), **options).iloc[0]
    assert found["p_method"] == "swaps, 500 drawn"
    assert found["p"] >= found["p_least"] == pytest.approx(1 / 501)
    again = compare_evaluators(alone(evaluators(x)), against=table("h", h), **options).iloc[0]
    assert found["p"] == again["p"]
    fewer = compare_evaluators(alone(evaluators(x[:, :16])), against=table("h", h[:16])).iloc[0]
    assert fewer["p_method"] == "swaps, all"


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
    assert found["reason"].eq("").all()
    assert found["adjustment"].eq("max-T over all pairs, approximate").all()


def test_named_pairs_are_the_family_and_say_what_it_can_reach():
    rng = np.random.default_rng(0)
    h = rng.normal(size=12)
    asked = alone(evaluators(h + rng.normal(size=(16, 12))))
    votes = {"against": table("h", h)}
    names = [(f"e{a}", f"e{b}") for a, b in combinations(range(16), 2)]
    found = compare_evaluators(asked, evaluators=names[:102], **votes)
    assert found["p_least"].iloc[0] == pytest.approx(102 * 2 / 4096)
    assert found["reason"].eq("").all()
    assert found["p_adjusted"].tolist() == pytest.approx(adjust(found["p"]).tolist())
    many = compare_evaluators(asked, evaluators=names[:103], **votes)
    said = "cannot be answered with 12 systems: the least adjusted p there is 0.0503"
    assert many["p_least"].iloc[0] > 0.05 and many["reason"].eq(said).all()
    one = compare_evaluators(asked, evaluators=[("e3", "e1")], **votes).iloc[0]
    assert [one["evaluator_a"], one["evaluator_b"]] == ["e3", "e1"]
    assert one["p_adjusted"] == one["p"] and one["adjustment"] == "Holm over 1 named pairs"
    large, h = alone(evaluators(rng.normal(size=(3, 17)))), table("h", rng.normal(size=17))
    for confidence, n in ((0.95, 9999), (0.99, 20000)):
        drawn = compare_evaluators(large, against=h, evaluators=names[:2], confidence=confidence)
        assert drawn["p_method"].eq(f"swaps, {n} drawn").all()


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("e0", "e0")], "pairs must be of two evaluators"),
        ([("e0", "e1"), ("e1", "e0")], "each pair once. Got .* twice"),
        ([("e0", "e9")], "evaluators: 'e9' is unknown"),
        ([], "evaluators must be None, or a list of at least one"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, message):
    x = np.random.default_rng(0).normal(size=(3, 6))
    with pytest.raises(ValueError, match=message):
        compare_evaluators(alone(evaluators(x[:2])), against=table("h", x[2]), evaluators=pairs)


def test_a_score_of_which_lower_is_better_is_turned():
    x = np.random.default_rng(0).normal(size=(3, 8))
    turned = evaluators([x[0], -x[1]])
    turned.loc[turned["evaluator"] == "e1", "signature"] = "perplexity|direction:lower is better"
    found = compare_evaluators(alone(turned), against=table("h", x[2])).iloc[0]
    plain = compare_evaluators(alone(evaluators(x[:2])), against=table("h", x[2])).iloc[0]
    pd.testing.assert_series_equal(found, plain)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_max_t_is_that_of_westfall_and_young_written_out(seed, m):
    values = np.random.default_rng(seed).normal(size=(m, 40)).round(1)
    size = np.abs(values)
    order = np.argsort(-size[:, 0], kind="stable")
    expected, last = np.empty(m), 0.0
    for place, at in enumerate(order):
        largest = size[order[place:]].max(axis=0)
        last = max(last, (largest >= size[at, 0]).mean())
        expected[at] = last
    p, least = max_t(values)
    # Which of equal statistics comes first does not matter to the p that each gets.
    np.testing.assert_allclose(p, expected)
    assert least == (size.max(axis=0) == size.max()).mean()
    shuffled = np.random.default_rng(seed).permutation(m)
    np.testing.assert_allclose(max_t(values[shuffled])[0], p[shuffled])
    with_undefined = np.vstack([values, np.full(40, np.nan)])
    np.testing.assert_allclose(max_t(with_undefined)[0], [*p, np.nan])


def test_equal_scores_are_tied_when_evaluators_are_mixed():
    # The two have the same standardized scores in another order; in tenths they are not the same
    # floats, so that unrounded they would be untied.
    x = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 1.0, 2.0, 6.0, 4.0, 5.0]])
    h = [1.0, 2.0, 4.0, 3.0, 6.0, 5.0]
    for statistic in ("spearman", "kendall_b"):
        whole, tenths = (
            compare_evaluators(alone(evaluators(one)), against=table("h", h), statistic=statistic)[
                "p"
            ].iloc[0]
            for one in (x, x / [[10.0], [7.0]] + 0.1)
        )
        assert whole == tenths


def test_pairs_are_compared_over_common_systems_and_constants_are_undefined():
    h = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    x = [[1.0, 2.0, 3.0, 4.0, np.nan, 6.0], [2.0, 1.0, np.nan, 4.0, 5.0, 6.0], [0.1] * 6]
    found = compare_evaluators(alone(evaluators(x)), against=table("h", h))
    assert found["n"].tolist() == [4, 5, 5]
    assert found["p"].isna().tolist() == [False, True, True]
    assert found["estimate_b"].isna().tolist() == [False, True, True]
    lone = compare_evaluators(alone(evaluators([[1.0], [2.0]])), against=table("h", [1.0]))
    assert lone["p"].isna().all()
    with pytest.raises(ValueError, match=r"a comparison needs two evaluators\. Got e alone"):
        compare_evaluators(alone(table("e", h)), against=table("h", h))
    with pytest.raises(ValueError, match="statistic: 'tau' is unknown"):
        compare_evaluators(alone(evaluators(x)), against=table("h", h), statistic="tau")


def test_differences_are_of_the_same_outputs_and_resamples():
    tables_of = study(n_evaluators=3)
    for granularity in ("output", "item"):
        options = {"granularity": granularity, "n_resamples": 200, "seed": 0}
        found = compare_evaluators(made(*tables_of), statistic="spearman", **options)
        each = correlate(made(*tables_of), statistics=["spearman"], **options).set_index(
            "evaluator"
        )
        assert len(found) == 3
        for row in found.itertuples():
            a, b = each["estimate"][row.evaluator_a], each["estimate"][row.evaluator_b]
            assert row.difference == pytest.approx(a - b)
            assert row.ci_low <= row.difference <= row.ci_high
            of_both = each.loc[[row.evaluator_a, row.evaluator_b]]
            wide = (of_both["ci_high"] - of_both["ci_low"]).sum()
            assert row.ci_high - row.ci_low < wide
            if not 0.03 < row.p < 0.08:
                assert (row.p > 0.05) == (row.ci_low < 0 < row.ci_high)
    scores = tables_of[1]
    fewer = scores[~((scores["evaluator"] == "e2") & (scores["output_id"] == "o7"))]
    found = compare_evaluators(
        made(tables_of[0], fewer, tables_of[2]), **(options | {"n_resamples": 20})
    )
    assert found["n_missing"].tolist() == [1, 1, 1]


def test_two_names_for_one_evaluator_differ_by_nothing():
    outputs, scores, judgments = study(n_evaluators=1)
    both = pd.concat([scores, scores.assign(evaluator="twin")])
    options = {"granularity": "output", "n_resamples": 50, "seed": 0}
    found = compare_evaluators(made(outputs, both, judgments), **options).iloc[0]
    assert [found["difference"], found["ci_low"], found["ci_high"], found["p"]] == [0, 0, 0, 1]
    swapped = compare_evaluators(made(outputs, both, judgments)).iloc[0]
    assert swapped["p"] == 1


def rows_of(estimates, ends):
    low, high = zip(*ends, strict=True)
    return pd.DataFrame({"estimate": estimates, "ci_low": low, "ci_high": high, "estimand": ""})


def test_the_interval_of_a_difference_is_zous_where_ends_are_symmetric_or_unrelated():
    # Zou (2007, doi:10.1037/1082-989X.12.4.399), equation 10: ends of each, and rho.
    (l_a, a, u_a), (l_b, b, u_b) = (0.2, 0.5, 0.8), (0.1, 0.3, 0.5)
    rng = np.random.default_rng(0)
    both = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=200).T
    rho = np.corrcoef(both)[0, 1]
    gap, down, up = _joined(rows_of([a, b], [(l_a, u_a), (l_b, u_b)]), both)
    assert gap == pytest.approx(0.2)
    reach = np.sqrt((a - l_a) ** 2 + (u_b - b) ** 2 - 2 * rho * (a - l_a) * (u_b - b))
    assert [down, up] == pytest.approx([reach, reach], rel=1e-4)
    unrelated = np.array([[1.0, 1, -1, -1], [1.0, -1, 1, -1]])
    two = rows_of([0.5, 0.3], [(0.1, 0.6), (0.2, 0.7)])
    _, down, up = _joined(two, unrelated)
    assert down == pytest.approx(np.hypot(0.4, 0.4), rel=1e-4)
    assert up == pytest.approx(np.hypot(0.1, 0.1), rel=1e-4)
    assert np.isnan(_p_of_reach(0.2, 0.0, 0.95))


def test_named_pairs_are_resampled_as_they_are_named():
    asked = made(*study(n_evaluators=3))
    options = {"granularity": "output", "n_resamples": 50}
    every = compare_evaluators(asked, **options).set_index(["evaluator_a", "evaluator_b"])
    named = compare_evaluators(asked, evaluators=[("e2", "e0"), ("e0", "e1")], **options)
    turned, straight = named.iloc[0], every.loc[("e0", "e2")]
    columns = ["difference", "ci_low", "ci_high"]
    assert turned[columns].tolist() == (-straight[["difference", "ci_high", "ci_low"]]).tolist()
    assert turned["estimate_b"] == straight["estimate_a"]
    assert named["p"].iloc[1] == every.loc[("e0", "e1"), "p"]
    assert named["p_adjusted"].tolist() == adjust(named["p"]).tolist()
