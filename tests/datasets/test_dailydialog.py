"""DailyDialog: ratings and dialogues as tidy tables, with what its authors say is in them."""

import json
from itertools import pairwise

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.dailydialog import RAW_FILE, SYSTEMS, TURNS_FILE, tokenized
from tests.released import needs

RELEASED = needs(RAW_FILE, TURNS_FILE)


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
