"""Intervals by name, several resamplings, unjudged outputs, sentinels and the ceiling."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import made, study, table

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.people import split_half


def of(found, **wanted):
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found


def test_several_resamplings_stand_side_by_side():
    asked = made(*study())
    options = {"granularity": "output", "statistics": ["pearson", "spearman"], "seed": 2}
    found = correlate(asked, resample=["items", "systems", "both"], **options)
    assert found["resample"].tolist() == ["items", "systems", "both"] * 4
    keys = ["evaluator", "statistic"]
    assert len(found[keys].iloc[:3].drop_duplicates()) == 1
    for resample in ("items", "systems", "both"):
        alone = correlate(asked, resample=resample, **options)
        part = of(found, resample=resample).reset_index(drop=True)
        pd.testing.assert_frame_equal(part, alone)
    gathered = correlate({"a": asked, "b": asked}, resample=["items", "both"], **options)
    assert len(gathered) == 16


#: Rows are systems; what nlpstats 0.0.1 gives for these.
SCORES = [[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 9, 3], [2, 3, 8, 4], [6, 2, 6, 4]]
HUMAN = [[2, 7, 1, 8], [2, 8, 1, 8], [8, 4, 5, 9], [7, 7, 2, 6], [1, 4, 1, 4], [9, 9, 8, 6]]


def test_unjudged_outputs_count_in_the_systems_means_of_scores():
    outputs, scores, judgments = study(n_systems=8, n_items=20)
    half = judgments[judgments["output_id"].isin(outputs["output_id"][::2])]
    asked = made(outputs, scores, half)
    found = correlate(asked, unjudged=True, statistics=["pearson"])
    both = outputs.merge(scores, on="output_id")
    means = both.groupby(["evaluator", "system"])["score"].mean().unstack()
    of_outputs = half.groupby("output_id")["value"].mean()
    human = of_outputs.groupby(outputs.set_index("output_id")["system"]).mean()
    for row in found.itertuples():
        r, p = stats.pearsonr(means.loc[row.evaluator], human)
        assert [row.estimate, row.p, row.n] == pytest.approx([r, p, 8])
        assert "scores of unjudged outputs are not resampled" in row.reason
        assert row.resample == "systems"
    fewer = correlate(asked, statistics=["pearson"])
    assert not np.allclose(fewer["estimate"], found["estimate"])
    assert correlate(asked, unjudged=True, resample="systems")["reason"].eq("").all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unjudged": True, "granularity": "item"}, "unjudged=True counts systems' scores"),
        ({"sentinels": True, "against": table("h", [1.0])}, "sentinels=True needs judgments"),
        ({"ceiling": True, "against": table("h", [1.0])}, "ceiling=True needs judgments"),
        ({"resample": ["item"]}, "resample: 'item' is unknown"),
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
    plain, found = correlate(asked, **options), correlate(asked, sentinels=True, **options)
    pd.testing.assert_frame_equal(found.iloc[:2], plain)
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
    options = {"sentinels": True, "granularity": "output", "statistics": ["pearson"]}
    found = correlate(made(outputs, scores, judgments[~lone]), **options)
    assert of(found, evaluator="system_mean@sentinel")["n_missing"].tolist() == [6]
    assert of(found, evaluator="length@sentinel")["n_missing"].tolist() == [5]


def test_the_ceiling_is_that_of_halves_and_without_two_judgments_there_is_none():
    asked = made(*study(n_systems=10, n_annotators=4))
    halves = split_half(asked, seed=np.random.default_rng(0))
    for granularity in ("system", "output"):
        found = correlate(asked, ceiling=True, granularity=granularity, resample=None)
        row = of(halves, unit=granularity, quantity="ceiling").iloc[0]
        pearson = of(found, statistic="pearson")
        assert pearson["ceiling"].tolist() == [row["estimate"]] * 2
        assert pearson["ceiling_low"].tolist() == [row["ci_low"]] * 2
        assert (pearson["estimate"] < pearson["ceiling"]).all()
        ranks = of(found, statistic="spearman")
        assert ranks["ceiling"].isna().all()
        assert ranks["ceiling_reason"].str.contains("Pearson's correlation alone").all()
    items = correlate(asked, ceiling=True, granularity="item", resample=None)
    assert items["ceiling"].isna().all()
    assert "none within items" in items["ceiling_reason"].iloc[0]
    single = correlate(made(*study(n_annotators=1)), ceiling=True, resample=None)
    assert single["ceiling"].isna().all()
    assert single["ceiling_reason"].iloc[0].startswith("no output has two judgments")
    two = correlate(made(*study(n_systems=2)), ceiling=True, resample=None)
    assert two["ceiling_reason"].iloc[0].startswith("a correlation over systems needs at least 3")
