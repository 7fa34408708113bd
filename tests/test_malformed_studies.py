"""Studies that are wrong in any way are refused in words that name file, row, and way out."""

import json
import os
import random

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.runner.cli import main
from nlgbench.study.csv_files import TableError

OUTPUTS = "output_id,item_id,system\n1,1,a\n2,1,b\n3,2,a\n4,2,b\n"
JUDGMENTS = "output_id,annotator_id,value\n1,x,3\n2,x,4\n3,y,5\n4,y,1\n"
SCORES = "output_id,evaluator,score\n1,bleu,.3\n2,bleu,.4\n"
PLAIN = {"outputs.csv": OUTPUTS, "judgments.csv": JUDGMENTS, "scores.csv": SCORES}
RATINGS = "item,model,who,flow,depth\n1,a,ann,3,2\n1,b,bob,4,1\n2,a,ann,5,5\n"
COLUMNS = "{item_id: item, system: model, annotator_id: who, value: [flow, depth]}"
LISTS = '[{"item": 1, "model": "a", "who": ["p", "q"], "flow": [3, 4]}]'


def plain(**changed):
    files = PLAIN | {f"{name}.csv": content for name, content in changed.items()}
    return {name: content for name, content in files.items() if content is not None}


def table(columns=COLUMNS, more="", file="r.csv", top="", table="judgments"):
    about = f"{top}tables:\n  {table}:\n    file: {file}\n    columns: {columns}\n    {more}\n"
    return {"study.yml": about, "r.csv": RATINGS, "l.json": LISTS}


def about(text, outputs=None):
    return {"study.yml": text, "r.csv": RATINGS, **({"o.csv": outputs} if outputs else {})}


def with_outputs(outputs):
    judgments = f"judgments: {{file: r.csv, columns: {COLUMNS}}}"
    return about(f"tables:\n  outputs: {{file: o.csv}}\n  {judgments}", outputs)


#: Files, and what is said of them: the file, and the row, column, value or way out.
MALFORMED = {
    # A plain folder
    "nothing": ({}, ["has no outputs.csv"]),
    "a name misspelt": ({"output.csv": OUTPUTS}, ["Did you mean 'outputs'?"]),
    "another format alone": ({"r.jsonl": "{}"}, ["has no outputs.csv", "nlgbench new"]),
    "a stray table": (
        plain(jugdments=JUDGMENTS),
        ["jugdments.csv", "mean 'judgments'?", "rename it"],
    ),
    "empty": (plain(judgments=""), ["judgments.csv is empty", "header"]),
    "tabs": (
        plain(judgments=JUDGMENTS.replace(",", "\t")),
        ["judgments.csv has no columns that ',' sep", "(tsv"],
    ),
    "semicolons": (
        plain(scores=SCORES.replace(",", ";")),
        ["scores.csv has no columns", "delimiter"],
    ),
    "JSON Lines": (plain(scores='{"output_id": 1}\n'), ["scores.csv has no columns", "jsonl"]),
    "gzip": (plain(scores=b"\x1f\x8b\x08\x00"), ["scores.csv is gzipped", "gunzip"]),
    "UTF-16": (plain(scores=SCORES.encode("utf-16")), ["scores.csv is not UTF-8", "Save it"]),
    "Latin-1": (plain(outputs=OUTPUTS.encode() + b"5,3,\xe9\n"), ["outputs.csv", "0xe9", "line 6"]),
    "a short row": (plain(outputs=OUTPUTS + "5,1\n"), ["row 5 (line 6) has 2 fields"]),
    "a long row": (plain(outputs=OUTPUTS + "5,1,a,b\n"), ["row 5 (line 6) has 4 fields", "quotes"]),
    "an open quote": (
        plain(outputs=OUTPUTS + '5,"1,a\n'),
        ["outputs.csv, row 5 (line 6)", "quotes"],
    ),
    "a column twice": (
        plain(judgments=JUDGMENTS.replace("annotator_id", "value")),
        ["two columns 'value': keep one"],
    ),
    "columns missing": (
        plain(judgments="output_id,anotator,valu\n1,x,3\n"),
        ["no columns 'annotator_id', 'value'", "'valu' to 'value'"],
    ),
    "columns too many": (
        plain(judgments=JUDGMENTS.replace("value", "value,note,mood").replace("3", "3,n,m", 1)),
        ["row 2 (line 3) has 3 fields"],
    ),
    "a column unknown": (
        plain(outputs=OUTPUTS.replace("system", "systm")),
        ["rename 'systm' to 'system'"],
    ),
    "a word for a number": (
        plain(judgments=JUDGMENTS.replace("x,4", "x,good")),
        ["judgments.csv", "row 2 (line 3)", "column 'value'", "'good'", "mend it"],
    ),
    "a missing value": (
        plain(judgments=JUDGMENTS.replace("x,4", "x,")),
        ["row 2 (line 3)", "'value'", "leave the row out"],
    ),
    "an infinite value": (plain(judgments=JUDGMENTS.replace("x,4", "x,inf")), ["finite", "inf"]),
    "a huge value": (plain(judgments=JUDGMENTS.replace("x,4", "x,1e200")), ["at most", "unit"]),
    "an infinite score": (plain(scores=SCORES.replace(".4", "inf")), ["finite", "row 2 (line 3)"]),
    "an infinite score of a system": (
        plain(system_scores="system,evaluator,score\na,bleu,-inf\n"),
        ["system_scores.csv", "'score' must be finite"],
    ),
    "an infinite feature": (
        plain(contexts="item_id,state,is_target,red\n1,s,1,inf\n1,t,0,0\n"),
        ["'red' must be finite"],
    ),
    "a number too large to store": (
        plain(judgments=JUDGMENTS.replace("x,4", "x,1e309")),
        ["row 2 (line 3)", "at most 1e+100", "'1e309'"],
    ),
    "a header repeated": (
        plain(outputs=OUTPUTS + "output_id,item_id,system\n"),
        ["outputs.csv, row 5 (line 6) repeats the header: remove that line"],
    ),
    "an id column twice": (
        plain(outputs="output_id,output_id,item_id,system\n1,1,1,a\n"),
        ["outputs.csv has two columns 'output_id': keep one"],
    ),
    "annotators twice": (
        plain(judgments="output_id,annotator_id,annotator_id,value\n1,x,x,3\n"),
        ["two columns 'annotator_id'"],
    ),
    "upper case": (
        plain() | {"PREFERENCES.CSV": "output_a\n"},
        ["PREFERENCES.CSV is no table", "mean 'preferences'?", "rename it"],
    ),
    "another format": (
        plain() | {"logprobs.tsv": "output_id\n"},
        ["logprobs.tsv is no table", "mean 'logprobs'?", "save it"],
    ),
    "study.yaml": (
        plain() | {"study.yaml": "name: x"},
        ["study.yaml is not read: make it a file called study.yml"],
    ),
    "a vote on itself": (
        plain(preferences="output_a,output_b,annotator_id,choice\n1,2,x,a\n1,1,x,b\n"),
        ["row 2 (line 3)", "'output_b' must be another output than output_a: remove the row"],
    ),
    "a comparison with itself": (
        plain(comparisons="output_a,output_b,comparator,prob_a,prob_tie,prob_b\n1,1,j,1,0,0\n"),
        ["row 1 (line 2)", "'output_b' must be another output than output_a"],
    ),
    "study.json deep": (plain() | {"study.json": '{"a":' * 100_000}, ["study.json is nested"]),
    "JSON of deep objects": (
        table(file="l.json") | {"l.json": '[{"item": ' + '{"a":' * 2000 + "1" + "}" * 2000 + "}]"},
        ["l.json", "nested too deep"],
    ),
    "a range without an end": (
        table(top="settings: {valid: {flow: {max: high}}}\n"),
        ["valid: flow must have min or max, each a number", "'high'"],
    ),
    "a range that leaves nothing": (
        table(top="settings: {valid: {flow: {min: 9}}}\n"),
        ["valid: flow: all 3 judgments are outside"],
    ),
    "annotators of another kind": (
        table(top="settings: {annotators: people}\n"),
        ["annotators must be one of 'persons', 'positions'", "'people'"],
    ),
    "an empty id": (plain(outputs=OUTPUTS.replace("2,1,b", ",1,b")), ["row 2 (line 3)", "empty"]),
    "an id twice": (
        plain(outputs=OUTPUTS.replace("2,1,b", "1,1,b")),
        [
            "same key (output_id)",
            "Found row 1 (line 2), output_id='1': '1'; row 2 (line 3)",
            "drop",
        ],
    ),
    "a judgment twice": (
        plain(judgments=JUDGMENTS + "4,y,2\n"),
        ["same key", "annotator_id='w002'"],
    ),
    "an unknown output": (
        plain(scores=SCORES + "44,bleu,1\n"),
        ["scores.csv", "Found row 3 (line 4), output_id='44'", "Did you mean '4'?"],
    ),
    "an unknown system": (
        plain(system_scores="system,evaluator,score\nc,bleu,1\n"),
        ["system_scores.csv", "row 1 (line 2), system='c'"],
    ),
    "a choice unknown": (
        plain(preferences="output_a,output_b,annotator_id,choice\n1,2,x,first\n"),
        ["'choice' must be one of a, b, tie", "'first'"],
    ),
    "a log-probability above 0": (
        plain(logprobs="output_id,model,logprob,n_tokens\n1,a,.5,3\n"),
        ["at most 0", "row 1 (line 2)"],
    ),
    "tokens in parts": (
        plain(logprobs="output_id,model,logprob,n_tokens\n1,a,-5,2.5\n"),
        ["whole number", "'2.5'"],
    ),
    "human or not": (
        plain(outputs="output_id,item_id,system,is_human\n1,1,a,perhaps\n"),
        ["true or false", "'perhaps'"],
    ),
    "no target": (
        plain(contexts="item_id,state,is_target,red\n1,s,0,1\n1,t,0,0\n"),
        ["exactly one state", "row 1 (line 2)"],
    ),
    "study.json broken": (
        plain() | {"study.json": "{"},
        ["study.json, line 1, column 2 is no YAML"],
    ),
    "study.json a list": (plain() | {"study.json": "[]"}, ["study.json must hold names"]),
    "study.json misspelt": (plain() | {"study.json": '{"nam": 1}'}, ["Did you mean 'name'?"]),
    "study.json of wrong kinds": (
        plain() | {"study.json": '{"settings": 3}'},
        ["settings must be a dict. Got '3'"],
    ),
    "settings misspelt": (
        plain() | {"study.json": '{"settings": {"qualty": "x"}}'},
        ["'qualty' is unknown. Did you mean 'quality'?"],
    ),
    "settings of a wrong kind": (
        plain() | {"study.json": '{"settings": {"lower_is_better": "x"}}'},
        ["lower_is_better must be a list of", "'x'"],
    ),
    "two descriptions": (
        plain() | {"study.json": "{}", "study.yml": "name: x"},
        ["keep study.yml"],
    ),
    # study.yml itself
    "yml empty": (about(" \n"), ["study.yml is empty"]),
    "yml a text": (about("ratings.csv"), ["study.yml must hold names with values", "new"]),
    "yml broken": (about("tables: {a: [}"), ["study.yml, line 1, column", "is no YAML"]),
    "yml with tabs": (about("tables:\n\tjudgments: {}"), ["line 2", "is no YAML"]),
    "yml twice": (about("name: a\nname: b"), ["line 2", "'name' stands twice"]),
    "yml recursive": (about("settings: &a [*a]"), ["aliases are not read"]),
    "yml deep": (about("name: " + "[" * 600), ["study.yml"]),
    "yml of binary": (about(b"\x00\x01\x02"), ["study.yml", "is no YAML"]),
    "a key unknown": (about("table: {}"), ["'table' is unknown. Did you mean 'tables'?"]),
    "a table unknown": (about("tables: {ratings: {}}"), ["'ratings' is unknown", "There are: out"]),
    "no table": (about("tables: {}"), ["names none"]),
    "tables a list": (
        about("tables: [judgments]"),
        ["tables must be a dict", "['judgments']"],
    ),
    "a line unknown": (table(more="colums: {}"), ["judgments: 'colums' is unknown. Did you mean"]),
    "a line of a wrong kind": (
        table(more="lists: value"),
        ["lists must be a list of at least one, each a text"],
    ),
    "a format unknown": (table(more="format: excel"), ["format 'excel' is unknown", "csv"]),
    "a long delimiter": (table(more="delimiter: ', '"), ["delimiter must be one character"]),
    "no such file": (table(file="rr.csv"), ["no file", "rr.csv. Did you mean 'r.csv'?", "`file`"]),
    "no such pattern": (table(file="raw/*.csv"), ["no file", "raw/*.csv"]),
    "no known ending": (table(file="x.dat") | {"x.dat": "a"}, ["x.dat: format '.dat' is unknown"]),
    "a column of theirs unknown": (
        table("{item_id: itm, system: modl, annotator_id: who, value: [flow, dpth]}"),
        ["r.csv has no columns 'itm', 'modl', 'dpth'", "Did you mean 'item'?"],
    ),
    "a column of ours unknown": (
        table("{item: item}"),
        ["columns: 'item' is unknown. Did you mean 'item_id'?"],
    ),
    "a column unmapped": (
        table("{item_id: item, system: model, value: [flow]}"),
        ["no column 'annotator_id'", "`columns`", "Found item, model, who"],
    ),
    "outputs unnamed": (table("{annotator_id: who, value: [flow]}"), ["there are no outputs"]),
    "a pattern that fits nothing": (
        table("{item_id: item, system: model, value: 'by {annotator_id}'}"),
        ["no column 'by {annotator_id}'"],
    ),
    "slots that share nothing": (
        table("{item_id: item, system: '{slot}del', annotator_id: who, value: [flow]}"),
        ["must share what is in braces"],
    ),
    "a constant of nothing": (
        table(more="constants: {group_id: '{pag}'}"),
        ["no column 'pag'", "(constants)"],
    ),
    "a constant and a column": (
        table(more="constants: {system: a}"),
        ["'system' stands in columns and in constants"],
    ),
    "values of nothing": (
        table(more="values: {valu: {x: 1}}"),
        ["no column 'valu'", "mean 'value'?"],
    ),
    "only what is not there": (table(more="only: {who: zed}"), ["`only` keeps no row"]),
    "only of nothing": (table(more="only: {whom: zed}"), ["no column 'whom'", "mean 'who'?"]),
    "lists of numbers": (
        table(more="lists: [value]"),
        ["r.csv", "row 1 (line 2)", "must be a list, as in [4, 5]", "'3'"],
    ),
    "lists of two lengths": (
        table(
            "{item_id: item, system: model, annotator_id: who, value: [flow]}",
            "lists: [value, annotator_id]",
            "l.json",
        )
        | {"l.json": LISTS.replace("3, 4", "3")},
        ["l.json", "row 1 (record 1)", "must be as long as"],
    ),
    "a sum of words": (
        table(
            "{item_id: item, system: model, annotator_id: who, value: who}",
            "sum: true",
        ),
        ["row 1 (line 2)", "must be a number", "'ann'", "values"],
    ),
    "a sum of scores": (
        table("{item_id: item, system: model, score: [flow]}", "sum: true", table="scores"),
        ["no column 'value'", "(sum)"],
    ),
    "a personal column": (
        table(COLUMNS.replace("model", "IPAddress")),
        ["'IPAddress', which looks personal"],
    ),
    "scales of words": (
        table(top="settings: {scales: {flow: {min: one, max: 5}}}\n"),
        ["scales: flow must have min and max, each a number"],
    ),
    "scales upside down": (
        table(top="settings: {scales: {flow: {min: 5, max: 1}}}\n"),
        ["must have min below max"],
    ),
    "scales left": (
        table(top="settings: {scales: {depth: {min: 1, max: 4}}}\n"),
        ["r.csv", "row 6 (line 4)", "1 to 4", "5.0"],
    ),
    "quality unknown": (table(top="settings: {quality: flaw}\n"), ["'flaw'", "mean 'flow'?"]),
    "clusters unknown": (table(top="settings: {clusters: doc}\n"), ["clusters: 'doc' is unknown"]),
    "extra unknown": (
        about(
            "settings: {extra: [topic]}\ntables: {outputs: {file: r.csv, columns: {item_id: item, "
            "system: model}}}"
        ),
        ["no column 'topic'"],
    ),
    "several outputs of a system": (
        with_outputs("output_id,item_id,system\n1,1,a\n2,1,a\n3,1,b\n4,2,a\n"),
        ["several of system 'a' on item '1'", "output_id"],
    ),
    "an output that is not there": (
        with_outputs("output_id,item_id,system\n1,1,a\n2,1,b\n"),
        ["'output_id' is no output_id", "row 5 (line 4), output_id='2/a'"],
    ),
    # JSON
    "JSON cut off": (
        table(file="l.json") | {"l.json": LISTS[:20]},
        ["l.json is no JSON", "line 1"],
    ),
    "JSON Lines in JSON": (
        table(file="l.json") | {"l.json": '{"a": 1}\n{"a": 2}\n'},
        ["set format: jsonl if each line is a document"],
    ),
    "a line cut off": (
        table(file="l.jsonl") | {"l.jsonl": '{"a": 1}\n{"a"\n'},
        ["l.jsonl, line 2 is no JSON"],
    ),
    "JSON of numbers": (table(file="l.json") | {"l.json": "[1, 2]"}, ["record 1", "an object"]),
    "JSON of nothing": (table(file="l.json") | {"l.json": "[]"}, ["l.json holds no record"]),
    "JSON deep": (table(file="l.json") | {"l.json": "[" * 10**5}, ["l.json", "deep"]),
    "JSON with a key twice": (
        table(file="l.json") | {"l.json": '{"a": 1, "a": 2}'},
        ["has the key 'a' twice"],
    ),
    "JSON with other rows": (
        table(file="l.json", more="rows: data"),
        ["has no 'data', which `rows: data` names"],
    ),
    "JSON with other levels": (
        table(file="l.json", more="keys: [item_id]"),
        ["level 1, which `keys` calls 'item_id', is no object"],
    ),
    "gzip cut off": (
        table(file="r.csv.gz") | {"r.csv.gz": b"\x1f\x8b\x08"},
        ["no whole gzip file"],
    ),
    "Parquet": (table(file="r.parquet") | {"r.parquet": b"PAR1"}, ["r.parquet is"]),
}


def put(place, files):
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


@pytest.mark.parametrize("table", ["outputs", "judgments", "scores"])
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.mkdir(),
        lambda path: path.symlink_to(path.parent / "nothing"),
        lambda path: os.mkfifo(path),
    ],
)
def test_what_is_called_as_a_table_and_cannot_be_read_is_named(table, make, tmp_path):
    place = put(tmp_path / "s", plain(**{table: None}))
    make(place / f"{table}.csv")
    with pytest.raises(TableError, match=f"{table}.csv is not a file: restore it"):
        nb.read_study(place)


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_wrong_is_named_with_the_way_out(name, tmp_path):
    files, parts = MALFORMED[name]
    place = put(tmp_path / "s", files)
    with pytest.raises((TableError, FileNotFoundError)) as caught:
        nb.read_study(place)
    for part in parts:
        assert part in str(caught.value), part
    said = CliRunner().invoke(main, ["check", str(place)])
    assert said.exit_code == 1 and isinstance(said.exception, SystemExit)
    assert "Traceback" not in said.output and "fault of nlgbench" not in said.output
    assert all(part in said.output for part in parts[:1])


def test_there_are_enough_of_them():
    assert len(MALFORMED) > 80


#: A right study in many files, which Hypothesis then breaks.
WHOLE = {
    "study.yml": table()["study.yml"]
    + "  scores:\n    file: s.jsonl\n    columns: {item_id: at.item, system: m, score: [bleu]}\n"
    + "  preferences:\n    file: v.json\n    keys: [item_id, annotator_id]\n"
    + "    columns: {system_a: left, system_b: right, choice: won}\n",
    "r.csv": RATINGS,
    "s.jsonl": '{"at": {"item": 1}, "m": "a", "bleu": 0.3}\n{"at": {"item": 1}, "m": "b"}\n',
    "v.json": json.dumps({"1": {"ann": {"left": "a", "right": "b", "won": "tie"}}}),
}


def test_the_study_that_is_broken_below_is_right(tmp_path):
    study = nb.read_study(put(tmp_path / "s", WHOLE))
    assert [len(study.judgments), len(study.scores), len(study.preferences)] == [6, 2, 1]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(WHOLE)),
    seed=st.integers(0, 2**32),
    n_changes=st.integers(1, 4),
)
def test_whatever_is_broken_is_refused_in_words_or_read(name, seed, n_changes, tmp_path_factory):
    """Bytes are put in, taken out, doubled: then there is a study, or errors that name files."""
    draw = random.Random(seed)
    content = bytearray(WHOLE[name].encode())
    for _ in range(n_changes):
        at = draw.randrange(len(content))
        piece = content[at : at + draw.randrange(1, 12)]
        some = draw.choice(
            [b"", b"{", b"]", b",", b":", b"\n", b"\t", b"'", b'"', b"\xff", b"\x00"]
        )
        some = draw.choice([some, some, piece * 2, b"9" * 400, b"nan", b"&a", b"*"])
        content[at : at + draw.choice([0, 1, len(piece)])] = some
        content = content or bytearray(b" ")
    place = put(tmp_path_factory.mktemp("s"), WHOLE | {name: bytes(content)})
    try:
        nb.read_study(place)
    except TableError as error:
        known = (*WHOLE, "settings")
        assert all(any(one in problem for one in known) for problem in error.problems)
    except FileNotFoundError as error:
        assert "has no outputs.csv" in str(error)  # study.yml has lost its tables
    said = CliRunner().invoke(main, ["check", str(place)])
    assert said.exit_code in (0, 1) and "fault of nlgbench" not in said.output


CELLS = st.one_of(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=6),
    st.sampled_from(["", " ", "nan", "inf", "1e999", "=1+1", "007", "[1, 2]", "{}", "-", "\u202e"]),
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=6))
def test_whatever_stands_in_cells_is_read_or_named_with_its_row(rows, tmp_path_factory):
    lines = [dict(zip(("item", "model", "who", "flow"), row, strict=True)) for row in rows]
    columns = "{item_id: item, system: model, annotator_id: who, value: flow}"
    files = table(columns, file="r.jsonl") | {"r.jsonl": "\n".join(map(json.dumps, lines))}
    place = put(tmp_path_factory.mktemp("s"), files)
    try:
        study = nb.read_study(place)
    except TableError as error:
        assert all("r.jsonl" in problem or "outputs" in problem for problem in error.problems)
        cells = [one for one in error.problems if "column" in one and "Found" in one]
        assert all("row " in one and "(line " in one for one in cells if "r.jsonl:" in one)
    else:
        assert study.judgments["value"].tolist() == [float(row[3]) for row in rows]
    said = CliRunner().invoke(main, ["check", str(place)])
    assert said.exit_code in (0, 1) and "fault of nlgbench" not in said.output
