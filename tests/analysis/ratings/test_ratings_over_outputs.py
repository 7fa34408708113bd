"""Ratings and win rates over other outputs of the same systems."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import t
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from nlgbench.analysis.ratings import glicko, rate, win_rates
from nlgbench.analysis.ratings.bradley_terry import OUTPUTS, covariance, rate_intervals
from nlgbench.analysis.ratings.games import of_outputs, read_games
from nlgbench.analysis.ratings.glicko import POINTS
from nlgbench.study import Study

NUMBERS = {
    rate: ["rating", "se", "ci_low", "ci_high", "tie", "n_clusters"],
    win_rates: ["win", "tie", "win_rate", "ci_low", "ci_high", "n_clusters"],
}


@pytest.fixture(scope="module")
def benchmark():
    path = Path(__file__).parents[3] / "benchmarks" / "ratings.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_ratings", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(n_systems=3, n_outputs=4, *, n_items=None):
    """Outputs x0_0, x0_1, ...; each its own item, or numbered through n_items."""
    rows = [
        {"system": f"x{one}", "output_id": f"x{one}_{number}", "item_id": f"{number % n_items}"}
        if n_items
        else {"system": f"x{one}", "output_id": f"x{one}_{number}", "item_id": f"x{one}_{number}"}
        for one in range(n_systems)
        for number in range(n_outputs)
    ]
    return pd.DataFrame(rows).assign(text="t", is_human=False)


def compared(outputs, a, b, outcome):
    """Comparisons of the outputs in rows a and b; outcome: 0 a wins, 1 a tie, 2 b wins."""
    table = pd.DataFrame(np.eye(3)[outcome], columns=["prob_a", "prob_tie", "prob_b"])
    ids = outputs["output_id"].to_numpy()
    table = table.assign(comparator="c", output_a=ids[a], output_b=ids[b])
    return Study(outputs, comparisons=table)


def exchanged(study):
    """Call b a and a b, in every row."""
    turn = {"output_a": "output_b", "prob_a": "prob_b"}
    turned = study.comparisons.rename(columns=turn | {new: old for old, new in turn.items()})
    return study.replace(comparisons=turned)


@st.composite
def played(draw):
    """Outputs of three systems, and games between them."""
    outputs = written(3, draw(st.integers(3, 5)), n_items=draw(st.sampled_from([None, 3, 4])))
    rows = st.integers(0, len(outputs) - 1)
    pairs = draw(st.lists(st.tuples(rows, rows), min_size=25, max_size=60, unique_by=frozenset))
    pairs = [(a, b) for a, b in pairs if outputs["system"][a] != outputs["system"][b]]
    outcome = draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    return outputs, *np.array(pairs, dtype=int).reshape(-1, 2).T, outcome


def without(study, columns):
    """Its comparisons as a table of games that knows of less."""
    table = of_outputs(study, study.comparisons, "comparisons")
    return table.loc[:, ~table.columns.str.contains(columns)]


@given(played(), st.randoms(use_true_random=False))
@settings(max_examples=4)
def test_who_is_called_a_and_the_order_of_rows_change_nothing(world, random):
    study = compared(*world)
    rows = list(range(len(study.comparisons)))
    random.shuffle(rows)
    some = [random.random() < 0.5 for _ in rows]
    turned = exchanged(study)
    mixed = [study.comparisons[np.logical_not(some)], turned.comparisons[some]]
    mixed = study.replace(comparisons=pd.concat(mixed, ignore_index=True).iloc[rows])
    for function, columns in NUMBERS.items():
        for gone in ("none", "item_", "item_|output_"):
            first, again = (function(without(one, gone)) for one in (study, mixed))
            assert again["reason"].tolist() == first["reason"].tolist()
            np.testing.assert_allclose(again[columns], first[columns], rtol=1e-9, atol=1e-9)
    for one_by_one in (glicko.glicko2, glicko.elo):  # rows keep their order
        first, other = one_by_one(read_games(study)), one_by_one(read_games(turned))
        np.testing.assert_allclose(other["rating"], first["rating"], rtol=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_games_that_share_a_cluster_may_depend_on_each_other_and_no_others(pairs, seed):
    # Aronow, Samii and Assenova (2015), equation 3, by its definition: all pairs of games.
    one, other = np.array(pairs).T
    scores = np.random.default_rng(seed).normal(size=(len(pairs), 2))
    expected = np.zeros((2, 2))
    for own, (i, j) in zip(scores, pairs, strict=True):
        for its, two in zip(scores, pairs, strict=True):
            if {i, j} & {*two}:
                expected += np.outer(own, its)
    label = np.column_stack([one, other])
    found = covariance(csr_array(scores), csr_array(0 * scores), label)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    turned = covariance(csr_array(scores), csr_array(0 * scores), label[:, ::-1])
    np.testing.assert_allclose(turned, found)


def test_with_sides_apart_it_is_clustering_in_two_ways_as_statsmodels_has_it():
    rng = np.random.default_rng(0)
    one, other = rng.integers(8, size=60), rng.integers(7, size=60)
    score = rng.normal(size=60) + rng.normal(size=8)[one] + rng.normal(size=7)[other]
    fitted = sm.OLS(score, np.ones(60)).fit()
    theirs = cov_cluster_2groups(fitted, one, other, use_correction=False)[0].item()
    rest = csr_array((score - score.mean())[:, None] / 60)
    label = np.column_stack([one, other + 8])
    assert covariance(rest, 0 * rest, label).item() == pytest.approx(theirs)


def test_with_items_on_both_sides_it_is_the_cluster_variance_of_statsmodels():
    outputs = written(4, 20, n_items=20)
    rng = np.random.default_rng(1)
    pairs = np.array(np.triu_indices(4, 1))[:, np.repeat(np.arange(6), 20)]
    item = np.tile(np.arange(20), 6)
    a, b = pairs * 20 + item
    won = rng.random(120) < 0.5 + 0.1 * (pairs[1] - pairs[0])
    found = rate(compared(outputs, a, b, np.where(won, 0, 2)))
    design = np.zeros((120, 4))
    design[np.arange(120), pairs[0]], design[np.arange(120), pairs[1]] = 1, -1
    model = sm.GLM(won, design[:, 1:], family=sm.families.Binomial())
    robust = model.fit(
        tol=1e-14, cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}
    )
    centering = (np.eye(4) - 0.25)[:, 1:]
    theirs = np.sqrt(np.diag(centering @ robust.cov_params() @ centering.T))
    # Each item holds a twentieth of all information, but for the games' different variances.
    np.testing.assert_allclose(found["se"] / POINTS, theirs / (1 - 1 / 20), rtol=0.02)
    half = t.ppf(0.975, 19) * found["se"]
    np.testing.assert_allclose(found["ci_high"] - found["rating"], half)


def test_shares_stand_for_leaving_each_cluster_out():
    # Where each game is within one item, the jackknife needs no pairs: fit without each item.
    outputs = written(4, 30, n_items=10)
    item = outputs["item_id"].astype(int).to_numpy()
    a, b = np.array(np.nonzero((item[:, None] == item) & (np.arange(120) // 30 < 3)[:, None]))
    a, b = (side[a // 30 < b // 30] for side in (a, b))
    rng = np.random.default_rng(3)
    quality = rng.normal(size=120) + rng.normal(size=(4, 10))[np.arange(120) // 30, item]
    outcome = np.sign(quality[b] - quality[a]).astype(int) + 1
    found = rate(compared(outputs, a, b, outcome))
    left = [
        rate(compared(outputs, a[rest], b[rest], outcome[rest]))["rating"]
        for number in range(10)
        for rest in [item[a] != number]
    ]
    jackknife = np.sqrt(((np.array(left) - found["rating"].to_numpy()) ** 2).sum(axis=0))
    # Without shares they would be a tenth smaller.
    np.testing.assert_allclose(found["se"], jackknife, rtol=0.04)


def test_an_output_that_is_a_in_one_game_and_b_in_another_is_one_cluster():
    # Three outputs of x0 win all their games, now as a and now as b, and three lose them.
    outputs = written(2, 6)
    pairs = np.array([(a, b) for a in range(6) for b in range(6, 12)])
    outcome = np.where(pairs[:, 0] < 3, 0, 2)
    sides = np.where(np.arange(36)[:, None] % 2, pairs[:, ::-1], pairs)
    turned = np.where(np.arange(36) % 2, 2 - outcome, outcome)
    straight = rate(compared(outputs, *pairs.T, outcome))
    mixed = rate(compared(outputs, *sides.T, turned))
    np.testing.assert_allclose(mixed["se"], straight["se"], rtol=1e-12)
    # Scores of 6 (1 - .5), with a sixth of the information; of .5 for each of 36 pairs; 36 / 4.
    by_hand = np.sqrt(6 * (3 * 6 / 5) ** 2 - 36 * (0.5 * 36 / 35) ** 2) / 9 / 2
    by_game = rate(without(compared(outputs, *pairs.T, outcome), "item_|output_"))
    assert straight["se"][0] / POINTS == pytest.approx(by_hand)
    assert by_game["se"][0] / POINTS == pytest.approx(1 / np.sqrt(36 * 0.25) / 2)


@pytest.fixture
def met():
    """Three systems of six outputs of different quality, and about 60 games."""
    outputs, rng = written(3, 6), np.random.default_rng(0)
    pairs = np.array([(a, b) for a in range(18) for b in range(a) if a // 6 != b // 6])
    a, b = rng.permuted(pairs[rng.permutation(len(pairs))[:60]], axis=1).T
    gap = rng.normal(size=18)[[b, a]]
    return compared(outputs, a, b, 1 + (gap[0] - gap[1] > 0.2) - (gap[0] - gap[1] < -0.2))


def test_what_an_interval_covers_is_said(met):
    assert rate(met, method="glicko2")["covers"].eq("games").all()
    with pytest.raises(ValueError, match="annotators= are for method='bradley_terry'"):
        rate(met, method="glicko2", annotators="fixed")
    for function in (rate, win_rates):
        found = function(met)
        assert found["covers"].eq("items").all() and found["n_clusters"].eq(6).all()
        assert found["reason"].str.match("6 items: .* fewer than 10 cannot be trusted").all()
        assert function(without(met, "item_"))["covers"].eq("outputs").all()
        assert function(without(met, "item_|output_"))["covers"].eq("games").all()


def test_intervals_from_almost_nothing_have_a_reason():
    outputs = written(2, 5)
    pairs = np.array([(a, b) for a in range(5) for b in range(5, 10)]).T
    outcome = np.array([0, 1, 0, 2, 0])[pairs[0]]  # some outputs always win
    for function in (rate, win_rates):
        few = function(compared(outputs, *pairs, outcome))
        assert few["reason"].str.startswith("5 items: ").all()
        assert few["n_clusters"].eq(5).all()
        assert few[["ci_low", "ci_high"]].notna().all(axis=None)
        one = outputs.assign(item_id="1")
        none = function(compared(one, *pairs, outcome))
        assert none["reason"].str.startswith("one item is in all games").all()
        assert none[["ci_low", "ci_high"]].isna().all(axis=None)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=2))
@settings(max_examples=60)
def test_a_rate_lies_in_its_interval_and_the_other_side_mirrors_it(rows):
    one, other, kind = np.array(rows).T
    score, group = kind / 2, np.zeros(len(rows), dtype=int)
    found = rate_intervals(group, score, one, other, OUTPUTS, confidence=0.9).iloc[0]
    mirrored = rate_intervals(group, 1 - score, other, one, OUTPUTS, confidence=0.9).iloc[0]
    if found["reason"].startswith("one output"):
        assert np.isnan([found["ci_low"], mirrored["ci_high"]]).all()
    else:
        assert 0 <= found["ci_low"] <= found["win_rate"] <= found["ci_high"] <= 1
        assert mirrored["ci_high"] == pytest.approx(1 - found["ci_low"], abs=1e-9)
