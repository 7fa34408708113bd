import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import study, table

from nlgbench.analysis.correlation.system_scores import (
    correlate_systems,
    mean_scores,
    mean_system_scores,
)

ALL = ("pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy")


# SciPy's documentation of kendalltau: tau = -0.47140452, p = 0.28274546.
X, Y = [12.0, 2.0, 1.0, 12.0, 2.0], [1.0, 4.0, 7.0, 1.0, 0.0]


def test_values_are_scipys_documented_ones():
    found = correlate_systems(table("e", X), table("h", Y), statistics=["kendall_b"]).iloc[0]
    assert found["estimate"] == pytest.approx(-0.47140452, abs=1e-8)
    assert found["p"] == pytest.approx(0.28274546, abs=1e-8)
    assert found["n"] == 5


def test_all_evaluators_are_set_against_all_humans():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 12))
    scores = pd.concat([table("a", values[0]), table("b", values[1])])
    human = pd.concat([table("h1", values[2]), table("h2", values[3])])
    found = correlate_systems(scores, human, statistics=ALL).set_index(
        ["evaluator", "human", "statistic"]
    )
    assert len(found) == 2 * 2 * 5
    pearson = stats.pearsonr(values[1], values[2])
    row = found.loc[("b", "h1", "pearson")]
    assert row["estimate"] == pytest.approx(pearson.statistic)
    assert row["p"] == pytest.approx(pearson.pvalue)
    interval = pearson.confidence_interval(0.95)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([interval.low, interval.high])
    spearman = stats.spearmanr(values[0], values[3])
    assert found.loc[("a", "h2", "spearman"), "p"] == pytest.approx(spearman.pvalue)
    tau_c = stats.kendalltau(values[0], values[3], variant="c")
    assert found.loc[("a", "h2", "kendall_c"), "estimate"] == pytest.approx(tau_c.statistic)
    assert found.loc[("a", "h2", "kendall_c"), "p"] == pytest.approx(tau_c.pvalue)
    closed = found["reason"].eq("")
    assert found.index[closed].get_level_values("statistic").unique().tolist() == list(ALL[:3])
    assert (found.loc[closed, "ci_low"] < found.loc[closed, "estimate"]).all()
    assert found.loc[~closed, "ci_low"].isna().all()


def test_spearmans_interval_is_bonett_and_wrights():
    x, y = np.arange(10.0), np.array([1, 0, 3, 2, 5, 4, 7, 6, 9, 8], float)
    row = correlate_systems(table("e", x), table("h", y), statistics=["spearman"]).iloc[0]
    r = 1 - 6 * 10 / 990
    assert row["estimate"] == pytest.approx(r)
    half = 1.959964 * np.sqrt((1 + r**2 / 2) / 7)
    assert np.arctanh(row["ci_high"]) - np.arctanh(r) == pytest.approx(half, rel=1e-6)


def test_permutations_are_all_or_some():
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0, 2.0, 5.0, 4.0]
    options = {"statistics": ["kendall_b", "pairwise_accuracy"], "p_method": "permutation"}
    found = correlate_systems(table("e", x), table("h", y), **options)
    assert found["p_method"].tolist() == ["permutation, all"] * 2
    assert found["p"].iloc[0] == pytest.approx(stats.kendalltau(x, y).pvalue)
    # Of 120 orders those with at most two inversions: 1 + 4 + 9.
    assert found["p"].iloc[1] == pytest.approx(14 / 120)
    many = np.random.default_rng(0).normal(size=(2, 11))
    drawn = correlate_systems(table("e", many[0]), table("h", many[1]), **options)
    assert drawn["p_method"].tolist() == ["permutation, 9999 drawn"] * 2
    exact = stats.kendalltau(*many).pvalue
    assert drawn["p"].iloc[0] == pytest.approx(exact, abs=0.02)


def test_systems_that_one_table_lacks_are_counted():
    scores = table("e", [1.0, 2.0, 3.0, 4.0, np.nan], list("abcde"))
    human = table("h", [1.0, 3.0, 2.0, 9.0, 9.0], list("abcxe"))
    found = correlate_systems(scores, human)
    assert found["n"].tolist() == [3, 3, 3]
    assert found["n_missing"].tolist() == [3, 3, 3]
    assert found["estimate"].tolist() == pytest.approx([0.5, 0.5, 1 / 3])
    assert found["reason"].iloc[0] == "3 systems: an interval needs at least 4"


def test_what_is_undefined_has_a_reason():
    for y in ([2.0, 2.0, 2.0, 2.0], [1.0, 2.0, np.nan, np.nan]):
        x = [1.0, np.nan, 3.0, 4.0] if np.isnan(y[2]) else [1.0, 2.0, 3.0, 4.0]
        found = correlate_systems(table("e", x), table("h", y), p_method="permutation")
        assert found[["estimate", "ci_low", "p"]].isna().all(axis=None)
        assert found["reason"].str.startswith("undefined").all()
    perfect = correlate_systems(table("e", range(9)), table("h", range(9)))
    assert perfect["reason"].str.startswith("perfect correlation").all()
    assert perfect["estimate"].tolist() == [1, 1, 1]


def test_wrong_input_is_refused():
    good = table("e", [1.0, 2.0])
    with pytest.raises(ValueError, match="Did you mean 'kendall_c'"):
        correlate_systems(good, good, statistics=["kendall"])
    with pytest.raises(ValueError, match="p_method: 'exact' is unknown"):
        correlate_systems(good, good, p_method="exact")
    with pytest.raises(ValueError, match="must have rows of one dataset"):
        correlate_systems(good, good.assign(dataset="x"))
    with pytest.raises(ValueError, match="confidence must be between"):
        correlate_systems(good, good, confidence=1.0)


def test_means_by_system_are_over_outputs_with_all_scores():
    outputs = pd.DataFrame(
        {
            "dataset": "d",
            "output_id": list("abcdef"),
            "item_id": ["1", "2", "3"] * 2,
            "system": ["s"] * 3 + ["t"] * 3,
            "text": "",
            "is_human": False,
            "context": "",
        }
    )
    keys = outputs[["dataset", "output_id"]]
    first = keys.assign(evaluator="e", score=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], signature="")
    second = first.assign(evaluator="g", score=[1.0, np.nan, 3.0, 4.0, 5.0, 6.0])
    judgments = keys.assign(annotator_id="w", dimension="q", value=[1, 9, 2, 3, 4, 5], group_id="")
    scores, human = mean_system_scores(outputs, pd.concat([first, second]), judgments)
    assert scores["score"].tolist() == [2, 5, 2, 5]
    assert human[["system", "evaluator", "score"]].to_numpy().tolist() == [
        ["s", "q", 1.5],
        ["t", "q", 4],
    ]
    found = correlate_systems(scores, human)
    assert found["estimate"].eq(1).all()
    with pytest.raises(ValueError, match="no judged output has a score of every evaluator"):
        mean_system_scores(outputs, pd.concat([first[:3], second[3:]]), judgments)


def test_each_evaluator_is_averaged_over_what_it_has_scored():
    outputs, scores, judgments = study(n_evaluators=2)
    found = mean_scores(outputs, scores)
    assert found["evaluator"].unique().tolist() == ["e0", "e1"]
    both = mean_system_scores(outputs, scores, judgments)[0]
    key = ["evaluator", "system"]
    pd.testing.assert_series_equal(
        found.set_index(key)["score"].sort_index(), both.set_index(key)["score"].sort_index()
    )
    of_s0 = scores["output_id"].isin(outputs.loc[outputs["system"] == "s0", "output_id"])
    holed = scores.assign(score=scores["score"].mask(of_s0 & (scores["evaluator"] == "e1")))
    holed = mean_scores(outputs, holed).set_index(key)["score"]
    assert np.isnan(holed["e1", "s0"])
    assert holed.drop(("e1", "s0")).notna().all()
    with pytest.raises(ValueError, match="outputs that `outputs` does not have, such as 'o0'"):
        mean_scores(outputs.iloc[1:], scores)


def test_lower_is_turned_and_equal_means_are_tied():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 9))
    lower = table("ppl", -x).assign(signature="perplexity|direction:lower is better")
    found = correlate_systems(pd.concat([table("e", x), lower]), table("h", y))
    by = found.set_index(["evaluator", "statistic"])["estimate"]
    assert by["ppl"].tolist() == pytest.approx(by["e"].tolist())
    assert found.groupby("evaluator")["turned"].all().to_dict() == {"e": False, "ppl": True}
    # (.1, .2, .3) and (.3, .2, .1) have means that differ in their last bits.
    tied = table("e", [np.mean([0.1, 0.2, 0.3]), np.mean([0.3, 0.2, 0.1]), 0.5, 0.7])
    human = table("h", [1.0, 2.0, 3.0, 4.0])
    tau = correlate_systems(tied, human, statistics=["kendall_b"])["estimate"].iloc[0]
    assert tau == pytest.approx(stats.kendalltau([1, 1, 2, 3], [1, 2, 3, 4]).statistic)


def test_means_keep_the_direction():
    outputs, scores, _ = study(n_evaluators=2)
    ppl = scores["evaluator"] == "e1"
    scores.loc[ppl, "signature"] = "perplexity|direction:lower is better"
    found = mean_scores(outputs, scores)
    lower = found["signature"].str.contains("direction:lower")
    assert found.loc[lower, "evaluator"].unique().tolist() == ["e1"]
