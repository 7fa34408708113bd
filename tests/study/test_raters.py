"""A model among the people who judged is found, and its answers are read as scores."""

import itertools

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.runner import new_study
from nlgbench.study import read_folder

PEOPLE = ["ida", "joe", "Claude"]


def ratings(judge="gpt-4-judge", **kind):
    """Three people and a judge rate texts of two systems; `kind` is a column and its two cells."""
    rows = itertools.product("pqrs", ["net", "rules"], [*PEOPLE, judge])
    frame = pd.DataFrame(rows, columns=["item", "system", "rater"])
    frame["clarity"] = [1 + n % 5 for n in range(len(frame))]
    frame["depth"] = [1 + n * n % 5 for n in range(len(frame))]
    is_judge = frame["rater"] == judge
    return frame.assign(**{name: np.where(is_judge, *two[::-1]) for name, two in kind.items()})


def draft(place, frame, flags=None):
    """Draft a study.yml, and return the study, doubts of `check`, and lines to confirm."""
    frame.to_csv(place / "r.csv", index=False)
    new_study.new(place, [place / "r.csv"], flags=flags)
    problems, doubts = [], []
    study, _ = read_folder(place, problems, doubts)
    assert problems == []
    return (
        study,
        [one for one in doubts if "seem to be models" in one],
        new_study.unconfirmed(place),
    )


@pytest.mark.parametrize(
    ("frame", "evaluators"),
    [
        (ratings(), ["gpt-4-judge clarity", "gpt-4-judge depth"]),
        (ratings("M", rater_type=("human", "llm")), ["M clarity", "M depth"]),
        (ratings("M", origin=("Crowd", "automatic")), ["M clarity", "M depth"]),
        (
            ratings("qwen2.5-72b").rename(columns={"rater": "worker_id"}),
            ["qwen2.5-72b clarity"] * 2,
        ),
        (
            ratings("llama3").melt(["item", "system", "rater"], var_name="dimension"),
            ["llama3 clarity", "llama3 depth"],
        ),
    ],
)
def test_a_draft_reads_a_judge_among_people_as_an_evaluator(tmp_path, frame, evaluators):
    study, doubts, confirm = draft(tmp_path, frame)
    assert set(study.judgments["annotator_id"]) == {"w001", "w002", "w003"}
    assert len(study.judgments) == 48 and len(study.scores) == 16
    assert study.scores["evaluator"].unique()[0] == evaluators[0]
    judge = ratings().query("rater == 'gpt-4-judge'")
    scores = study.scores[study.scores["evaluator"] == evaluators[0]].set_index("output_id")[
        "score"
    ]
    ids = (judge["item"] + "/" + judge["system"]).tolist()
    assert scores[ids].tolist() == judge["clarity"].tolist()
    # A person called Claude remains, and is asked about; so is the guess.
    assert len(doubts) == 1 and "'Claude'" in doubts[0]
    assert any("models, not people, in " in line for line in confirm)


@pytest.mark.parametrize("kind", [{}, {"judged_by": ("student", "LLM judge")}])
def test_a_draft_reads_a_judge_among_voters_as_a_comparator(tmp_path, kind):
    judge = "M" if kind else "chatgpt"
    frame = ratings(judge, **kind).query("system == 'net'").drop(columns=["clarity", "depth"])
    frame = frame.rename(columns={"system": "model_a", "rater": "annotator"}).assign(
        model_b="rules"
    )
    frame["winner"] = ["model_a", "model_b", "tie", "model_b"] * 4
    study, _, _ = draft(tmp_path, frame)
    assert study.preferences["choice"].tolist() == ["a", "b", "tie"] * 4
    assert study.comparisons["comparator"].unique() == [judge]
    assert study.comparisons["prob_b"].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("settings", "doubt"),
    [
        ("annotator_id: rater", "annotators 'Claude' and 'gpt-4-judge' seem to be models"),
        ("annotator_id: item", "annotators with rater_type 'llm' seem to be models"),
    ],
)
def test_check_names_a_judge_that_counts_as_a_person(tmp_path, settings, doubt):
    ratings(rater_type=("human", "llm")).to_csv(tmp_path / "r.csv", index=False)
    (tmp_path / "study.yml").write_text(
        "tables: {judgments: {file: r.csv, constants: {group_id: '{row}'}, columns: "
        f"{{item_id: item, system: system, {settings}, value: clarity}}}}}}\n"
    )
    doubts = []
    read_folder(tmp_path, [], doubts)
    assert doubt in " ".join(doubts)


def test_kinds_of_texts_are_not_kinds_of_annotators(tmp_path):
    frame = ratings("zoe")
    frame["source"] = frame["system"].map({"net": "ai", "rules": "human"})
    study, doubts, _ = draft(tmp_path, frame)
    assert study.scores is None and len(doubts) == 1 and "'Claude'" in doubts[0]


def test_frames_are_split_as_well():
    with pytest.warns(UserWarning, match="models, not people, in rater: gpt-4-judge"):
        study = nb.read_study(ratings(), item="item", system="system", annotator="rater")
    assert len(study.scores) == 16 and len(study.judgments) == 48
