"""Ratings and win rates of people's votes hold for other items and other annotators."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import t

import nlgbench as nb
from nlgbench.analysis.ratings.bradley_terry import covariance
from nlgbench.clustering import OTHER_ANNOTATORS, THESE_ANNOTATORS, factors, largest_variance


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_games_that_share_an_item_or_an_annotator_may_depend_on_each_other(seed):
    # Aronow, Samii and Assenova (2015), equation 3, by its definition: products of all two games
    # with an item, or the annotator, in common.
    rng = np.random.default_rng(seed)
    n = 40
    one, other = rng.integers(6, size=(2, n))
    annotator, scores = rng.integers(5, size=n), rng.normal(size=n)
    items = [{*pair} for pair in zip(one, other, strict=True)]
    shared = [[bool(own & its) for its in items] for own in items]
    total = scores @ (shared | (annotator[:, None] == annotator)) @ scores
    each = [
        covariance(csr_array(scores[:, None]), csr_array((n, 1)), label).item()
        for label in factors(np.column_stack([one, other]), annotator[:, None])
    ]
    assert each[0] + each[1] - each[2] == pytest.approx(total)
    assert largest_variance(*each) == pytest.approx(max(*each[:2], total))


def test_votes_of_many_annotators_are_rated_for_other_items_and_annotators():
    study = nb.simulate("votes", seed=1)
    found = nb.rate(study).systems
    assert found["comparator"].eq("people").all() and found["covers"].eq(OTHER_ANNOTATORS).all()
    assert found["status"].eq("ok").all() and found["n_clusters"].between(15, 20).all()
    half = t.ppf(0.975, found["n_clusters"] - 1) * found["se"]
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], half)
    assert nb.win_rates(study)["covers"].eq(OTHER_ANNOTATORS).all()
    # Where annotators have no taste of their own, and items no say, all say nearly the same.
    plain = nb.simulate("votes", of_taste=0, of_items=0, careless=0, n_items=300, seed=1)
    both, items = (nb.rate(plain, **how).systems["se"] for how in ({}, {"annotators": "fixed"}))
    np.testing.assert_allclose(both, items, rtol=0.6)
    # Where they have, clusters of items alone know nothing of it.
    own = nb.simulate("votes", of_taste=1.5, n_items=300, seed=1)
    both, items = (nb.rate(own, **how).systems["se"] for how in ({}, {"annotators": "fixed"}))
    assert (both > 1.5 * items).all()


def test_where_both_are_there_the_games_are_chosen_explicitly():
    study = nb.simulate("votes", n_items=20, seed=1)
    table = study.preferences.drop_duplicates(["output_a", "output_b"])[["output_a", "output_b"]]
    table = table.assign(comparator="c", prob_a=0.5, prob_tie=0.2, prob_b=0.3)
    both = study.replace(comparisons=table)
    for function in (nb.rate, nb.win_rates, nb.order_stability):
        with pytest.raises(ValueError, match=r"Choose the games: of='comparisons' or of='prefer"):
            function(both)
    with pytest.raises(ValueError, match="Choose the games"):
        nb.convergence(both)
    compared = nb.rate(both, of="comparisons", outcome="expected").systems
    assert compared["comparator"].eq("c").all() and compared["covers"].eq("items").all()
    with pytest.raises(ValueError, match="annotators='fixed' needs annotators' choices"):
        nb.rate(both, of="comparisons", annotators="fixed")


def test_few_annotators_have_intervals_for_other_items():
    for function in (lambda *data, **how: nb.rate(*data, **how).systems, nb.win_rates):
        for n in (1, 3, 9):
            study = nb.simulate("votes", n_annotators=n, n_votes=1, n_items=150, seed=0)
            few = function(study)
            assert few["covers"].eq(THESE_ANNOTATORS).all(), n
            assert few["ci_low"].notna().all() and few["status"].eq("ok").all()
            pd.testing.assert_frame_equal(few, function(study, annotators="fixed"))
            none = function(study, annotators="random")
            assert none["covers"].eq(OTHER_ANNOTATORS).all() and none["ci_low"].isna().all()
            assert none["status"].eq("too_few_annotators").all()
        # Ten with nearly equal loads are ten.
        ten = function(nb.simulate("votes", n_annotators=10, n_pairs=15, seed=0))
        assert ten["covers"].eq(OTHER_ANNOTATORS).all() and ten["ci_low"].notna().all()
        items = function(nb.simulate("votes", n_annotators=3, n_items=7, n_pairs=15, seed=0))
        assert items["status"].eq("few_items").all()


def prompted(n_prompts=170, n_votes=999, seed=0):
    """Two systems, a comparison of an item each, and prompts that favor one of them."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(n_prompts, size=n_votes)
    items = np.arange(n_votes).astype(str)
    outputs = pd.DataFrame({"item_id": np.repeat(items, 2), "system": ["x", "y"] * n_votes})
    outputs["output_id"] = outputs["system"] + outputs["item_id"]
    outputs = outputs.assign(text="", prompt=np.repeat([f"p{n}" for n in prompt], 2))
    first = rng.normal(0, 1.2, n_prompts)[prompt] + 0.4 + rng.logistic(size=n_votes) > 0
    votes = pd.DataFrame({"output_a": "x" + items, "output_b": "y" + items, "dimension": "quality"})
    votes = votes.assign(annotator_id=rng.permuted(np.arange(n_votes) % 3).astype(str))
    votes["choice"] = np.where(first, "a", "b")
    return nb.Study(outputs, preferences=votes, settings={"extra": ["prompt"]})


def test_votes_on_one_prompt_depend_on_each_other():
    plain = prompted()
    study = plain.replace(settings={**plain.settings, "clusters": "prompt"})
    rng = np.random.default_rng(0)
    won = (plain.preferences["choice"] == "a").to_numpy(dtype=float)
    prompt = pd.factorize(plain.outputs["prompt"][::2])[0]
    sums, sizes = np.bincount(prompt, won), np.bincount(prompt)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=4_000)
    rates = drawn @ sums / (drawn @ sizes)
    points = 400 / np.log(10) / 2
    by_prompt = nb.rate(study).systems
    ratings = np.log(rates / (1 - rates)).std()
    assert by_prompt["se"].iloc[0] == pytest.approx(ratings * points, rel=0.05)
    assert by_prompt["n_clusters"].between(140, 150).all()
    assert (by_prompt["se"] > 1.25 * nb.rate(plain).systems["se"]).all()
    row = nb.win_rates(study).query("system == 'x'").iloc[0]
    assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(1.96 * rates.std(), rel=0.05)


def test_values_that_differ_in_their_last_bits_tie():
    table = pd.DataFrame({"system_a": ["x"] * 4, "system_b": ["y"] * 4, "prob_a": 0.45})
    table = table.assign(prob_tie=0.1, prob_b=1 - 0.45 - 0.1)
    assert table["prob_b"].gt(0.45).all()
    assert nb.win_rates(table)["tie"].eq(1).all()
    study = nb.simulate("votes", n_items=20, seed=0)
    of = study.outputs["system"].map({"sys_a": 0.3}).fillna(0.1 + 0.2)
    steps = study.outputs["system"].map({"sys_a": 2.0}).fillna(1.0)
    for score, all_tie in ((of, True), (of * 1e-12, True), (steps * 1e-12, False)):
        scores = study.outputs[["output_id"]].assign(evaluator="e", score=score)
        found = nb.vote_accuracy(study.replace(scores=scores)).iloc[0]
        assert (found["n_said_tie"] == found["n"]) == all_tie


def test_ties_may_be_half_a_win_of_either_side():
    # Two systems: log-odds of the wins, halves of ties counted in.
    table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaaatttbb"]})
    table = table.replace({"outcome": {"t": "tie"}})
    found = nb.rate(table, ties="half").systems.set_index("system")
    gap = (found["estimate"]["x"] - found["estimate"]["y"]) * np.log(10) / 400
    assert gap == pytest.approx(np.log(6.5 / 3.5))
    assert found["tie"].eq(0).all()
    # Its variance is that of the scores, which halves make smaller than a coin's.
    score = np.repeat([1, 0.5, 0], [5, 3, 2])
    p = score.mean()
    spread = np.sqrt(((score - p) ** 2).sum()) / (p * (1 - p) * 10)
    expected = spread * 400 / np.log(10) / 2  # of either, against their mean
    assert found["se"]["x"] == pytest.approx(expected * 10 / 9, rel=1e-6)
    with pytest.raises(ValueError, match=r"For 'glicko2', use tie_ratio=None"):
        nb.rate(table, method="glicko2", ties="half")
