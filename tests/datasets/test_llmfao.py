"""LLMFAO: votes as preferences, and ratings and win rates that are evalica's."""

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.llmfao import RAW_FILE
from tests.released import needs

GOLDEN_FILE = "llmfao/llmfao-golden.csv"
RELEASED = needs(RAW_FILE, GOLDEN_FILE)


@RELEASED
def test_the_release():
    study = nb.load("llmfao")
    votes = study.preferences
    assert (len(votes), votes["annotator_id"].nunique()) == (8931, 124)
    assert votes["choice"].value_counts().to_dict() == {"tie": 3471, "a": 2911, "b": 2549}
    assert (len(study.systems), study.outputs["item_id"].nunique()) == (59, 13)
    assert votes["annotator_id"].str.fullmatch(r"w\d{3}").all()
    assert not votes.duplicated(["output_a", "output_b", "annotator_id"]).any()


@RELEASED
def test_ratings_and_win_rates_are_those_that_evalica_gives():
    study = nb.load("llmfao")
    golden = pd.read_csv(cache.path(GOLDEN_FILE))
    golden = golden.pivot(index="item", columns="algorithm", values="score")
    found = nb.rate(study, ties="half").systems.set_index("system")
    strength = np.exp((found["estimate"] - 1500) * np.log(10) / 400)
    compare = np.testing.assert_allclose
    wanted = golden.loc[found.index, "bradley_terry"]
    compare(strength / strength.sum(), wanted, atol=1e-9, rtol=0)
    rates = nb.win_rates(study)
    mean = rates.groupby("system")["estimate"].mean()
    compare(mean, golden.loc[mean.index, "average_win_rate"], atol=1e-9, rtol=0)
    points = (rates["estimate"] * rates["n_games"]).groupby(rates["system"]).sum()
    compare(points, golden.loc[points.index, "counting"], atol=1e-9, rtol=0)
    # 13 prompts: no system has an interval by more than t(12), and some are marked.
    assert found["n_clusters"].max() <= 13
    few = found["reason"].str.contains(
        "effective items: an interval from fewer than 10 is unreliable"
    )
    assert few.any() and (few == (found["n_clusters"].round() < 10)).all()
