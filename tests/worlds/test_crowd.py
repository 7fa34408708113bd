"""The crowd has the layout of Judge the Judges, and votes as likely as its truth says."""

import numpy as np
import pytest

from nlgbench.analysis.people import accuracy
from nlgbench.study import Study
from nlgbench.worlds.crowd import CROWD_SYSTEMS, probability_real, review_crowd

SMALL = ["grammar_t0.5", "memorizer_50", "corrupted_0.5", "bigram_t1.0"]


def test_the_crowd_is_laid_out_as_the_release():
    study = review_crowd(n_truth=0, seed=1)
    outputs, judgments = study.outputs, study.judgments
    sizes = outputs["system"].value_counts().to_dict()
    assert sizes == {"human": 1800} | dict.fromkeys(CROWD_SYSTEMS, 150)
    assert len(judgments) == 18_000 and set(judgments["value"]) == {0, 1}
    assert judgments.groupby(["annotator_id", "group_id"]).size().tolist() == [20] * 900
    hit = judgments.drop_duplicates("output_id").set_index("output_id")["group_id"]
    assert hit.tolist() == [f"hit{n:03d}" for n in range(1, 181) for _ in range(20)]
    assert outputs.set_index("output_id")["is_human"].groupby(hit).sum().tolist() == [10] * 180
    # In random order: in none of 20 places is human always, or never.
    place = outputs["is_human"].to_numpy().reshape(180, 20).mean(axis=0)
    assert place.min() > 0.3 and place.max() < 0.7


def test_a_large_crowd_estimates_the_truth():
    # 800 outputs of each system: every estimate within 4 of its standard errors.
    world = review_crowd(systems=SMALL, n_outputs=800, n_votes=3, n_truth=10_000, seed=5)
    truth = world.truth["systems"].set_index("system")
    found = accuracy(Study(world.outputs, world.judgments), rule="votes").set_index("row")
    expected = (1 - truth.loc[SMALL, "quality"]).to_dict() | {"real": truth.loc["human", "quality"]}
    for row, value in expected.items():
        error = np.hypot(found.loc[row, "se"], truth["quality_se"].max())
        assert abs(found.loc[row, "estimate"] - value) < 4 * error


def test_the_truth_has_no_error_where_it_is_exact():
    crowd = review_crowd(systems=SMALL, n_outputs=10, n_truth=2_000, seed=3)
    truth = crowd.truth["systems"].set_index("system")
    assert truth.loc["memorizer_50", "quality_se"] == 0 < truth.loc["human", "quality_se"]
    assert probability_real(np.array([-np.inf, np.inf])).round(12).tolist() == [0.05, 0.95]
    # A corrupted text is the reference's or outside it, where only noise says "real".
    outside = probability_real(np.array([-1.0]))[0]
    mixed = (truth.loc["human", "quality"] + outside) / 2
    assert truth.loc["corrupted_0.5", "quality"] == pytest.approx(mixed, abs=0.03)
