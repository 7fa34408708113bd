"""ScratchPlot: ratings and votes of two batches, without bytes literals and worker identifiers."""

import nlgbench as nb
from nlgbench.datasets import scratchplot
from tests.released import needs

RELEASED = needs(*scratchplot.RAW_FILES, *scratchplot.ENDING_FILES)


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
    for table in (study.judgments, endings.preferences):
        assert table["annotator_id"].str.fullmatch(r"w\d{3}").all()


@RELEASED
def test_stories_of_hanna_have_texts_and_prompts():
    stories = nb.load("hanna").related["stories"].outputs
    assert stories.groupby("is_human")["system"].nunique().to_dict() == {False: 6, True: 1}
    assert stories["system"].value_counts().eq(96).all() and stories["context"].nunique() == 96
