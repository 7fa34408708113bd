"""Files of any layout become tables by what study.yml says of them, as written in the files."""

import gzip
import json
import re
from datetime import date

import pytest

import nlgbench as nb
from nlgbench.study import file_types, read_folder, summary
from nlgbench.study.column_names import personal
from nlgbench.study.csv_files import TableError

#: What each of the layouts below says: output, annotator, dimension, value.
SAME = [("1/a", "w001", "flow", 3.0), ("1/b", "w002", "flow", 4.0), ("2/a", "w001", "flow", 5.0)]
LONG = "item,model,who,how,score\n1,a,ann,flow,3\n1,b,bob,flow,4\n2,a,ann,flow,5\n"
NAMED = "{item_id: item, system: model, annotator_id: who, dimension: how, value: score}"
WIDE = "{item_id: item, system: model, annotator_id: who, value: [flow]}"
FLOW = "constants: {dimension: flow}"
NESTED = {
    "1": {"a": {"ann": {"flow": 3}}, "b": {"bob": {"flow": 4}}},
    "2": {"a": {"ann": {"flow": 5}}},
}
RECORDS = [
    {"in": {"id": item}, "sys": system, "by": {"who": who}, "flow": value}
    for item, system, who, value in [(1, "a", "ann", 3), (1, "b", "bob", 4), (2, "a", "ann", 5)]
]
DOTTED = "{item_id: in.id, system: sys, annotator_id: by.who, value: [flow]}"
INNER = {
    "data": [
        {"id": 1, "who": ["ann"], "said": [{"m": "a", "flow": [3]}]},
        {"id": 1, "who": ["bob"], "said": [{"m": "b", "flow": [4]}]},
        {"id": 2, "who": ["ann"], "said": [{"m": "a", "flow": [5]}]},
    ]
}
#: Name -> file, content, its columns, further lines.
LAYOUTS = {
    "long": ("r.csv", LONG, NAMED, ""),
    "long tsv": ("r.tsv", LONG.replace(",", "\t"), NAMED, ""),
    "a column per dimension": (
        *("r.csv", "item,model,who,flow\n1,a,ann,3\n1,b,bob,4\n2,a,ann,5\n", WIDE, ""),
    ),
    "a column per annotator and dimension": (
        "r.csv",
        "item,model,ann flow,bob flow,ann length\n1,a,3,,9\n1,b,,4,9\n2,a,5,,9\n",
        '{item_id: item, system: model, value: "{annotator_id} {dimension}"}',
        "only: {dimension: flow}",
    ),
    "lists": (
        "r.csv",
        'item,model,who,flow\n1,a,"[""ann""]",[3]\n1,b,"[""bob""]",[4]\n2,a,"[""ann""]",[5]\n',
        WIDE.replace("[flow]", "flow"),
        f"lists: [annotator_id, value]\n    {FLOW}",
    ),
    "json lines": ("r.jsonl", "\n".join(map(json.dumps, RECORDS)), DOTTED, ""),
    "rows in a record": (
        *("r.json", json.dumps(INNER)),
        "{item_id: id, system: m, annotator_id: who, value: [flow]}",
        "rows: data.said\n    lists: [annotator_id, value]",
    ),
    "nested by ids": (
        *("r.json", json.dumps(NESTED), "{value: [flow]}"),
        "keys: [item_id, system, annotator_id]",
    ),
    "nested to the value": (
        *("r.json", json.dumps(NESTED), "{}"),
        "keys: [item_id, system, annotator_id, dimension]",
    ),
}


def folder(place, files, about=""):
    place.mkdir(exist_ok=True)
    for name, content in (files | ({"study.yml": about} if about else {})).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def described(file, columns, more="", top=""):
    spec = f"    file: {file}\n    columns: {columns}\n    {more}\n"
    return f"{top}tables:\n  judgments:\n{spec}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_as_what_it_says(name, tmp_path):
    file, content, columns, more = LAYOUTS[name]
    for kind in [file, f"{file}.gz"]:
        raw = content.encode() if kind == file else gzip.compress(content.encode())
        made = folder(tmp_path / kind, {kind: raw}, described(kind, columns, more))
        study = nb.read_study(made)
        read = study.judgments[["output_id", "annotator_id", "dimension", "value"]]
        assert sorted(read.itertuples(index=False, name=None)) == SAME
        of = study.outputs.set_index("output_id")[["item_id", "system"]].T.to_dict("list")
        assert of == {"1/a": ["1", "a"], "1/b": ["1", "b"], "2/a": ["2", "a"]}


def test_two_sources_make_one_table_and_their_column_one_of_outputs(tmp_path):
    lines = LONG.replace("who", "who,doc").replace("ann,", "ann,d,").replace("bob,", "bob,d,")
    about = f"""settings: {{extra: [doc], clusters: doc}}
tables:
  judgments:
    - {{file: flow.csv, columns: {NAMED}}}
    - {{file: s.csv, columns: {{item_id: id, system: sys, annotator_id: by, value: how}},
       constants: {{dimension: sense}}}}
"""
    files = {"flow.csv": lines, "s.csv": "id,sys,by,how\n1,a,ann,2\n1,a,bob,five\n"}
    made = folder(tmp_path / "s", files, about)
    with pytest.raises(TableError, match=r"s\.csv: judgments, .* row 5 \(s\.csv, line 3\), .*five"):
        nb.read_study(made)
    (made / "s.csv").write_text(files["s.csv"].replace("five", "5"))
    study = nb.read_study(made)
    read = study.judgments[["output_id", "annotator_id", "dimension", "value"]]
    sense = [("1/a", "w001", "sense", 2.0), ("1/a", "w002", "sense", 5.0)]
    assert list(read.itertuples(index=False, name=None)) == [*SAME, *sense]
    assert study.outputs["doc"].tolist() == ["d"] * 3


def test_scores_find_their_outputs_by_system_and_item_and_texts_come_from_the_same_file(tmp_path):
    files = {
        "s.csv": "item,model,bleu,chrf,text\n1,a,.1,,so\n1,b,.3,.4,and so\n",
        "m.csv": "model,size,bleu\na,7,.2\n",
    }
    about = """
name: 010
settings: {lower_is_better: [bleu], labels: {a: No}}
tables:
  outputs: {file: s.csv, columns: {item_id: item, system: model, output_id: text}}
  scores: {file: s.csv, columns: {item_id: item, system: model, score: {bleu: bleu, F: chrf}}}
  system_scores: {file: m.csv, columns: {system: model, score: [size, bleu]}}
"""
    study = nb.read_study(folder(tmp_path / "s", files, about))
    assert (study.name, study.label("a")) == ("010", "No")  # texts, as written
    assert study.outputs["output_id"].tolist() == ["so", "and so"]
    lower = "direction:lower"
    assert sorted(study.scores.fillna(-1).itertuples(index=False, name=None)) == [
        *(("and so", "F", 0.4, ""), ("and so", "bleu", 0.3, lower)),
        *(("so", "F", -1.0, ""), ("so", "bleu", 0.1, lower)),
    ]
    of_systems = study.system_scores.to_numpy().tolist()
    assert of_systems == [["a", "size", 7.0, ""], ["a", "bleu", 0.2, lower]]
    assert study.settings["lower_is_better"] == []
    alone = nb.read_study(folder(tmp_path / "t", files, "\n".join(about.splitlines()[:-1])))
    assert alone.scored(["bleu"])["score"].tolist() == [-0.1, -0.3]


def test_braces_name_the_file_the_folder_the_row_and_columns(tmp_path):
    files = {f"out/{name}.txt": f"{name} one\n\n{name} three" for name in ("b", "a")}
    constants = "{system: '{file}', item_id: '{row}', context: '{folder}: {line}'}"
    about = (
        f"tables: {{outputs: {{file: out/*.txt, columns: {{text: line}}, constants: {constants}}}}}"
    )
    study = nb.read_study(folder(tmp_path / "s", files, about))
    assert study.outputs["output_id"].tolist() == ["1/a", "2/a", "3/a", "1/b", "2/b", "3/b"]
    assert study.outputs["text"].tolist()[:3] == ["a one", "", "a three"]
    assert study.outputs["context"].iloc[0] == "out: a one"


def test_only_annotators_come_from_columns_that_look_personal(tmp_path):
    files = {"r.csv": "item,model,WorkerId,flow,phone,Email\n1,a,A2X,3,99,x@y\n"}
    right = WIDE.replace("who", "WorkerId")
    study, notes = read_folder(folder(tmp_path / "s", files, described("r.csv", right)), [])
    told = "".join(getattr(study, one).to_csv() for one in ("outputs", "judgments"))
    assert "A2X" not in told and "x@y" not in told and "w001" in told
    said = "columns that look personal are not read: Email, phone."
    assert notes == [f"{tmp_path / 's' / 'r.csv'}: {said}"]
    wrong = right.replace("item_id: item", "item_id: WorkerId")
    with pytest.raises(TableError, match="looks personal: remove it"):
        nb.read_study(folder(tmp_path / "s", files, described("r.csv", wrong)))


def test_personal_names_are_seen_in_any_spelling():
    spelt = ["Answer.userAgent", "Answer.lat", "E-Mail", "workerid", "IPAddress", "First Name"]
    assert personal(spelt) == spelt
    assert personal(["system_name", "message", "relatives", "average", "model_id"]) == []


def test_annotators_are_renamed_unless_the_folder_asks_to_keep_them(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system\n1,1,a\n",
        "judgments.csv": "output_id,annotator_id,value\n1,A2X,3\n1,A1X,4\n",
    }
    study = nb.read_study(folder(tmp_path / "s", files))
    assert study.judgments["annotator_id"].tolist() == ["w001", "w002"]
    for name, about in {
        "study.yml": "settings: {keep_annotator_ids: true}",
        "study.json": '{"settings": {"keep_annotator_ids": true}}',
    }.items():
        place = folder(tmp_path / name, files | {name: about})
        assert nb.read_study(place).judgments["annotator_id"].tolist() == ["A2X", "A1X"]
    study.replace(judgments=study.judgments.iloc[::-1]).write(tmp_path / "again")
    again = nb.read_study(tmp_path / "again")
    assert again.judgments["annotator_id"].tolist() == ["w002", "w001"]


#: What is in the file, whence values come, annotators where these are made up, further lines.
POSITIONS = {
    "columns": ("d,m,rater1,rater2\n1,a,3,4\n", "value: 'rater{annotator_id}'", ""),
    "lists": ('d,m,r\n1,a,"[3, 4]"\n', "value: r", "'{position}'", "lists: [value]"),
    "rows": ("d,m,r\n1,a,3\n1,a,4\n", "value: r", "'{row}'"),
    "persons": ("d,m,by ann,by bob\n1,a,3,4\n", "value: 'by {annotator_id}'", ""),
    "slots": ("d,m,h1,h2\n1,a,3,4\n", "value: 'h{slot}'", "'{item_id}/{slot}'"),
    "ids": ("d,m,r,who\n1,a,3,p1\n1,a,4,p2\n", "value: r, annotator_id: who", ""),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_are_no_annotators_unless_they_are_said_to_be_persons(name, tmp_path):
    content, value, who, *more = POSITIONS[name]
    constants = f"constants: {{annotator_id: {who}}}\n" * bool(who)
    columns = f"{{item_id: d, system: m, {value}}}"
    about = described("r.csv", columns, f"{constants}    {''.join(more)}")
    problems = []
    study, _ = read_folder(folder(tmp_path / "s", {"r.csv": content}, about), problems)
    assert not problems and len(study.judgments) == 2
    positions = name not in ("persons", "ids")
    assert study.settings.get("annotators") == ("positions" if positions else None)
    assert study.persons != positions
    assert any("are positions" in doubt for doubt in summary.doubts(study)) == positions
    study.write(tmp_path / "again")
    assert nb.read_study(tmp_path / "again").settings == study.settings
    said = "settings: {annotators: persons}\n" + about
    assert nb.read_study(folder(tmp_path / "t", {"r.csv": content}, said)).persons


def test_an_unread_column_that_groups_items_and_empty_cells_are_noted(tmp_path):
    rows = "".join(f"{i},{i // 3},{s},me,{'' if i == 5 else 3}\n" for i in range(6) for s in "ab")
    files = {"r.csv": f"item,talk_id,model,who,flow\n{rows}"}
    _, notes = read_folder(folder(tmp_path / "s", files, described("r.csv", WIDE)), [])
    skipped = "r.csv: empty cells of judgments skipped: 2. Outputs without others in this file: 2"
    assert notes[0].endswith(f"{skipped}, such as 5/a.") and len(notes) == 2
    assert "5 items have 2 values of talk_id, which is not used" in notes[1]
    assert "clusters: talk_id" in notes[1]
    used = described("r.csv", WIDE, top="settings: {clusters: group_id}\n")
    _, notes = read_folder(folder(tmp_path / "s", files, used), [])
    assert len(notes) == 1


def test_tsv_whose_quotes_enclose_nothing_and_rows_that_mturk_cuts_are_read(tmp_path):
    (tmp_path / "r.tsv").write_text('text\tn\nthe "old" man\t1\n"open\t2\n')
    frame, places = file_types.read_rows(tmp_path / "r.tsv", "tsv", problems=[])
    assert frame["text"].tolist() == ['the "old" man', '"open']
    assert places == ["line 2", "line 3"]
    (tmp_path / "r.csv").write_text("a,Approve,Reject\n1\n2,x\n")
    frame, _ = file_types.read_rows(tmp_path / "r.csv", "csv", problems=[])
    assert frame.to_numpy().tolist() == [["1", "", ""], ["2", "x", ""]]
    (tmp_path / "r.csv").write_text("text\ntext\n")  # with one column, a cell and no header again
    assert file_types.read_rows(tmp_path / "r.csv", "csv", problems=[])[0]["text"].tolist() == [
        "text"
    ]


#: What a column of Parquet holds -> how its cells are read.
CELLS = {
    "ids that are integers": ([1, None, 2**53 + 1], ["1", "", "9007199254740993"]),
    "numbers": ([0.1, float("nan"), None], ["0.1", "", ""]),
    "truth": ([True, None, False], ["true", "", "false"]),
    "lists": ([[1, None], [], None], ["[1, null]", "[]", ""]),
    "days": ([date(2020, 1, 2), None, None], ["2020-01-02", "", ""]),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_of_parquet_are_read_as_those_of_other_formats(name, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values, expected = CELLS[name]
    column = pa.array(values)
    columns = {"c": column, "d": [{"x": 1}, {"x": None}, None]}
    if not isinstance(values[0], list):  # which have no dictionary
        columns["e"] = column.dictionary_encode()
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), tmp_path / "r.parquet")
    frame, places = file_types.read_rows(tmp_path / "r.parquet", "parquet", problems=[])
    assert frame["c"].tolist() == expected and frame["d.x"].tolist() == ["1", "", ""]
    assert "e" not in columns or frame["e"].tolist() == expected
    assert places == ["record 1", "record 2", "record 3"]


CODED = """import pandas as pd
import nlgbench as nb
def study():
    rows = pd.read_csv("r.csv", dtype=str)
    return nb.Study(rows[["output_id", "item_id", "system"]], rows[KEPT])
"""
#: What study.py is -> what is said of it.
WRONG_CODE = {
    "1 / 0": "study.py has no function study(), so it is not run",
    "def study():\n    return 3": "study.py: study() must return an nb.Study. Got 3",
    "\ndef study(:": "study.py, line 2: SyntaxError: invalid syntax",
    CODED: "study.py, line 5: NameError: name 'KEPT' is not defined",
    CODED.replace(
        "KEPT", "['output_id']"
    ): "line 5: Study(judgments=...): judgments has no columns",
    "import sys\nsys.exit(2)\ndef study(): 0": "study.py, line 2: SystemExit: 2",
}


@pytest.mark.parametrize("code", WRONG_CODE)
def test_an_error_in_study_py_has_its_line(code, tmp_path):
    rows = {"r.csv": "output_id,item_id,system,annotator_id,value\n007,1,a,me,3\n"}
    made = folder(tmp_path / "own", rows | {"study.py": code})
    with pytest.raises(TableError, match=re.escape(WRONG_CODE[code])):
        nb.read_study(made)
    (made / "study.py").write_text(CODED.replace("KEPT", "['output_id','annotator_id','value']"))
    study, (note,) = read_folder(made, [])
    assert study.judgments.to_numpy().tolist() == [["007", "w001", "quality", 3.0, ""]]
    assert study.name == "own" and note.endswith(
        "study.py was run; its function study() returned the tables."
    )
    assert len(list(made.iterdir())) == 2, "it left a file"


def test_no_code_is_run_in_a_folder_that_nobody_named(tmp_path):
    home = nb.simulate("gaussian", n_outputs=20, seed=0)
    home.replace(related={"more": home}).write(tmp_path / "s")
    (tmp_path / "s" / "related" / "more" / "study.py").write_text("1 / 0")
    with pytest.raises(TableError, match=r"study\.py is not run in a related study"):
        nb.read_study(tmp_path / "s")


def test_files_of_a_run_are_hashed(tmp_path, monkeypatch):
    """The note by which a run is found to be outdated changes with any cell of any file."""
    (tmp_path / "raw.csv").write_text(LONG)
    made = folder(tmp_path / "s", {}, described("../raw.csv", NAMED))
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
    assert {path for path in first if first[path] != second[path]} == {str(tmp_path / "raw.csv")}
