"""Plans promise the power that `compare_systems` has, and others' answers on the way to it."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import TTestPower

import nlgbench as nb
from nlgbench.analysis.planning import power
from nlgbench.analysis.planning.components import vote_components
from nlgbench.analysis.planning.power import Spread
from nlgbench.clustering import effective_size
from nlgbench.worlds.tables import chances

STATED = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
VOTES = {"item": 0.1, "annotator": 0.02, "ties": 0.25}


def design_of(design, n_items, n_annotators, n_votes, rng):
    """System, item and annotator of each judgment of two systems."""
    drawn = [np.argsort(rng.random((n_items, n_annotators)))[:, :n_votes] for _ in range(2)]
    if design == "distinct":
        drawn[0] = np.arange(n_items * n_votes)
    if design != "scattered":
        drawn[1] = drawn[0]
    item = np.tile(np.repeat(np.arange(n_items), n_votes), 2)
    return np.repeat([0, 1], n_items * n_votes), item, np.concatenate(drawn, axis=None)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("design", ["blocked", "scattered", "distinct"])
def test_the_formula_is_the_error_of_least_squares(design, fixed):
    spread, rng, variances = Spread(1.0, 0.3, 2.0), np.random.default_rng(0), []
    people = 4 if fixed else 12
    for _ in range(20):
        system, item, annotator = design_of(design, 40, people, 3, rng)
        x = [0.5 - system[:, None], np.eye(40)[item], np.eye(annotator.max() + 1)[annotator]]
        weight = np.linalg.pinv(np.hstack(x))[0]
        by_item, by_annotator = (
            np.bincount(2 * one + system, weight).reshape(-1, 2) for one in (item, annotator)
        )
        if fixed and design != "distinct":  # what these annotators make of a system counts
            by_annotator = by_annotator - by_annotator.mean(axis=0)
        parts = [(one**2).sum() / 2 for one in (by_item, by_annotator, weight)]
        variances.append(parts @ np.array([spread.item, spread.annotator, spread.residual]))
    se = power.standard_error(design, spread, 40, people, 3, fixed)
    assert se == pytest.approx(np.sqrt(np.mean(variances)), rel=0.02)
    fewest = 40 if fixed else min(effective_size(item), effective_size(annotator))
    df = power.degrees_of_freedom(design, 40, people, fixed)
    assert df == pytest.approx(fewest - 1, rel=0.15)


@pytest.mark.release
def test_compare_systems_finds_a_difference_as_often_as_planned():
    known = {"system x item": 1.0, "system x annotator": 0.25**2, "rest": 1.0}
    plan = nb.plan_study(known, difference=0.7, n_items=[40], n_annotators=[12])
    world = {"means": [0.7, 0.0], "n_items": 40, "n_annotators": 12}
    found = [
        nb.compare_systems(nb.simulate("judgments", seed=seed, **world)).pairs["p"].iloc[0] < 0.05
        for seed in range(25)
    ]
    assert np.mean(found) == pytest.approx(plan.curve["power"][0], abs=0.25)


def test_votes_have_the_variances_that_their_world_has():
    sds, rng = {"of_items": 0.6, "of_taste": 0.3}, np.random.default_rng(0)
    world = {"systems": {"x": 0.4, "y": 0.0}, "n_pairs": 1, "nu": 0.7, "careless": 0.0, **sds}
    study = nb.simulate("votes", n_items=2000, n_annotators=200, seed=1, **world)
    of_items, of_taste = (sd * np.sqrt(2) * rng.normal(size=1000) for sd in sds.values())
    win, tie, loss = np.moveaxis(chances(0.4 + of_items[:, None] + of_taste, 0.7), -1, 0)
    score = win - loss
    expected = [score.mean(axis=1).var(), score.mean(axis=0).var(), tie.mean()]
    # Four standard errors of so many items, annotators and votes.
    np.testing.assert_allclose(vote_components(study)["estimate"], expected, atol=0.025)


def test_power_and_its_inverse_agree_with_statsmodels():
    theirs = TTestPower()
    for n, effect, alpha in [(10, 0.5, 0.05), (30, 0.2, 0.01), (200, 0.4, 0.05)]:
        wanted = theirs.power(effect, n, alpha)
        assert power.power_of(effect, 1 / np.sqrt(n), n - 1, alpha) == pytest.approx(wanted)
    away = power.noncentrality(0.8, 29, 0.05)
    assert theirs.solve_power(nobs=30, alpha=0.05, power=0.8) == pytest.approx(away / np.sqrt(30))
    assert power.power_of(1.0, 0.001, 9, 0.05) == 1  # where SciPy's distribution has no value


def test_a_crossed_design_has_the_error_of_the_two_way_mixed_model():
    # Card et al. 2020, appendix: slopes in units of half the difference; variances doubled twice.
    spread = Spread(*(4 * sd**2 for sd in (0.14, 0.11, 0.26 / np.sqrt(2))))
    se = power.standard_error("crossed", spread, 100, 10, 10)
    assert se**2 / 4 == pytest.approx(0.14**2 / 100 + 0.11**2 / 10 + 0.26**2 / 2000)


def test_the_difference_that_is_detectable_is_found_with_the_power_asked_for():
    first = nb.plan_study(STATED, difference=0.3, n_items=[80], n_annotators=[20], power=0.9)
    again = nb.plan_study(STATED, difference=first.curve["mdd"][0], n_items=[80], n_annotators=[20])
    assert again.curve["power"][0] == pytest.approx(0.9)


def test_designs_are_the_cheapest_of_that_power():
    prices = {"judgment": 0.1, "item": 1, "annotator": 5}
    table = nb.plan_study(STATED, difference=0.3, design="blocked", prices=prices).designs
    assert table["price"].is_monotonic_increasing and table["n_annotators"].is_unique
    conditions = ["difference", "level", "price_judgment", "price_item", "price_annotator"]
    assert (table[conditions] == [0.3, 0.05, 0.1, 1, 5]).all(axis=None)
    assert table["variances"].eq("as stated").all()
    assert (table["power"] >= 0.8).all() and (table["mdd"] <= 0.3).all()
    judgments = table["n_items"] * table["n_votes"] * 2
    assert table["n_judgments"].tolist() == judgments.tolist()
    total = 0.1 * judgments + table["n_items"] + 5 * table["n_annotators"]
    assert table["price"].to_numpy() == pytest.approx(total.to_numpy())
    # No design of the grid is cheaper: tried one by one.
    best = table.iloc[0]
    for items in range(20, int(best["n_items"]), 20):
        for votes in (1, 2, 3, 5):
            for people in (10, 20, 30, 50):
                cost = 0.1 * items * votes * 2 + items + 5 * people
                spread = Spread(1.0, 0.1, 2.0)
                se = power.standard_error("blocked", spread, items, people, votes)
                df = min(items, people) - 1
                assert cost > best["price"] - 30 or power.power_of(0.3, se, df, 0.05) < 0.8


def test_pilots_are_measured():
    pilot = nb.simulate("judgments", n_items=60, n_annotators=25, seed=1)
    plan = nb.plan_study(pilot, difference=0.3, n_items=[50], n_annotators=[20])
    pd.testing.assert_frame_equal(
        plan.components[["component", "estimate"]],
        nb.variance_components(pilot)[["component", "estimate"]],
    )
    assert set(plan.components["source"]) == {"measured"}
    again = nb.plan_study(
        nb.variance_components(pilot), difference=0.3, n_items=[50], n_annotators=[20]
    )
    assert again.curve["power"][0] == plan.curve["power"][0]
    assert plan.designs["variances"].eq("as estimated").all()


def test_what_a_pilot_cannot_tell_apart_is_part_of_the_rest():
    table = pd.DataFrame({"component": list(STATED), "estimate": [np.nan, 0.05, 1.5]})
    plan = nb.plan_study(table, difference=0.3, n_items=[50], n_annotators=[20])
    spread = Spread(0.0, 0.1, 3.0)
    assert plan.curve["se"][0] == power.standard_error("crossed", spread, 50, 20, 20)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pilot": {"rest": 1.0}}, "pilot lacks 'system x item', 'system x annotator'"),
        ({"pilot": STATED | {"residual": 1.0}}, "pilot: 'residual' is unknown"),
        ({"pilot": STATED | {"rest": -1.0}}, "'rest' must be 0 or more. Got -1"),
        ({"difference": 0.0}, "difference must be above 0"),
        ({"prices": {"judgement": 1.0}}, "Did you mean 'judgment'"),
        ({"prices": {"item": -1.0}}, "prices must be 0 or more. Got -1 for 'item'"),
        ({"design": "blocked", "n_votes": 11}, "n_votes must be at most n_annotators"),
        ({"n_items": [1]}, "each of n_items must be a whole number, at least 2"),
        ({"pilot": VOTES | {"item": 0.8}, "question": "preferences"}, "reduce item or annotator"),
    ],
)
def test_errors_say_what_to_do(changes, message):
    asked = {"pilot": STATED, "difference": 0.3, "n_items": [50], "n_annotators": [10]} | changes
    with pytest.raises(ValueError, match=message):
        nb.plan_study(asked.pop("pilot"), **asked)
