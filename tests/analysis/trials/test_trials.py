"""Trials train the variants that they name, and average as SciPy and `correlate` do."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

import nlgbench as nb
from nlgbench import correlate_trials, run_trials, system_quality
from nlgbench.analysis.trials import (
    compare_outputs,
    correlate_outputs,
    correlate_systems,
    label_curve,
    labels,
    running,
    split_studies,
)
from nlgbench.analysis.trials.running import (
    BASELINES,
    COMPARED,
    KINDS,
    METHODS,
    VARIANTS,
    possible_variants,
    trial,
)
from nlgbench.plots.budget import plot_label_curve
from nlgbench.worlds.quality import true_quality

SYSTEMS = ["grammar_t0.7", "corrupted_0.3", "bigram_t1.0"]
SIZE = {"n_pairs": 300, "n_written": 5, "units": 4}


@pytest.fixture(autouse=True, scope="module")
def one_process():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"N_JOBS": 1, "N_PLAYS": 500, "N_REFERENCES": 10}.items():
            patch.setattr(running, name, value)
        yield


@pytest.fixture(scope="module")
def study():
    made = nb.simulate("reviews", systems=SYSTEMS, n_outputs=60, n_annotators=3, n_truth=0, seed=3)
    return made.replace(outputs=made.outputs.assign(context=""))


@pytest.fixture(scope="module")
def splits(study):
    return split_studies({"own": study}, n_splits=2, seed=7, **SIZE)


def test_stories_without_human_ones_learn_from_related_texts_and_votes(study):
    cast = {"output_a": ["x", "x", "z"], "output_b": ["y", "y", "y"], "choice": ["b", "b", "tie"]}
    endings = pd.DataFrame({"output_id": [*"xyz"], "text": ["bad", "good", "so"], "system": "e"})
    endings = endings.assign(item_id="1", context="")
    votes = nb.Study(endings, preferences=pd.DataFrame(cast).assign(annotator_id=[*"abc"]))
    related = {"strong": study, "human": study.only(is_human=True), "votes": votes}
    machine = study.only(is_human=False).replace(related=related)
    (fold,) = split_studies({"own": machine}, n_splits=1, **SIZE)
    pairs = fold.pairs.set_index("supervision")
    voted = pairs.loc["human", ["text_a", "text_b", "outcome"]].to_numpy().tolist()
    assert voted == [["good", "bad", "better"], ["good", "so", "tie"]]
    assert pairs.loc["strong", "item_id"].nunique() < study.outputs["item_id"].nunique()
    tried = run_trials([fold], variants={"own": ["full model", "w/o comparison"]}, n_games=20)
    scores = tried.tests["own", 0].scores.set_index("evaluator")["score"]
    assert scores["BLEU"].gt(0).any() and set(tried.systems["system"]) == set(SYSTEMS)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "w/o BERT"])
def test_every_variant_is_named_after_what_it_learned_from(splits, variant):
    one = splits[0]
    found = trial(one.pairs, one.machine, variant, n_games=20, seed=0)
    kinds = VARIANTS[variant].get("supervision", KINDS)
    assert running._supervision(one.pairs)[variant] == ", ".join(kinds)
    names = {"full model": {*METHODS}, "w/o comparison": set()}.get(variant, {variant})
    assert names == (set() if found.systems.empty else {*found.systems["evaluator"]})
    assert len(found.systems) == len(names) * len(SYSTEMS)
    assert found.outputs.empty == (variant not in ("full model", "w/o comparison"))
    # What it did not learn from changes nothing.
    others = one.pairs["supervision"].isin(kinds)
    if not others.all():
        again = trial(one.pairs[others], one.machine, variant, n_games=20, seed=0)
        pd.testing.assert_frame_equal(again.systems, found.systems)
        pd.testing.assert_frame_equal(again.outputs, found.outputs)


def test_people_teach_the_true_order_and_averages_are_those_of_outputs(splits):
    one = splits[0]
    human = one.pairs[one.pairs["supervision"] == "human"]
    found = trial(human, one.machine, "full model", n_games=20, seed=0)
    outputs = one.machine.outputs
    truth = outputs.groupby("system")["text"].agg(lambda texts: true_quality(texts).mean())
    of = outputs.set_index("output_id")["system"]
    for method, rows in found.systems.groupby("evaluator"):
        score = rows.set_index("system")["score"].sort_index()
        assert score.idxmin() == truth.idxmin() == "bigram_t1.0"
        if method != METHODS[0]:
            way = COMPARED[METHODS.index(method) - 1]
            own = found.outputs[found.outputs["evaluator"] == way].set_index("output_id")["score"]
            pd.testing.assert_series_equal(score, own.groupby(of).mean(), check_names=False)
            assert own.between(0, 3).all() == (way == COMPARED[1])
    with pytest.raises(ValueError, match="was trained on some of the texts"):
        trial(human, one.train.only(is_human=False), "full model", seed=0)


NUMBERS = st.lists(st.floats(-5, 5).map(lambda x: round(x, 2)), min_size=6, max_size=6)


@settings(max_examples=15)
@given(first=NUMBERS, second=NUMBERS, human=NUMBERS)
def test_estimates_are_the_means_of_scipys(first, second, human):
    scores, quality = trials_of(human, e=[first, second])
    for statistic, of in (("spearman", spearmanr), ("pearson", pearsonr)):
        each, _ = correlate_trials(scores, quality, statistic=statistic)
        defined = [v for v in (first, second) if len(set(v)) > 1 and len(set(human)) > 1]
        row = each.iloc[0]
        assert row["n_trials"] == len(defined) and row["n_undefined"] == 2 - len(defined)
        expected = np.mean([of(one, human)[0] for one in defined]) if defined else np.nan
        assert row["estimate"] == pytest.approx(expected, abs=1e-6, nan_ok=True)
        assert defined or row["status"] == "nothing_to_compare"


def trials_of(quality, **scores):
    """Lay out evaluators' scores of shape (trials, systems), and quality, as tables."""
    systems = [f"s{n:02d}" for n in range(len(quality))]
    each = [
        pd.DataFrame({"evaluator": name, "trial": trial, "system": systems, "score": of_trial})
        for name, values in scores.items()
        for trial, of_trial in enumerate(values)
    ]
    return pd.concat(each, ignore_index=True), pd.Series(quality, index=systems)


def test_intervals_are_those_of_the_formulas():
    rng = np.random.default_rng(4)
    quality = rng.normal(size=12)
    scores = {"a": quality + rng.normal(size=(3, 12)), "b": quality + rng.normal(size=(3, 12))}
    each, between = correlate_trials(*trials_of(quality, **scores), statistic="pearson")
    rows = [np.delete(np.arange(12), n) for n in range(12)]
    r, gone, moved, ends = {}, {}, {}, {}
    for name, values in scores.items():

        def mean(chosen, values=values):
            return np.mean([pearsonr(v[chosen], quality[chosen])[0] for v in values])

        r[name] = mean(np.arange(12))
        gone[name] = np.arctanh([mean(one) for one in rows])
        of = np.array([pearsonr(v, quality)[0] for v in values])
        moved[name] = (of - of.mean()) / (1 - of.mean() ** 2)

    def covariance(one, other):
        jackknife = (
            11 / 12 * np.sum((gone[one] - gone[one].mean()) * (gone[other] - gone[other].mean()))
        )
        return jackknife + np.sum(moved[one] * moved[other]) / 2 / 3

    for row, name in zip(each.to_dict("records"), scores, strict=True):
        half = 2.228139 * np.sqrt(covariance(name, name))  # t of 10 degrees of freedom
        ends[name] = np.tanh([np.arctanh(r[name]) - half, np.arctanh(r[name]) + half])
        np.testing.assert_allclose([row["ci_low"], row["ci_high"]], ends[name], rtol=1e-6)
        assert row["status"] == "ok"
    # Zou (2007): the ends of both, and their correlation.
    shared = covariance("a", "b") / np.sqrt(covariance("a", "a") * covariance("b", "b"))
    below, above = r["a"] - ends["a"][0], ends["b"][1] - r["b"]
    low = np.sqrt(below**2 + above**2 - 2 * shared * below * above)
    above, below = ends["a"][1] - r["a"], r["b"] - ends["b"][0]
    high = np.sqrt(above**2 + below**2 - 2 * shared * above * below)
    gap = r["a"] - r["b"]
    found = between[["estimate", "ci_low", "ci_high"]].iloc[0]
    np.testing.assert_allclose(found, [gap, gap - low, gap + high], rtol=1e-6)


def test_bad_scores_and_variants_are_named(splits):
    scores = pd.DataFrame({"evaluator": "e", "trial": 0, "system": ["a"], "score": 1.0})
    for wrong, message in (
        (scores.drop(columns="trial"), "no column 'trial': they need evaluator, trial"),
        (pd.concat([scores, scores]), "is repeated in trial 0"),
        (scores.assign(system="other"), "no quality of"),
    ):
        with pytest.raises(ValueError, match=message):
            correlate_trials(wrong, pd.Series([1.0], index=["a"]))
    assert "w/o BERT" not in possible_variants("tfidf")
    assert possible_variants("frozen") == list(VARIANTS)


@pytest.fixture(scope="module")
def trials(splits):
    return run_trials(splits, variants={"own": ["full model", "w/o comparison"]}, n_games=20)


def test_correlations_are_those_of_correlate(trials):
    table = correlate_outputs(trials, n_resamples=50)
    alone = nb.correlate(trials.tests["own", 0], granularity="output", statistics=["spearman"])
    expected = alone.set_index("evaluator")["estimate"]
    found = table[table["statistic"] == "spearman"].set_index("evaluator")
    pd.testing.assert_series_equal(found["estimate"], expected)
    assert (found["min"] <= found["mean"]).all() and (found["mean"] <= found["max"]).all()
    beside = compare_outputs(trials, n_resamples=50).set_index("evaluator_b")
    # Differences are of the outputs that all evaluators score: perplexity lacks some.
    scores = trials.tests["own", 0].scores
    lacking = scores.loc[scores["score"].isna(), "output_id"]
    whole = trials.tests["own", 0].replace(scores=scores[~scores["output_id"].isin(lacking)])
    common = nb.correlate(whole, granularity="output", statistics=["spearman"])
    common = common.set_index("evaluator")["estimate"]
    gap = common[COMPARED[0]] - common
    for name in BASELINES:
        assert beside.loc[name, "estimate"] == pytest.approx(gap[name])
        assert beside.loc[name, "ci_low"] < gap[name] < beside.loc[name, "ci_high"]
    systems, between = correlate_systems(trials)
    rows = trials.systems.drop(columns="data")
    each, gaps = correlate_trials(rows, system_quality(trials.studies["own"]))
    chosen = systems[systems["statistic"] == "spearman"].drop(columns=["data", "supervision"])
    pd.testing.assert_frame_equal(chosen.reset_index(drop=True), each)
    assert between["estimate"].iloc[: len(gaps)].tolist() == gaps["estimate"].tolist()


def test_a_system_is_rated_by_judgments_of_the_others(study):
    def left_out(study):
        splits = split_studies({"own": study}, n_splits=1, leave_out=True, n_pairs=300)
        assert all(one.left_out not in set(one.train.systems) for one in splits)
        return run_trials(splits, n_games=20).systems

    found = left_out(study)
    assert found["system"].tolist() == sorted(SYSTEMS)
    assert found["evaluator"].eq("human alone").all()
    bigrams = study.judgments["output_id"].str.startswith("bigram")
    changed = study.judgments.assign(value=study.judgments["value"].mask(bigrams, 5))
    again = left_out(study.replace(judgments=changed))
    # Its own judgments do not matter to its own rating.
    own = found["system"] == "bigram_t1.0"
    assert again.loc[own, "score"].item() == found.loc[own, "score"].item()
    assert (again.loc[~own, "score"] != found.loc[~own, "score"]).any()


def test_labels_are_nested_and_held_out_systems_are_not_learned_from(splits, trials, monkeypatch):
    seen = {}

    def agreement(pairs, tests, outputs, options):
        taught, tested = (
            {name for name in SYSTEMS if table["output_a"].str.contains(name, regex=False).any()}
            for table in (pairs, tests)
        )
        gone = tuple({*SYSTEMS} - taught)
        assert len(tested) > 1 and tests["outcome"].eq("better").all()
        judged = pairs.loc[pairs["supervision"] == "human", "output_a"].tolist()
        seen.setdefault((options["seed"], gone), []).append(judged)
        return 0.5 + 0.1 * (options["seed"] - 7)

    monkeypatch.setattr(labels, "_agreement", agreement)
    curve = label_curve(splits, trials, ties_within={"own": 0.5}, n_labels=(0, 20, 60))
    assert set(seen) == {(n, gone) for n in (7, 8) for gone in [(), *((s,) for s in SYSTEMS)]}
    for none, few, many in seen.values():
        assert none == [] and few == many[:20] and len(many) == 60
    row = curve.set_index(["evaluator", "n_labels"]).loc[(labels.SAME, 20)]
    assert row["estimate"] == pytest.approx(0.55) and row["n"] == 2 and row["n_used"] == 20
    assert 0 < row["ci_low"] < 0.55 < row["ci_high"] < 1
    assert labels._share(pd.Series([2.0, -1.0, 0.0, 0.0, 1.0, np.nan])) == 0.6
    assert len(plot_label_curve(curve).axes) == 2
