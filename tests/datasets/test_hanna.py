"""HANNA becomes tidy tables, and its authors' system-level complexity differs by rounding."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import nlgbench as nb
from nlgbench.datasets.hanna import RAW_FILE
from nlgbench.datasets.published import load_printed
from tests.released import needs

RELEASED = needs(RAW_FILE)


@pytest.fixture(scope="module")
def released():
    return nb.load("hanna")


@RELEASED
def test_the_release(released):
    assert len(released.outputs) == 11 * 96 and len(released.systems) == 10
    assert released.scores["evaluator"].nunique() == 72
    assert released.scores["score"].notna().all()
    whole = nb.load("hanna", ratings=True)
    assert len(whole.judgments) == 3 * len(released.judgments) == 3 * 6 * 1056
    keys = ["output_id", "dimension"]
    means = (study.judgments.groupby(keys)["value"].mean() for study in (released, whole))
    pd.testing.assert_series_equal(*means)
    # Who rated is unknown: nobody has two outputs.
    assert whole.judgments.groupby("annotator_id")["output_id"].nunique().eq(1).all()
    refused = nb.agreement(released, dimension="relevance")
    assert refused["estimate"].isna().all() and (refused["n_left_out"] > 0).any()


@RELEASED
def test_rounding_unties_two_systems_in_the_authors_complexity(released):
    """Twice two systems' ratings have one sum; means of thirds keep only one pair together."""
    table = released.judgments.merge(released.outputs[~released.outputs["is_human"]])
    ratings = table[table["dimension"] == "complexity"].groupby("system")["value"]
    means = ratings.apply(lambda one: np.mean(one.to_list()))
    sums = (3 * ratings.sum()).round()
    assert sums[sums.duplicated(keep=False)].to_dict() == {
        **dict.fromkeys(["bertgeneration", "roberta"], 694),
        **dict.fromkeys(["gpt", "td_vae"], 718),
    }
    assert means["bertgeneration"] == means["roberta"] and means["gpt"] != means["td_vae"]
    scores = released.scores.merge(released.outputs[["output_id", "system"]])
    scores = scores.pivot_table(index="system", columns="evaluator", values="score")
    printed = load_printed("hanna/system_kendall")["complexity"]
    options = {"statistics": ["kendall_b"], "resample": None, "n_resamples": 1}
    found = nb.correlate(released, dimension="complexity", **options).set_index("evaluator")
    for evaluator, value in printed.items():
        own = scores.loc[means.index, evaluator]
        assert abs(kendalltau(own, means).statistic) == pytest.approx(value, abs=6e-7)
    for evaluator in ("bleu", "chrf", "supert_ps"):
        expected = kendalltau(scores.loc[means.index, evaluator], sums).statistic
        assert found.loc[evaluator, "estimate"] == pytest.approx(expected)
        assert abs(expected) != pytest.approx(printed[evaluator], abs=1e-3)
