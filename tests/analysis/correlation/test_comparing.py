from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import study, table

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.comparing import compare_evaluators, differences
from nlgbench.analysis.correlation.system_scores import mean_system_scores

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


def evaluators(values):
    return pd.concat([table(f"e{number}", one) for number, one in enumerate(values)])


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_p_is_that_of_all_swaps_written_out(statistic):
    rng = np.random.default_rng(4)
    x, h = rng.normal(size=(2, 7)) * [[1.0], [100.0]], rng.normal(size=7).round(1)
    z = [(one - one.mean()) / one.std() for one in x]
    test = SCIPY[statistic]
    observed = test(z[0], h)[0] - test(z[1], h)[0]
    beyond = []
    for swap in product([False, True], repeat=7):
        a, b = np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])
        beyond.append(abs(test(a, h)[0] - test(b, h)[0]) >= abs(observed) - 1e-12)
    found = compare_evaluators(evaluators(x), table("h", h), statistic=statistic).iloc[0]
    assert found["p"] == np.mean(beyond)
    assert found["difference"] == pytest.approx(observed)
    assert found["p_method"] == "swaps, all"


def test_all_pairs_units_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    h = rng.normal(size=12)
    x = h + rng.normal(size=(5, 12)) * np.array([0.1, 0.5, 1, 2, 4])[:, None]
    found = compare_evaluators(evaluators(x), table("h", h))
    assert len(found) == 10
    assert found["p"].between(1 / 4096, 1).all()
    moved = compare_evaluators(evaluators(x * 7 + 3), table("h", h))
    np.testing.assert_allclose(found["p"], moved["p"])
    back = compare_evaluators(evaluators(x[::-1]), table("h", h))
    assert sorted(back["p"]) == pytest.approx(sorted(found["p"]))
    assert found["p"].iloc[3] < 0.05  # e0 against e4


def test_many_systems_are_swapped_at_random():
    rng = np.random.default_rng(0)
    h = rng.normal(size=17)
    x = h + rng.normal(size=(2, 17))
    options = {"n_permutations": 500, "seed": 3}
    found = compare_evaluators(evaluators(x), table("h", h), **options).iloc[0]
    assert found["p_method"] == "swaps, 500 drawn"
    assert found["p"] >= 1 / 501
    again = compare_evaluators(evaluators(x), table("h", h), **options).iloc[0]
    assert found["p"] == again["p"]
    fewer = compare_evaluators(evaluators(x[:, :16]), table("h", h[:16])).iloc[0]
    assert fewer["p_method"] == "swaps, all"


def test_swaps_hold_their_level_when_evaluators_are_alike():
    ps = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        h = rng.normal(size=8)
        x = h + rng.normal(size=(2, 8))
        ps.append(compare_evaluators(evaluators(x), table("h", h))["p"].iloc[0])
    # 6 of 60 expected at .1; 15 or more has a probability of .001.
    assert np.mean(np.array(ps) <= 0.1) < 0.25
    assert 0.4 < np.mean(ps) < 0.6


def test_pairs_are_compared_over_common_systems_and_constants_are_undefined():
    h = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    x = [[1.0, 2.0, 3.0, 4.0, np.nan, 6.0], [2.0, 1.0, np.nan, 4.0, 5.0, 6.0], [0.1] * 6]
    found = compare_evaluators(evaluators(x), table("h", h))
    assert found["n"].tolist() == [4, 5, 5]
    assert found["p"].isna().tolist() == [False, True, True]
    assert found["estimate_b"].isna().tolist() == [False, True, True]
    lone = compare_evaluators(evaluators([[1.0], [2.0]]), table("h", [1.0]))
    assert lone["p"].isna().all()
    with pytest.raises(ValueError, match="one human score and at least two evaluators"):
        compare_evaluators(table("e", h), table("h", h))
    with pytest.raises(ValueError, match="statistic: 'tau' is unknown"):
        compare_evaluators(evaluators(x), table("h", h), statistic="tau")


def test_differences_are_of_the_same_outputs_and_resamples():
    tables_of = study(n_evaluators=3)
    for level in ("system", "output", "item"):
        options = {"level": level, "n_resamples": 200, "seed": 0}
        found = differences(*tables_of, statistic="spearman", **options)
        each = correlate(*tables_of, statistics=["spearman"], **options).set_index("evaluator")
        assert len(found) == 3
        for row in found.itertuples():
            a, b = each["estimate"][row.evaluator_a], each["estimate"][row.evaluator_b]
            assert row.difference == pytest.approx(a - b)
            assert row.ci_low <= row.difference <= row.ci_high
            wide = sum(each.loc[name, "ci_high"] - each.loc[name, "ci_low"] for name in each.index)
            assert row.ci_high - row.ci_low < wide
            if not 0.03 < row.p < 0.08:
                assert (row.p > 0.05) == (row.ci_low < 0 < row.ci_high)
    scores = tables_of[1]
    fewer = scores[~((scores["evaluator"] == "e2") & (scores["output_id"] == "o7"))]
    found = differences(tables_of[0], fewer, tables_of[2], n_resamples=20, seed=0)
    assert found["n_missing"].tolist() == [1, 1, 1]


def test_two_names_for_one_evaluator_differ_by_nothing():
    outputs, scores, judgments = study(n_evaluators=1)
    both = pd.concat([scores, scores.assign(evaluator="twin")])
    found = differences(outputs, both, judgments, n_resamples=50, seed=0).iloc[0]
    assert [found["difference"], found["ci_low"], found["ci_high"], found["p"]] == [0, 0, 0, 1]
    swapped = compare_evaluators(*mean_system_scores(outputs, both, judgments)).iloc[0]
    assert swapped["p"] == 1


def test_clusters_widen_what_copies_narrow():
    outputs, scores, judgments = study(n_items=12, n_systems=4)
    # Every output ten times: ten times the rows, and no more information.
    copies = []
    for frame in (outputs, scores, judgments):
        many = [frame.assign(output_id=frame["output_id"] + f"_{k}") for k in range(10)]
        copies.append(pd.concat(many))
    copies[0] = copies[0].assign(context=copies[0]["item_id"], item_id=copies[0]["output_id"])
    options = {"level": "output", "n_resamples": 400, "seed": 0}
    naive = differences(*copies, **options).iloc[0]
    clustered = differences(*copies, clusters="context", **options).iloc[0]
    assert clustered["difference"] == pytest.approx(naive["difference"])
    ratio = (clustered["ci_high"] - clustered["ci_low"]) / (naive["ci_high"] - naive["ci_low"])
    assert ratio > 2
    assert clustered["resample"] == "clusters of context"


def test_differences_refuse_what_they_cannot_do():
    outputs, scores, judgments = study()
    with pytest.raises(ValueError, match="needs two evaluators that have scored the same outputs"):
        differences(outputs, scores[scores["evaluator"] == "e0"], judgments, seed=0)
    with pytest.raises(ValueError, match="is a statistic of level='item'"):
        differences(outputs, scores, judgments, statistic="tie_calibrated_held_out", seed=0)
    with pytest.raises(ValueError, match="resample: None is unknown"):
        differences(outputs, scores, judgments, resample=None, seed=0)
