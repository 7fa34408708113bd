"""Sentinels beside other evaluators, and what cannot be asked for."""

import numpy as np
import pandas as pd
import pytest
from small_study import made, study, table

import nlgbench as nb
from nlgbench.analysis.correlation import correlate
from nlgbench.evaluators.sentinels import SENTINELS


def of(found, **wanted):
    for column, value in wanted.items():
        found = found[found[column] == value]
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": "systems"}, "granularity: 'systems' is unknown. Did you mean 'system'"),
        ({"statistics": ["kendall"]}, "Did you mean 'kendall_b'"),
        ({"statistics": ["soft_pairwise"], "granularity": "item"}, "a statistic of granularity="),
        ({"resample": "systems", "granularity": "output"}, "resample='systems' is of systems'"),
        ({"n_resamples": 0}, "n_resamples must be a whole number"),
        ({"confidence": 95}, "confidence must be between 0 and 1"),
        ({"dimension": "qualty"}, "dimension: 'qualty' is unknown. Did you mean 'quality'"),
        ({"evaluators": ["e7"]}, "evaluators: 'e7' is unknown"),
        ({"granularity": "item", "against": table("h", [1.0])}, "against= has systems' scores"),
        ({"against": table("h", [1.0]).drop(columns="score")}, "against must be a table of"),
        ({"against": table("h", [1.0, 2.0], ["s0", "s0"])}, "two scores of 's0' by 'h'"),
        ({"clusters": "contxt"}, "clusters: 'contxt' is unknown. Did you mean 'context'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        correlate(made(*study()), **options)


def test_studies_that_lack_what_is_needed_are_refused():
    outputs, scores, judgments = study()
    human = outputs.assign(is_human=True)
    for lacking, message in (
        ((outputs, scores, None), "has no judgments"),
        ((outputs, None, judgments), "has no scores"),
        ((human, scores, judgments), "none of the 0 outputs that are not human"),
    ):
        with pytest.raises(ValueError, match=message):
            correlate(made(*lacking))


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
