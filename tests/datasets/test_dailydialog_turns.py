import json
import os
from itertools import pairwise

import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.dailydialog import (
    RAW_FILE,
    TURNS_FILE,
    read_dailydialog_turns,
    tokenized,
)

RELEASED = pytest.mark.skipif(
    not os.environ.get("NLGBENCH_DATA") or not cache.available([RAW_FILE, TURNS_FILE]),
    reason="NLGBENCH_DATA names no folder with multi-reference DailyDialog",
)


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


def saved(found, path):
    path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    return path


def test_dialogues_become_outputs(tmp_path):
    outputs = read_dailydialog_turns(saved(dialogues(), tmp_path / "turns.json"))
    assert outputs["output_id"].tolist() == [
        f"{item}-{name}"
        for item in ("3_0", "3_1", "8_0")
        for name in ("original", "r1", "r2", "r3", "r4")
    ]
    assert outputs["text"].tolist()[:6] == ["who ?", "one", "two and", "three", "four", "al - b ."]
    contexts = outputs.drop_duplicates("item_id").set_index("item_id")["context"]
    assert contexts.to_dict() == {
        "3_0": "hi , i 'm al .",
        "3_1": "hi , i 'm al .\nwho ?",
        "8_0": "bye .",
    }
    assert outputs["system"].eq("human").all() and outputs["is_human"].all()


def test_blank_responses_are_left_out_and_keep_the_others_ids(tmp_path):
    found = dialogues()
    found[1]["dialogue"][0]["responses"][2] = "  "
    outputs = read_dailydialog_turns(saved(found, tmp_path / "turns.json"))
    assert outputs["output_id"].tolist()[-4:] == ["8_0-original", "8_0-r1", "8_0-r3", "8_0-r4"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Let ' s go .", "let 's go ."),
        ("I won't , she'd", "i wo n't , she 'd"),
        ("You cannot ; it's gonna", "you can not ; it 's gon na"),
        ("a two-day trip--really", "a two - day trip -- really"),
        ("$1,000 at 9:30 . . .", "$ 1,000 at 9:30 . . ."),
        ("Well ... ok.", "well ... ok ."),
        ("You ’ re right", "you 're right"),
    ],
)
def test_first_turns_are_tokenized(raw, expected):
    assert tokenized(raw) == expected


@RELEASED
def test_the_release():
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
