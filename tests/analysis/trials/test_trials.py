"""Trials of the comparator: what variants learn from, what they score, how trials are summed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

import nlgbench as nb
from nlgbench.analysis.trials import (
    compare_outputs,
    correlate_outputs,
    correlate_systems,
    correlate_trials,
    run_trials,
    running,
    split_studies,
    system_quality,
)
from nlgbench.analysis.trials.running import (
    BASELINES,
    KINDS,
    METHODS,
    VARIANTS,
    possible_variants,
    trial,
)
from nlgbench.evaluators.comparator import split, supervise, train_comparator
from nlgbench.generators.checkpoints import train_checkpoints
from nlgbench.study import with_tables
from nlgbench.worlds.quality import true_quality

SYSTEMS = ["grammar_t0.7", "corrupted_0.3", "bigram_t1.0"]


def world(**options):
    study = nb.simulate("reviews", n_annotators=3, n_truth=0, **options)
    return study.replace(outputs=study.outputs.assign(context=""))


STUDY = world(systems=SYSTEMS, n_outputs=60, seed=3)
OUTPUTS = STUDY.outputs
TRAIN, HELD_OUT = split(STUDY, seed=0)
TEST = HELD_OUT.only(is_human=False)


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    monkeypatch.setattr(running, "N_JOBS", 1)
    monkeypatch.setattr(running, "N_PLAYS", 500)
    monkeypatch.setattr(running, "N_REFERENCES", 10)


SCORING = {"backend": "tfidf", "n_games": 20}


@pytest.fixture(scope="module")
def workshop():
    human = TRAIN.outputs[TRAIN.outputs["is_human"]]
    options = {"n": 40, "epochs": 4, "n_checkpoints": 4, "units": 16}
    return train_checkpoints(human, TEST.outputs, model="lstm", **options, seed=0)


@pytest.fixture(scope="module")
def pairs(workshop):
    kinds = ("strong", "weak", "human")
    return supervise(TRAIN, kinds=kinds, checkpoints=workshop.written, held_out=TEST, n=300, seed=0)


def test_supervision_is_of_three_kinds_and_holds_no_held_out_text(pairs, workshop):
    kinds = pairs.groupby("supervision")["outcome"].unique().map(sorted).to_dict()
    assert kinds == {"strong": ["better", "tie"], "weak": ["better"], "human": ["better", "tie"]}
    texts = pd.concat([pairs["text_a"], pairs["text_b"]])
    assert not texts.isin(TEST.outputs["text"]).any()
    judged = pairs.loc[pairs["supervision"] == "human", "text_a"]
    assert not judged.isin(OUTPUTS.loc[OUTPUTS["is_human"], "text"]).any()
    copied = pairs["text_a"].iloc[0]
    planted = TEST.replace(outputs=TEST.outputs.assign(text=f" {copied.upper()}"))
    again = supervise(TRAIN, held_out=planted, seed=0)
    assert not again["text_a"].eq(copied).any()


def test_references_stand_in_for_people():
    human = TRAIN.outputs[TRAIN.outputs["is_human"]]
    references = human[["item_id", "text"]].assign(reference_id="r1")
    machine = with_tables(TRAIN.only(is_human=False), references=references)
    found = supervise(machine, seed=0)
    strong = found[found["supervision"] == "strong"]
    assert strong.loc[strong["outcome"] == "better", "text_a"].isin(references["text"]).all()


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "w/o BERT"])
def test_every_variant_runs_and_is_named_after_what_it_learned_from(pairs, variant):
    found = trial(pairs, TEST, variant, seed=0, **SCORING)
    words = ", ".join(VARIANTS[variant].get("supervision", KINDS))
    assert running._supervision(pairs)[variant] == words
    if variant != "w/o comparison":
        names = set(METHODS) if variant == "full model" else {variant}
        assert set(found.systems["evaluator"]) == names
        assert found.systems.groupby("evaluator").size().eq(len(SYSTEMS)).all()
    assert found.outputs.empty == (variant not in ("full model", "w/o comparison"))
    assert found.agreement.empty == (variant != "full model")


def test_people_teach_the_true_order(pairs):
    human = pairs[pairs["supervision"] == "human"]
    found = trial(human, TEST, "full model", seed=0, **SCORING)
    truth = TEST.outputs.groupby("system")["text"].agg(lambda texts: true_quality(texts).mean())
    for _, rows in found.systems.groupby("evaluator"):
        score = rows.set_index("system")["score"]
        assert score.idxmin() == truth.idxmin() == "bigram_t1.0"


def test_averages_are_averages_of_the_outputs(pairs):
    human = pairs[pairs["supervision"] == "human"]
    found = trial(human, TEST, "full model", seed=0, **SCORING)
    points = found.outputs[found.outputs["evaluator"] == running.COMPARED[1]]
    of = TEST.outputs.set_index("output_id")["system"]
    mean = points.set_index("output_id")["score"].groupby(of).mean()
    rows = found.systems[found.systems["evaluator"] == METHODS[2]].set_index("system")["score"]
    pd.testing.assert_series_equal(rows.sort_index(), mean, check_names=False)
    assert points["score"].between(0, 3).all()
    alone = trial(human, TEST, "human alone", seed=0, **SCORING)
    assert alone.outputs.empty and set(alone.systems["evaluator"]) == {"human alone"}
    assert alone.systems["score"].tolist() == found.systems["score"].tolist()[: len(SYSTEMS)]


def test_a_leak_is_refused(pairs):
    with pytest.raises(ValueError, match="was trained on the text"):
        trial(pairs, TRAIN.only(is_human=False), "full model", seed=0)


def test_perplexity_is_of_known_words(workshop):
    assert workshop.logprobs["output_id"].tolist() == TEST.outputs["output_id"].tolist()
    words = TEST.outputs["text"].str.split().str.len().to_numpy()
    assert (workshop.logprobs["n_tokens"] <= words + 1).all()
    assert np.isfinite(workshop.logprobs["logprob"]).all()


NUMBERS = st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=6, max_size=6)


@settings(max_examples=25)
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
        (
            lambda scores: scores.drop(columns="trial"),
            "no column 'trial': they need evaluator, trial",
        ),
        (lambda scores: pd.concat([scores, scores]), "stands twice in trial 0"),
        (lambda scores: scores.assign(system="other"), "no quality of"),
    ],
)
def test_bad_scores_are_named(change, message):
    scores = pd.DataFrame({"evaluator": "e", "trial": 0, "system": ["a"], "score": 1.0})
    with pytest.raises(ValueError, match=message):
        correlate_trials(change(scores), pd.Series([1.0], index=["a"]))


MANY = [
    "grammar_t0.7",
    "grammar_t1.0",
    "leaky_t0.7",
    "corrupted_0.3",
    "bigram_t1.0",
    "trigram_t1.0",
]
SIZE = {"n_pairs": 300, "n_written": 5, "units": 4}


@pytest.fixture(scope="module")
def trials():
    study = world(systems=MANY, n_outputs=60, seed=5)
    variants = ["full model", "w/o comparison", "human alone"]
    splits = split_studies({"own": study}, n_splits=2, seed=7, **SIZE)
    return run_trials(splits, variants={"own": variants}, n_games=20)


def test_trials_score_outputs_and_systems_on_every_split(trials):
    assert set(trials.tests) == {("own", 0), ("own", 1)}
    for test in trials.tests.values():
        assert set(BASELINES) <= set(test.scores["evaluator"])
        assert test.scores.groupby("evaluator").size().eq(len(test.outputs)).all()
        # What we made ourselves passes the checks that a user's tables go through.
        test.replace(scores=test.scores)
    rows = trials.systems.groupby(["evaluator", "trial"]).size()
    assert rows.eq(len(MANY)).all()
    assert set(trials.systems["evaluator"]) == {*METHODS, *BASELINES, "human alone"}
    assert trials.supervision["human alone"] == "human"
    assert set(trials.agreement["split"]) == {0, 1}


def test_a_trial_is_what_its_parts_give(trials):
    study = trials.studies["own"]
    train, test = split(study, seed=7)
    (one,) = split_studies({"own": study}, n_splits=1, seed=7, **SIZE)
    test = test.only(is_human=False)
    pd.testing.assert_frame_equal(one.machine.outputs, test.outputs)
    pairs = supervise(train, kinds=["strong"], held_out=test, n=300, seed=7)
    strong = one.pairs[one.pairs["supervision"] == "strong"]
    pd.testing.assert_frame_equal(strong.reset_index(drop=True), pairs)
    comparator = train_comparator(one.pairs, backend="tfidf", seed=7)
    compared = nb.compare_texts(test, comparator, n_per_pair=20, seed=7)
    first = trials.comparisons[trials.comparisons["split"] == 0]
    pd.testing.assert_frame_equal(
        compared.comparisons, first.drop(columns=["data", "split"]).reset_index(drop=True)
    )


def test_correlations_are_those_of_correlate(trials):
    table = correlate_outputs(trials, n_resamples=100)
    alone = nb.correlate(trials.tests["own", 0], granularity="output", statistics=["spearman"])
    expected = alone.set_index("evaluator")["estimate"]
    found = table[table["statistic"] == "spearman"].set_index("evaluator")
    pd.testing.assert_series_equal(found["estimate"], expected)
    assert (found["min"] <= found["mean"]).all() and (found["mean"] <= found["max"]).all()
    beside = compare_outputs(trials, n_resamples=100).set_index("evaluator_b")
    gap = expected["comparator, with skill rating"] - expected
    for name in BASELINES:
        assert beside.loc[name, "difference"] == pytest.approx(gap[name])
        assert beside.loc[name, "ci_low"] < gap[name] < beside.loc[name, "ci_high"]
    systems, between = correlate_systems(trials)
    rows = trials.systems.drop(columns="data")
    each, gaps = correlate_trials(rows, system_quality(trials.studies["own"]))
    chosen = systems[systems["statistic"] == "spearman"].drop(columns=["data", "supervision"])
    pd.testing.assert_frame_equal(chosen.reset_index(drop=True), each)
    assert between["difference"].iloc[: len(gaps)].tolist() == gaps["difference"].tolist()


def test_perplexity_is_taken_with_a_minus_over_outputs_and_systems_alike(trials):
    test = trials.tests["own", 0]
    score = test.scores[test.scores["evaluator"] == "perplexity"]["score"]
    assert (score.dropna() < -1).all()


def test_a_system_is_rated_by_judgments_of_the_others():
    study = world(systems=MANY, n_outputs=60, seed=5)
    options = {"n_splits": 1, "leave_out": True, "n_pairs": 300}

    def left_out(study):
        splits = split_studies({"own": study}, **options)
        assert all(one.left_out not in set(one.train.systems) for one in splits)
        return run_trials(splits, n_games=20).systems

    found = left_out(study)
    assert found["system"].tolist() == sorted(MANY) and found["evaluator"].eq("human alone").all()
    quality = study.judgments.assign(
        value=study.judgments["value"].where(
            ~study.judgments["output_id"].str.startswith("bigram"), 5
        )
    )
    again = left_out(study.replace(judgments=quality))
    # Its own judgments do not matter to its own rating.
    own = found["system"] == "bigram_t1.0"
    assert again.loc[own, "score"].item() == found.loc[own, "score"].item()
    assert (again.loc[~own, "score"] != found.loc[~own, "score"]).any()


def test_variants_that_cannot_be_are_not_tried():
    assert "w/o BERT" not in possible_variants("tfidf")
    assert possible_variants("frozen") == list(VARIANTS)
    with pytest.raises(ValueError, match="variant: 'half model' is unknown"):
        run_trials(
            split_studies({"own": STUDY}, n_splits=1, n_written=5, units=4),
            variants={"own": ["half model"]},
        )
