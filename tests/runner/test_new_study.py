"""`nlgbench new`: what it guesses of files is what they hold, and nothing is overwritten."""

import json
import warnings

import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main
from nlgbench.runner.new_study import unconfirmed

MTURK = (
    "HITId,WorkerId,AssignmentStatus,Input.item_1,Input.system_1,Input.output_1,Input.item_2,"
    "Input.system_2,Input.output_2,Answer.rating_1,Answer.rating_2,Answer.comment,"
    "Approve,Reject\n"
    "H1,A1,Approved,1,a,so,2,b,and so,3,4,a longer comment on what was seen\n"
    "H1,A2,Rejected,1,a,so,2,b,and so,1,1,none\n"
)
PROLIFIC = (
    "PROLIFIC_PID,item,model,rating,Status,Age\n5f,1,a,3,APPROVED,30\n6e,2,b,4,APPROVED,31\n"
    "6f,2,b,1,RETURNED,33\n"
)
ONE = [("1/a", "quality", 3.0), ("2/b", "quality", 4.0)]
MEANS = [("1/a", "human_mean", 3.0), ("2/b", "human_mean", 4.0)]
IN_A_CELL = (
    "HITId,WorkerId,Input.item,Input.system,Answer.taskAnswers\n"
    'H1,A1,1,a,"[{""flow"": {""3"": true, ""4"": false}, ""why"": ""so""}]"\n'
    'H1,A1,2,b,"[{""flow"": {""3"": false, ""4"": true}}]"\n'
)
#: Layout, name, content -> judgments: output, dimension, value.
FILES = {
    "mturk": ("mturk", "batch.csv", MTURK, ONE),
    "mturk, JSON in a cell": (None, "batch.csv", IN_A_CELL, ONE),
    "mean judgments": (None, "m.csv", "item,model,human_mean\n1,a,3\n2,b,4\n", MEANS),
    "prolific": ("prolific", "survey.csv", PROLIFIC, ONE),
    "prolific, lists": (
        "prolific",
        "survey.jsonl",
        json.dumps({"item": 1, "model": "a", "PROLIFIC_PID": ["5f", "6e"], "flow": [3, 4]}),
        [("1/a", "flow", 3.0), ("1/a", "flow", 4.0)],
    ),
}


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def started(tmp_path, layout, name, content):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    given = ["--as", layout] if layout else []
    return call("new", tmp_path / "s", "--from", tmp_path / name, *given)


@pytest.mark.parametrize(("name", "is_doubted"), [("human-like", True), ("gold standard", False)])
def test_a_system_that_may_not_be_human_is_a_doubt(tmp_path, name, is_doubted):
    started(tmp_path, None, "r.csv", f"item,system,rater,flow\n1,a,x,3\n1,{name},x,5\n2,a,x,4\n")
    said = " ".join(call("check", tmp_path / "s").output.split())
    assert (f"{name} is read as human texts because of its name" in said) == is_doubted
    assert nb.read_study(tmp_path / "s").outputs["is_human"].sum() == 1


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_they_are_guessed(name, tmp_path):
    layout, file, content, wanted = FILES[name]
    said = started(tmp_path, layout, file, content)
    assert said.exit_code == 0 and "To fix" not in said.stdout, said.output
    rows = nb.read_study(tmp_path / "s").judgments[["output_id", "dimension", "value"]]
    assert sorted(rows.itertuples(index=False, name=None)) == sorted(wanted)
    assert call("check", tmp_path / "s").exit_code == 0


LABELS = '"label_annotations": {"flow": {"scale_3": "3"}}}'
#: File, what Potato writes into it -> values.
POTATO = [
    ("out/eve/annotated_instances.jsonl", f'{{"id": "o1", "displayed_text": "so", {LABELS}', [3]),
    ("a.csv", "instance_id,user_id,flow,wit.dry,why\no1,eve,3,1,so\no2,eve,,2,\n", [1, 2, 3]),
    ("a.csv", "instance_id,user_id,flow.3,flow.4\no1,eve,3,\no2,eve,,4\n", [3, 4]),
    ("a.csv", "user,instance_id,displayed_text,flow:::scale_3\neve,o1,so,3\neve,o2,,\n", [3]),
    ("a.jsonl", '{"instance_id": "o1", "user_id": "eve", "labels": {"flow": {"3": "3"}}}', [3]),
]


@pytest.mark.parametrize(("name", "content", "values"), POTATO)
def test_each_version_of_potato_is_read_beside_a_table_of_outputs(name, content, values, tmp_path):
    assert started(tmp_path, "potato", name, content).exit_code == 0
    about = tmp_path / "s" / "study.yml"
    (tmp_path / "s" / "texts.csv").write_text("output_id,item_id,system\no1,1,a\no2,1,b\n")
    about.write_text(f"{about.read_text()}  outputs: {{file: texts.csv}}\n")
    study = nb.read_study(tmp_path / "s")
    assert sorted(study.judgments["value"]) == values and "flow" in study.dimensions
    assert study.judgments["annotator_id"].eq("w001").all()


def test_a_pattern_never_joins_what_nothing_parts(tmp_path):
    """In x1 and y12, it is not written where the dimension ends and the annotator begins."""
    content = "item,model,x1,x2,y1,y2\n1,a,3,3,4,4\n1,b,3,2,5,5\n2,a,1,2,1,1\n2,b,1,5,1,2\n"
    assert started(tmp_path, None, "n.csv", content).exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "x{annotator_id}" in text and "y{annotator_id}" in text and "}{" not in text


def test_a_pattern_is_one_table_of_systems_that_its_files_name(tmp_path):
    for name, more in (("a", ""), ("b", ', "note": "so so"'), ("x-reference", "")):
        about = f'{{"1": {{"w": {{"flow": 3{more}}}}}, "2": {{"v": {{"flow": 4}}}}}}'
        (tmp_path / "raw").mkdir(exist_ok=True)
        (tmp_path / "raw" / f"{name}.json").write_text(about)
    assert call("new", tmp_path / "s", "--from", tmp_path / "raw" / "*.json").exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert 'file: "../raw/*.json"' in text and "not read: note" in text
    study = nb.read_study(tmp_path / "s")
    assert sorted(study.outputs["system"].unique()) == ["a", "b", "human"]
    assert study.outputs["is_human"].sum() == 2 and len(study.judgments) == 6
    lacking = call("new", tmp_path / "t", "--from", tmp_path / "*.json")
    assert lacking.exit_code == 1 and "no file" in lacking.stderr and "*.json" in lacking.stderr


ITEMS = "source,fact,model,text,overall\nx,f,{0},so,3\ny,f,{0},and,4\nx,f,{1},no,1\ny,f,{1},o,2\n"


@pytest.mark.parametrize(
    ("systems", "human"),
    [(("gold", "b"), True), (("human", "b"), True), (("gold", "Ground Truth"), False)],
)
def test_items_are_what_systems_share_and_people_one_system(systems, human, tmp_path):
    assert started(tmp_path, None, "o.csv", ITEMS.format(*systems)).exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "item_id: source  # guessed: identifies a row, together with system" in text
    assert "# confirm: no column names annotators; overall may be" in text
    study = nb.read_study(tmp_path / "s")
    assert study.outputs["item_id"].nunique() == 2 and len(study.outputs) == 4
    assert study.outputs["is_human"].any() == human


def test_where_no_item_is_seen_the_file_says_what_to_write(tmp_path):
    assert started(tmp_path, None, "o.csv", "model,bleu\na,1\na,2\nb,2\n").exit_code == 0
    about = tmp_path / "s" / "study.yml"
    assert call("check", tmp_path / "s").exit_code == 1
    assert "# item_id: ...  # missing" in about.read_text()
    about.write_text(about.read_text() + '    constants: {item_id: "{row}"}\n')
    assert len(nb.read_study(tmp_path / "s").scores) == 3


def test_of_an_export_only_ratings_are_dimensions(tmp_path):
    """Made up; what a form writes beside its ratings is unknown, or personal."""
    answers = {
        "userAgent": "Mozilla/5.0",
        "lat": "48",
        "telephone": "5550100",
        "screenwidth": "1920",
        "seconds": "3.71",
        "favorite": "blue",
        "fluency": "4",
    }
    head = "HITId,WorkerId,Input.item,Input.system," + ",".join(f"Answer.{one}" for one in answers)
    row = "H1,A1,1,a," + ",".join(answers.values())
    said = started(tmp_path, "mturk", "batch.csv", f"{head}\n{row}\n")
    assert nb.read_study(tmp_path / "s").dimensions == ["quality"]
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "value: Answer.fluency" in text
    assert "personal and are never read: Answer.userAgent, Answer.lat, Answer.telephone" in text
    assert "not read: Answer.screenwidth, Answer.seconds, Answer.favorite" in text
    assert "Mozilla" not in said.stdout + text and "5550100" not in said.stdout + text
    assert "WorkerId" not in said.stdout


def test_nothing_is_overwritten(tmp_path):
    assert call("new", tmp_path / "s").exit_code == 0
    first = (tmp_path / "s" / "study.yml").read_bytes()
    again = call("new", tmp_path / "s")
    assert again.exit_code == 1 and "is not replaced" in again.stderr
    assert (tmp_path / "s" / "study.yml").read_bytes() == first
    checked = call("check", tmp_path / "s")
    assert checked.exit_code == 1 and "no file" in " ".join(checked.stdout.split())
    (tmp_path / "s" / "ratings.csv").write_text(
        "item,system,annotator,fluency,adequacy\n1,x,me,3,4\n"
    )
    assert call("check", tmp_path / "s").exit_code == 0


WHO = "item,system,ann,bob\n1,a,3,4\n1,b,5,4\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "no.csv"], "no file no.csv"),
        (["--as", "mturk"], "name the files, too"),
        (["--as", "excel", "--from", "x.csv"], "'excel' is unknown"),
        (["--from", "notes.doc"], "unknown extension"),
        (["--from", "broken.json"], "is not valid JSON"),
        (["--from", "empty.csv"], "is empty"),
        (["--from", "who.csv", "--annotator", "ann,bob"], "use --value '{annotator}'"),
    ],
)
def test_what_cannot_be_begun_leaves_nothing(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = {"notes.doc": "x", "broken.json": "{", "empty.csv": "", "who.csv": WHO}
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    said = call("new", "s", *args)
    assert said.exit_code in (1, 2) and message in said.stderr
    assert "Traceback" not in said.output and not (tmp_path / "s").exists()


def test_a_file_of_no_table_is_named(tmp_path):
    assert started(tmp_path, None, "x.csv", "red,blue\ngreen,so\n").exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "# ../x.csv: no table was recognized" in text and "value: ..." in text
    assert "#   red (1 values: green)" in text and "#   blue (1 values: so)" in text


@pytest.mark.parametrize(
    ("name", "cells", "is_lower"),
    [
        ("quality", ["1 = very good", "2 = good", "4 = bad"], True),
        ("quality", ["5 = very good", "4 = good", "2 = bad"], False),
        ("hallucinated", ["yes", "no", "no"], True),
        ("error_free", ["yes", "no", "no"], False),
    ],
)
def test_a_guess_that_lower_is_better_is_to_be_confirmed(name, cells, is_lower, tmp_path):
    rows = pd.DataFrame({"item": [*"112233"], "system": [*"ababab"], "annotator": "w"})
    rows.assign(**{name: cells * 2}).to_csv(tmp_path / "t.csv", index=False)
    assert call("new", tmp_path / "t.csv").exit_code == 0
    asked = "\n".join(unconfirmed(tmp_path))
    assert (f"lower_is_better: [{name}]" in asked) == is_lower
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study = nb.read_study(tmp_path / "t.csv")
    assert (study.sign(name) < 0) == is_lower
    assert any("lower counts as better" in str(warning.message) for warning in caught) == is_lower
