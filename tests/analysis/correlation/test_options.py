"""Sentinels beside other evaluators, and what cannot be asked for."""

import numpy as np
import pandas as pd
import pytest
from small_study import made, study, table

import nlgbench as nb
from nlgbench.analysis.correlation import correlate
from nlgbench.evaluators.sentinels import LENGTH, SENTINELS


def of(found, **wanted):
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": "item"}, "resample: 'item' is unknown"),
        ({"resample": "systems", "granularity": "output"}, "resample='systems' is of systems'"),
        ({"granularity": "item", "against": table("h", [1.0])}, "against= has systems' scores"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        correlate(made(*study()), **options)


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_sentinels_know_next_to_nothing(granularity):
    outputs, scores, judgments = study(n_systems=7, n_items=12)
    outputs["text"] = [" ".join("a" * (1 + number % 5)) for number in range(len(outputs))]
    asked = made(outputs, scores, judgments)
    options = {"granularity": granularity, "statistics": ["pearson"], "seed": 1}
    plain = correlate(asked, **options)
    found = correlate(nb.score(asked, SENTINELS), **options)
    own = ~found["evaluator"].str.endswith("@sentinel")
    pd.testing.assert_frame_equal(found[own].reset_index(drop=True), plain)
    constant = of(found, evaluator="constant@sentinel").iloc[0]
    assert np.isnan(constant["estimate"])
    assert constant["n_undefined"] == (12 if granularity == "item" else 1)
    values = judgments.groupby("output_id")["value"].mean()
    rows = outputs.assign(value=outputs["output_id"].map(values))
    rows["length"] = rows["text"].str.split().str.len()
    rows["system_mean"] = [
        rows.loc[(rows["system"] == one.system) & (rows["item_id"] != one.item_id), "value"].mean()
        for one in rows.itertuples()
    ]
    for name in ("length", "system_mean"):
        row = of(found, evaluator=f"{name}@sentinel").iloc[0]
        means = rows.groupby("system")[["value", name]].mean()
        if granularity == "item":
            each = [part["value"].corr(part[name]) for _, part in rows.groupby("item_id")]
            expected = np.nanmean(each)
        else:
            units = means if granularity == "system" else rows
            expected = units["value"].corr(units[name])
        assert row["estimate"] == pytest.approx(expected)
    assert row["reason"] != ""


def test_an_item_of_which_all_else_is_missing_has_no_system_mean():
    outputs, scores, judgments = study(n_systems=5, n_items=6)
    lone = judgments["output_id"].isin(["o1", "o2", "o3", "o4", "o5"])  # s0 keeps its first item
    asked = nb.score(made(outputs, scores, judgments[~lone]), SENTINELS)
    found = correlate(asked, granularity="output", statistics=["pearson"])
    assert of(found, evaluator="system_mean@sentinel")["n_missing"].tolist() == [6]
    assert of(found, evaluator=LENGTH)["n_missing"].tolist() == [5]


def test_the_system_mean_is_of_one_dimension_and_of_several_systems():
    outputs, scores, judgments = study(n_systems=3, n_items=4)
    other = judgments.assign(dimension="other", value=judgments["value"] ** 2)
    both = made(outputs, scores, pd.concat([judgments, other]), settings={"quality": "quality"})
    name = "system_mean@sentinel"
    first, second = (
        nb.score(both, [name], options={name: {"dimension": one}}).scored([name])["score"]
        for one in ("quality", "other")
    )
    assert (first != second).all()
    default = nb.score(both, [name]).scored([name])["score"]
    pd.testing.assert_series_equal(default, first)
    with pytest.raises(ValueError, match="needs two systems"):
        nb.score(both.only(systems=["s0"]), [name])
