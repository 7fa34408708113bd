"""Sentinels change no other evaluator, and what cannot be asked for is refused."""

import numpy as np
import pandas as pd
import pytest
from small_study import made, study

import nlgbench as nb
from nlgbench.analysis.correlation import correlate
from nlgbench.evaluators.sentinels import SENTINELS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistics": ["soft_pairwise"], "granularity": "item"}, "'soft_pairwise' needs"),
        ({"resample": "systems", "granularity": "output"}, "resample='systems' needs"),
        ({"dimension": "qualty"}, "dimension: 'qualty' is unknown. Did you mean 'quality'"),
        ({"evaluators": ["e7"]}, "evaluators: 'e7' is unknown"),
        ({"by": "contxt"}, "by: 'contxt' is unknown"),
        ({"clusters": "contxt"}, "clusters: 'contxt' is unknown. Did you mean 'context'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        correlate(made(*study()), **options)


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_sentinels_know_next_to_nothing(granularity):
    outputs, scores, judgments = study(n_systems=7, n_items=12)
    length = 1 + np.arange(len(outputs)) % 5
    asked = made(outputs.assign(text=[" ".join("a" * one) for one in length]), scores, judgments)
    options = {"granularity": granularity, "statistics": ["pearson"], "seed": 1}
    scored = nb.score(asked, SENTINELS)
    found = correlate(scored, **options).set_index("evaluator")
    plain = correlate(asked, **options).set_index("evaluator")
    pd.testing.assert_frame_equal(found.loc[plain.index], plain)
    constant = found.loc["constant@sentinel"]
    assert np.isnan(constant["estimate"])
    assert constant["n_undefined"] == (12 if granularity == "item" else 1)
    assert found.loc["system_mean@sentinel", "reason"] != ""
    means = judgments.groupby("output_id")["value"].mean()
    rows = outputs.assign(value=outputs["output_id"].map(means))
    others = [
        rows.loc[(rows["system"] == one.system) & (rows["item_id"] != one.item_id), "value"].mean()
        for one in rows.itertuples()
    ]
    by = scored.scores.groupby("evaluator")["score"]
    assert by.get_group("length@sentinel").tolist() == length.tolist()
    assert by.get_group("system_mean@sentinel").tolist() == pytest.approx(others)
