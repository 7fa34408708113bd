"""The world of reviews shares its items, and its true scores are those known by other ways."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.generators.review_systems import REVIEW_SYSTEMS
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds import annotators, truth
from nlgbench.worlds import reviews as worlds

NAMES = ["grammar_t0.5", "leaky_t1.0", "memorizer_50", "corrupted_0.5", "trigram_t0.7"]
SCORES = ("huse", "huse_q", "huse_d")


@pytest.fixture(scope="module")
def large() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of a world of 800 outputs per class, and its truth."""
    study = nb.simulate("reviews", systems=NAMES, n_outputs=800, n_truth=3000, seed=8)
    scores = nb.huse(study, n_resamples=0)
    table = scores.pivot(index="system", columns="score", values="estimate")
    return table.loc[NAMES, list(SCORES)], study.truth["systems"].set_index("system")


def test_l_star_where_it_has_a_closed_form():
    # A stutter leaves the grammar, so L* = 1 - q. Of 50 reviews, p_ref is far below 1/50.
    names = ["corrupted_0.3", "memorizer_50", "grammar_t1.0"]
    world = worlds.review_world(systems=names, n_outputs=20, n_truth=10_000, seed=6)
    row = world.truth["systems"].set_index("system")
    for name, value in zip(names, [0.7, 0, 1], strict=True):
        assert row.loc[name, "l_star"] == pytest.approx(
            value, abs=4 * row.loc[name, "l_star_se"] + 0.004
        )
    assert row.loc["memorizer_50", "l_star"] > 0 == row.loc["memorizer_50", "l_star_se"]


def test_the_sum_of_ratings_is_that_of_simulated_ratings():
    panel = annotators.Panel(np.array([0.4, -0.6, 0.0]), np.array([False, False, True]))
    typical = np.array([-1.0, 2.3, 4.6])
    exact = annotators.sum_distribution(panel, typical)
    np.testing.assert_allclose(exact.sum(axis=1), 1)
    for row, value in zip(exact, typical, strict=True):
        sums = annotators.judge(panel, np.full(40_000, value), seed=1).sum(axis=1).astype(int)
        found = np.bincount(sums, minlength=16) / 40_000
        assert np.abs(found - row).max() < 4 * np.sqrt(0.25 / 40_000)


def test_huse_bounds_l_star_and_nears_the_population(large):
    found, true = large
    error = np.sqrt(0.5 / 800)
    assert (found["huse"] >= true["l_star"] - 3 * error).all()
    for score in ("huse", "huse_q"):
        assert (found[score] - true[score]).abs().max() < 0.12
    assert ((true["huse"] - true["l_star"]) > -3 * (true["huse_se"] + true["l_star_se"])).all()
    for scores in (found, true):
        quality, diversity = scores["huse_q"], scores["huse_d"]
        assert quality["memorizer_50"] > 0.8 and diversity["memorizer_50"] < 0.25
        assert quality["corrupted_0.5"] < 0.65 and diversity["corrupted_0.5"] > 0.92


def test_temperature_trades_diversity_for_quality_until_texts_are_too_typical():
    # An annealed text is more typical than a human one, and that tells it apart by quality, too:
    # so Q falls from the start on the exact grammar, and in the end on the others.
    names = [name for name in REVIEW_SYSTEMS if name.startswith(("grammar", "leaky"))]
    world = worlds.review_world(systems=names, n_outputs=5, n_truth=3000, seed=9)
    row = world.truth["systems"].set_index("system")
    warm, cool = row.loc["leaky_t1.0"], row.loc["leaky_t0.7"]
    assert cool["huse_q"] > warm["huse_q"] + 4 * cool["huse_q_se"]
    assert cool["huse_d"] < warm["huse_d"] - 4 * cool["huse_d_se"]
    assert row.loc["leaky_t0.5", "huse_q"] < cool["huse_q"]
    exact = row.loc[[f"grammar_t{t}" for t in (1.0, 0.9, 0.7, 0.5)]]
    for score in ("l_star", *SCORES):
        assert exact[score].is_monotonic_decreasing


def test_the_truth_over_panels_combines_that_of_each_panel():
    system = worlds.review_systems(["trigram_t1.0"], seed=2)["trigram_t1.0"]
    texts = review_grammar().sample(600, seed=5), system.sample(600, seed=6)
    draws = [worlds.review_draws(system, one) for one in texts]
    panels = [annotators.draw_annotators(n, seed=n) for n in (3, 5, 8, 20)]
    each = pd.DataFrame([truth.population_scores(*draws, panel) for panel in panels])
    found = truth.over_panels(*draws, panels)
    for score in SCORES:
        expected = each[score].agg(["mean", "std", "min", "max"]).tolist()
        ours = [found[f"{score}_others{ending}"] for ending in ("", "_sd", "_min", "_max")]
        assert ours == pytest.approx(expected, abs=1e-12)
    table = worlds.annotator_samples(pd.DataFrame([{"system": "s", **each.iloc[0], **found}]))
    beside = table.set_index("score").loc["huse_d"]
    assert beside["own"] == each["huse_d"][0] and beside["max"] == found["huse_d_others_max"]
