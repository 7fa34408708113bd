"""A table holds what its schema says; files give back exactly what was written."""

import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlgbench.study import schema

# One valid row of each table, and a second with another key.
ROWS = {
    "outputs": [("o1", "i1", "s", "a text", True, ""), ("o2", "i1", "s", "", False, "c")],
    "logprobs": [("o1", "m", -1.5, 3), ("o2", "m", -math.inf, 1)],
    "references": [("001", "r1", "NA"), ("001", "r2", "")],
    "judgments": [("o1", "w1", "q", 2.0, ""), ("o1", "w2", "q", -1.0, "hit1")],
    "preferences": [("a", "b", "w1", "q", "", "a"), ("b", "a", "w1", "q", "h", "tie")],
    "contexts": [("i1", "target", True), ("i1", "far", False)],
    "scores": [("o1", "bleu_4", 0.1, ""), ("o2", "bleu_4", math.nan, "k=1")],
    "system_scores": [("s", "huse", 0.1, ""), ("t", "huse", math.nan, "")],
    "comparisons": [("a", "b", "c", 0.2, 0.3, 0.5), ("a", "e", "c", 1, 0, 0)],
    "claims": [
        ("huse/table1/a_b/huse_q", "huse", "table1", "q", "u", 0.58, 0.005, "01-a", ""),
        ("huse/direction/up", "huse", "5.2", "q", "u", 1.0, 0.0, "01-a", "nothing was released"),
    ],
    "ledger": [
        ("huse/table1/a/b", "", 0.5, 0.6, 0.5, 0.7, 0.005, "differs", "", "released"),
        ("simulated/a", "k=8", *[math.nan] * 5, "new", "", "simulated"),
    ],
}

ROWS["ledgers"] = [(*row, run) for row, run in zip(ROWS["ledger"], ("", "k=8"), strict=True)]


def made(table, **cells):
    """A valid table of two rows with some cells of its first row changed."""
    frame = pd.DataFrame(ROWS[table], columns=schema.columns(table)).astype(object)
    for name, value in cells.items():
        frame.loc[0, name] = value
    return frame


@pytest.mark.parametrize("table", ROWS)
def test_right_tables_come_back_from_a_file_with_their_types(table, tmp_path):
    checked = schema.check(made(table), table)
    assert list(checked.columns) == schema.columns(table)
    kinds = {"id": "str", "text": "str", "float": "float64", "int": "int64", "bool": "bool"}
    wanted = [kinds[kind] for kind in schema.COLUMNS[table].values()]
    assert checked.dtypes.astype(str).tolist() == wanted
    for rows in (checked, checked.iloc[:0]):
        schema.write(rows, table, tmp_path / "a.csv")
        again = schema.read(tmp_path / "a.csv", table)
        pd.testing.assert_frame_equal(again, rows, check_exact=True)
    assert set(ROWS) == set(schema.COLUMNS) and set(schema.KEYS[table]) <= set(checked)


BAD_CELLS = [
    ("outputs", {"output_id": ""}, r"column 'output_id' must not be empty: fill it in"),
    ("outputs", {"output_id": 7}, r"'output_id' must be a text.*use astype\(str\).*: 7\."),
    ("outputs", {"text": math.nan}, r"'text' must be a text and not missing.*'o1': nan\."),
    ("outputs", {"context": None}, r"'context' must be a text.*'' for an empty text.*: None\."),
    ("outputs", {"is_human": "yes"}, r"'is_human' must be true or false: write True.*: 'yes'"),
    ("outputs", {"output_id": "o2"}, r"must not repeat a key \(output_id\).*Found row 1.*; row 2"),
    ("logprobs", {"logprob": 0.5}, r"row 1, output_id='o1', model='m': 0\.5\."),
    ("logprobs", {"logprob": "-1,5"}, r"'logprob' must be a number with a decimal point.*: '-1,5'"),
    ("logprobs", {"n_tokens": 0}, r"'n_tokens' must be at least 1: drop empty texts"),
    ("logprobs", {"n_tokens": 1e300}, r"'n_tokens' must be a whole number \(below 2\*\*53\)"),
    ("judgments", {"value": "good"}, r"must be a number.* map .* `values: \{value: \{good: 1\}\}`"),
    ("judgments", {"value": math.nan}, r"'value' must not be missing: fill it in"),
    ("judgments", {"value": math.inf}, r"'value' must be finite.*dimension='q': inf"),
    ("contexts", {"is_target": False}, r"exactly one state of each item: mark one state"),
    ("comparisons", {"prob_a": 20.0}, r"'prob_a' must be a probability.*divide percentages by 100"),
    ("comparisons", {"prob_a": 0.3}, r"'prob_a' must sum to 1 with prob_tie and prob_b"),
    ("comparisons", {"output_b": "a"}, r"'output_b' must differ from output_a: remove"),
    ("scores", {"score": math.inf}, r"'score' must be finite: leave the cell empty"),
    ("scores", {"signature": "direction: down"}, r"'signature' must declare the direction"),
    ("judgments", {"output_id": "a\0"}, r"'output_id' must not contain the character NUL"),
    ("judgments", {"value": 2e100}, r"'value' must be at most 1e\+100 in absolute value"),
    ("ledger", {"claim_id": "Huse"}, r"'claim_id' must have the form paper/where/row/column or"),
    (
        "preferences",
        {"choice": "left"},
        r"one of a, b, tie: map .* \{choice: \{left: a\}\}.*'left'",
    ),
    ("claims", {"claim_id": "huse/table1/a/b\n"}, r"'claim_id' must have the form paper/where/row"),
    ("claims", {"paper": "husee"}, r"'paper' must be one of huse, comm-eval, judge.*: 'husee'"),
    ("claims", {"paper": "comm-eval"}, r"'paper' must be the paper that claim_id begins with"),
    ("claims", {"published": math.nan}, r"'published' must not be missing"),
    ("claims", {"tolerance": -0.005}, r"'tolerance' must not be negative"),
    ("ledger", {"source": "real"}, r"'source' must be one of published, released.*: 'real'"),
]


@pytest.mark.parametrize(("table", "cells", "message"), BAD_CELLS)
def test_a_bad_cell_is_named_with_the_rule_and_the_way_out(table, cells, message, tmp_path):
    place = tmp_path / "a.csv"
    schema.write(made(table), table, place)
    former = place.read_bytes()
    frame = made(table, **cells)
    given_frame = frame.copy()
    with pytest.raises(schema.TableError, match=message) as caught:
        schema.write(frame, table, place)
    assert str(caught.value).startswith(f"the frame passed in: {table}, ")
    assert place.read_bytes() == former
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    pd.testing.assert_frame_equal(frame, given_frame)


hard_texts = st.sampled_from(
    [*("NA", "nan", 'a "b"', "a,b", "a\nb", "\r", "a\rb"), *("\r\n", " a", "001", "", "\x00", "é")]
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | hard_texts
ids = texts.filter(lambda text: "\0" not in text)
numbers = st.floats(-1e100, 1e100) | st.just(math.nan)


@settings(max_examples=40)
@example(rows=[("\r", 5e-324, "\r"), ("", 1e100, "")], prefix="\ufeff")
@given(rows=st.lists(st.tuples(ids, numbers, texts), max_size=6), prefix=ids.filter(bool))
def test_what_is_written_is_what_is_read(rows, prefix, tmp_path_factory):
    frame = pd.DataFrame(
        [(f"{prefix}{n}{text}", "e", score, text2) for n, (text, score, text2) in enumerate(rows)],
        columns=schema.columns("scores"),
    )
    place = tmp_path_factory.mktemp("round") / "scores.csv"
    schema.write(frame, "scores", place)
    again = schema.read(place, "scores")
    pd.testing.assert_frame_equal(again, schema.check(frame, "scores"), check_exact=True)
    # repr tells -0.0 from 0.0 and takes NaN for equal
    assert [*map(repr, again["score"])] == [*map(repr, frame["score"])]


def logprobs(**cells):
    row = {"output_id": "o1", "model": "m", "logprob": -0.1 - 0.2, "n_tokens": 3}
    return pd.DataFrame([row | cells])


HEADER = "output_id,model,logprob,n_tokens\n"
BAD_FILES = [
    (b"", r"is empty: add at least the header line"),
    (HEADER.encode() + b"d,caf\xe9,m,-1,2\n", "not UTF-8: byte 0xe9 at offset 38, line 2"),
    (b"\xef\xbb\xbfa,b\n\xff", r"not UTF-8: byte 0xff at offset 7, line 2"),
    (HEADER.encode() + b"o1,m,-1,2\no2,m", r"row 2 \(line 3\) has 2 fields, but the header has 4"),
    (HEADER.encode() + b"o1,m,-1,2,9\n", r"row 1 \(line 2\) has 5 fields"),
    (HEADER.encode() + b'"o"1,m,-1,2\n', r"row 1 \(line 2\): .*a quote inside a text"),
    (HEADER.encode() + b'o1,"m\n', r"row 1 \(line 2\): unexpected end of data\. The file ends"),
    (HEADER.encode() + b'"o\n1",m,-1,2\n\no2,m,3,2\n', r"row 2 \(line 5\), .*'o2'.*: '3'"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_a_bad_file_is_named_with_its_line(content, message, tmp_path):
    place = tmp_path / "logprobs.csv"
    place.write_bytes(content)
    with pytest.raises(schema.TableError, match=message) as caught:
        schema.read(place, "logprobs")
    assert str(caught.value).startswith(str(place))
    assert place.read_bytes() == content


@pytest.mark.parametrize("content", ["\ufeff{}001,r,NA\n", "{}\n\n001,r,NA", "{}001,r,NA\r\n"])
def test_files_of_other_programs_are_read(content, tmp_path):
    place = tmp_path / "a.csv"
    place.write_bytes(content.format("item_id,reference_id,text\n").encode())
    assert schema.read(place, "references").to_numpy().tolist() == [["001", "r", "NA"]]


def test_a_failed_write_leaves_the_former_file(tmp_path, monkeypatch):
    place = tmp_path / "a.csv"
    schema.write(logprobs(), "logprobs", place)
    former = place.read_bytes()
    assert former.decode() == HEADER + "o1,m,-0.30000000000000004,3\n"

    def fill_the_disk(frame, aside, **others):
        Path(aside).write_text("half a ta")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_csv", fill_the_disk)
        with pytest.raises(OSError, match="No space left"):
            schema.write(logprobs(n_tokens=9), "logprobs", place)
    assert place.read_bytes() == former
    with pytest.raises(schema.TableError, match=r"column .model. must not contain an unpaired"):
        broken = pd.Series(["\ud800"], dtype=object)  # beside pyarrow, texts cannot hold it
        schema.write(logprobs().assign(model=broken), "logprobs", place)
    assert place.read_bytes() == former
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
