"""Where only systems' scores are known, values and p are SciPy's."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import alone, made, study, table

from nlgbench.analysis.correlation import correlate, correlate_with_scores


def test_values_are_scipys_documented_ones():
    # SciPy's documentation of kendalltau: tau = -0.47140452, p = 0.28274546.
    study, votes = alone(table("e", [12.0, 2, 1, 12, 2])), table("h", [1.0, 4, 7, 1, 0])
    found = correlate_with_scores(study, votes, evaluators=["e"], statistics=["kendall_b"]).iloc[0]
    assert found[["estimate", "p"]].tolist() == pytest.approx([-0.47140452, 0.28274546], abs=1e-8)
    assert found["n"] == 5


def test_accuracy_has_a_permutation_test_of_all_orders_or_some():
    options = {"statistics": ["pairwise_accuracy", "kendall_b"], "n_resamples": 9999}
    against = table("h", [1.0, 3.0, 2.0, 5.0, 4.0])
    found = correlate_with_scores(alone(table("e", range(5))), against, evaluators=["e"], **options)
    assert found["p_method"].tolist() == ["permutation, all", "scipy"]
    # Of 120 orders those with at most two inversions: 1 + 4 + 9.
    assert found["p"].iloc[0] == pytest.approx(14 / 120)
    x, y = np.random.default_rng(1).normal(size=(2, 11))
    drawn = correlate_with_scores(alone(table("e", x)), table("h", y), evaluators=["e"], **options)
    assert drawn["p_method"].iloc[0] == "permutation, 9999 drawn"
    # Without ties accuracy is tau's, whose test has two sides.
    assert stats.kendalltau(x, y).statistic > 0
    assert drawn["p"].iloc[0] == pytest.approx(stats.kendalltau(x, y).pvalue / 2, abs=0.02)


def test_evaluators_of_systems_stand_beside_those_of_outputs():
    tables_of, options = study(), {"statistics": ["pearson"], "n_resamples": 20}
    plain = correlate(made(*tables_of), **options)
    of = tables_of[0].set_index("output_id")["system"]
    first = tables_of[1][tables_of[1]["evaluator"] == "e0"]
    means = first.groupby(first["output_id"].map(of))["score"].mean()
    own = table("whole", means.to_numpy(), list(means.index))
    # Where an evaluator has scored outputs, too, these count.
    own = pd.concat([own, own.assign(evaluator="e1", score=0.0)])
    both = made(*tables_of, system_scores=own)
    found = correlate(both, **options)
    assert found["evaluator"].tolist() == ["e0", "e1", "whole"]
    # The family of tests has a third evaluator.
    first, plain = (rows.drop(columns="p_adjusted") for rows in (found[:2], plain))
    pd.testing.assert_frame_equal(first, plain)
    assert found["estimate"].iloc[2] == pytest.approx(found["estimate"].iloc[0])
    last = found[["dimension", "resample", "estimand"]].iloc[2]
    assert last.tolist() == ["quality", "systems", "other systems"]
    with pytest.raises(ValueError, match="'whole' scored only systems"):
        correlate(both, evaluators=["e0", "whole"], granularity="output")
    soft = correlate(both, evaluators=["whole"], statistics=["soft_pairwise"]).iloc[0]
    assert np.isnan(soft["estimate"])
    assert soft["status"] == "needs_outputs"
