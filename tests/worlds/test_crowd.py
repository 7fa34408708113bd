import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from nlgbench.analysis.people import accuracy, agreement, split_half
from nlgbench.study import Study, schema
from nlgbench.worlds import annotators
from nlgbench.worlds.crowd import CROWD_SYSTEMS, probability_real, review_crowd

SMALL = ["grammar_t0.5", "memorizer_50", "corrupted_0.5", "bigram_t1.0"]


@pytest.fixture(scope="module")
def crowd():
    return review_crowd(systems=SMALL, n_outputs=50, n_truth=2000, seed=3)


def test_the_crowd_is_laid_out_as_the_release():
    study = review_crowd(n_truth=0, seed=1)
    outputs, judgments = study.outputs, study.judgments
    sizes = outputs["system"].value_counts().to_dict()
    assert sizes == {"human": 1800} | dict.fromkeys(CROWD_SYSTEMS, 150)
    assert outputs["output_id"].tolist() == [f"o{n:04d}" for n in range(1, 3601)]
    assert (outputs["item_id"] == outputs["output_id"]).all()
    assert len(judgments) == 18_000 and set(judgments["value"]) == {0, 1}
    assert set(judgments["dimension"]) == {"real_or_fake"}
    per_annotator = judgments.groupby(["annotator_id", "group_id"]).size()
    assert per_annotator.tolist() == [20] * 900
    assert judgments["annotator_id"].nunique() == 900
    hit = judgments.drop_duplicates("output_id").set_index("output_id")["group_id"]
    assert hit.tolist() == [f"hit{n:03d}" for n in range(1, 181) for _ in range(20)]
    human = outputs.set_index("output_id")["is_human"].groupby(hit).sum()
    assert human.tolist() == [10] * 180
    # In random order: in none of 20 places is human always, or never.
    place = outputs["is_human"].to_numpy().reshape(180, 20).mean(axis=0)
    assert place.min() > 0.3 and place.max() < 0.7
    pd.testing.assert_frame_equal(schema.check(judgments, "judgments"), judgments)


def test_one_seed_is_one_crowd(crowd):
    again = review_crowd(systems=SMALL, n_outputs=50, n_truth=2000, seed=3)
    other = review_crowd(systems=SMALL, n_outputs=50, n_truth=0, seed=4)
    pd.testing.assert_frame_equal(crowd.judgments, again.judgments)
    pd.testing.assert_frame_equal(crowd.truth["systems"], again.truth["systems"])
    assert not crowd.outputs["text"].equals(other.outputs["text"])
    assert other.truth is None


def test_the_probability_of_real_is_that_of_simulated_annotators():
    typical = np.array([-1.0, 1.0, 2.0, 3.1, 5.0])
    votes = annotators.judge(
        annotators.hire(100_000, seed=0), typical, dimension="real_or_fake", seed=1
    )
    error = np.sqrt(0.25 / 100_000)
    assert np.abs(votes.mean(axis=1) - probability_real(typical)).max() < 4 * error
    assert probability_real(np.array([-np.inf, np.inf])).round(12).tolist() == [0.05, 0.95]


def test_a_large_crowd_says_what_is_true():
    # 800 outputs of each system: every estimate within 4 of its standard errors.
    world = review_crowd(systems=SMALL, n_outputs=800, n_votes=3, n_truth=10_000, seed=5)
    truth = world.truth["systems"].set_index("system")
    found = accuracy(Study(world.outputs, world.judgments), rule="votes").set_index("row")
    expected = (1 - truth.loc[SMALL, "quality"]).to_dict() | {"real": truth.loc["human", "quality"]}
    for row, value in expected.items():
        error = np.hypot(found.loc[row, "se"], truth["quality_se"].max())
        assert abs(found.loc[row, "estimate"] - value) < 4 * error


def test_agreement_and_majority_are_those_of_independent_votes():
    world = review_crowd(systems=SMALL, n_outputs=800, n_votes=3, n_truth=0, seed=5)
    study = Study(world.outputs, world.judgments)
    real = probability_real(annotators.typicality_of(world.outputs["text"].tolist()))
    true = pd.DataFrame({"agree": real**2 + (1 - real) ** 2, "quality": real})
    true["majority"] = binom.sf(1, 3, real)
    by = true.groupby(world.outputs["system"]).mean()
    found = accuracy(study, rule="majority").set_index("row")
    for row, value in (1 - by.loc[SMALL, "majority"]).items():
        assert abs(found.loc[row, "estimate"] - value) < 4 * found.loc[row, "se"]
    table = agreement(study)
    percent = table[table["coefficient"] == "percent_agreement"].set_index("row")
    kappa = table[table["coefficient"] == "fleiss_kappa"].set_index("row")
    for system in SMALL:
        agree, share = by.loc[system, ["agree", "quality"]]
        assert abs(percent.loc[system, "estimate"] - agree) < 4 * percent.loc[system, "se"]
        by_chance = share**2 + (1 - share) ** 2
        true_kappa = (agree - by_chance) / (1 - by_chance)
        assert abs(kappa.loc[system, "estimate"] - true_kappa) < 4 * kappa.loc[system, "se"] + 0.01


def test_half_of_the_crowd_predicts_the_other():
    study = review_crowd(n_outputs=100, n_truth=0, seed=6)
    table = split_half(Study(study.outputs, study.judgments), n_splits=20, n_resamples=50, seed=0)
    full = table[(table["unit"] == "system") & (table["quantity"] == "full")]
    assert (full["estimate"] > 0.8).all()


def test_truth_knows_what_is_certain(crowd):
    truth = crowd.truth["systems"].set_index("system")
    assert truth.index.tolist() == ["human", *SMALL]
    assert truth["is_human"].tolist() == [True, False, False, False, False]
    assert truth.loc["memorizer_50", "quality_se"] == 0 < truth.loc["human", "quality_se"]
    # A corrupted text is the reference's or outside it, where only noise says "real".
    outside = probability_real(np.array([-1.0]))[0]
    mixed = (truth.loc["human", "quality"] + outside) / 2
    assert truth.loc["corrupted_0.5", "quality"] == pytest.approx(mixed, abs=0.03)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_outputs": 0}, "at least 1 output of each system"),
        ({"n_votes": 0}, "n_votes=0"),
        ({"systems": []}, "1 system"),
        ({"systems": ["nobody"]}, "'nobody'.* are unknown"),
        ({"per_hit": 15}, "per_hit must be even and divide 80"),
        ({"per_hit": 12}, "must hold 40 outputs of systems"),
    ],
)
def test_an_impossible_crowd_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        review_crowd(**({"systems": SMALL, "n_outputs": 10, "seed": 0} | wrong))
