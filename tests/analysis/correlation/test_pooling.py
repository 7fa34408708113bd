"""One effect per study, and a random-effects mean, against metafor's and statsmodels' values."""

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
BCG = np.array(
    [
        [4, 119, 11, 128],
        [6, 300, 29, 274],
        [3, 228, 11, 209],
        [62, 13536, 248, 12619],
        [33, 5036, 47, 5761],
        [180, 1361, 372, 1079],
        [8, 2537, 10, 619],
        [505, 87886, 499, 87892],
        [29, 7470, 45, 7232],
        [17, 1699, 65, 1600],
        [186, 50448, 141, 27197],
        [5, 2493, 3, 2338],
        [27, 16886, 29, 17825],
    ],
    dtype=float,
)


def log_relative_risks():
    a, b, c, d = BCG.T
    effect = np.log(a / (a + b)) - np.log(c / (c + d))
    return effect, 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def correlations(z, se, **columns):
    """A table of correlations whose intervals are z's, at 95%."""
    reach = norm.isf(0.025) * np.asarray(se)
    table = pd.DataFrame({"study": [f"s{n}" for n in range(len(z))], "estimate": np.tanh(z)})
    table = table.assign(ci_low=np.tanh(z - reach), ci_high=np.tanh(z + reach), confidence=0.95)
    table = table.assign(evaluator="chrf", dimension="quality", statistic="spearman")
    return table.assign(granularity="output", reason="").assign(**columns)


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
    found = random_effects(effect, variance, 0.95, modified=False)
    peer = combine_effects(effect, variance, method_re="iterated", atol=1e-10)
    assert found.tau2 == pytest.approx(peer.tau2, abs=1e-9)
    assert found.mean == pytest.approx(peer.mean_effect_re, abs=1e-9)
    assert found.q == pytest.approx(peer.q, abs=1e-9)
    plain = np.sqrt(peer.scale_hksj_re * peer.var_eff_w_re)
    assert found.se == pytest.approx(plain, abs=1e-9)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 0.3))
def test_the_modified_interval_is_never_the_narrower(seed, size):
    effect = np.random.default_rng(seed).normal(0.4, size, 6)
    variance = np.full(6, 0.01)
    plain, modified = (random_effects(effect, variance, 0.95, one) for one in (False, True))
    assert modified.se >= plain.se
    assert modified.se >= np.sqrt(1 / (1 / (variance + modified.tau2)).sum()) - 1e-12


def test_dimensions_of_a_study_are_one_effect_no_surer_than_one_of_them():
    z, se = np.array([0.3, 0.4, 0.2, 0.5, 0.35]), np.array([0.1, 0.05, 0.2, 0.1, 0.1])
    alone = nb.pool_correlations(correlations(z, se))
    twice = pd.concat([correlations(z, se), correlations(z, se, dimension="another")])
    both = nb.pool_correlations(twice)
    pd.testing.assert_frame_equal(both.summary, alone.summary, rtol=1e-12)
    assert both.studies["n_dimensions"].eq(2).all()
    mixed = pd.concat([correlations(z, se), correlations(z + 0.2, 3 * se, dimension="another")])
    found = nb.pool_correlations(mixed).studies
    assert found["z"].to_numpy() == pytest.approx(z + 0.1)
    assert found["se"].to_numpy() == pytest.approx(2 * se)


def test_an_interval_is_read_at_its_own_confidence():
    z, se = np.array([0.3, 0.4, 0.2, 0.5, 0.35]), np.full(5, 0.1)
    narrow = correlations(z, se)
    reach = norm.isf(0.05) * se
    narrow = narrow.assign(ci_low=np.tanh(z - reach), ci_high=np.tanh(z + reach), confidence=0.9)
    found = nb.pool_correlations(narrow, confidence=0.8).studies
    assert found["se"].to_numpy() == pytest.approx(se)
    expected = np.tanh(z - norm.isf(0.1) * se)
    assert found["ci_low"].to_numpy() == pytest.approx(expected)


@pytest.mark.parametrize(("k", "mean", "prediction"), [(4, 0, 0), (5, 1, 0), (7, 1, 0), (8, 1, 1)])
def test_few_studies_say_so(k, mean, prediction):
    z = np.linspace(0.1, 0.6, k)
    row = nb.pool_correlations(correlations(z, np.full(k, 0.05))).summary.iloc[0]
    assert np.isfinite([row["estimate"], row["ci_low"], row["p"]]).all() == bool(mean)
    assert np.isfinite([row["prediction_low"], row["prediction_high"]]).all() == bool(prediction)
    assert (row["reason"] == "") == bool(mean)
    assert (row["prediction_reason"] == "") == bool(prediction)
    assert np.isfinite([row["tau"], row["i2"], row["q"], row["q_p"]]).all()


def test_what_has_no_z_is_left_out_and_says_why():
    z = np.linspace(0.1, 0.6, 6)
    table = correlations(z, np.full(6, 0.05))
    table.loc[0, ["estimate", "reason"]] = [np.nan, "no texts"]
    table.loc[1, "estimate"] = 1.0
    table.loc[2, "ci_high"] = 1.0
    table.loc[3, ["ci_low", "reason"]] = [np.nan, "three systems"]
    table.loc[4, "statistic"] = "pairwise_accuracy"
    found = nb.pool_correlations(table)
    reasons = found.studies.set_index("study")["reason"]
    assert reasons.to_dict() == {
        "s0": "no texts",
        "s1": "a correlation of -1 or 1 has no finite z",
        "s2": "its interval reaches -1 or 1, which have no finite z",
        "s3": "no interval: three systems",
        "s4": "pairwise_accuracy is no correlation from -1 to 1",
        "s5": "",
    }
    assert found.studies["z"].notna().tolist() == [False] * 5 + [True]
    spearman = found.summary.set_index("statistic").loc["spearman"]
    assert [spearman["n_studies"], spearman["n_left_out"]] == [1, 4]
    assert spearman["reason"] == "1 study: a mean needs 5"


def test_tasks_are_pooled_apart():
    z = np.linspace(0.1, 0.6, 10)
    table = correlations(z, np.full(10, 0.05), task=["stories"] * 5 + ["dialogue"] * 5)
    apart = nb.pool_correlations(table, by="task").summary.set_index("task")
    for task, part in table.groupby("task"):
        alone = nb.pool_correlations(part).summary.iloc[0]
        assert apart.loc[task, "estimate"] == alone["estimate"]
    assert nb.pool_correlations(table).studies["task"].tolist() == table["task"].tolist()


def test_two_rows_of_one_dimension_are_refused():
    table = correlations(np.array([0.3, 0.4]), np.full(2, 0.1))
    with pytest.raises(ValueError, match="two rows of study 's0', evaluator 'chrf'"):
        nb.pool_correlations(pd.concat([table, table]))
    for by in ("study", "evaluator"):
        with pytest.raises(ValueError, match=f"'{by}' is no column of groups"):
            nb.pool_correlations(table, by=by)


def test_differences_are_pooled_as_they_are():
    """Beyond 1 and at 0 too; the mean is statsmodels', with the modified Hartung-Knapp interval."""
    difference, se = np.array([1.2, 0.0, -0.3, 0.4, 0.5]), np.array([0.1, 0.05, 0.2, 0.1, 0.1])
    ends = {
        "ci_low": difference - norm.isf(0.025) * se,
        "ci_high": difference + norm.isf(0.025) * se,
    }
    table = correlations(np.zeros(5), se).drop(columns=["evaluator", "estimate"]).assign(**ends)
    table = table.assign(evaluator_a="chrf", evaluator_b="length@sentinel", difference=difference)
    found = nb.pool_correlations(table)
    assert found.studies["estimate"].to_numpy() == pytest.approx(difference)
    assert found.studies["z"].to_numpy() == pytest.approx(difference)
    assert found.studies["se"].to_numpy() == pytest.approx(se)
    row = found.summary.iloc[0]
    assert [row["evaluator_a"], row["evaluator_b"]] == ["chrf", "length@sentinel"]
    peer = combine_effects(difference, se**2, method_re="iterated", atol=1e-10)
    assert row["estimate"] == pytest.approx(peer.mean_effect_re, abs=1e-9)
    reach = student.isf(0.025, 4) * np.sqrt(max(1, peer.scale_hksj_re) * peer.var_eff_w_re)
    assert row["ci_high"] == pytest.approx(peer.mean_effect_re + reach, abs=1e-9)
    with pytest.raises(ValueError, match="evaluator 'chrf' and 'length@sentinel', dimension"):
        nb.pool_correlations(pd.concat([table, table]))
    few = nb.pool_correlations(table[:4]).summary.iloc[0]
    assert np.isnan(few["estimate"]) and few["reason"] == "4 studies: a mean needs 5"


@pytest.mark.parametrize(("k", "share"), [(5, 0.0), (8, 0.3), (10, 0.8)])
def test_intervals_hold_the_truth(k, share):
    """A small version of docs/validation.md: unequal sizes, 400 worlds."""
    rng = np.random.default_rng(17)
    variance = 1 / (np.geomspace(40, 1200, k) - 3)
    tau = np.sqrt(share / (1 - share) / np.mean(1 / variance))
    held, further = [], []
    for _ in range(400):
        true = rng.normal(0.4, tau, k)
        z = rng.normal(true, np.sqrt(variance))
        found = random_effects(z, variance, 0.95)
        reach = student.isf(0.025, k - 1) * found.se
        low, high = found.mean - reach, found.mean + reach
        held.append(low <= 0.4 <= high)
        if k >= 8:
            low, high = interval_of_prediction(z, variance, 0.95)
            assert low < found.mean < high
            further.append(low <= rng.normal(0.4, tau) <= high)
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)
    assert np.mean(held) > least
    assert k < 8 or np.mean(further) > least


def test_a_prediction_is_that_of_student_where_studies_are_exact():
    # With tiny known errors tau^2 has the chi-square distribution of a sample's variance.
    z = np.random.default_rng(2).normal(size=12)
    ends = interval_of_prediction(z, np.full(12, 1e-9), 0.95)
    reach = student.isf(0.025, 11) * z.std(ddof=1) * np.sqrt(1 + 1 / 12)
    assert ends == pytest.approx([z.mean() - reach, z.mean() + reach], rel=0.03)


# Every evaluator on every study ----------------------------------------------------------------


@pytest.fixture(scope="module")
def worlds():
    systems = ["leaky_t1.0", "leaky_t0.7", "leaky_t0.5"]
    reviews = nb.simulate("reviews", systems=systems, n_outputs=30, n_truth=0, seed=1)
    return {"own": nb.simulate("own", n_items=20, seed=1), "reviews": reviews}


def test_every_study_has_a_row_of_every_evaluator_that_was_asked_for(worlds):
    found = correlate_studies(worlds, evaluators=["rouge_l", "chrf", "perplexity"])
    asked = found[found["evaluator"].isin(["rouge_l", "chrf", "perplexity"])]
    rows = asked.groupby("study")["evaluator"].agg(set)
    assert rows["own"] == rows["reviews"] == {"rouge_l", "chrf", "perplexity"}
    without = asked[asked["estimate"].isna()]
    found_without = set(without[["study", "evaluator"]].itertuples(index=False, name=None))
    both = {("own", "perplexity"), ("reviews", "perplexity")}  # of none, and of several models
    assert found_without == {("own", "rouge_l"), ("own", "chrf"), *both}
    assert without["reason"].ne("").all()
    # What is missing has no number of another evaluator's.
    numbers = without.select_dtypes("number").drop(columns="confidence")
    assert (numbers.isna() | numbers.eq(0)).all(axis=None) and (without["confidence"] == 0.95).all()
    assert {"close", "coarse", "blind"} <= set(found.loc[found["study"] == "own", "evaluator"])


def test_it_is_what_scoring_and_correlating_each_gives(worlds):
    study = worlds["reviews"]
    found = correlate_studies({"a": study}, evaluators=["rouge_l"])
    scored = nb.score(study, ["rouge_l"], references=references_of(study))
    alone = nb.correlate(
        scored, evaluators=["rouge_l"], granularity="output", statistics=["spearman"]
    )
    columns = ["estimate", "ci_low", "ci_high", "n"]
    own = found[found["evaluator"] == "rouge_l"]
    pd.testing.assert_frame_equal(
        own[columns].reset_index(drop=True), alone[columns].reset_index(drop=True)
    )


def test_released_scores_go_by_the_name_they_are_called(worlds):
    found = correlate_studies(
        {"own": worlds["own"]}, evaluators=["rouge_l"], called={"close": "chrf"}
    )
    assert "close" not in set(found["evaluator"]) and "chrf" in set(found["evaluator"])
    with pytest.raises(ValueError, match="two evaluators of own the name 'coarse'"):
        correlate_studies({"own": worlds["own"]}, called={"close": "coarse"})


def test_a_length_that_was_released_stands_for_texts_that_were_not(worlds):
    study = worlds["own"]
    bare = study.replace(outputs=study.outputs.assign(text=""))
    found = correlate_studies({"own": bare}, called={"close": "length@sentinel"})
    lengths = found[found["evaluator"] == "length@sentinel"]
    assert len(lengths) == 1 and lengths["estimate"].notna().all()
    # Beside texts, too, what was released comes first.
    reviews = worlds["reviews"]
    ids = reviews.outputs["output_id"]
    scores = pd.DataFrame({"output_id": ids, "evaluator": "text_length", "score": range(len(ids))})
    found = correlate_studies(
        {"reviews": reviews.replace(scores=scores)},
        evaluators=["rouge_l"],
        called={"text_length": "length@sentinel"},
    )
    plain = nb.correlate(
        reviews.replace(scores=scores), granularity="output", statistics=["spearman"]
    )
    lengths = found[found["evaluator"] == "length@sentinel"]
    assert lengths["estimate"].tolist() == plain["estimate"].tolist()


def test_references_are_found(worlds):
    study = worlds["reviews"]
    human = study.outputs[study.outputs["is_human"]]
    apart = references_of(study)  # no item of this world has both
    assert set(apart["reference_id"]) <= set(human["output_id"])
    same = study.outputs.assign(item_id=study.outputs.groupby("system").cumcount().astype(str))
    shared = references_of(study.replace(outputs=same, logprobs=None))
    assert shared["reference_id"].tolist() == human["output_id"].tolist()
    assert references_of(study.only(is_human=False)) is None


def test_the_difference_from_length_is_that_of_the_pair(worlds):
    """As `compare_evaluators` has it for scores of the same outputs, made by hand."""
    study, asked = worlds["reviews"], {"evaluators": ["rouge_l", "chrf"], "n_resamples": 60}
    found = compare_with_length({"a": study}, **asked, seed=3)
    scored = nb.score(study, ["rouge_l", "chrf"], references=references_of(study))
    n_words = [float(len(text.split())) for text in study.outputs["text"]]
    own = study.outputs[["output_id"]].assign(evaluator="words", score=n_words, signature="")
    scored = scored.replace(scores=pd.concat([scored.scores, own]))
    pairs = [("chrf", "words"), ("rouge_l", "words")]
    alone = nb.compare_evaluators(
        scored,
        evaluators=pairs,
        granularity="output",
        statistic="spearman",
        n_resamples=60,
        seed=3,
    )
    columns = ["evaluator_a", "difference", "n", "n_missing"]
    pd.testing.assert_frame_equal(found[columns], alone[columns])
    assert found["evaluator_b"].eq("length@sentinel").all()
    # Correlations of estimates are from resamples, of which there are few.
    width = (alone["ci_high"] - alone["ci_low"]).to_numpy()
    for end in ("ci_low", "ci_high"):
        assert (np.abs(found[end] - alone[end]) < 0.1 * width).all()


def test_a_pair_is_over_the_outputs_that_both_have_scored(worlds):
    study = worlds["own"]
    scores = study.scores.assign(
        evaluator=study.scores["evaluator"].replace({"blind": "length@sentinel"})
    )
    close = scores.index[scores["evaluator"] == "close"][:30]
    found = compare_with_length(
        {"a": study.replace(scores=scores.drop(close))}, evaluators=["rouge_l"], n_resamples=20
    ).set_index("evaluator_a")
    assert found.loc[["close", "coarse"], "n_missing"].tolist() == [30, 0]
    assert found.loc["rouge_l", "reason"] == "no texts"
    without = compare_with_length({"a": study}, evaluators=["rouge_l"])
    assert without["difference"].isna().all() and len(without) == 4
    assert without["reason"].value_counts().to_dict() == {"no texts to take the length of": 4}


def test_one_system_has_no_mean_of_the_others(worlds):
    study = worlds["own"]
    found = correlate_studies(
        {"one": study.only(systems=study.systems[:1])}, evaluators=["rouge_l"]
    )
    row = found[found["evaluator"] == "system_mean@sentinel"].iloc[0]
    assert np.isnan(row["estimate"]) and row["reason"].startswith("one system")
