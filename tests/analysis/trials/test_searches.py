"""Nothing that is judged is learned from, and what choices are worth follows from the truth."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench import choose
from nlgbench.analysis.trials import (
    count_stops,
    judge_choices,
    one_training,
    rate_searches,
    score_models,
    stop_training,
    train_choosers,
)
from nlgbench.analysis.trials.choosing import LAST, ORACLE
from nlgbench.generators import checkpoints
from nlgbench.papers import learning_to_compare as paper
from nlgbench.worlds.searches import count_falls, simulate_searches, stop_one_model

pytest.importorskip("torch")
WHOLE = checkpoints.train_and_write
SIZE = {"n_groups": 2, "n_choices": 2, "n_checkpoints": 4, "n_judged": 10, "n_truth": 20}


def train_quickly(texts, settings, *, dev, **options):
    """Train small models in few batches, with few held-out texts."""
    return WHOLE(texts, settings | {"units": 8, "batch_size": 32}, dev=dev[:20], **options)


@pytest.fixture(scope="module")
def models():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "train_and_write", train_quickly)
        return simulate_searches(n_sentences=40, n_jobs=1, seed=0, **SIZE)


@pytest.fixture(scope="module")
def choosers(models):
    return train_choosers(models, threshold=0.25, n_pairs=200)


def test_nothing_that_is_judged_is_learned_from(models):
    judged = set(models.to_judge["text"])
    assert not judged & set(models.training.outputs["text"])
    assert not judged & set(models.checkpoints["text"])
    assert models.truth["quality"].between(-2.9, 0).all()
    kinds = models.models.groupby("kind")["system"].nunique()
    assert kinds.to_dict() == {"development": 40, "overfitting": 8, "search": 4, "stopping": 8}


def test_choices_are_made_and_judged(models, choosers):
    scores = score_models(models, choosers)
    assert set(scores["evaluator"]) == {"bleu", "adversarial", "regressor", "perplexity"}
    assert scores.groupby("evaluator").size().eq(20).all()
    rated = rate_searches(models, choosers, n_comparisons=20)
    searched = choose(pd.concat([rated, scores[scores["kind"] == "search"]]))
    kept, rates = stop_training(models, choosers, scores, patience=1, n_comparisons=20)
    assert kept.loc[kept["evaluator"] == LAST, "progress"].eq(1).all()
    overfitted, _ = stop_training(
        models, choosers, scores, kind="overfitting", patience=1, n_comparisons=20
    )
    truth = models.truth.set_index("system")["quality"]
    oracle = overfitted[overfitted["evaluator"] == ORACLE].set_index("group")["system"]
    for model, system in oracle.items():
        first, second = (truth[f"{model}@{progress}"] for progress in ("0.25", "0.5"))
        assert (system == f"{model}@0.25") == (second <= first), "stops at the first fall"
    experiments = {
        "hyperparameter_search": searched,
        "early_stopping": kept,
        "overfitting": overfitted,
    }
    found = judge_choices(models, experiments)
    assert (found[found["measure"] == "regret"]["estimate"] >= 0).all()
    stops = count_stops(kept.assign(experiment="early_stopping"))
    assert (stops["stopped"] <= stops["n"]).all()
    answers = paper.choosing_answers(choices=found, stops=stops)
    assert answers["claim_id"].str.startswith("simulated/choosing-models/").all()
    model, curves, marks = one_training(models, scores, rates, kept)
    assert model.startswith("stopping") and set(marks["evaluator"]) <= set(curves["evaluator"])


def test_one_model_is_trained_on_a_small_study_of_its_own_texts():
    study = nb.simulate("reviews", systems=["bigram_t1.0"], n_outputs=50, n_truth=0, seed=2)
    models = stop_one_model(study, n_checkpoints=2, n_judged=5, seed=1)
    assert models.truth is None and models.models["perplexity"].gt(1).all()
    assert models.to_judge.groupby("system").size().tolist() == [5, 5]
    assert not set(models.to_judge["text"]) & set(models.training.outputs["text"])
    assert models.training.outputs["is_human"].sum() >= 10, "a fifth of fifty is for evaluators"


@pytest.mark.release
def test_the_quality_of_overfitting_runs_falls_and_that_of_others_does_not():
    few = {"n_groups": 10, "n_choices": 1, "n_judged": 10}
    truth = simulate_searches(seed=2020, **few).truth
    assert count_falls(truth, "overfitting") >= (8, 10)
    assert count_falls(truth, "stopping") <= (3, 10)


def test_falls_are_counted_by_the_standard_error_of_the_difference():
    rows = [
        ("a", 0.5, -1.0, 0.1),
        ("a", 1.0, -1.3, 0.1),
        ("b", 0.5, -1.0, 0.1),
        ("b", 1.0, -1.2, 0.1),
    ]
    truth = pd.DataFrame(rows, columns=["model", "progress", "quality", "se"]).assign(kind="k")
    assert count_falls(truth, "k") == (1, 2)
