"""A judge's rates, kappa and AC1 against labels, and the pass rates that labels correct."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import nlgbench as nb
from nlgbench.datasets.support_segments import RAW_FILE
from tests.released import needs

RNG = np.random.default_rng(4)
LABEL = (RNG.random(400) < 0.7).astype(float)
SCORE = np.where(RNG.random(400) < 0.85, LABEL, 1 - LABEL)


def judged(score, label, *, item=None, system="s", signature="", **settings):
    """A study with one annotator's labels, NaN where there is none."""
    ids = [f"o{n:04d}" for n in range(len(score))]
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids if item is None else item})
    labels = pd.DataFrame({"output_id": ids, "annotator_id": "w", "value": label}).dropna()
    scores = pd.DataFrame({"output_id": ids, "evaluator": "judge", "score": score})
    scores = scores.assign(signature=signature)
    return nb.Study(outputs.assign(system=system), labels, scores=scores, settings=settings)


def measure(study, system="all systems", **options):
    table = nb.judge_agreement(study, **options)
    return table[table["system"] == system].set_index("quantity")


def test_quantities_are_those_of_the_confusion_matrix():
    found = measure(judged(SCORE, LABEL))
    accuracy, share = (SCORE == LABEL).mean(), (LABEL.mean() + SCORE.mean()) / 2
    by_chance = 2 * share * (1 - share)
    wanted = {
        "true_positive_rate": SCORE[LABEL == 1].mean(),
        "true_negative_rate": 1 - SCORE[LABEL == 0].mean(),
        "accuracy": accuracy,
        "base_rate": LABEL.mean(),
        "constant_accuracy": max(LABEL.mean(), 1 - LABEL.mean()),
        "cohen_kappa": cohen_kappa_score(SCORE, LABEL),
        "gwet_ac1": (accuracy - by_chance) / (1 - by_chance),
        "judged_pass_rate": SCORE.mean(),
    }
    assert found["estimate"].to_dict() == pytest.approx(wanted, abs=1e-12)
    assert ((found["ci_low"] < found["estimate"]) & (found["estimate"] < found["ci_high"])).all()
    assert found["status"].drop("judged_pass_rate").eq("ok").all()
    assert found.loc["judged_pass_rate", "status"] == "biased_rate"


def test_ordered_values_have_weighted_kappa_and_a_threshold_makes_them_pass_or_fail():
    label = RNG.integers(1, 6, 300)
    score = np.clip(label + RNG.integers(-1, 2, 300), 1, 5)
    found = measure(judged(score, label))
    assert [*found.index] == ["accuracy", "constant_accuracy", "weighted_kappa", "gwet_ac1"]
    weighted = cohen_kappa_score(score, label, weights="quadratic")
    assert found.loc["weighted_kappa", "estimate"] == pytest.approx(weighted, abs=1e-12)
    fractions = measure(judged(score + 0.25, label))
    rare = fractions.index != "weighted_kappa"
    assert fractions["status"][rare].eq("fractions").all()
    assert fractions["estimate"][rare].isna().all()
    passed = measure(judged(score, label), threshold=4)
    same = measure(judged(1.0 * (score >= 4), 1.0 * (label >= 4)))
    pd.testing.assert_frame_equal(passed, same)
    lower = {"signature": "direction:lower", "lower_is_better": ["quality"]}
    flipped = judged(6 - score, 6 - label, **lower)
    pd.testing.assert_frame_equal(measure(flipped, threshold=2), passed)


def test_outputs_of_an_item_count_as_one_if_they_are_alike():
    items = [f"i{n}" for n in range(400)]
    twice = judged(np.repeat(SCORE, 2), np.repeat(LABEL, 2), item=np.repeat(items, 2))
    numbers = ["estimate", "ci_low", "ci_high", "se"]
    once = measure(judged(SCORE, LABEL))[numbers]
    pd.testing.assert_frame_equal(measure(twice)[numbers], once)


def test_a_random_sample_is_corrected_as_means_are():
    label = np.where(np.arange(400) < 120, LABEL, np.nan)
    system = np.tile(["a", "b"], 200)
    study = judged(SCORE, label, system=system)
    means = nb.corrected_quality(study, evaluator="judge", sampling="random").systems
    means = means[means["method"] == "corrected"].set_index("system")["estimate"]
    for name in ("a", "b"):
        row = measure(study, name, sampling="random").loc["corrected_pass_rate"]
        assert row["estimate"] == pytest.approx(means[name], abs=1e-12) and row["n"] == 60


def test_error_rates_of_other_labels_correct_a_system_without_labels():
    label, system = np.where(np.arange(400) < 300, LABEL, np.nan), np.repeat(["a", "b"], [300, 100])
    found = measure(judged(SCORE, label, system=system), "b", sampling="other")["estimate"]
    rates = measure(judged(SCORE[:300], LABEL[:300]))["estimate"]
    negative, above = rates["true_negative_rate"], rates.iloc[:2].sum() - 1
    wanted = (SCORE[300:].mean() + negative - 1) / above
    assert found["corrected_pass_rate"] == pytest.approx(wanted, abs=1e-12)
    guesses = (RNG.random(400) < 0.6).astype(float)
    refused = measure(judged(guesses, LABEL), sampling="other").loc["corrected_pass_rate"]
    assert refused["status"] == "near_chance" and np.isnan(refused["estimate"])


@pytest.mark.parametrize(
    ("score", "label", "quantity", "status"),
    [
        (SCORE, np.ones(400), "true_negative_rate", "nothing_to_compare"),
        (np.ones(400), np.ones(400), "cohen_kappa", "nothing_to_compare"),
        (RNG.random(400), RNG.integers(1, 6, 400), "weighted_kappa", "many_values"),
        (RNG.integers(7, 9, 400), RNG.integers(1, 6, 400), "gwet_ac1", "other_labels"),
    ],
)
def test_undefined_quantities_say_why(score, label, quantity, status):
    row = measure(judged(score, label)).loc[quantity]
    assert row["status"] == status and np.isnan(row["estimate"]) and row["reason"]


def test_pass_rates_need_pass_and_fail():
    ordered = judged(RNG.random(400), LABEL)
    with pytest.raises(ValueError, match="are not all 0 or 1, so no output passes or fails: set"):
        nb.judge_agreement(ordered, sampling="random")
    assert "corrected_pass_rate" in measure(ordered, threshold=0.5, sampling="random").index


@needs(RAW_FILE)
def test_released_labels_give_the_numbers_of_truescore():
    """truescore 0.7.4: `judge_agreement`, `ppi_estimate` and `rogan_gladen_estimate`."""
    wanted = {
        "v3": (0.9294245385450597, 0.7219343696027634, 0.8493333333333334, 0.6720474109158876),
        "v4": (0.9310344827586207, 0.5175438596491229, 0.8053333333333333, 0.49370249126116644),
    }
    others = {"v3": (0.7223409849277842, 0.6026, 0.5887), "v4": (0.6862122523369307, 0.6919, 0.68)}
    study = nb.load("support-segments")
    for system, rates in wanted.items():
        ac1, regression, gladen = others[system]
        names = ["true_positive_rate", "true_negative_rate", "accuracy", "cohen_kappa", "gwet_ac1"]
        found = measure(study, system, sampling="random")["estimate"]
        assert found[names].tolist() == pytest.approx([*rates, ac1], abs=1e-9)
        # Its lambda divides by the variance of scores of all outputs, not only labeled ones.
        assert found["corrected_pass_rate"] == pytest.approx(regression, abs=0.002)
        by_rates = measure(study, system, sampling="other")["estimate"]
        assert by_rates["corrected_pass_rate"] == pytest.approx(gladen, abs=5e-5)
