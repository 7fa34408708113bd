"""DailyDialog: ratings and dialogues as tidy tables, with what its authors say is in them."""

import json
from itertools import pairwise

import pandas as pd

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.dailydialog import (
    RAW_FILE,
    SYSTEMS,
    TURNS_FILE,
    read_dailydialog,
    read_dailydialog_turns,
    tokenized,
)
from tests.released import needs

RELEASED = needs(RAW_FILE, TURNS_FILE)


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
    assert study.outputs["context"][0] == "hi , 7_1\nand you ?"
    assert study.outputs["is_human"].tolist() == [True, *[False] * 4] * 2
    assert study.judgments["value"].tolist() == [1.0, 1.75, 2.5, 3.25, 4.0] * 2
    assert study.references["reference_id"].tolist()[:4] == ["r1", "r2", "r3", "original"]
    assert study.references["text"].tolist()[:4] == ["one", "owed", "last", "own 7_1"]


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


def dialogues():
    """Two dialogues, of three turns and of two."""
    found = []
    for index, texts in [(3, ["Hi , I'm Al .", "Who ?", "Al-b ."]), (8, ["Bye .", "See you !"])]:
        turns = [{"text": text} for text in texts]
        for at, text in enumerate(texts[1:]):
            first = text.lower().replace("-", " - ")
            turns[at]["responses"] = [first, "one", "two   and", " three", "four"]
        found.append({"fold": "test", "index": index, "dialogue": turns})
    return found


def saved_lines(found, path):
    path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    return path


def test_dialogues_become_outputs(tmp_path):
    outputs = read_dailydialog_turns(saved_lines(dialogues(), tmp_path / "turns.json"))
    assert outputs["output_id"].tolist() == [
        f"{item}-{name}"
        for item in ("3_0", "3_1", "8_0")
        for name in ("original", "r1", "r2", "r3", "r4")
    ]
    assert outputs["text"].tolist()[:6] == ["who ?", "one", "two and", "three", "four", "al - b ."]
    contexts = ["hi , i 'm al .", "hi , i 'm al .\nwho ?", "bye ."]
    assert outputs["context"].unique().tolist() == contexts
    found = dialogues()
    found[1]["dialogue"][0]["responses"][2] = "  "  # left out; the others keep their ids
    outputs = read_dailydialog_turns(saved_lines(found, tmp_path / "turns.json"))
    assert outputs["output_id"].tolist()[-4:] == ["8_0-original", "8_0-r1", "8_0-r3", "8_0-r4"]


@RELEASED
def test_the_turns():
    judged = nb.load("dailydialog")
    turns = judged.related["turns"].outputs
    assert len(turns) == 33_699 and turns["item_id"].nunique() == 6_740
    assert not turns["text"].str.contains("  ", regex=False).any()
    contexts = turns.drop_duplicates("item_id").set_index("item_id")["context"]
    asked = judged.outputs.drop_duplicates("item_id").set_index("item_id")["context"]
    assert len(asked) == 100 and contexts[asked.index].equals(asked)
    # Dialogues that begin alike: by context, two more are left out than by item.
    left = turns[~turns["context"].isin(asked)]
    assert len(left) == 33_189 and not left["item_id"].isin(asked.index).any()
    references = judged.references.assign(
        output_id=judged.references["item_id"] + "-" + judged.references["reference_id"]
    )
    both = references.merge(turns, on="output_id", validate="one_to_one")
    assert len(both) == 400 and (both["text_x"].str.split() == both["text_y"].str.split()).all()


@RELEASED
def test_the_tokenizer_does_to_other_turns_what_the_releases_did():
    lines = cache.path(TURNS_FILE).read_text(encoding="utf-8").splitlines()
    dialogues = [json.loads(line)["dialogue"] for line in lines]
    same = [
        tokenized(following["text"]) == turn["responses"][0]
        for dialogue in dialogues
        for turn, following in pairwise(dialogue)
    ]
    assert len(same) == 6_740 and sum(same) == 6_720
