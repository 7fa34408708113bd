import os

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.dailydialog import RAW_FILE, SYSTEMS, read_dailydialog

RELEASED = pytest.mark.skipif(
    not os.environ.get("NLGBENCH_DATA") or not cache.available([RAW_FILE]),
    reason="NLGBENCH_DATA names no folder with multi-reference DailyDialog",
)


def ratings():
    rows = []
    for item in ("7_1", "9_4"):
        for n, model in enumerate(SYSTEMS):
            row = {"model": model, "context_id": item, "human_average_rating": str(1 + n * 0.75)}
            row |= {"response": f"{model} to {item}", "prevgt": f"own {item}"}
            row["all_references"] = f"one\towed\town {item}\tlast"
            rows.append(row | {"context": f"hi , {item}||||and you ?"})
    return pd.DataFrame(rows)


def saved(frame, path):
    frame.to_csv(path, index=False)
    return path


def test_ratings_become_tidy_tables(tmp_path):
    study = read_dailydialog(saved(ratings(), tmp_path / "raw.csv"))
    assert study.outputs["output_id"].tolist()[:2] == ["7_1-human", "7_1-dual_encoder"]
    assert study.outputs["context"].unique().tolist() == [
        "hi , 7_1\nand you ?",
        "hi , 9_4\nand you ?",
    ]
    assert study.outputs["is_human"].tolist() == [True, *[False] * 4] * 2
    assert study.judgments["value"].tolist() == [1.0, 1.75, 2.5, 3.25, 4.0] * 2
    assert study.judgments["annotator_id"].unique().tolist() == ["mean"]
    assert study.references[["item_id", "reference_id", "text"]].to_numpy().tolist()[:4] == [
        ["7_1", "r1", "one"],
        ["7_1", "r2", "owed"],
        ["7_1", "r3", "last"],
        ["7_1", "original", "own 7_1"],
    ]


@RELEASED
def test_the_release():
    study = nb.load("dailydialog")
    assert study.outputs["system"].value_counts().to_dict() == dict.fromkeys(SYSTEMS.values(), 100)
    assert study.outputs["item_id"].nunique() == study.outputs["context"].nunique() == 100
    assert len(study.references) == 400
    assert study.judgments["value"].between(1, 5).all()
    joined = study.references.merge(study.outputs[study.outputs["is_human"]], on="item_id")
    assert (joined["text_x"] != joined["text_y"]).all()
    quality = study.judgments.merge(study.outputs).groupby("system")["value"].mean()
    order = ["dual_encoder", "cvae", "seq2seq", "hred", "human"]
    assert quality.sort_values().index.tolist() == order
