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


def test_outputs_without_a_score_or_a_label_are_counted():
    study = nb.simulate("crowd", n_outputs=10, n_truth=0, seed=1)
    study = nb.score(study, ["minus_self_bleu_4"])
    own = study.scores.merge(study.outputs[["output_id", "is_human"]])
    own = own.index[~own["is_human"]]
    few = study.replace(scores=study.scores.drop(own[:17]))
    asked = {"methods": ["majority"], "n_resamples": 20}
    # One that is named alone, and beside an evaluator that has scored all.
    more = study.scores.assign(evaluator="another")
    both = study.replace(scores=pd.concat([few.scores, more]))
    tied = nb.aggregate_judgments(study, n_resamples=0).outputs["label"].isna().sum()
    assert tied == 0  # five votes of two
    assert nb.compare_aggregations(few, **asked)["n_missing"].tolist() == [17]
    assert nb.compare_aggregations(both, **asked)["n_missing"].tolist() == [17, 0]


def test_several_studies_are_each_by_itself():
    made = [nb.simulate("own", n_items=30, seed=seed) for seed in (1, 2)]
    rounded = [
        one.replace(
            judgments=one.judgments.assign(value=one.judgments["value"].round().clip(-2, 2))
        )
        for one in made
    ]
    studies = dict(zip("ab", rounded, strict=True))
    asked = {"methods": ["majority"], "evaluators": ["close"], "n_resamples": 20, "seed": 1}
    found = nb.compare_aggregations(studies, **asked)
    assert found["study"].tolist() == ["a", "b"]
    for name, study in studies.items():
        alone = nb.compare_aggregations(study, **asked)
        own = found[found["study"] == name].drop(columns="study").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone)


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
