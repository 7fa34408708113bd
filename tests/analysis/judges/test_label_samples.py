"""Outputs to be labeled are drawn with the probabilities that estimates then use."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb

UNIT = np.arange(240)
SCORE = UNIT * 77 % 240 / 240
STRATUM = np.where(UNIT < 160, "a", "b")
VALUE = SCORE + UNIT * 11 % 7 / 7 + (STRATUM == "b") * (UNIT * 5 % 3) / 2


def judged(is_labeled=UNIT >= 0, score=SCORE, system="s", **columns):
    """Make a study whose judge scored all outputs, of which some have a label."""
    outputs = pd.DataFrame({"output_id": [f"o{n}" for n in UNIT], "system": system})
    outputs["item_id"] = outputs["output_id"]
    labels = outputs[["output_id"]].assign(annotator_id=outputs["output_id"], value=VALUE)
    scores = outputs[["output_id"]].assign(evaluator="judge", score=score)
    settings = {"extra": list(columns)}
    return nb.Study(outputs.assign(**columns), labels[is_labeled], scores=scores, settings=settings)


def estimate(study, method, sampling="weighted"):
    found = nb.corrected_quality(study, evaluator="judge", sampling=sampling)
    rows = found.systems.merge(found.details, on=["system", "method"]).set_index("method")
    return rows.loc[method, ["estimate", "se"]].astype(float).to_numpy()


WEIGHTED = UNIT % 4 == 1, 0.2 + 0.6 * (UNIT * 43 % 240) / 240, ""
HALVES = (UNIT < 160) & (UNIT % 8 == 3) | (UNIT >= 160) & (UNIT % 2 == 1)
STRATA = HALVES, np.where(UNIT < 160, 20 / 160, 40 / 80), STRATUM


@pytest.mark.parametrize(
    ("sample", "method", "peer", "peer_se", "population_se"),
    [
        (WEIGHTED, "labels alone", 1.0968735733414, 0.0635573, 0),
        (WEIGHTED, "corrected", 1.1291251464431, 0.0602561, 0.011839),
        (STRATA, "labels alone", 1.1015873015873, 0.0770043, 0.014901),
        (STRATA, "corrected", 1.0953461988352, 0.0523929, 0.028052),
    ],
)
def test_estimates_are_those_of_survey(sample, method, peer, peer_se, population_se):
    """R 4.2.2, survey 4.1.1: svymean of a jackknife design, corrected by calibrate(~f).

    Our errors are for other items, too: they add the sampling error of the population.
    """
    is_drawn, probability, stratum = sample
    study = judged(is_drawn, probability=np.where(is_drawn, probability, np.nan), stratum=stratum)
    mean, se = estimate(study, method)
    assert mean == pytest.approx(peer, rel=1e-9)
    assert se == pytest.approx(np.hypot(peer_se, population_se), rel=0.03)


def test_equal_probabilities_are_a_random_sample():
    study = nb.sample_labels(judged(), 60, evaluator="judge", dimension="quality", seed=3)
    for method in ("labels alone", "corrected"):
        weighted, random = (estimate(study, method, how) for how in ("weighted", "random"))
        np.testing.assert_allclose(weighted, random, rtol=1e-9)


SYSTEM = np.where(UNIT % 3 == 0, "a", "b")
TOPIC = np.where(UNIT < 12, "rare", "usual")


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({}, 0.25),
        ({"design": "stratified"}, 0.25),
        # Four of the rare outputs are of system a, and eight of b: at least two of each.
        ({"design": "stratified", "by": "topic"}, {"a, rare": 0.5, "b, rare": 0.25}),
        ({"design": "uncertain", "evaluator": "judge"}, np.sqrt(SCORE * (1 - SCORE))),
    ],
)
def test_outputs_are_drawn_as_often_as_they_should_be(options, share):
    study = judged(system=SYSTEM, topic=TOPIC)
    samples = [nb.sample_labels(study, 60, seed=seed, **options).outputs for seed in range(40)]
    is_drawn = np.array([sample["probability"].notna() for sample in samples])
    assert (is_drawn.sum(axis=1) == 60).all()
    probability = pd.DataFrame([sample["probability"] for sample in samples]).max().to_numpy()
    rate, is_known = is_drawn.mean(axis=0), probability > 0  # unknown if never drawn
    off = (rate - probability)[is_known] / np.sqrt(probability[is_known] / 40)
    assert np.nanmin(probability) >= 0.02 and np.abs(off).max() < 5 and np.abs(off.mean()) < 0.2
    if isinstance(share, dict):
        for stratum, expected in share.items():
            rows = samples[0]["stratum"] == stratum
            assert is_drawn[:, rows].sum(axis=1) == pytest.approx(expected * rows.sum())
    elif "evaluator" in options:
        ratio = (probability / share)[is_known & (probability > 0.02)]
        assert ratio == pytest.approx(ratio[0])
    else:
        assert probability == pytest.approx(share)


def test_samples_of_labeled_outputs_keep_their_judgments():
    study = judged(UNIT % 2 == 0)
    labeled = nb.sample_labels(study, 40, dimension="quality", seed=5)
    assert labeled.judgments["output_id"].nunique() == len(labeled.judgments) == 40
    assert {*labeled.scores["output_id"]} == {*study.judgments["output_id"]}
    assert len(nb.sample_labels(study, 10**6, dimension="quality").judgments) == 120


def test_earlier_labels_are_kept_as_those_of_a_random_sample():
    study = judged(UNIT % 2 == 0)
    more = nb.sample_labels(study, 40, seed=5)
    pd.testing.assert_frame_equal(more.judgments, study.judgments)
    probability = more.outputs.set_index("output_id")["probability"]
    # Half were judged; of the other half, a third is drawn.
    assert probability.notna().sum() == 120 + 40
    assert probability.dropna().to_numpy() == pytest.approx(160 / 240)
    assert probability[study.judgments["output_id"]].notna().all()
    assert nb.sample_labels(judged(), 40).judgments is None  # all were judged
    assert nb.sample_labels(more, 40).judgments is None


@pytest.mark.parametrize(
    ("score", "options", "words"),
    [
        (SCORE * 2, {"design": "uncertain", "evaluator": "judge"}, "Got 0 to 1.99"),
        (SCORE.round(), {"design": "uncertain", "evaluator": "judge"}, "not only 0 and 1"),
        (SCORE, {"design": "uncertain", "evaluator": "judge", "n": 4}, "n above 4.8"),
        (SCORE, {"design": "uncertain"}, "needs an evaluator"),
        (SCORE, {"by": "topic"}, "need the design stratified"),
        (SCORE, {"design": "stratified", "by": "topic", "n": 7}, "4 strata .* need n >= 8. Got 7"),
        (SCORE, {"design": "stratified", "by": "subject"}, "'subject' is unknown"),
    ],
)
def test_impossible_samples_are_refused(score, options, words):
    study = judged(score=score, system=SYSTEM, topic=TOPIC)
    with pytest.raises(ValueError, match=words):
        nb.sample_labels(study, **{"n": 60} | options)


@pytest.mark.parametrize(
    ("columns", "words"),
    [({}, "Draw outputs by sample_labels"), ({"probability": "", "stratum": ""}, "'o0' has a j")],
)
def test_weights_need_probabilities(columns, words):
    with pytest.raises(ValueError, match=words):
        estimate(judged(**columns), "corrected")
