"""Ratings and win rates of people's votes, over other items and other annotators."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import t

import nlgbench as nb
from nlgbench.analysis.ratings.bradley_terry import (
    covariance,
    effective_number,
    fewest,
    in_two_ways,
)

NUMBERS = ["rating", "ci_low", "ci_high", "se"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_games_that_share_an_item_or_an_annotator_may_depend_on_each_other(seed):
    # The rule by brute force: products of all two games with an item, or the annotator, in common.
    rng = np.random.default_rng(seed)
    n = 40
    one, other = rng.integers(6, size=(2, n))
    annotator, scores = rng.integers(5, size=n), rng.normal(size=n)
    total = 0.0
    for i in range(n):
        for j in range(n):
            items = {one[i], other[i]} & {one[j], other[j]}
            total += scores[i] * scores[j] * bool(items or annotator[i] == annotator[j])
    no_share = csr_array((n, 1))

    def of(one, other):
        return np.diag(covariance(csr_array(scores[:, None]), no_share, one, other))

    found = in_two_ways(of, one, other, annotator)[0]
    if total > 0:
        assert found == pytest.approx(total)
    else:
        assert found == pytest.approx(of(one, other)[0] + of(annotator, annotator)[0])


def test_where_the_difference_is_not_positive_nothing_is_taken_off():
    zero = np.zeros(2, dtype=int)

    def of(one, other):
        return np.array([3.0, 1.0]) if one.max() == 1 else np.array([2.0, 4.0])

    # 2 + 2 - 3 for the first; 4 + 4 - 1 would be positive, 1 + 1 - 2 is not.
    assert in_two_ways(of, zero, zero, np.array([0, 1])).tolist() == [2 + 3 - 3, 4 + 1 - 1]

    def heavy(one, other):
        return np.array([9.0]) if one.max() > 1 else np.array([2.0])

    assert in_two_ways(heavy, np.array([0, 1]), np.array([0, 1]), np.array([0, 1])).tolist() == [4]


def test_clusters_of_unequal_size_count_for_less():
    group, cluster = np.array([0] * 4 + [1] * 6), np.array([0, 1, 2, 3, 0, 0, 0, 0, 0, 1])
    assert effective_number(group, cluster).tolist() == [4, 36 / 26]
    least, why = fewest(np.array([5.0, 9.0, 50.0]), np.array([30.0, 9.5, 12.0]))
    assert least.tolist() == [5, 9, 12]
    assert why.tolist() == [
        "5.0 effective items: no interval over fewer than 6",
        "9.0 effective items: few to trust an interval",
        "",
    ]


def test_votes_are_rated_over_items_and_annotators_without_being_told():
    study = nb.simulate("votes", seed=1)
    found = nb.rate(study)
    assert (
        found["comparator"].eq("people").all() and found["covers"].eq("items and annotators").all()
    )
    assert found["reason"].eq("").all() and found["n_clusters"].between(15, 20).all()
    half = t.ppf(0.975, found["n_clusters"] - 1) * found["se"]
    np.testing.assert_allclose(found["ci_high"] - found["rating"], half)
    pd.testing.assert_frame_equal(found, nb.rate(study, of="preferences"))
    # Where annotators have no taste of their own, and items no say, all say nearly the same.
    plain = nb.simulate("votes", of_taste=0, of_items=0, careless=0, n_items=300, seed=1)
    both, items = (nb.rate(plain, **how)["se"] for how in ({}, {"clusters": "items"}))
    np.testing.assert_allclose(both, items, rtol=0.6)
    # Where they have, clusters of items alone know nothing of it.
    own = nb.simulate("votes", of_taste=1.5, n_items=300, seed=1)
    both, items = (nb.rate(own, **how)["se"] for how in ({}, {"clusters": "items"}))
    assert (both > 1.5 * items).all()
    # Comparisons, where there are any, come first, and are over items.
    votes = study.preferences
    table = votes.drop_duplicates(["output_a", "output_b"])[["output_a", "output_b"]]
    table = table.assign(comparator="c", prob_a=0.5, prob_tie=0.2, prob_b=0.3)
    compared = nb.rate(study.replace(comparisons=table), outcome="expected")
    assert compared["comparator"].eq("c").all() and compared["covers"].eq("items").all()


def test_few_annotators_get_no_interval_and_a_reason():
    for function in (nb.rate, nb.win_rates):
        few = function(nb.simulate("votes", n_annotators=5, seed=0))
        assert few["ci_low"].isna().all() and few[few.columns[2]].notna().all()
        assert few["reason"].str.fullmatch(r"(4\.\d|5\.0) effective annotators: no .* than 6").all()
        some = function(nb.simulate("votes", n_annotators=9, n_pairs=15, seed=0))
        assert some["ci_low"].notna().all()
        assert some["reason"].str.endswith("effective annotators: few to trust an interval").all()
        alone = function(nb.simulate("votes", n_annotators=1, n_votes=1, seed=0))
        assert alone["covers"].eq("items").all() and alone["ci_low"].notna().all()


def test_ties_may_be_half_a_win_of_either_side():
    # Two systems: log-odds of the wins, halves of ties counted in.
    outcome = [*"aaaaatttbb"]
    table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": outcome})
    table = table.replace({"outcome": {"t": "tie"}})
    found = nb.rate(table, ties="half").set_index("system")
    gap = (found["rating"]["x"] - found["rating"]["y"]) * np.log(10) / 400
    assert gap == pytest.approx(np.log(6.5 / 3.5))
    assert found["tie"].eq(0).all()
    # Its variance is that of the scores, which halves make smaller than a coin's.
    score = np.repeat([1, 0.5, 0], [5, 3, 2])
    p = score.mean()
    spread = np.sqrt(((score - p) ** 2).sum()) / (p * (1 - p) * 10)
    expected = spread * 400 / np.log(10) / 2  # of either, against their mean
    assert found["se"]["x"] == pytest.approx(expected * 10 / 9, rel=1e-6)
    davidson = nb.rate(table).set_index("system")
    assert davidson["tie"]["x"] > 0
    assert davidson["se"]["x"] > 0
    with pytest.raises(ValueError, match=r"For 'glicko2' say tie_ratio=None"):
        nb.rate(table, method="glicko2", ties="half")


def test_a_difference_is_that_of_two_ratings_and_two_systems_have_one():
    study = nb.simulate("votes", seed=4)
    rated, apart = nb.rate(study).set_index("system"), nb.rating_differences(study)
    gap = rated.loc[apart["system"], "rating"].to_numpy() - rated.loc[apart["other"], "rating"]
    np.testing.assert_allclose(apart["difference"], gap)
    least = np.minimum(
        *(rated.loc[apart[side], "n_clusters"].to_numpy() for side in ("system", "other"))
    )
    np.testing.assert_allclose(apart["n_clusters"], least)
    two = nb.simulate("votes", systems={"x": 0.3, "y": 0.0}, n_pairs=1, seed=4)
    own, both = nb.rate(two).iloc[0], nb.rating_differences(two).iloc[0]
    np.testing.assert_allclose(both["difference"], 2 * (own["rating"] - 1500))
    np.testing.assert_allclose(both["se"], 2 * own["se"])


def test_glicko_rates_votes_as_it_rates_comparisons():
    study = nb.simulate("votes", n_items=200, seed=2)
    found = nb.rate(study, method="glicko2", tie_ratio=None).set_index("system")["rating"]
    best = study.truth["systems"].set_index("system")["ability"]
    assert found.corr(best, method="spearman") > 0.8


def test_intervals_hold_the_truth_over_items_and_annotators():
    # 40 worlds of six systems; limits that three standard errors over worlds allow.
    layout = {"n_items": 40, "of_taste": 0.6}
    true = nb.simulate("votes", **layout).truth["pairs"]
    truth = nb.rate(true, outcome="expected").set_index("system")["rating"]
    rate = true.set_index(["system_a", "system_b"])
    rate = rate["prob_a"] + rate["prob_tie"] / 2
    held = {"rating": [], "difference": [], "win rate": []}
    for seed in range(40):
        study = nb.simulate("votes", **layout, seed=seed)
        found = nb.rate(study).set_index("system")
        inside = (found["ci_low"] <= truth) & (truth <= found["ci_high"])
        held["rating"].append(inside.mean())
        apart = nb.rating_differences(study)
        gap = truth[apart["system"]].to_numpy() - truth[apart["other"]].to_numpy()
        held["difference"].append(((apart["ci_low"] <= gap) & (gap <= apart["ci_high"])).mean())
        rates = nb.win_rates(study).set_index(["system", "opponent"]).loc[rate.index]
        inside = (rates["ci_low"] <= rate) & (rate <= rates["ci_high"])
        held["win rate"].append(inside[rates["ci_low"].notna()].mean())
    for what, each in held.items():
        coverage, error = np.mean(each), np.std(each) / np.sqrt(len(each))
        assert 0.93 - 3 * error < coverage < 0.97 + 3 * error, (what, coverage)
