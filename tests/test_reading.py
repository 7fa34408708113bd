"""Files of any layout become tables by what study.yml says of them; what is wrong is all named."""

import gzip
import json
from datetime import date
from decimal import Decimal

import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main
from nlgbench.study import formats, read_folder
from nlgbench.study.csv_files import TableError
from nlgbench.study.reading import personal

LONG = "item,model,who,how,score\n1,a,ann,flow,3\n1,b,bob,flow,4\n2,a,ann,flow,5\n"
#: What each of the layouts below says: output, annotator, dimension, value.
SAME = [
    ("1/a", "w001", "flow", 3.0),
    ("1/b", "w002", "flow", 4.0),
    ("2/a", "w001", "flow", 5.0),
]


def named(more):
    return f"{{item_id: item, system: model, annotator_id: who, {more}}}"


NESTED = {
    "1": {"a": {"ann": {"flow": 3}}, "b": {"bob": {"flow": 4}}},
    "2": {"a": {"ann": {"flow": 5}}},
}
RECORDS = [
    {"in": {"id": 1}, "sys": "a", "by": {"who": "ann"}, "flow": 3},
    {"in": {"id": 1}, "sys": "b", "by": {"who": "bob"}, "flow": 4},
    {"in": {"id": 2}, "sys": "a", "by": {"who": "ann"}, "flow": 5},
]
DOTTED = "item_id: in.id, system: sys, annotator_id: by.who, value: [flow]"
INNER = {
    "data": [
        {"id": 1, "who": ["ann"], "said": [{"m": "a", "flow": [3]}]},
        {"id": 1, "who": ["bob"], "said": [{"m": "b", "flow": [4]}]},
        {"id": 2, "who": ["ann"], "said": [{"m": "a", "flow": [5]}]},
    ]
}
SLOTS = (
    "WorkerId,Input.item_1,Input.sys_1,Input.item_2,Input.sys_2,Answer.r_1,Answer.r_2,Status\n"
    "ann,1,a,2,a,3,5,Approved\nbob,1,b,2,b,4,,Approved\neve,1,a,2,a,1,1,Rejected\n"
)
LAYOUTS = {
    "long": ("r.csv", LONG, named("dimension: how, value: score"), ""),
    "long tsv": (
        *("r.tsv", LONG.replace(",", "\t")),
        *(named("dimension: how, value: score"), ""),
    ),
    "semicolons": (
        *("r.csv", LONG.replace(",", ";")),
        *(named("dimension: how, value: score"), "delimiter: ';'"),
    ),
    "a column per dimension": (
        "r.csv",
        "item,model,who,flow\n1,a,ann,3\n1,b,bob,4\n2,a,ann,5\n",
        named("value: [flow]"),
        "",
    ),
    "a column per annotator": (
        "r.csv",
        "item,model,by_ann,by_bob\n1,a,3,\n1,b,,4\n2,a,5,\n",
        '{item_id: item, system: model, value: "by_{annotator_id}"}',
        "constants: {dimension: flow}",
    ),
    "a column per annotator and dimension": (
        "r.csv",
        "item,model,ann flow,bob flow,ann length\n1,a,3,,9\n1,b,,4,9\n2,a,5,,9\n",
        '{item_id: item, system: model, value: "{annotator_id} {dimension}"}',
        "only: {dimension: flow}",
    ),
    "a column per system": (
        "r.csv",
        "item,who,a,b\n1,ann,3,\n1,bob,,4\n2,ann,5,\n",
        '{item_id: item, annotator_id: who, value: "{system}"}',
        "constants: {dimension: flow}\n    only: {system: [a, b]}",
    ),
    "lists": (
        "r.csv",
        'item,model,who,flow\n1,a,"[""ann""]",[3]\n1,b,"[""bob""]",[4]\n2,a,"[""ann""]",[5]\n',
        named("value: flow"),
        "lists: [annotator_id, value]\n    constants: {dimension: flow}",
    ),
    "json records": ("r.json", json.dumps(RECORDS), f"{{{DOTTED}}}", ""),
    "json lines": ("r.jsonl", "\n".join(map(json.dumps, RECORDS)), f"{{{DOTTED}}}", ""),
    "rows in a record": (
        *("r.json", json.dumps(INNER)),
        "{item_id: id, system: m, annotator_id: who, value: [flow]}",
        "rows: data.said\n    lists: [annotator_id, value]",
    ),
    "nested by ids": (
        *("r.json", json.dumps(NESTED)),
        *("{value: [flow]}", "keys: [item_id, system, annotator_id]"),
    ),
    "nested to the value": (
        *("r.json", json.dumps(NESTED)),
        *("{}", "keys: [item_id, system, annotator_id, dimension]"),
    ),
    "slots of a batch": (
        "r.csv",
        SLOTS,
        "{annotator_id: WorkerId, item_id: 'Input.item_{slot}', system: 'Input.sys_{slot}',\n"
        "      value: 'Answer.r_{slot}'}",
        "only: {Status: Approved}\n    constants: {dimension: flow}",
    ),
    "errors": (
        "r.csv",
        "item,model,who,severity\n1,a,ann,minor\n1,a,ann,minor\n1,a,ann,minor\n1,b,bob,none\n"
        "1,b,bob,major/x\n2,a,ann,major/y\n2,a,ann,minor\n",
        named("value: severity"),
        "values: {value: {minor: 1, 'major*': 4, none: 0}}\n    constants: {dimension: flow}\n"
        "    sum: true",
    ),
}


def folder(place, files, about=""):
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    if about:
        (place / "study.yml").write_text(about)
    return place


def described(file, columns, more):
    return f"tables:\n  judgments:\n    file: {file}\n    columns: {columns}\n    {more}\n"


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_layout_is_read_as_what_it_says(name, packed, tmp_path):
    file, content, columns, more = LAYOUTS[name]
    content = content.encode()
    if packed:
        file, content = f"{file}.gz", gzip.compress(content)
    study = nb.read_study(folder(tmp_path / "s", {file: content}, described(file, columns, more)))
    read = study.judgments[["output_id", "annotator_id", "dimension", "value"]]
    assert sorted(read.itertuples(index=False, name=None)) == SAME
    of = study.outputs.set_index("output_id")[["item_id", "system"]].T.to_dict("list")
    assert of == {"1/a": ["1", "a"], "1/b": ["1", "b"], "2/a": ["2", "a"]}


SCORES = "item,model,bleu,chrf,text\n1,a,.1,,so\n1,b,.3,.4,and so\n"


def test_scores_find_their_outputs_by_system_and_item_and_texts_come_from_the_same_file(tmp_path):
    about = """
name: pilot
settings: {lower_is_better: [bleu], labels: {a: No. 1}}
tables:
  outputs: {file: s.csv, columns: {item_id: item, system: model, output_id: text}}
  scores: {file: s.csv, columns: {item_id: item, system: model, score: {bleu: bleu, F: chrf}}}
  system_scores:
    file: m.csv
    columns: {system: model, score: [size]}
"""
    made = folder(tmp_path / "s", {"s.csv": SCORES, "m.csv": "model,size\na,7\n"}, about)
    study = nb.read_study(made)
    assert (study.name, study.label("a")) == ("pilot", "No. 1")
    assert study.outputs["output_id"].tolist() == ["so", "and so"]
    rows = study.scores.fillna(-1).itertuples(index=False, name=None)
    lower = "direction:lower"
    assert sorted(rows) == [
        *(("and so", "F", 0.4, ""), ("and so", "bleu", 0.3, lower)),
        *(("so", "F", -1.0, ""), ("so", "bleu", 0.1, lower)),
    ]
    assert study.system_scores.to_numpy().tolist() == [["a", "size", 7.0, ""]]


def test_votes_are_read_with_their_outputs(tmp_path):
    votes = "item,left,right,worker,winner\n7,a,b,x9,left\n7,b,a,x3,tie\n"
    about = """
tables:
  preferences:
    file: v.csv
    columns: {item_id: item, system_a: left, system_b: right, annotator_id: worker, choice: winner}
    values: {choice: {left: a, right: b}}
"""
    study = nb.read_study(folder(tmp_path / "s", {"v.csv": votes}, about))
    shown = study.preferences[["output_a", "output_b", "annotator_id", "choice"]]
    assert shown.to_numpy().tolist() == [["7/a", "7/b", "w001", "a"], ["7/b", "7/a", "w002", "tie"]]


def test_a_file_for_each_system_names_it(tmp_path):
    files = {f"out/{name}.txt": f"{name} one\n\n{name} three" for name in ("b", "a")}
    about = (
        "tables: {outputs: {file: out/*.txt, columns: {text: line}, constants: {system: '{file}', "
    )
    about += "item_id: '{row}'}}}"
    study = nb.read_study(folder(tmp_path / "s", files, about))
    assert study.outputs["output_id"].tolist() == ["1/a", "2/a", "3/a", "1/b", "2/b", "3/b"]
    assert study.outputs["text"].tolist()[:3] == ["a one", "", "a three"]


def test_yaml_is_read_as_it_is_written(tmp_path):
    """An id 007, or a system No, is a text; a name that stands twice would lose one."""
    about = "name: 010\nsettings: {labels: {No: yes}}\n"
    made = folder(tmp_path / "s", {"outputs.csv": "output_id,item_id,system\n1,1,No\n"}, about)
    study = nb.read_study(made)
    assert (study.name, study.label("No")) == ("010", "yes")
    (made / "study.yml").write_text("name: a\nname: b\n")
    with pytest.raises(TableError, match=r"study\.yml, line 2, column 1 is no YAML: 'name' stands"):
        nb.read_study(made)
    (made / "study.yml").write_text("name: &a b\nsettings: *a\n")
    with pytest.raises(TableError, match="aliases are not read"):
        nb.read_study(made)


def test_only_annotators_come_from_columns_that_look_personal(tmp_path):
    files = {"r.csv": "item,model,WorkerId,flow,RecipientEmail\n1,a,A2X,3,x@y\n"}
    right = "{item_id: item, system: model, annotator_id: WorkerId, value: [flow]}"
    study = nb.read_study(folder(tmp_path / "s", files, described("r.csv", right, "")))
    told = "".join(getattr(study, one).to_csv() for one in ("outputs", "judgments"))
    assert "A2X" not in told and "x@y" not in told and "w001" in told
    for wrong in (right.replace("model", "RecipientEmail"), right.replace("item,", "WorkerId,")):
        folder(tmp_path / "s", files, described("r.csv", wrong, ""))
        with pytest.raises(TableError, match="looks personal: only annotator_id may"):
            nb.read_study(tmp_path / "s")


def test_annotators_of_a_plain_folder_are_renamed_unless_it_asks_to_keep_them(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system\n1,1,a\n",
        "judgments.csv": "output_id,annotator_id,value\n1,A2X,3\n1,A1X,4\n",
        "preferences.csv": "output_a,output_b,annotator_id,choice\n",
    }
    study = nb.read_study(folder(tmp_path / "s", files))
    assert study.judgments["annotator_id"].tolist() == ["w001", "w002"]
    for name, about in {
        "study.yml": "settings: {keep_annotator_ids: true}",
        "study.json": '{"settings": {"keep_annotator_ids": true}}',
    }.items():
        place = folder(tmp_path / name, files | {name: about})
        assert nb.read_study(place).judgments["annotator_id"].tolist() == ["A2X", "A1X"]
    turned = study.replace(judgments=study.judgments.iloc[::-1])
    turned.write(tmp_path / "again")
    again = nb.read_study(tmp_path / "again")
    assert again.judgments["annotator_id"].tolist() == ["w002", "w001"]


#: What is in the file, whence values come, annotators where these are made up, further lines.
POSITIONS = {
    "columns": ("d,m,rater1,rater2\n1,a,3,4\n", "value: 'rater{annotator_id}'", ""),
    "numbers": ("d,m,by 1,by 2\n1,a,3,4\n", "value: 'by {annotator_id}'", ""),
    "lists": ('d,m,r\n1,a,"[3, 4]"\n', "value: r", "'{position}'", "lists: [value]"),
    "slots": ("d,m,h1,h2\n1,a,3,4\n", "value: 'h{slot}'", "'{item_id}/{slot}'"),
    "persons": ("d,m,by ann,by bob\n1,a,3,4\n", "value: 'by {annotator_id}'", ""),
    "ids": ("d,m,r,who\n1,a,3,p1\n1,a,4,p2\n", "value: r, annotator_id: who", ""),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_are_no_annotators_unless_they_are_said_to_be_persons(name, tmp_path):
    content, value, who, *more = POSITIONS[name]
    spec = f"    file: r.csv\n    columns: {{item_id: d, system: m, {value}}}\n"
    spec += f"    constants: {{annotator_id: {who}}}\n" * bool(who) + f"    {''.join(more)}\n"
    about = f"tables:\n  judgments:\n{spec}"
    problems = []
    study, notes = read_folder(folder(tmp_path / "s", {"r.csv": content}, about), problems)
    assert not problems and len(study.judgments) == 2
    positions = name not in ("persons", "ids")
    assert study.settings.get("annotators") == ("positions" if positions else None)
    assert any("made from positions" in note for note in notes) == positions
    study.write(tmp_path / "again")
    assert nb.read_study(tmp_path / "again").settings == study.settings
    said = "settings: {annotators: persons}\n" + about
    study, notes = read_folder(folder(tmp_path / "t", {"r.csv": content}, said), problems)
    assert study.settings["annotators"] == "persons" and not notes


def test_a_column_that_a_table_reads_is_not_said_to_be_unread(tmp_path):
    files = {"r.csv": "item,model,WorkerId,flow,phone\n1,a,A2X,3,99\n"}
    tables = (
        "tables:\n  outputs: {file: r.csv, columns: {item_id: item, system: model}}\n"
        "  judgments:\n    file: r.csv\n"
        "    columns: {item_id: item, system: model, value: [flow]}\n"
        "    constants: {annotator_id: '{WorkerId}'}\n"
    )
    _, notes = read_folder(folder(tmp_path / "s", files, tables), [])
    assert notes == [f"{tmp_path / 's' / 'r.csv'}: looks personal, is not read: phone."]


def test_an_unread_column_that_groups_items_is_named(tmp_path):
    rows = "".join(f"{i},{i // 3},{s},me,3\n" for i in range(6) for s in "ab")
    files = {"r.csv": f"item,talk_id,model,who,flow\n{rows}"}
    about = described(
        "r.csv", "{item_id: item, system: model, annotator_id: who, value: [flow]}", ""
    )
    _, notes = read_folder(folder(tmp_path / "s", files, about), [])
    (said,) = notes
    assert "6 items have 2 values of talk_id, which is not read" in said
    assert "clusters: talk_id" in said


def test_excluded_judgments_are_noted(tmp_path):
    files = {"r.csv": "item,model,who,flow\n1,a,x,3\n1,a,y,300\n"}
    about = "settings: {valid: {flow: {max: 100}}}\n" + described(
        "r.csv", "{item_id: item, system: model, annotator_id: who, value: [flow]}", ""
    )
    study, notes = read_folder(folder(tmp_path / "s", files, about), [])
    assert study.judgments["value"].tolist() == [3]
    assert notes == ["flow: judgments excluded because they are outside settings: valid: 1."]


@pytest.mark.parametrize(
    "name",
    [
        *("Answer.userAgent", "answer.useragent", "Answer.lat", "Answer.telephone", "E-Mail"),
        *("workerid", "First Name", "firstname", "IPAddress", "ip_address", "ZIP code", "Zipcode"),
        *("PROLIFIC_PID", "IP"),
    ],
)
def test_personal_names_are_seen_in_any_spelling(name):
    assert personal([name]) == [name]
    assert personal(["system_name", "message", "relatives", "average", "model_id"]) == []


def test_a_plain_folder_with_study_yml_has_its_settings(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system,topic\n1,1,a,x\n",
        "judgments.csv": "output_id,annotator_id,value\n1,me,3\n",
        "contexts.csv": "item_id,state,is_target,red,blue\n1,s1,1,0,1\n1,s2,0,1,1\n",
    }
    about = "settings: {extra: [topic], clusters: topic, scales: {quality: {min: 1, max: 5}}}\n"
    study = nb.read_study(folder(tmp_path / "s", files, about))
    assert study.settings["scales"] == {"quality": {"min": 1.0, "max": 5.0}}
    assert study.outputs["topic"].tolist() == ["x"] and list(study.contexts)[3:] == ["red", "blue"]
    study.write(tmp_path / "again")
    assert nb.read_study(tmp_path / "again").settings == study.settings


def test_integers_beside_an_empty_cell_stay_integers(tmp_path):
    lines = '{"item": 1, "meta": {"n": 9007199254740993}}\n{"item": null, "meta": {}}\n{"x": [1]}\n'
    (tmp_path / "r.jsonl").write_text(lines)
    frame, _ = formats.read(tmp_path / "r.jsonl", "jsonl", problems=[])
    assert frame.to_dict("list") == {
        "item": ["1", "", ""],
        "meta.n": ["9007199254740993", "", ""],
        "x": ["", "", "[1]"],
    }


#: What a column of Parquet holds -> how its cells are read.
CELLS = {
    "ids that are texts": (["001", "1", None], ["001", "1", ""]),
    "ids that are integers": ([1, None, 2**53 + 1], ["1", "", "9007199254740993"]),
    "numbers": ([0.1, float("nan"), None], ["0.1", "", ""]),
    "truth": ([True, None, False], ["true", "", "false"]),
    "lists": ([[1, None], [], None], ["[1, null]", "[]", ""]),
    "lists of texts": ([["a b", "é"], ["c"], []], ['["a b", "é"]', '["c"]', "[]"]),
    "decimals": ([Decimal("1.50"), None, Decimal("2")], ["1.50", "", "2.00"]),
    "days": ([date(2020, 1, 2), None, None], ["2020-01-02", "", ""]),
}


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_cells_of_parquet_are_read_as_those_of_other_formats(name, encoded, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values, expected = CELLS[name]
    column = pa.array(values)
    if encoded:
        if isinstance(values[0], list):
            pytest.skip("lists have no dictionary")
        column = column.dictionary_encode()
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table({"c": column, "d": [{"x": 1}, {"x": None}, None]}), tmp_path / "r.parquet"
    )
    frame, places = formats.read(tmp_path / "r.parquet", "parquet", problems=[])
    assert frame["c"].tolist() == expected and frame["d.x"].tolist() == ["1", "", ""]
    assert places == ["record 1", "record 2", "record 3"]


def test_a_study_of_parquet_is_that_of_csv(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = pd.DataFrame({"item": ["001", "1"], "who": pd.Categorical(["x", "x"])})
    rows = rows.assign(ann=[[4, 5], [3, 2]]).set_index("item")
    columns = "{item_id: item, system: who, value: ann}"
    more = "lists: [value]\n    constants: {annotator_id: '{position}'}"
    about = described("r.parquet", columns, more)
    place = folder(tmp_path / "p", {}, about)
    rows.to_parquet(place / "r.parquet")
    other = folder(tmp_path / "c", {}, about.replace(".parquet", ".csv"))
    rows.to_csv(other / "r.csv")
    one, two = nb.read_study(place), nb.read_study(other)
    pd.testing.assert_frame_equal(one.judgments, two.judgments)
    pd.testing.assert_frame_equal(one.outputs, two.outputs)
    assert one.judgments["value"].tolist() == [4, 5, 3, 2]
    assert CliRunner().invoke(main, ["check", str(place)]).exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"PAR1 and no more", "is no Parquet that can be read"), (None, "'c' holds bytes")],
)
def test_parquet_that_cannot_be_read_says_so(content, message, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "r.parquet"
    if content is None:
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"c": [b"x"]}), path)
    else:
        path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        formats.read(path, "parquet", problems=[])


def test_parquet_needs_what_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(formats.importlib.util, "find_spec", lambda name: None)
    made = folder(tmp_path / "s", {"r.parquet": b"PAR1"}, described("r.parquet", "{}", ""))
    with pytest.raises(
        TableError, match=r"r\.parquet is Parquet, which needs pyarrow: pip install"
    ):
        nb.read_study(made)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"output_id\titem_id\tsystem\n1\t1\ta\n", r"has no columns that ',' separates.*\(tsv"),
        (b"output_id;item_id;system\n1;1;a\n", r"has no columns.*or delimiter"),
        (b'{"output_id": "1", "item_id": "1"}\n', r"has no columns.*jsonl"),
        (b'[\n {"output_id": "1"}]', r"has no columns"),
        (gzip.compress(b"output_id,system\n", mtime=0), r"is gzipped: unpack it \(gunzip\)"),
        (b"PK\x03\x04\x00", r"is a ZIP archive or an Excel workbook"),
    ],
)
def test_what_is_no_csv_is_said_to_be_what_it_is(content, message, tmp_path):
    (tmp_path / "outputs.csv").write_bytes(content)
    with pytest.raises(TableError, match=rf"outputs\.csv {message}"):
        nb.read_study(tmp_path)


def test_all_problems_of_all_files_are_named_in_one_pass(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system\n1,1,a\n2,,b\n3,3\n4,4,a\n4,4,b\n",
        "judgments.csv": "output_id,annotator_id,value\n1,x,7\n9,x,2\n4,,good\n",
        "scores.csv": "output_id,skore\n1,2\n",
        "references.csv": "",
    }
    about = "settings: {scales: {quality: {min: 1, max: 5}}, quality: flow}\n"
    with pytest.raises(TableError) as caught:
        nb.read_study(folder(tmp_path / "s", files, about))
    assert len(caught.value.problems) == 10
    said = str(caught.value)
    for part in (
        "10 problems:",
        "outputs.csv, row 3 (line 4) has 2 fields",
        "outputs.csv: outputs, column 'item_id' must not be empty",
        "same key (output_id). Drop the repetition",
        "judgments.csv: judgments, column 'annotator_id' must not be empty",
        "'good'",
        "judgments.csv: judgments, column 'output_id' is no output_id of outputs",
        "Found row 2 (line 3), output_id='9'",
        "must be within its scale, 1 to 5: mend the value, or settings: scales. Found row 1 (line",
        "scores.csv: scores has no columns 'evaluator', 'score': rename 'skore' to 'score'",
        "references.csv is empty",
        "settings: dimension: 'flow' is unknown",
    ):
        assert part in said, part


def test_many_problems_are_counted():
    error = TableError(*map(str, range(25)))
    assert str(error).startswith("25 problems:\n1. 0\n") and str(error).endswith("and 5 more")


def test_a_table_in_another_file_keeps_its_lines_in_messages(tmp_path):
    content = "item,model,who,flow,depth\n1,a,ann,3,2\n\n2,a,bob,good,\n"
    with pytest.raises(TableError) as caught:
        nb.read_study(
            folder(
                tmp_path / "s",
                {"r.csv": content},
                described("r.csv", named("value: [flow, depth]"), ""),
            )
        )
    assert "r.csv: judgments, column 'value' must be a number" in str(caught.value)
    assert "row 3 (line 4), output_id='2/a', annotator_id='w002', dimension='flow'" in str(
        caught.value
    )


def test_files_of_a_run_are_hashed(tmp_path, monkeypatch):
    """The note by which a run is found to be outdated changes with any cell of any file."""
    (tmp_path / "raw.csv").write_text(LONG)
    about = described("../raw.csv", named("dimension: how, value: score"), "")
    made = folder(tmp_path / "s", {}, about)
    log = tmp_path / "log"
    monkeypatch.setenv("NLGBENCH_READ_LOG", str(log))

    def noted():
        log.write_text("")
        nb.read_study(made)
        rows = map(json.loads, log.read_text().splitlines())
        return {row["path"]: row["sha256"] for row in rows}

    first = noted()
    assert set(first) == {str(made), str(tmp_path / "raw.csv")}
    (tmp_path / "raw.csv").write_text(LONG.replace("flow,3", "flow,2"))
    second = noted()
    changed = {path for path in first if first[path] != second[path]}
    assert changed == {str(tmp_path / "raw.csv")}
    (made / "study.yml").write_text(about.replace("columns:", "columns:  "))
    third = noted()
    assert {path for path in first if second[path] != third[path]} == {str(made)}


def test_two_descriptions_of_one_folder_are_refused(tmp_path):
    outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
    nb.Study(outputs).write(tmp_path / "s")
    (tmp_path / "s" / "study.yml").write_text("name: x\n")
    with pytest.raises(TableError, match=r"study\.yml and study\.json, which both describe"):
        nb.read_study(tmp_path / "s")
