"""USR: tidy tables, whose means are those that UniEval's authors released."""

import json

import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.usr import DIMENSIONS, RAW_FILES
from tests.released import needs

RELEASED = needs(*RAW_FILES.values())


@RELEASED
@pytest.mark.parametrize(
    ("dataset", "n_systems", "n_annotators"),
    [("usr-topical-chat", 6, 5), ("usr-persona-chat", 5, 4)],
)
def test_the_release(dataset, n_systems, n_annotators):
    study = nb.load(dataset)
    assert len(study.outputs) == 60 * n_systems
    assert study.outputs["context"].nunique() == 60
    assert study.outputs["is_human"].sum() == 120
    assert len(study.judgments) == 60 * n_systems * 6 * 3
    assert study.judgments["annotator_id"].nunique() == n_annotators
    assert study.judgments["annotator_id"].str.fullmatch(r"w\d{3}").all()


@RELEASED
@pytest.mark.skipif(not cache.available("topical-chat"), reason="there is no file of UniEval's")
def test_unieval_released_the_means_of_the_same_judgments():
    """Its scores of Topical-Chat are no metric's: they are these judgments, averaged."""
    names = ["understandability", "naturalness", "coherence", "engagingness", "groundedness"]
    study = nb.load("usr-topical-chat")
    table = study.judgments.pivot_table(
        index="output_id", columns="dimension", values="value", sort=False
    )
    means = {
        (row.text, row.context.split("\n")[-1].strip()): table.loc[row.output_id]
        for row in study.outputs.itertuples()
    }
    rated = json.loads(cache.path("topical-chat/topical_chat.json").read_text(encoding="utf-8"))
    assert len(rated) == len(study.outputs) == 360
    for one in rated:
        own = means[one["system_output"].strip(), one["source"].strip().split("\n")[-1].strip()]
        given = [one["scores"][name] for name in [*names, "overall"]]
        assert given == pytest.approx(own[list(DIMENSIONS.values())].tolist(), abs=1e-9)
