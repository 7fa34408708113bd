"""Trials of the comparator: what variants learn from, what they score, how trials are summed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from nlgbench.analysis.trial_correlations import correlate_trials
from nlgbench.analysis.trials import ALONE, METHODS, VARIANTS, score_by, supervise, trial
from nlgbench.evaluators.comparator import train_comparator
from nlgbench.evaluators.comparator.splits import split_outputs
from nlgbench.generators.workshop import train_workshop
from nlgbench.worlds.quality import true_quality
from nlgbench.worlds.reviews import review_world

SYSTEMS = ["grammar_t0.7", "corrupted_0.3", "bigram_t1.0"]
STUDY = review_world(systems=SYSTEMS, n_outputs=60, n_annotators=3, n_truth=0, seed=3).study
OUTPUTS = STUDY.outputs.assign(context="")
TRAIN, HELD_OUT = split_outputs(OUTPUTS, seed=0)
TEST = HELD_OUT[~HELD_OUT["is_human"]]
SCORING = {"n_per_pair": 20, "n_plays": 500, "n_references": 10}


@pytest.fixture(scope="module")
def workshop():
    human = TRAIN[TRAIN["is_human"]]
    return train_workshop(
        human, TEST, model="lstm", n=40, epochs=4, n_checkpoints=4, units=16, min_count=1, seed=0
    )


@pytest.fixture(scope="module")
def pairs(workshop):
    return supervise(
        TRAIN,
        STUDY.judgments,
        workshop.written,
        workshop.checkpoints,
        held_out=TEST,
        dimension="typicality",
        threshold=0.5,
        n=300,
        seed=0,
    )


def test_supervision_is_of_three_kinds_and_holds_no_held_out_text(pairs, workshop):
    kinds = pairs.groupby("supervision")["outcome"].unique().map(sorted).to_dict()
    assert kinds == {"strong": ["better", "tie"], "weak": ["better"], "human": ["better", "tie"]}
    texts = pd.concat([pairs["text_a"], pairs["text_b"]])
    assert not texts.isin(TEST["text"]).any()
    judged = pairs.loc[pairs["supervision"] == "human", "text_a"]
    assert not judged.isin(OUTPUTS.loc[OUTPUTS["is_human"], "text"]).any()
    copied = pairs["text_a"].iloc[0]
    planted = TEST.assign(text=f" {copied.upper()}")
    again = supervise(
        TRAIN, STUDY.judgments, held_out=planted, dimension="typicality", threshold=0.5, seed=0
    )
    assert not again["text_a"].eq(copied).any()


def test_references_stand_in_for_people():
    machine = TRAIN[~TRAIN["is_human"]]
    references = TRAIN.loc[TRAIN["is_human"], ["dataset", "item_id", "text"]]
    references = references.assign(reference_id="r1")
    found = supervise(
        machine,
        STUDY.judgments,
        references=references,
        dimension="typicality",
        threshold=0.5,
        seed=0,
    )
    strong = found[found["supervision"] == "strong"]
    assert strong.loc[strong["outcome"] == "better", "text_a"].isin(references["text"]).all()


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "w/o BERT"])
def test_every_variant_runs_and_is_named_after_what_it_learned_from(pairs, variant):
    found = trial(pairs, TEST, variant=variant, backend="tfidf", seed=0, **SCORING)
    kinds = VARIANTS[variant].get("supervision", ("strong", "weak", "human"))
    assert found.comparator.split("@")[1] == "+".join(kinds)
    methods = {ALONE} if variant == "w/o comparison" else set(METHODS)
    assert set(found.systems["method"]) == methods
    assert found.systems.groupby("method").size().eq(len(SYSTEMS)).all()
    assert found.outputs.groupby("method").size().eq(len(TEST)).all()
    assert found.agreement.empty == (variant == "w/o comparison")


def test_people_teach_the_true_order(pairs):
    found = trial(pairs, TEST, variant="human alone", backend="tfidf", seed=0, **SCORING)
    truth = TEST.groupby("system")["text"].agg(lambda texts: true_quality(texts).mean())
    for _, rows in found.systems.groupby("method"):
        score = rows.set_index("system")["score"]
        assert score.idxmin() == truth.idxmin() == "bigram_t1.0"


def test_averages_are_averages_of_the_outputs(pairs):
    comparator = train_comparator(pairs[pairs["supervision"] == "human"], backend="tfidf", seed=0)
    found = score_by(comparator, TEST, seed=0, **SCORING)
    points = found.outputs[found.outputs["method"] == "with random sampled reference"]
    mean = (
        points.set_index("output_id")["score"].groupby(TEST.set_index("output_id")["system"]).mean()
    )
    rows = found.systems[found.systems["method"] == METHODS[2]].set_index("system")["score"]
    pd.testing.assert_series_equal(rows.sort_index(), mean, check_names=False)
    assert points["score"].between(0, 3).all()
    alone = score_by(comparator, TEST, single=False, seed=0, **SCORING)
    assert alone.outputs.empty and set(alone.systems["method"]) == {METHODS[0]}
    pd.testing.assert_frame_equal(alone.systems, found.systems[: len(SYSTEMS)])


def test_a_leak_is_refused(pairs):
    with pytest.raises(ValueError, match="was trained on the text"):
        trial(pairs, TRAIN[~TRAIN["is_human"]], backend="tfidf", seed=0)
    with pytest.raises(ValueError, match="half model"):
        trial(pairs, TEST, variant="half model", backend="tfidf", seed=0)
    with pytest.raises(ValueError, match="needs an untrained encoder"):
        trial(pairs, TEST, variant="w/o BERT", seed=0)


def test_perplexity_is_of_known_words(workshop):
    assert workshop.logprobs["output_id"].tolist() == TEST["output_id"].tolist()
    words = TEST["text"].str.split().str.len().to_numpy()
    assert (workshop.logprobs["n_tokens"] <= words + 1).all()
    assert np.isfinite(workshop.logprobs["logprob"]).all()


NUMBERS = st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=6, max_size=6)


@settings(deadline=None, max_examples=25)
@given(first=NUMBERS, second=NUMBERS, human=NUMBERS)
def test_estimates_are_the_means_of_scipys(first, second, human):
    systems = list("abcdef")
    scores = pd.concat(
        pd.DataFrame({"evaluator": "e", "trial": n, "system": systems, "score": values})
        for n, values in enumerate((first, second))
    )
    quality = pd.Series(human, index=systems)
    for statistic, of in (("spearman", spearmanr), ("pearson", pearsonr)):
        each, _ = correlate_trials(scores, quality, statistic=statistic)
        defined = [v for v in (first, second) if len(set(v)) > 1 and len(set(human)) > 1]
        row = each.iloc[0]
        assert row["n_trials"] == len(defined) and row["n_undefined"] == 2 - len(defined)
        if defined:
            expected = np.mean([of(values, human)[0] for values in defined])
            assert row["estimate"] == pytest.approx(expected, abs=1e-6)
        else:
            assert np.isnan(row["estimate"]) and row["reason"]


def test_differences_are_paired_and_few_systems_have_no_interval():
    rng = np.random.default_rng(0)
    quality = pd.Series(np.arange(12.0), index=[f"s{n:02d}" for n in range(12)])
    rows = [
        {"evaluator": name, "trial": n, "system": system, "score": sign * value + noise}
        for n in range(4)
        for system, value in quality.items()
        for noise in [rng.normal(0, 2)]
        for name, sign in (("good", 1), ("twin", 1), ("bad", -1))
    ]
    scores = pd.DataFrame(rows)
    each, between = correlate_trials(scores, quality)
    assert (each["lowest"] <= each["estimate"]).all() and (
        each["estimate"] <= each["highest"]
    ).all()
    twins = between[(between["evaluator_a"] == "good") & (between["evaluator_b"] == "twin")].iloc[0]
    assert twins["difference"] == twins["ci_low"] == twins["ci_high"] == 0
    worse = between[between["evaluator_b"] == "bad"].iloc[0]
    assert worse["ci_low"] > 1
    four = scores[scores["system"] < "s04"]
    each, between = correlate_trials(four, quality)
    assert each["ci_low"].isna().all() and between["ci_high"].isna().all()
    assert each["reason"].str.startswith("4 systems").all()
    shuffled = scores.sample(frac=1, random_state=1)
    again, _ = correlate_trials(shuffled, quality)
    every, _ = correlate_trials(scores, quality)
    order = every["evaluator"].tolist()
    moved = again.set_index("evaluator").loc[order].reset_index()
    pd.testing.assert_frame_equal(moved, every)


def trials_of(values, quality):
    """Lay out scores of shape (trials, systems) as a table."""
    n_trials, n_systems = values.shape
    systems = [f"s{n:02d}" for n in range(n_systems)]
    rows = {"trial": np.repeat(np.arange(n_trials), n_systems), "system": systems * n_trials}
    return pd.DataFrame(rows).assign(evaluator="e", score=values.ravel()), pd.Series(
        quality, index=systems
    )


def test_the_interval_is_that_of_the_formula():
    rng = np.random.default_rng(4)
    quality = rng.normal(size=12)
    values = quality + rng.normal(size=(3, 12))
    each, _ = correlate_trials(*trials_of(values, quality), statistic="pearson")

    def mean_z(chosen):
        return np.arctanh(np.mean([pearsonr(v[chosen], quality[chosen])[0] for v in values]))

    z = mean_z(np.arange(12))
    without = np.array([mean_z(np.delete(np.arange(12), n)) for n in range(12)])
    of = np.array([pearsonr(v, quality)[0] for v in values])
    variance = 11 / 12 * ((without - without.mean()) ** 2).sum()
    variance += of.var(ddof=1) / 3 / (1 - of.mean() ** 2) ** 2
    half = 2.228139 * np.sqrt(variance)  # t of 10 degrees of freedom
    expected = np.tanh([z - half, z + half])
    np.testing.assert_allclose(each[["ci_low", "ci_high"]].iloc[0], expected, rtol=1e-6)
    assert each["reason"].eq("").all()


@pytest.mark.parametrize(
    ("n_systems", "n_trials", "noise", "reason"),
    [
        (12, 3, 0.0, "a correlation is 1 or -1"),
        (8, 3, 1.0, "8 systems, fewer than 10"),
        (12, 1, 1.0, "one trial"),
    ],
)
def test_intervals_from_little_are_marked(n_systems, n_trials, noise, reason):
    rng = np.random.default_rng(0)
    quality = rng.normal(size=n_systems)
    values = quality + noise * rng.normal(size=(n_trials, n_systems))
    each, _ = correlate_trials(*trials_of(values, quality))
    assert each["reason"].iloc[0].startswith(reason)
    assert each["ci_low"].isna().all() == (noise == 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scores: scores.drop(columns="trial"), "columns evaluator, trial"),
        (lambda scores: pd.concat([scores, scores]), "stands twice in trial 0"),
        (lambda scores: scores.assign(system="other"), "no quality of"),
    ],
)
def test_bad_scores_are_named(change, message):
    scores = pd.DataFrame({"evaluator": "e", "trial": 0, "system": ["a"], "score": 1.0})
    with pytest.raises(ValueError, match=message):
        correlate_trials(change(scores), pd.Series([1.0], index=["a"]))
