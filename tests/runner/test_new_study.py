"""`nlgbench new`: what it guesses of files is what they hold, and nothing is overwritten."""

import json
import re

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

MTURK = (
    "HITId,WorkerId,AssignmentStatus,Input.item_1,Input.system_1,Input.output_1,Input.item_2,"
    "Input.system_2,Input.output_2,Answer.rating_1,Answer.rating_2,Answer.comment,"
    "Approve,Reject\n"
    "H1,A1,Approved,1,a,so,2,b,and so,3,4,a longer comment on what was seen\n"
    "H1,A2,Rejected,1,a,so,2,b,and so,1,1,none\n"
)
TASKS = [
    {
        "id": 4,
        "item": "1",
        "system": "a",
        "text": "so",
        "fluency": 3,
        "annotator": 7,
        "lead_time": 1,
    },
    {
        "id": 5,
        "item": "2",
        "system": "b",
        "text": "and",
        "fluency": 4,
        "annotator": 7,
        "lead_time": 2,
    },
]
#: As its converter writes them: a rating is an object in a list, a single choice a text.
RATED = [
    {"item": 1, "system": "a", "annotator": 7, "fluency": [{"rating": 3}], "ok": "yes"},
    {"item": 2, "system": "b", "annotator": 7, "fluency": [{"rating": 4}], "ok": "no"},
    {"item": 2, "system": "b", "annotator": 8, "ok": "no"},
]
STUDIO = (
    "annotation_id,annotator,created_at,fluency,id,item,lead_time,system,updated_at\n"
    '1,7,now,"[{""rating"": 3}]",4,1,2.5,a,now\n2,7,now,"[{""rating"": 4}]",5,2,2.5,b,now\n'
)
MQM = (
    "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
    'a\td\t1\t1\tr1\t"x\ty\tAccuracy/Omission\tMajor\n'
    "a\td\t1\t1\tr1\tx\ty\tFluency/Punctuation\tMinor\nb\td\t1\t2\tr1\tx\ty\tNo-error\tNo-error\n"
    "b\td\t1\t1\tr1\tx\ty\tNon-translation!\tMajor\n"
)
PROLIFIC = (
    "PROLIFIC_PID,item,model,rating,Status,Age\n5f,1,a,3,APPROVED,30\n6e,2,b,4,APPROVED,31\n"
    "6f,2,b,1,RETURNED,33\n"
)
VOTES = "question_id,model_a,model_b,judge,winner\n1,a,b,me,model_a\n2,a,b,me,tie (bothbad)\n"
POTATO = [
    {"id": "o1", "displayed_text": "so", "label_annotations": {"flow": {"scale_3": "3"}}},
    {"id": "o2", "displayed_text": "and", "label_annotations": {"flow": {"scale_4": "4"}}},
]
ONE = [("1/a", "quality", 3.0), ("2/b", "quality", 4.0)]
FLUENT = [("1/a", "fluency", 3.0), ("2/b", "fluency", 4.0)]
ERRORS = [("d/1/a", "mqm", 5.1), ("d/2/b", "mqm", 0.0), ("d/1/b", "mqm", 25.0)]
#: Layout, name, content -> judgments: output, dimension, value.
FILES = {
    "mturk": ("mturk", "batch.csv", MTURK, ONE),
    "label studio": ("label-studio", "tasks.json", json.dumps(TASKS), FLUENT),
    "label studio, ratings": ("label-studio", "tasks.json", json.dumps(RATED), FLUENT),
    "label studio, csv": ("label-studio", "tasks.csv", STUDIO, FLUENT),
    "mqm": ("mqm", "errors.tsv", MQM, ERRORS),
    "prolific": ("prolific", "survey.csv", PROLIFIC, ONE),
    "prolific, lists": (
        "prolific",
        "survey.jsonl",
        json.dumps({"item": 1, "model": "a", "PROLIFIC_PID": ["5f", "6e"], "flow": [3, 4]}),
        [("1/a", "flow", 3.0), ("1/a", "flow", 4.0)],
    ),
    "guessed beside what a form records": (
        *(None, "r.csv", "item,model,rater,flow,seconds,index\n1,a,x,3,9,5\n2,a,x,4,2,4\n"),
        [("1/a", "flow", 3.0), ("2/a", "flow", 4.0)],
    ),
    "guessed batch": (None, "batch.csv", MTURK, ONE),
    "guessed errors": (None, "errors.tsv", MQM, ERRORS),
    "guessed tasks": (None, "tasks.json", json.dumps(TASKS), FLUENT),
    "guessed lists": (
        *(None, "lists.jsonl", json.dumps({"item": 1, "model": "a", "rater": ["x"], "flow": [3]})),
        [("1/a", "flow", 3.0)],
    ),
    "guessed levels": (
        None,
        "a.json",
        json.dumps({"1": {"a": {"w": {"flow": 3, "note": "so"}}}, "2": {"a": {"w": {"flow": 4}}}}),
        [("1/a", "flow", 3.0), ("2/a", "flow", 4.0)],
    ),
}


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def started(tmp_path, layout, name, content):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    given = ["--as", layout] if layout else []
    return call("new", tmp_path / "s", "--from", tmp_path / name, *given)


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_they_are_guessed(name, tmp_path):
    layout, file, content, wanted = FILES[name]
    said = started(tmp_path, layout, file, content)
    assert said.exit_code == 0 and "To fix" not in said.stdout, said.output
    study = nb.read_study(tmp_path / "s")
    rows = study.judgments[["output_id", "dimension", "value"]]
    assert sorted(rows.itertuples(index=False, name=None)) == sorted(wanted)
    assert call("check", tmp_path / "s").exit_code == 0


def test_what_a_file_writes_for_values_is_listed_in_order(tmp_path):
    head, *rows = STUDIO.splitlines()
    more = [rows[0].replace("3}", f"{n}}}").replace("4,1", f"4,{n}") for n in (9, 7, 2, 5, 8)]
    assert started(tmp_path, "label-studio", "t.csv", "\n".join([head, *more])).exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert re.findall(r"(\d)}\\?\": \d", text) == [*"25789"]


@pytest.mark.parametrize("layout", ["pairwise", None])
def test_votes_are_guessed(layout, tmp_path):
    assert started(tmp_path, layout, "votes.csv", VOTES).exit_code == 0
    study = nb.read_study(tmp_path / "s")
    rows = study.preferences[["output_a", "output_b", "choice"]].to_numpy().tolist()
    assert rows == [["1/a", "1/b", "a"], ["2/a", "2/b", "tie"]]


def test_potato_names_annotators_by_folder(tmp_path):
    lines = "\n".join(map(json.dumps, POTATO))
    said = started(tmp_path, "potato", "out/eve/annotated_instances.jsonl", lines)
    assert said.exit_code == 0 and "w001" in said.stdout
    about = tmp_path / "s" / "study.yml"
    (tmp_path / "s" / "texts.csv").write_text("output_id,item_id,system\no1,1,a\no2,1,b\n")
    about.write_text(f"{about.read_text()}  outputs: {{file: texts.csv}}\n")
    study = nb.read_study(tmp_path / "s")
    assert study.judgments["value"].tolist() == [3.0, 4.0]
    assert study.dimensions == ["flow"] and study.judgments["annotator_id"].eq("w001").all()


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("instance_id,user_id,flow,wit.dry,why\no1,eve,3,1,so\no2,eve,,2,\n", [1, 2, 3]),
        ("instance_id,user_id,flow.3,flow.4\no1,eve,3,\no2,eve,,4\n", [3, 4]),
        ("user,instance_id,displayed_text,flow:::scale_3\neve,o1,so,3\neve,o2,and,\n", [3]),
    ],
)
def test_potatos_tables_have_a_column_for_what_is_asked(content, values, tmp_path):
    assert started(tmp_path, "potato", "annotations.csv", content).exit_code == 0
    about = tmp_path / "s" / "study.yml"
    (tmp_path / "s" / "texts.csv").write_text("output_id,item_id,system\no1,1,a\no2,1,b\n")
    about.write_text(f"{about.read_text()}  outputs: {{file: texts.csv}}\n")
    study = nb.read_study(tmp_path / "s")
    assert sorted(study.judgments["value"]) == values
    assert set(study.judgments["annotator_id"]) == {"w001"} and "flow" in study.dimensions


def test_potatos_json_lines_have_labels_by_question(tmp_path):
    line = '{"instance_id": "o1", "user_id": "eve", "labels": {"flow": {"3": "3"}}}'
    assert started(tmp_path, "potato", "annotations.jsonl", line).exit_code == 0
    about = tmp_path / "s" / "study.yml"
    (tmp_path / "s" / "texts.csv").write_text("output_id,item_id,system\no1,1,a\n")
    about.write_text(f"{about.read_text()}  outputs: {{file: texts.csv}}\n")
    study = nb.read_study(tmp_path / "s")
    assert study.dimensions == ["flow"] and study.judgments["value"].tolist() == [3]


def test_scores_of_systems_and_of_outputs_are_guessed(tmp_path):
    (tmp_path / "m.csv").write_text("model,bleu,chrf\na,1,2\nb,3,4\n")
    (tmp_path / "o.csv").write_text("item,model,text,bleu\n1,a,so,.5\n1,b,and,.7\n")
    given = ("--from", tmp_path / "m.csv", "--from", tmp_path / "o.csv")
    assert call("new", tmp_path / "s", *given).exit_code == 0
    study = nb.read_study(tmp_path / "s")
    assert study.system_scores["score"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert study.scores["score"].tolist() == [0.5, 0.7]
    assert study.outputs["text"].tolist() == ["so", "and"]


NUMBERED = (
    "Model,Human 1 flow,Human 1 wit,Human 2 flow,Human 2 wit,Human Avg 1 wit,Flow,chrf\n"
    'Human,"[1, 2]","[5, 5]","[2, 4]","[4, 4]","[4, 4]","[1.5, 3]","[0.1, 0.2]"\n'
    'a,"[3, 3]","[1, 1]","[3, 1]","[2, 2]","[2, 2]","[3.0, 2]","[0.3, 0.4]"\n'
)


def test_numbered_columns_are_ratings_and_their_means_are_no_evaluators(tmp_path):
    assert started(tmp_path, None, "n.csv", NUMBERED).exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "quality: flow  # guessed: the first dimension; else wit" in text
    assert 'value: "Human {annotator_id} {dimension}"' in text
    study = nb.read_study(tmp_path / "s")
    flow = study.judgments[study.judgments["dimension"] == "flow"]
    rows = sorted(flow[["output_id", "value"]].itertuples(index=False, name=None))
    assert rows == [
        *(("1/a", 3.0), ("1/a", 3.0), ("1/human", 1.0), ("1/human", 2.0)),
        *(("2/a", 1.0), ("2/a", 3.0), ("2/human", 2.0), ("2/human", 4.0)),
    ]
    assert len(study.judgments) == 16 and study.judgments["annotator_id"].nunique() == 2
    assert study.scores["evaluator"].unique().tolist() == ["chrf"]
    assert call("check", tmp_path / "s").exit_code == 0


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("rater 1 flow,rater 2 wit", set()),  # not all of them rate the same
        ("rater 1 flow,rater 2 flow", {"flow"}),
        ("rater1,rater2", {"quality"}),
        ("Annotator1_flow,Annotator1_wit,Annotator2_flow,Annotator2_wit", {"flow", "wit"}),
    ],
)
def test_only_whole_grids_of_people_are_ratings(columns, found, tmp_path):
    n = columns.count(",") + 1
    lines = [f"item,model,{columns}", "1,a" + ",3" * n, "2,a" + ",4" * n]
    assert started(tmp_path, None, "n.csv", "\n".join(lines)).exit_code == 0
    study = nb.read_study(tmp_path / "s")
    judged = study.judgments
    assert (set() if judged is None else set(judged["dimension"])) == found


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
    assert "item_id: source  # guessed: rows are unique by it and system" in text
    assert "# confirm: overall: no column says who rated" in text
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


def test_personal_columns_are_named_and_not_read(tmp_path):
    said = started(tmp_path, None, "r.csv", "item,model,WorkerId,flow,IPAddress\n1,a,A9,3,::1\n")
    assert "looks personal, is not read: IPAddress" in said.stdout
    assert "::1" not in said.stdout and "A9" not in said.stdout
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "looks personal, is never read: IPAddress" in text and "::1" not in text


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
    assert "personal, is never read: Answer.userAgent, Answer.lat, Answer.telephone" in text
    assert "not read: Answer.screenwidth, Answer.seconds, Answer.favorite" in text
    assert "Mozilla" not in said.stdout + text and "5550100" not in said.stdout + text
    assert "WorkerId" not in said.stdout


def test_a_folder_that_reads_well_stays_so(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n2,1,b\n")
    refused = call("new", tmp_path / "s", "--from", tmp_path / "s" / "outputs.csv")
    assert refused.exit_code == 1 and "is read as it is, so nothing is written" in refused.stderr
    assert not (tmp_path / "s" / "study.yml").exists()
    assert call("new", tmp_path / "s").exit_code == 0
    assert "tables" not in (tmp_path / "s" / "study.yml").read_text()
    assert call("check", tmp_path / "s").exit_code == 0


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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "no.csv"], "no file no.csv"),
        (["--as", "mturk"], "name the files, too"),
        (["--as", "excel", "--from", "x.csv"], "'excel' is unknown"),
        (["--from", "notes.doc"], "no known ending"),
        (["--from", "broken.json"], "is no JSON"),
        (["--from", "empty.csv"], "is empty"),
    ],
)
def test_what_cannot_be_begun_leaves_nothing(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in {"notes.doc": "x", "broken.json": "{", "empty.csv": ""}.items():
        (tmp_path / name).write_text(content)
    said = call("new", "s", *args)
    assert said.exit_code in (1, 2) and message in said.stderr
    assert "Traceback" not in said.output and not (tmp_path / "s").exists()


def test_a_file_of_no_table_is_named(tmp_path):
    said = started(tmp_path, None, "x.csv", "red,blue\ngreen,so\n")
    assert said.exit_code == 0
    text = (tmp_path / "s" / "study.yml").read_text()
    assert "# ../x.csv: no table was recognized" in text and "value: ..." in text
    assert "#   red (1 values: green)" in text and "#   blue (1 values: so)" in text
