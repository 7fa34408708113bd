"""ScratchPlot: ratings and votes of two batches, without bytes literals and worker identifiers."""

import pandas as pd

import nlgbench as nb
from nlgbench.datasets import scratchplot
from nlgbench.evaluators.comparator.pairs import supervise
from tests.released import needs

RELEASED = needs(*scratchplot.RAW_FILES, *scratchplot.ENDING_FILES)
STORIES = {
    "full-annotation-result.tsv": [("progen", "b'Caf\\xc3\\xa9  \"blue\".' "), ("gpt2", "A cat.")],
    "full-annotation-result-new.tsv": [("scratchplot", "A dog."), ("plan-and-write", "A cow.")],
}


def saved(folder, table):
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in STORIES]
    for path in paths:
        table(path.name).to_csv(path, sep="\t", index=False, encoding="utf-8")
    return paths


def ratings(name):
    rows = [(*story, 7, n, f"{name}-{n}") for story in STORIES[name] for n in (1, 5)]
    columns = ["INPUT:system", "INPUT:story", "INPUT:content_plan_id", "OUTPUT:category"]
    return pd.DataFrame(rows, columns=[*columns, "ASSIGNMENT:worker_id"])


def votes(name):
    sides = {f"INPUT:{key}_a": [key] * 3 for key in ("story", "ending", "system")}
    sides |= {f"INPUT:{key}_b": [key.upper()] * 3 for key in ("story", "ending", "system")}
    cast = {"OUTPUT:category": [2, 1, 2], "ASSIGNMENT:worker_id": ["amy", "bob", name]}
    return pd.DataFrame({**sides, "INPUT:content_plan_id": 7, **cast})


def test_ratings_become_tidy_tables_in_which_a_batch_is_a_group(tmp_path):
    paths = [
        path for name in ("coherence", "naturalness") for path in saved(tmp_path / name, ratings)
    ]
    study = scratchplot.read_scratchplot(*paths)
    assert study.outputs[["output_id", "system", "text"]].to_numpy().tolist() == [
        ["batch1-progen-07", "progen", 'Café "blue".'],
        ["batch1-gpt2-07", "gpt2", "A cat."],
        ["batch2-scratchplot-07", "scratchplot", "A dog."],
        ["batch2-plan-and-write-07", "plan-and-write", "A cow."],
    ]
    assert not study.outputs["text"].str.startswith(("b'", 'b"')).any()
    judgments = study.judgments
    assert (judgments["group_id"] == judgments["output_id"].str[5]).all() and len(judgments) == 16
    assert {*judgments["annotator_id"]} == {"w001", "w002", "w003", "w004"}
    # An annotator keeps the name in other dimensions, and no one is in two batches.
    assert judgments.groupby("annotator_id")["group_id"].nunique().eq(1).all()


def test_votes_on_endings_become_preferences_and_pairs(tmp_path):
    study = scratchplot.read_scratchplot_endings(*saved(tmp_path / "ending", votes))
    assert study.preferences["choice"].tolist() == [*"bab"] * 2
    names = ["w001", "w002", "w003", "w001", "w002", "w004"]
    assert study.preferences["annotator_id"].tolist() == names
    pairs = supervise(study, kinds=["human"])
    assert pairs[["text_a", "text_b", "outcome"]].drop_duplicates().to_numpy().tolist() == [
        ["STORY ENDING", "story ending", "better"]
    ]
    even = study.replace(preferences=study.preferences.iloc[:2])
    assert supervise(even, kinds=["human"])["outcome"].tolist() == ["tie"]


@RELEASED
def test_the_release():
    study, endings = nb.load("scratchplot"), nb.load("scratchplot").related["endings"]
    sizes = {"fusion": 50, "gpt2": 50, "plan-and-write": 50, "progen": 50, "scratchplot": 100}
    assert study.outputs["system"].value_counts().to_dict() == sizes
    for texts in (study.outputs["text"], endings.outputs["text"]):
        assert not texts.str.startswith(("b'", 'b"')).any()
    judgments = study.judgments.groupby(["output_id", "dimension"])["value"].size()
    assert (judgments == 3).all() and len(study.judgments) == 2700
    groups = study.judgments.groupby(["dimension", "annotator_id"])["group_id"].nunique()
    assert (groups == 1).all()  # within a dimension, batches share no annotator
    judged = study.judged("coherence").query("system == 'scratchplot'")
    mean = judged.groupby(judged["output_id"].str[5])["value"].mean().round(2)
    assert mean.tolist() == [3.99, 3.47]
    assert len(endings.preferences) == 900 and len(endings.outputs) == 350


@RELEASED
def test_stories_of_hanna_have_texts_and_prompts():
    stories = nb.load("hanna").related["stories"].outputs
    assert stories.groupby("is_human")["system"].nunique().to_dict() == {False: 6, True: 1}
    assert stories["system"].value_counts().eq(96).all() and stories["context"].nunique() == 96
