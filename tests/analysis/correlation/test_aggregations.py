"""Correlations with people whose judgments are aggregated otherwise: as two calls give them."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.papers import judge_the_judges as paper


def test_both_correlations_are_those_of_correlate():
    study = nb.simulate("own", n_items=40, seed=2)
    scaled = study.judgments.assign(value=study.judgments["value"].round().clip(-2, 2))
    study = study.replace(judgments=scaled)
    found = nb.compare_aggregations(
        study, methods=["dawid_skene"], evaluators=["close"], n_resamples=50, seed=1
    )
    (row,) = found.to_dict("records")
    plain = nb.correlate(study, evaluators=["close"], statistics=["pearson"], resample=None)
    assert row["with_mean"] == pytest.approx(plain["estimate"].iloc[0])
    labels = nb.aggregate_judgments(study, method="dawid_skene", n_resamples=0)
    judged = study.replace(judgments=labels.judgments)
    other = nb.correlate(judged, evaluators=["close"], statistics=["pearson"], resample=None)
    assert row["estimate"] == pytest.approx(other["estimate"].iloc[0], abs=1e-9)
    assert row["difference"] == pytest.approx(row["estimate"] - row["with_mean"])
    assert row["ci_low"] < row["ci_high"] or row["reason"]


def test_lower_is_better_turns_both_sides():
    study = nb.simulate("own", n_items=30, seed=2)
    scaled = study.judgments.assign(value=study.judgments["value"].round().clip(-2, 2))
    study = study.replace(judgments=scaled)
    lower = study.replace(settings={**study.settings, "lower_is_better": [study.dimension()]})
    asked = {"methods": ["majority"], "evaluators": ["close"], "n_resamples": 20, "seed": 1}
    up, down = (nb.compare_aggregations(one, **asked) for one in (study, lower))
    assert up["estimate"].to_numpy() == pytest.approx(-down["estimate"].to_numpy())


def test_table_3_by_the_majority_is_what_accuracy_says():
    study = nb.simulate("crowd", n_outputs=20, n_truth=0, seed=3)
    rows, layout = paper.table3_by_method(study, seed=1)
    plain = nb.accuracy(study, rule="majority").set_index("row")["estimate"]
    ours = rows[rows["method"] == "majority"].set_index("row")["estimate"]
    assert ours.to_numpy() == pytest.approx(100 * plain[ours.index].to_numpy())
    assert (rows.loc[rows["method"] == "majority", "difference"] == 0).all()
    assert layout["table"].shape == (len(plain), 3)
    others = rows[rows["method"] != "majority"]
    assert np.isfinite(others.loc[others["reason"] == "", "difference_low"]).all()


def test_what_is_drawn_is_the_difference():
    table = pd.DataFrame({"evaluator": "chrf", "method": ["majority", "mace"], "estimate": 0.5})
    table = table.assign(difference=[0.1, -0.1], ci_low=-0.2, ci_high=0.2)
    drawn = nb.plot_forest(paper.changed_by(table, "mace"))
    assert drawn.data["estimate"].tolist() == [-0.1]
