"""USR: tidy tables, whose means are those that UniEval's authors released."""

import json

import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.usr import DIMENSIONS, RAW_FILES, read_usr
from tests.released import needs

RELEASED = needs(*RAW_FILES.values())
MODELS = ["Original Ground Truth", "KV-MemNN"]


def release():
    items = []
    for n, names in enumerate([["zed", "amy", "kim"], ["kim", "bob", "zed"]]):
        responses = []
        for k, model in enumerate(MODELS):
            ratings = {name: [1, 0, 1] for name in DIMENSIONS}
            ratings["Overall"] = [1 + n, 2 + k, 5]
            responses.append({"response": f"{model} {n}\n", "model": model, **ratings})
        fact = "_nofact\n" if n else "cats purr\n"
        item = {"context": f"hi {n}\nyo\n\n", "fact": fact, "annotators": names}
        items.append({**item, "responses": responses})
    return items


def saved(items, path):
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def test_a_release_becomes_tidy_tables(tmp_path):
    path = saved(release(), tmp_path / "usr.json")
    study = read_usr(path)
    assert study.outputs.to_numpy().tolist()[1:3] == [
        ["c01-kv_memnn", "c01", "kv_memnn", "KV-MemNN 0", False, "hi 0\nyo"],
        ["c02-human_original", "c02", "human_original", f"{MODELS[0]} 1", True, "hi 1\nyo"],
    ]
    overall = study.judgments[study.judgments["dimension"] == "overall"]
    assert overall["annotator_id"].str[-1].tolist()[3:9] == [*"123", *"341"]
    assert overall["value"].tolist()[3:9] == [1, 3, 5, 2, 2, 5]
    assert len(study.judgments) == 4 * 6 * 3
    assert not study.judgments.isin(["zed", "amy", "kim", "bob"]).to_numpy().any()


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
    path = cache.path("topical-chat/topical_chat.json")
    rated = json.loads(path.read_text(encoding="utf-8"))
    assert len(rated) == len(study.outputs) == 360
    for one in rated:
        own = means[one["system_output"].strip(), one["source"].strip().split("\n")[-1].strip()]
        given = [one["scores"][name] for name in [*names, "overall"]]
        assert given == pytest.approx(own[list(DIMENSIONS.values())].tolist(), abs=1e-9)
