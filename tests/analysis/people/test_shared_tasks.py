"""Ranks by the rule of WebNLG 2020 are those of its own steps on small tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgbench.analysis.people import rank_systems
from nlgbench.study import Study


def study_of(values, annotators):
    """Make a study of values (items, systems), each item by one annotator."""
    rows = [(f"{i}-{s}", f"i{i}", f"s{s}") for i, s in np.ndindex(values.shape)]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    who = [f"w{one}" for one in np.repeat(annotators, values.shape[1])]
    return Study(outputs, outputs[["output_id"]].assign(annotator_id=who, value=values.ravel()))


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
    table = rank_systems(study_of(values, [0] * 40)).set_index("system")
    assert {f"s{n}": rank for n, rank in expected.items()} == table["rank"].to_dict()
    assert table["rank"].max() > 1


def test_who_gives_one_value_is_zero():
    values = np.array([[1.0, 2, 3], [5, 5, 5], [3, 1, 2]])
    scores = rank_systems(study_of(values, annotators=[0, 1, 2])).set_index("system")["score"]
    assert scores["s2"] == pytest.approx(np.mean([1.5**0.5, 0, 0]))
