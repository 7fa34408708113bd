"""What systems respond to becomes the context of outputs, and the texts of votes are outputs."""

import pytest

import nlgbench as nb
from nlgbench.runner import new_study

JUDGED = "item,system,{0},summary,rater,fluency\n" + "".join(
    f"{item},{system},{{1}} {item},a text {item} of {system},{rater},3\n"
    for item in "xy"
    for system in "mn"
    for rater in "uv"
)


def drafted(folder, content, **flags):
    (folder / "r.csv").write_text(content)
    shown = new_study.new(folder, [folder / "r.csv"], None, flags)
    assert "To fix" not in shown, shown
    return nb.read_study(folder), shown


@pytest.mark.parametrize("name", ["source", "Article", "user_prompt", "dialogue", "question"])
def test_input_texts_are_contexts(name, tmp_path):
    study, shown = drafted(tmp_path, JUDGED.format(name, "the input of"))
    assert sorted(set(study.outputs["context"])) == ["the input of x", "the input of y"]
    assert len(study.outputs) == 4 and len(study.judgments) == 8 and "not read" not in shown


def test_a_flag_names_the_context(tmp_path):
    content = JUDGED.format("briefing", "see")
    study, _ = drafted(tmp_path, content, context=["briefing"], item_id=["item"])
    assert set(study.outputs["context"]) == {"see x", "see y"}
    read = nb.read_study(tmp_path / "r.csv", context="briefing", item="item")
    assert set(read.outputs["context"]) == {"see x", "see y"}


VOTES = "question_id,{0},{1},{2},{3},prompt,rater,winner\n"
VOTES += "1,m,n,what m says to this,what n says to this,please say more,u,a\n"
VOTES += "2,n,m,what n says to that,what m says to that,please say less,u,b\n"


@pytest.mark.parametrize(
    "names",
    [
        ("model_a", "model_b", "response_a", "response_b"),
        ("model_x", "model_y", "x_completion", "y_completion"),
        ("system 1", "system 2", "output 1", "output 2"),
    ],
)
def test_the_texts_of_votes_are_outputs(names, tmp_path):
    study, _ = drafted(tmp_path, VOTES.format(*names))
    outputs = study.outputs.set_index("output_id")
    assert outputs["text"].to_dict() == {
        f"{item}/{system}": f"what {system} says to {it}"
        for item, it in (("1", "this"), ("2", "that"))
        for system in "mn"
    }
    assert study.preferences["choice"].tolist() == ["a", "b"]
    assert set(study.outputs["context"]) == {"please say more", "please say less"}


def test_texts_that_differ_for_one_output_are_not_read(tmp_path):
    names = ("model_a", "model_b", "response_a", "response_b")
    content = VOTES.format(*names) + "1,m,n,another text of m,and of n,please say more,v,model_b\n"
    study, shown = drafted(tmp_path, content)
    assert set(study.outputs["text"]) == {""} and "response_a, response_b" in shown
