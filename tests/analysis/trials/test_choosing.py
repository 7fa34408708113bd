"""Choices cost what is counted by hand, with statsmodels' intervals; the truth never regrets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from nlgbench import choose
from nlgbench.analysis.trials.choosing import RANDOM, measure_choices

QUALITY = pd.DataFrame({"group": [*"ggghhii"], "quality": [1.0, 2.0, 6.0, 4.0, 4.0, 5.0, 3.0]})
QUALITY["system"] = ["g1", "g2", "g3", "h1", "h2", "i1", "i2"]


def chosen(**systems: list) -> pd.DataFrame:
    table = pd.DataFrame({"group": [*"ghi"], **systems})
    return table.melt("group", var_name="evaluator", value_name="system")


def measured(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_index(["evaluator", "measure"])


def test_choices_by_hand():
    table = measured(measure_choices(chosen(a=["g3", "h2", "i2"], b=["g2", "h1", "i2"]), QUALITY))
    got = table["estimate"]
    assert got["a"].to_dict() == pytest.approx(
        {
            "win_times": 2,  # h1 and h2 are both the best
            "wins_among_choices": 3,
            "quality": 13 / 3,
            "regret": 2 / 3,
            "gain": (3 + 0 - 1) / 3,
        }
    )
    assert got["b", "win_times"] == 1
    assert got["b", "wins_among_choices"] == 2
    assert got[RANDOM].to_dict() == pytest.approx(
        {"win_times": 1 / 3 + 1 + 1 / 2, "quality": 11 / 3, "regret": 4 / 3, "gain": 0}
    )
    assert set(table.loc[table["ci_low"].isna(), "status"]) == {"exact"}
    assert table.loc[table["ci_low"].notna(), "status"].eq("ok").all()


def test_intervals_are_those_of_statsmodels():
    table = measured(measure_choices(chosen(a=["g3", "h2", "i2"]), QUALITY))
    low, high = DescrStatsW([0.0, 0.0, 2.0]).tconfint_mean()
    assert table.loc[("a", "regret"), ["ci_low", "ci_high"]].tolist() == pytest.approx([low, high])
    low, high = proportion_confint(2, 3, method="wilson")
    row = table.loc[("a", "win_times")]
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([3 * low, 3 * high])


def test_within_tolerance_all_are_the_best():
    picks = chosen(a=["g2", "h1", "i2"])
    for tolerance, wins in {0: 1, 2: 2, 4: 3}.items():
        table = measured(measure_choices(picks, QUALITY, tolerance=tolerance))["estimate"]
        assert table["a", "win_times"] == wins
    assert table[RANDOM, "win_times"] == pytest.approx(2 / 3 + 1 + 1)


def test_the_highest_score_is_chosen_and_the_first_of_equals():
    scores = QUALITY[["group", "system"]].assign(evaluator="e")
    scores["score"] = [np.nan, 0.2, 0.1, 0.5, 0.5, np.nan, np.nan]
    found = choose(scores)
    assert found["system"].tolist()[:2] == ["g2", "h1"]
    for scale in (1e-12, 1e12):
        assert choose(scores.assign(score=scores["score"] * scale)).equals(found)
    assert pd.isna(found["system"].iloc[2])
    assert found["n_undefined"].tolist() == [1, 0, 2]


@settings(max_examples=8)
@given(
    st.lists(st.lists(st.floats(-9, 9), min_size=1, max_size=4), min_size=2, max_size=6), st.data()
)
def test_truth_never_regrets_and_nobody_beats_it(groups, data):
    rows = [(f"g{n}", value) for n, values in enumerate(groups) for value in values]
    quality = pd.DataFrame(rows, columns=["group", "quality"])
    quality["system"] = quality.index.astype(str)
    oracle = choose(quality.assign(evaluator="truth", score=quality["quality"]))
    noise = data.draw(st.lists(st.floats(0, 1), min_size=len(rows), max_size=len(rows)))
    other = choose(quality.assign(evaluator="noise", score=noise))
    got = measured(measure_choices(pd.concat([oracle, other]), quality))["estimate"]
    assert got["truth", "regret"] == pytest.approx(0, abs=1e-9)
    assert got["truth", "win_times"] == len(groups) >= got["noise", "win_times"]
    assert got["truth", "quality"] >= got["noise", "quality"] - 1e-9
    assert got["noise", "gain"] + got["noise", "regret"] == pytest.approx(got[RANDOM, "regret"])
    assert got[RANDOM, "win_times"] <= len(groups) + 1e-9
