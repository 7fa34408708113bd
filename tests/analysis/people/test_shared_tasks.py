"""Ranks by the rules of shared tasks: by their own steps on small tables, and on known worlds."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.people import shared_tasks
from nlgbench.study import Study


def study_of(values, annotators=None):
    """Make a study of values (items, systems), each item by one annotator or those given."""
    n, k = values.shape
    item, system = np.divmod(np.arange(n * k), k)
    outputs = pd.DataFrame(
        {
            "output_id": [f"{i}-{s}" for i, s in zip(item, system, strict=True)],
            "item_id": [f"i{i}" for i in item],
            "system": [f"s{s}" for s in system],
        }
    )
    who = "w" if annotators is None else [f"w{annotators[i]}" for i in item]
    judgments = outputs[["output_id"]].assign(annotator_id=who, value=values.ravel())
    return Study(outputs, judgments[np.isfinite(judgments["value"])])


@pytest.fixture(scope="module")
def values():
    """Three systems that hardly differ, and one far below."""
    rng = np.random.default_rng(0)
    return rng.normal([0.25, 0.0, 0.2, -3.0], 1, size=(40, 4))


def test_wmt_counts_wins_by_one_sided_rank_sums(values):
    table = nb.rank_systems(study_of(values), rule="wmt").set_index("system")
    z = (values - values.mean()) / values.std(ddof=1)
    for one in range(4):
        wins = sum(
            z[:, one].mean() > z[:, other].mean()
            and stats.mannwhitneyu(z[:, one], z[:, other], alternative="greater").pvalue < 0.05
            for other in range(4)
            if other != one
        )
        assert table.loc[f"s{one}", "rank_high"] == 4 - wins
        assert table.loc[f"s{one}", "score"] == pytest.approx(z[:, one].mean())
    assert table["cluster"].tolist() == [1, 1, 1, 2] and table.index[-1] == "s3"


def test_wmt_compares_items_that_both_have():
    """The fifth item, which one system lacks, does not count in the test."""
    values = np.array([[1.0, 0], [2, 1], [3, 2], [4, 3], [-50, np.nan]])
    table = nb.rank_systems(study_of(values), rule="wmt").set_index("system")
    assert table.loc["s1", "score"] > table.loc["s0", "score"] and (table["cluster"] == 1).all()


def steps(z, order):
    """WebNLG 2020's ranking, as its report words it: down the means, a step at each loss."""
    rank = dict.fromkeys(order, 1)
    for at, one in enumerate(order):
        for after in range(at + 1, len(order)):
            other, before = order[after], order[after - 1]
            if stats.ranksums(z[:, one], z[:, other]).pvalue < 0.05:
                rank[other] = rank[one] + 1
            elif rank[other] < rank[before]:
                rank[other] = rank[before]
    return rank


@pytest.mark.parametrize("seed", range(6))
def test_webnlg_steps_down_the_mean_z_scores(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(np.linspace(1.2, 0, 7), 1, size=(40, 7))
    z = (values - values.mean()) / values.std()
    expected = steps(z, list(np.argsort(-z.mean(axis=0))))
    table = nb.rank_systems(study_of(values), rule="webnlg").set_index("system")
    assert {f"s{n}": rank for n, rank in expected.items()} == table["rank"].to_dict()
    assert table["rank"].max() > 1


def test_e2e_ranges_hold_ranks_of_items_drawn_again(values):
    table = nb.rank_systems(study_of(values), rule="e2e", n_resamples=400).set_index("system")
    rng = np.random.default_rng(1)
    ranks = [
        stats.rankdata(-values[rng.integers(40, size=40)].mean(axis=0), method="min")
        for _ in range(2_000)
    ]
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
    for n in range(4):
        assert table.loc[f"s{n}", ["rank_low", "rank_high"]].tolist() == [low[n], high[n]]
    assert table["cluster"].tolist() == [1, 1, 1, 2]


def test_who_gives_one_value_is_left_out_by_wmt_and_zero_elsewhere():
    values = np.array([[1.0, 2, 3], [5, 5, 5], [3, 1, 2]])
    study = study_of(values, annotators=[0, 1, 2])
    scores = {
        rule: nb.rank_systems(study, rule=rule, n_resamples=5).set_index("system")["score"]
        for rule in ("wmt", "webnlg")
    }
    assert scores["wmt"]["s2"] == pytest.approx(np.mean([1, 0]))
    assert scores["webnlg"]["s2"] == pytest.approx(np.mean([1.5**0.5, 0, 0]))


@pytest.mark.parametrize("rule", ["wmt", "webnlg", "e2e"])
def test_systems_far_apart_stand_apart(rule):
    study = nb.simulate("judgments", means=[6.0, 0.0, 3.0], n_items=40, seed=0)
    table = nb.rank_systems(study, rule=rule, n_resamples=100)
    assert table["system"].tolist() == ["s01", "s03", "s02"]
    assert table["rank"].tolist() == table["cluster"].tolist() == [1, 2, 3]
    assert (table["rule"] == rule).all() and table["rank"].dtype == int


def test_z_scores_are_those_of_scipy():
    frame = pd.DataFrame({"annotator_id": [*"aab", *"bb"], "value": [1.0, 3, 2, 4, 9]})
    found = shared_tasks._z_scores(frame, ddof=0)["z"]
    expected = np.append(stats.zscore([1, 3]), stats.zscore([2, 4, 9]))
    np.testing.assert_allclose(found, expected)
