"""A study that is wrong is refused in words that name file, row, value and the way out."""

import json
import os
import random
from pathlib import Path

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
RATINGS = "item,model,who,flow,depth\n1,a,ann,3,2\n1,b,bob,4,1\n2,a,ann,5,5\n"
LISTS = '[{"item": 1, "model": "a", "who": ["p", "q"], "flow": [3, 4]}]'
FLOW = "{item_id: item, system: model, annotator_id: who, value: [flow]}"
BOTH = FLOW.replace("[flow]", "[flow, depth]")


SEVERAL = (
    f"tables: {{judgments: {{file: r.csv, columns: {FLOW}}}, scores: {{file: r.csv, columns: "
    "{item_id: item, system: model, score: [depth]}}}"
)


def plain(others=(), **changed):
    """A folder of files that are called and laid out as tables are."""
    files = {"outputs": OUTPUTS, "judgments": JUDGMENTS, "scores": SCORES} | changed
    return {f"{name}.csv": content for name, content in files.items()} | dict(others)


def about(text, **files):
    """A folder of other files, which study.yml describes."""
    return {"study.yml": text, "r.csv": RATINGS, "l.json": LISTS} | files.get("files", {})


def table(more="", columns=BOTH, file="r.csv", top="", table="judgments", **files):
    spec = f"    file: {file}\n    columns: {columns}\n    {more}\n"
    return about(f"{top}tables:\n  {table}:\n{spec}", **files)


def raw(name, content, more="", columns=BOTH):
    """One file, of which study.yml says no more than what its columns are."""
    return table(more, columns, name) | {name: content}


def setting(text):
    return table(top=f"settings: {{{text}}}\n")


#: Files, and parts of what is said of them.
MALFORMED = {
    "nothing": ({}, ["has none of study.yml, study.py and outputs.csv. A study is"]),
    "a name misspelt": ({"output.csv": OUTPUTS}, ["output.csv is not a table", "mean 'outputs'?"]),
    "another format": (plain({"logprobs.tsv": ""}), ["logprobs.tsv is not a table", "save it"]),
    "study.yaml": (plain({"study.yaml": "name: x"}), ["make it a file named study.yml"]),
    "tabs": (plain(scores=SCORES.replace(",", "\t")), ["scores.csv has no columns", "(tsv"]),
    "semicolons": (plain(scores=SCORES.replace(",", ";")), ["scores.csv has no", "delimiter"]),
    "a workbook": (plain(scores=b"PK\x03\x04\x00"), ["scores.csv is a ZIP archive or an Excel"]),
    "a header again": (plain(outputs=OUTPUTS * 2), ["row 5 (line 6) repeats the header"]),
    "an id twice": (
        plain(outputs=OUTPUTS.replace("2,1,b", "1,1,b")),
        ["a key (output_id)", "Found row 1 (line 2), output_id='1': '1'; row 2 (line 3)", "id"],
    ),
    "an unknown output": (
        plain(scores=SCORES + "44,bleu,1\n"),
        ["scores.csv", "must occur in column 'output_id'", "(line 4), output_id='44'", "mean '4'?"],
    ),
    "two descriptions": (plain({"study.json": "{}", "study.yml": "name: x"}), ["keep study.yml"]),
    "study.json broken": (plain({"study.json": "{"}), ["study.json, line 1, column 2 is not"]),
    # study.yml itself
    "yml empty": (about(" \n"), ["study.yml is empty"]),
    "yml a text": (about("ratings.csv"), ["study.yml must contain keys with values", "new"]),
    "yml broken": (about("tables: {a: [}"), ["study.yml, line 1, column", "is not valid YAML"]),
    "yml twice": (about("name: a\nname: b"), ["line 2, column 1", "'name' is repeated"]),
    "a key unknown": (about("table: {}"), ["'table' is unknown. Did you mean 'tables'?"]),
    "tables a list": (
        about("tables: [judgments]"),
        ["tables must be empty, or a dict", "['judgments']"],
    ),
    "a line unknown": (table("colums: {}"), ["judgments: 'colums' is unknown. Did you mean"]),
    "a long delimiter": (table("delimiter: ', '"), ["delimiter must be one character"]),
    "a line unknown in a source": (
        about(f"tables: {{judgments: [{{file: r.csv, columns: {FLOW}, sums: x}}]}}"),
        ["judgments, source 1: 'sums' is unknown. Did you mean 'sum'"],
    ),
    "theirs unknown to two tables": (
        about(SEVERAL.replace("item,", "itm,")),
        ["r.csv has no column 'itm', needed by judgments, scores (columns in study.yml)"],
    ),
    "clusters that are not read": (
        about(f"settings: {{clusters: depth}}\n{SEVERAL}"),
        ["'depth' is not a column of outputs: add `settings: extra: [depth]`"],
    ),
    "no such file": (table(file="rr.csv"), ["no file", "rr.csv. Did you mean 'r.csv'?", "`file`"]),
    "no known ending": (raw("x.dat", "a"), ["format '.dat' is unknown"]),
    "ours unknown": (table(columns="{item: item}"), ["'item' is unknown", "mean 'item_id'?"]),
    "ours unmapped": (
        table(columns="{item_id: item, system: model}"),
        ["no columns 'annotator_id'"],
    ),
    "outputs unnamed": (table(columns="{annotator_id: who, value: [flow]}"), ["no outputs"]),
    "slots that share nothing": (
        table(columns=FLOW.replace("model", "'{slot}del'")),
        ["must share the name"],
    ),
    "a constant of nothing": (table("constants: {group_id: '{pag}'}"), ["no column 'pag'"]),
    "braces and a column": (
        table(columns=FLOW.replace("[flow]", "'{annotator_id}ow'")),
        ["'annotator_id' is in columns and in braces"],
    ),
    "values of nothing": (table("values: {valu: {x: 1}}"), ["no column 'valu'", "mean 'value'?"]),
    "only what is not there": (table("only: {who: zed}"), ["`only` keeps no row"]),
    "lists of numbers": (table("lists: [value]"), ["row 1 (line 2)", "must be a list", "'3'"]),
    "lists of two lengths": (
        raw("u.json", LISTS.replace("3, 4", "3"), "lists: [value, annotator_id]", FLOW),
        ["u.json", "row 1 (record 1)", "must be as long as"],
    ),
    "a sum of words": (
        table("sum: true", FLOW.replace("[flow]", "who")),
        ["must be a number", "'ann'"],
    ),
    "two texts": (
        about(
            f"tables: {{outputs: {{file: o.csv}}, judgments: {{file: r.csv, columns: {FLOW}}}}}",
            files={"o.csv": "output_id,item_id,system,text\n1,1,a,so\n2,1,a,and so\n"},
        ),
        ["several rows for system 'a' on item '1'", "Their texts differ: 'so' and 'and so'."],
    ),
    "rows of CSV": (table("rows: data"), ["rows applies to json and jsonl, but r.csv is csv"]),
    "a delimiter of JSON": (raw("l.json", LISTS, "delimiter: ';'"), ["delimiter applies to csv"]),
    "an open brace": (table("constants: {group_id: '{who'}"), ["'{who' has a brace without"]),
    "braces of nothing": (table("constants: {group_id: '{}'}"), ["nothing between braces"]),
    # settings
    "a label unknown": (setting("labels: {c: C}"), ["labels: 'c' is unknown", "Available: a, b"]),
    "one label twice": (setting("labels: {a: C, b: C}"), ["'C' is the label of a and b"]),
    "a label of nothing": (setting("labels: {a: ''}"), ["a has no text: correct or remove"]),
    "other annotators": (setting("annotators: people"), ["must be 'persons' or 'positions'"]),
    "a range that leaves nothing": (setting("valid: {flow: {min: 9}}"), ["excludes every"]),
    "scales upside down": (
        setting("scales: {flow: {min: 5, max: 1}}"),
        ["must have min below max"],
    ),
    "scales left": (
        setting("scales: {depth: {min: 1, max: 4}}"),
        ["row 6 (line 4)", "1 to 4", "5.0"],
    ),
    "extra unknown": (
        table(top="settings: {extra: [topic]}\n"),
        ["no column 'topic', which is listed in `settings: extra`"],
    ),
    # JSON, gzip and Parquet
    "JSON cut off": (raw("u.json", LISTS[:20]), ["u.json is not valid", "line 1"]),
    "JSON Lines in JSON": (raw("u.json", "{}\n{}\n"), ["rename it to .jsonl"]),
    "JSON of numbers": (raw("u.json", "[1, 2]"), ["record 1", "an object"]),
    "JSON with a key twice": (raw("u.json", '{"a": 1, "a": 2}'), ["has the key 'a' twice"]),
    "a file name too long": (table(file="r" * 300 + ".csv"), ["there is no file"]),
    "half a pair": (raw("u.json", '[{"item": "\\ud800"}]'), ["u.json contains an unpaired"]),
    "JSON with other rows": (raw("u.json", LISTS, "rows: data"), ["no 'data': correct"]),
    "JSON with other levels": (
        raw("u.json", LISTS, "keys: [item_id]"),
        ["level 1", "must be an object"],
    ),
    "gzip cut off": (raw("r.csv.gz", b"\x1f\x8b\x08"), ["is not valid gzip"]),
    "a header alone": (plain(judgments=JUDGMENTS[:29]), ["judgments has no rows: add some"]),
    "Parquet": (raw("r.parquet", b"PAR1"), ["r.parquet is"]),
}


#: Of these, what is two problems: all others are one.
TWO = ("a header again", "an id twice")


def put(place, files):
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_wrong_is_named_with_the_way_out(name, tmp_path):
    files, parts = MALFORMED[name]
    with pytest.raises((TableError, FileNotFoundError)) as caught:
        nb.read_study(put(tmp_path / "s", files))
    for part in parts:
        assert part in str(caught.value), part
    assert len(getattr(caught.value, "problems", [""])) == 1 + (name in TWO)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("no")])
def test_what_is_called_as_a_table_and_cannot_be_read_is_named(make, tmp_path):
    files = plain()
    del files["outputs.csv"]
    make(put(tmp_path / "s", files) / "outputs.csv")
    with pytest.raises(TableError, match=r"outputs\.csv is not a file: restore it"):
        nb.read_study(tmp_path / "s")


def test_all_problems_of_all_files_are_named_in_one_pass(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system\n1,1,a\n2,,b\n3,3\n4,4,a\n4,4,b\n",
        "judgments.csv": "output_id,annotator_id,value\n1,x,7\n9,x,2\n4,,good\n",
        "scores.csv": "output_id,skore\n1,2\n",
        "references.csv": "",
        "study.yml": "settings: {scales: {quality: {min: 1, max: 5}}, quality: flow}\n",
    }
    with pytest.raises(TableError) as caught:
        nb.read_study(put(tmp_path / "s", files))
    assert len(caught.value.problems) == 10
    for part in (
        "10 problems:",
        "outputs.csv, row 3 (line 4) has 2 fields",
        "outputs.csv: outputs, column 'item_id' must not be empty",
        "must not repeat a key (output_id): drop the duplicates",
        "judgments, column 'output_id' must occur in column 'output_id' of",
        "must be within its scale, 1 to 5: fix the value, or correct `settings: scales`. Found",
        "scores.csv: scores has no columns 'evaluator', 'score'",
        "settings: quality: 'flow' is unknown",
    ):
        assert part in str(caught.value), part
    many = str(TableError(*map(str, range(25))))
    assert many.startswith("25 problems:\n1. 0\n") and many.endswith("20. 19\nand 5 more")


def test_a_column_under_another_name_keeps_its_line_and_name_in_messages(tmp_path):
    files = table(columns=FLOW.replace("[flow]", "flow"))
    files["r.csv"] = "item,model,who,flow\n1,a,ann,3\n\n2,a,bob,good\n"
    with pytest.raises(TableError) as caught:
        nb.read_study(put(tmp_path / "s", files))
    assert "r.csv: judgments, column 'value' ('flow' in the file) must be" in str(caught.value)
    assert "row 2 (line 4), output_id='2/a', annotator_id='w002', dim" in str(caught.value)


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


def checked(place):
    """Check a folder by the command: it ends with 0 or 1, and without a traceback."""
    said = CliRunner().invoke(main, ["check", str(place)])
    assert said.exit_code in (0, 1) and "fault of nlgbench" not in said.output
    return said.exit_code


def test_the_study_that_is_broken_below_is_right(tmp_path):
    study = nb.read_study(put(tmp_path / "s", WHOLE))
    assert [len(study.judgments), len(study.scores), len(study.preferences)] == [6, 2, 1]
    assert checked(tmp_path / "s") == 0


BYTES = [bytes([one]) for one in b"{],:\n\t'\"\xff\x00*"] + [b"", b"&a"]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(WHOLE)), seed=st.integers(0, 2**32), n_changes=st.integers(1, 4))
def test_whatever_is_broken_is_refused_in_words_or_read(name, seed, n_changes, tmp_path_factory):
    """Bytes are put in, taken out, doubled: then there is a study, or errors that name files."""
    draw = random.Random(seed)
    content = bytearray(WHOLE[name].encode())
    for _ in range(n_changes):
        at = draw.randrange(len(content))
        piece = content[at : at + draw.randrange(1, 12)]
        some = draw.choice([*BYTES, piece * 2, b"9" * 400, b"nan"])
        content[at : at + draw.choice([0, 1, len(piece)])] = some
        content = content or bytearray(b" ")
    place = put(tmp_path_factory.mktemp("s"), WHOLE | {name: bytes(content)})
    try:
        nb.read_study(place)
    except TableError as error:
        assert all(
            any(one in problem for one in (*WHOLE, "settings")) for problem in error.problems
        )
    except FileNotFoundError as error:
        assert "has no outputs.csv" in str(error)  # study.yml has lost its tables
    checked(place)


CELLS = st.one_of(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=6),
    st.sampled_from(["", " ", "nan", "inf", "1e999", "=1+1", "007", "[1, 2]", "{}", "-", "\u202e"]),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=6))
def test_whatever_stands_in_cells_is_read_or_named_with_its_row(rows, tmp_path_factory):
    lines = [dict(zip(("item", "model", "who", "flow"), row, strict=True)) for row in rows]
    files = table(columns=FLOW.replace("[flow]", "flow"), file="r.jsonl")
    place = put(
        tmp_path_factory.mktemp("s"), files | {"r.jsonl": "\n".join(map(json.dumps, lines))}
    )
    try:
        study = nb.read_study(place)
    except TableError as error:
        assert all("r.jsonl" in problem or "outputs" in problem for problem in error.problems)
        cells = [one for one in error.problems if "column" in one and "Found" in one]
        assert all("row " in one and "(line " in one for one in cells if "r.jsonl:" in one)
    else:
        filled = [row[3] for row in rows if row[3].strip()]  # others are skipped
        assert study.judgments["value"].tolist() == [*map(float, filled)]
    checked(place)
