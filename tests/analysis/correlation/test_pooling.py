"""One effect per study, and a random-effects mean, against metafor's and statsmodels' values."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm
from scipy.stats import t as student
from statsmodels.stats.meta_analysis import combine_effects

import nlgbench as nb
from nlgbench.analysis.correlation.pooling import (
    compare_with_length,
    correlate_studies,
    interval_of_prediction,
    random_effects,
    references_of,
)

#: The 13 trials of BCG vaccine (Colditz et al. 1994), as metafor's dat.bcg has them: cases and
#: others among the vaccinated, and among those who were not.
BCG = """
4 119 11 128; 6 300 29 274; 3 228 11 209; 62 13536 248 12619; 33 5036 47 5761; 180 1361 372 1079;
8 2537 10 619; 505 87886 499 87892; 29 7470 45 7232; 17 1699 65 1600; 186 50448 141 27197;
5 2493 3 2338; 27 16886 29 17825
"""


def log_relative_risks():
    a, b, c, d = np.array([row.split() for row in BCG.split(";")], dtype=float).T
    assert len(a) == 13
    effect = np.log(a / (a + b)) - np.log(c / (c + d))
    return effect, 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def correlations(z, se, *, confidence=0.95, **columns):
    """A table of correlations whose intervals are z's."""
    reach = norm.isf((1 - confidence) / 2) * np.asarray(se)
    table = pd.DataFrame({"study": [f"s{n}" for n in range(len(z))], "estimate": np.tanh(z)})
    table = table.assign(ci_low=np.tanh(z - reach), ci_high=np.tanh(z + reach))
    table = table.assign(evaluator="chrf", dimension="quality", statistic="spearman")
    return table.assign(confidence=confidence, granularity="output", reason="").assign(**columns)


#: z and standard errors of five studies.
FIVE = np.array([0.3, 0.4, 0.2, 0.5, 0.35]), np.array([0.1, 0.05, 0.2, 0.1, 0.1])


def test_heterogeneity_of_the_vaccine_trials_as_metafor_has_it():
    """metafor, tests/testthat/test_misc_confint.r: Q-profile of tau^2, and of I^2 in percent."""
    effect, variance = log_relative_risks()
    found = random_effects(effect, variance, 0.95)
    assert [found.tau2_low, found.tau2_high] == pytest.approx([0.1197, 1.1115], abs=5e-5)
    ends = np.array([0.3088, found.tau2_low, found.tau2_high])  # the first is DerSimonian-Laird's
    shares = 100 * ends / (ends + found.typical)
    assert shares == pytest.approx([92.1173, 81.9177, 97.6781], abs=5e-3)


def test_the_mean_is_statsmodels():
    effect, variance = log_relative_risks()
    found = random_effects(effect, variance, 0.95)
    peer = combine_effects(effect, variance, method_re="iterated", atol=1e-10)
    expected = [peer.tau2, peer.mean_effect_re, peer.q]
    assert [found.tau2, found.mean, found.q] == pytest.approx(expected, abs=1e-9)
    plain = np.sqrt(peer.scale_hksj_re * peer.var_eff_w_re)
    assert found.se == pytest.approx(plain, abs=1e-9)


@settings(max_examples=60)
@given(st.integers(2, 12), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
def test_the_estimating_equation_holds(k, seed, tau):
    """Paule and Mandel's tau^2 makes Q its expectation, or is 0; the ends of tau hold it."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.001, 0.05, k)
    effect = rng.normal(0, np.sqrt(variance + tau**2))
    found = random_effects(effect, variance, 0.95)
    w = 1 / (variance + found.tau2)
    q = (w * (effect - found.mean) ** 2).sum()
    assert q == pytest.approx(k - 1, abs=1e-6) if found.tau2 else q <= k - 1
    no_tau = found.q < chi2.ppf(0.025, k - 1)
    assert np.isnan([found.tau2_low, found.tau2_high]).tolist() == [no_tau, no_tau]
    assert no_tau or found.tau2_low <= found.tau2_high
    for end, quantile in ((found.tau2_low, 0.975), (found.tau2_high, 0.025)):
        w = 1 / (variance + end)
        q = (w * (effect - w @ effect / w.sum()) ** 2).sum()
        if end > 0:
            assert q == pytest.approx(chi2.ppf(quantile, k - 1), abs=1e-6)
        elif end == 0:
            assert q <= chi2.ppf(quantile, k - 1)


def test_studies_that_agree_too_well_for_any_tau_have_no_interval_of_it():
    """As metafor's confint: both ends below 0 are the empty set, and not from 0 to 0."""
    z = np.array([0.3, 0.301, 0.3, 0.302, 0.3])
    row = nb.pool_correlations(correlations(z, np.full(5, 0.1))).summary.iloc[0]
    assert row["tau"] == row["i2"] == 0
    assert row[["tau_low", "tau_high", "i2_low", "i2_high"]].isna().all()
    assert row["ci_low"] < row["estimate"] < row["ci_high"]


def test_dimensions_of_a_study_are_one_effect_no_surer_than_one_of_them():
    z, se = FIVE
    alone = nb.pool_correlations(correlations(z, se))
    twice = pd.concat([correlations(z, se), correlations(z, se, dimension="another")])
    both = nb.pool_correlations(twice)
    pd.testing.assert_frame_equal(both.summary, alone.summary, rtol=1e-12)
    assert both.studies["n_dimensions"].eq(2).all()
    mixed = pd.concat([correlations(z, se), correlations(z + 0.2, 3 * se, dimension="another")])
    found = nb.pool_correlations(mixed).studies[["z", "se"]]
    np.testing.assert_allclose(found, np.transpose([z + 0.1, 2 * se]))


def test_an_interval_is_read_at_its_own_confidence():
    z, se = FIVE
    found = nb.pool_correlations(correlations(z, se, confidence=0.9), confidence=0.8).studies
    expected = np.transpose([se, np.tanh(z - norm.isf(0.1) * se)])
    np.testing.assert_allclose(found[["se", "ci_low"]], expected)


@pytest.mark.parametrize(("k", "mean", "prediction"), [(4, 0, 0), (5, 1, 0), (7, 1, 0), (8, 1, 1)])
def test_few_studies_say_so(k, mean, prediction):
    z = np.linspace(0.1, 0.6, k)
    row = nb.pool_correlations(correlations(z, np.full(k, 0.05))).summary.iloc[0]
    for columns, status, there in (
        (["estimate", "ci_low", "p"], "status", mean),
        (["prediction_low", "prediction_high"], "prediction_status", prediction),
        (["tau", "i2", "q", "q_p"], None, True),
    ):
        assert row[columns].notna().tolist() == [bool(there)] * len(columns)
        assert status is None or row[status] == ("ok" if there else "few_studies")


def test_what_has_no_z_is_left_out_and_says_why():
    table = correlations(np.linspace(0.1, 0.6, 6), np.full(6, 0.05))
    table.loc[0, ["estimate", "reason"]] = [np.nan, "no texts"]
    table.loc[1, "estimate"] = 1.0
    table.loc[2, "ci_high"] = 1.0
    table.loc[3, ["ci_low", "reason"]] = [np.nan, "three systems"]
    table.loc[4, "statistic"] = "pairwise_accuracy"
    found = nb.pool_correlations(table)
    studies = found.studies.set_index("study").loc[[f"s{n}" for n in range(6)]]
    assert studies["reason"].tolist() == [
        "no texts",
        "a correlation of -1 or 1 has no finite z",
        "the interval reaches -1 or 1, which have no finite z",
        "three systems",
        "pairwise_accuracy is not a correlation from -1 to 1",
        "",
    ]
    codes = ["undefined", "no_z", "unlimited", "undefined", "not_a_correlation", "ok"]
    assert studies["status"].tolist() == codes
    assert studies["z"].notna().tolist() == [False] * 5 + [True]
    spearman = found.summary.set_index("statistic").loc["spearman"]
    assert [spearman["n_studies"], spearman["n_left_out"]] == [1, 4]
    assert spearman["reason"] == "only 1 study: a mean needs at least 5"


def test_tasks_are_pooled_apart():
    z = np.linspace(0.1, 0.6, 10)
    table = correlations(z, np.full(10, 0.05), task=["stories"] * 5 + ["dialogue"] * 5)
    apart = nb.pool_correlations(table, by="task").summary.set_index("task")
    for task, part in table.groupby("task"):
        alone = nb.pool_correlations(part).summary.iloc[0]
        assert apart.loc[task, "estimate"] == alone["estimate"]
    assert nb.pool_correlations(table).studies["task"].tolist() == table["task"].tolist()


def test_two_rows_of_one_dimension_are_refused():
    table = correlations(*FIVE)
    with pytest.raises(ValueError, match="two rows of study 's0', evaluator 'chrf'"):
        nb.pool_correlations(pd.concat([table, table]))
    for by in ("study", "evaluator"):
        with pytest.raises(ValueError, match=f"by='{by}' cannot group studies"):
            nb.pool_correlations(table, by=by)


def test_differences_are_pooled_as_they_are():
    """Beyond 1 and at 0 too; the mean is statsmodels', with the modified Hartung-Knapp interval."""
    difference, se = np.array([1.2, 0.0, -0.3, 0.4, 0.5]), FIVE[1]
    low, high = (difference + sign * norm.isf(0.025) * se for sign in (-1, 1))
    table = correlations(difference, se, ci_low=low, ci_high=high)
    table = table.drop(columns="evaluator")
    pair = {"evaluator_a": "chrf", "evaluator_b": "length@sentinel"}
    table = table.assign(**pair, estimate=difference)
    found = nb.pool_correlations(table)
    expected = np.transpose([difference, difference, se])
    np.testing.assert_allclose(found.studies[["estimate", "z", "se"]], expected, atol=1e-12)
    row = found.summary.iloc[0]
    assert [row["evaluator_a"], row["evaluator_b"]] == ["chrf", "length@sentinel"]
    peer = combine_effects(difference, se**2, method_re="iterated", atol=1e-10)
    reach = student.isf(0.025, 4) * np.sqrt(max(1, peer.scale_hksj_re) * peer.var_eff_w_re)
    ends = [peer.mean_effect_re, peer.mean_effect_re + reach]
    assert row[["estimate", "ci_high"]].tolist() == pytest.approx(ends, abs=1e-9)
    with pytest.raises(ValueError, match="evaluator 'chrf' and 'length@sentinel', dimension"):
        nb.pool_correlations(pd.concat([table, table]))
    few = nb.pool_correlations(table[:4]).summary.iloc[0]
    assert np.isnan(few["estimate"]) and few["reason"] == "only 4 studies: a mean needs at least 5"


def test_a_prediction_is_that_of_student_where_studies_are_exact():
    # With tiny known errors tau^2 has the chi-square distribution of a sample's variance.
    z = np.random.default_rng(2).normal(size=12)
    ends = interval_of_prediction(z, np.full(12, 1e-9), 0.95)
    reach = student.isf(0.025, 11) * z.std(ddof=1) * np.sqrt(1 + 1 / 12)
    assert ends == pytest.approx([z.mean() - reach, z.mean() + reach], rel=0.03)


# Every evaluator on every study ----------------------------------------------------------------


@pytest.fixture(scope="module")
def worlds():
    systems = ["leaky_t1.0", "leaky_t0.5"]
    reviews = nb.simulate("reviews", systems=systems, n_outputs=30, n_truth=0, seed=1)
    return {"own": nb.simulate("own", n_items=20, seed=1), "reviews": reviews}


def test_every_study_has_a_row_of_every_evaluator_that_was_asked_for(worlds):
    names = ["rouge_l", "chrf", "perplexity"]
    found = correlate_studies(worlds, evaluators=names).set_index(["study", "evaluator"])
    asked = found.loc[[(study, name) for study in ("own", "reviews") for name in names]]
    without = asked[asked["estimate"].isna()]
    # Perplexity of no log-probabilities, and of those of several models.
    none = [("own", name) for name in names] + [("reviews", "perplexity")]
    assert without.index.tolist() == none and without["status"].ne("ok").all()
    # What is missing has no number of another evaluator's.
    numbers = without.select_dtypes("number").drop(columns="confidence")
    assert (numbers.isna() | numbers.eq(0)).all(axis=None) and (without["confidence"] == 0.95).all()
    assert {"close", "coarse", "blind"} <= set(found.loc["own"].index)


def test_references_are_found(worlds):
    study = worlds["reviews"]
    human = study.outputs[study.outputs["is_human"]]
    apart = references_of(study)  # no item of this world has both
    assert set(apart["reference_id"]) <= set(human["output_id"])
    same = study.outputs.assign(item_id=study.outputs.groupby("system").cumcount().astype(str))
    shared = references_of(study.replace(outputs=same, logprobs=None))
    assert shared["reference_id"].tolist() == human["output_id"].tolist()
    assert references_of(study.only(is_human=False)) is None
    written = pd.DataFrame(
        {"item_id": study.outputs["item_id"][:1], "reference_id": "r", "text": "so"}
    )
    assert references_of(study.replace(references=written))["text"].tolist() == ["so"]


def test_the_difference_from_length_is_that_of_the_pair(worlds):
    """As `compare_evaluators` has it for scores of the same outputs, made by hand."""
    study, names, draws = worlds["reviews"], ["chrf", "rouge_l"], {"n_resamples": 60, "seed": 3}
    found = compare_with_length({"a": study}, evaluators=names, **draws)
    scored = nb.score(study, names, references=references_of(study))
    n_words = study.outputs["text"].str.split().str.len().astype(float)
    own = study.outputs[["output_id"]].assign(evaluator="words", score=n_words, signature="")
    scored = scored.replace(scores=pd.concat([scored.scores, own]))
    asked = {"granularity": "output", "statistic": "spearman"} | draws
    pairs = [(name, "words") for name in names]
    alone = nb.compare_evaluators(scored, evaluators=pairs, **asked)
    columns = ["evaluator_a", "estimate", "n", "n_missing"]
    pd.testing.assert_frame_equal(found[columns], alone[columns])
    assert found["evaluator_b"].eq("length@sentinel").all()
    # Correlations of estimates are from resamples, of which there are few.
    width = (alone["ci_high"] - alone["ci_low"]).to_numpy()
    for end in ("ci_low", "ci_high"):
        assert (np.abs(found[end] - alone[end]) < 0.1 * width).all()


def test_evaluators_are_ranked_over_the_studies_that_they_share():
    """The worse evaluator has higher correlations in the studies that only it has."""
    shared = np.linspace(0.1, 0.4, 6)
    parts = [
        correlations(shared + 0.1, np.full(6, 0.05), evaluator="better"),
        correlations(np.append(shared, np.full(4, 1.2)), np.full(10, 0.05), evaluator="worse"),
        correlations(np.full(7, 1.5), np.full(7, 0.05), evaluator="length@sentinel"),
        correlations(np.full(3, 1.5), np.full(3, 0.05), evaluator="rare"),
    ]
    pooled = nb.pool_correlations(pd.concat(parts))
    plain = pooled.summary.set_index("evaluator")
    assert plain.loc["worse", "estimate"] > plain.loc["better", "estimate"]
    found = pooled.rank_evaluators()
    assert found["evaluator"].tolist() == ["better", "worse", "rare"]
    assert found["n_studies"].tolist() == [6, 6, 3] and found["rank"].tolist()[:2] == [1, 2]
    assert found["status"].tolist() == ["ok", "ok", "few_studies"]
    alone = nb.pool_correlations(pd.concat([parts[0], parts[1][:6]])).summary
    names = ["estimate", "ci_low", "ci_high"]
    np.testing.assert_allclose(found.loc[:1, names], alone[names])
    # With four studies in common, that with the fewest is left out, and one alone has no rank.
    apart = pooled.studies.replace({"study": {"s0": "t0", "s1": "t1"}})
    mixed = pd.concat(
        [pooled.studies.query("evaluator != 'better'"), apart.query("evaluator == 'better'")]
    )
    few = dataclasses.replace(pooled, studies=mixed).rank_evaluators()
    assert few["rank"].isna().all() and few["estimate"].isna().all()
    assert few["status"].tolist() == ["few_common", "few_studies", "few_common"]
    with pytest.raises(ValueError, match="several means"):
        dataclasses.replace(pooled, studies=pd.concat([mixed, mixed])).rank_evaluators()
