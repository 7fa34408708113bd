from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import made, study

from nlgbench.analysis.correlation import correlate, permutation_tests
from nlgbench.analysis.correlation.comparing import permuted
from nlgbench.inference import adjust

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_products_are_the_correlations_in_every_order(statistic):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 5)).round(), rng.normal(size=5).round()
    orders = np.array(list(permutations(range(5))))
    found = permuted(x, y, orders, statistic)
    expected = [[SCIPY[statistic](one, y[order])[0] for order in orders] for one in x]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (permuted(np.ones((1, 5)), y, orders, statistic) == 0).all()


@pytest.mark.parametrize("statistic", list(SCIPY))
def test_all_orders_of_few_systems_give_scipys_p(statistic):
    tables_of = study(n_systems=6, n_evaluators=3)
    found = permutation_tests(made(*tables_of), statistics=[statistic], seed=0)
    each = correlate(made(*tables_of), statistics=[statistic], n_resamples=10, seed=0)
    assert found["estimate"].tolist() == pytest.approx(each["estimate"].tolist())
    assert found["evaluator"].tolist() == each["evaluator"].tolist()
    assert found["p"].tolist() == pytest.approx(each["p"].tolist())
    assert found["p_method"].eq("permutation, all").all()
    assert found["p_adjusted"].tolist() == pytest.approx(adjust(found["p"]).tolist())


def test_a_large_family_gets_as_many_orders_as_holm_needs():
    # 1,000 orders leave no adjusted p below 60 / 1,001 = .06.
    outputs, scores, judgments = study(n_systems=10, n_items=5, n_evaluators=1)
    rng = np.random.default_rng(0)
    noise = [scores["score"] + rng.normal(size=len(scores)) / 10 for _ in range(60)]
    many = [scores.assign(evaluator=f"e{n:02d}", score=one) for n, one in enumerate(noise)]
    found = permutation_tests(
        made(outputs, pd.concat(many), judgments), statistics=["pearson", "kendall_b"], seed=0
    )
    assert found["p_method"].eq("permutation, 120000 drawn").all()
    assert found["p_least"].tolist() == pytest.approx([60 / 120_001] * 120)
    assert found["reason"].eq("").all()
    assert (found.loc[found["statistic"] == "pearson", "p_adjusted"] <= 0.05).all()
    few = permutation_tests(made(outputs, scores, judgments), statistics=["pearson"], seed=0)
    assert few["p_method"].eq("permutation, 2000 drawn").all()


def test_too_few_systems_say_that_they_cannot_answer():
    outputs, scores, judgments = study(n_systems=4, n_evaluators=2)
    found = permutation_tests(made(outputs, scores, judgments), statistics=["spearman"], seed=0)
    # 4! = 24 orders, both ends, two evaluators.
    assert found["p_least"].tolist() == pytest.approx([2 * 2 / 24] * 2)
    words = "cannot be answered with 4 systems: the least adjusted p there is 0.167"
    assert found["reason"].eq(words).all()
    constant = scores.assign(score=1.0)
    found = permutation_tests(made(outputs, constant, judgments), seed=0)
    assert found[["estimate", "p", "p_adjusted", "p_least"]].isna().all(axis=None)
    assert found["reason"].str.startswith("undefined").all()


def test_an_evaluator_is_tested_over_the_outputs_it_scored():
    outputs, scores, judgments = study(n_evaluators=2)
    without = scores[~((scores["evaluator"] == "e1") & scores["output_id"].isin(["o0", "o40"]))]
    found = permutation_tests(made(outputs, without, judgments), seed=0)
    each = correlate(made(outputs, without, judgments), n_resamples=10, seed=0)
    assert found["estimate"].tolist() == pytest.approx(each["estimate"].tolist())
    with pytest.raises(ValueError, match="statistics: 'kendall_d' is unknown"):
        permutation_tests(made(outputs, scores, judgments), statistics=["kendall_d"], seed=0)
    with pytest.raises(ValueError, match="statistics must be a list"):
        permutation_tests(made(outputs, scores, judgments), statistics="pearson", seed=0)
