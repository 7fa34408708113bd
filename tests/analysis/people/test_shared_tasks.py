"""Ranks by the rule of WebNLG 2020, by its own steps on small tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgbench.analysis.people import rank_systems
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
    table = rank_systems(study_of(values)).set_index("system")
    assert {f"s{n}": rank for n, rank in expected.items()} == table["rank"].to_dict()
    assert table["rank"].max() > 1


def test_who_gives_one_value_is_zero():
    values = np.array([[1.0, 2, 3], [5, 5, 5], [3, 1, 2]])
    scores = rank_systems(study_of(values, annotators=[0, 1, 2])).set_index("system")["score"]
    assert scores["s2"] == pytest.approx(np.mean([1.5**0.5, 0, 0]))
