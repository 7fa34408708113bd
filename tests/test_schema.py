import math

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
def test_valid_tables_pass_and_come_back_from_a_file(table, tmp_path):
    checked = schema.check(made(table), table)
    assert list(checked.columns) == schema.columns(table)
    kinds = {"id": "str", "text": "str", "float": "float64", "int": "int64", "bool": "bool"}
    wanted = [kinds[kind] for kind in schema.COLUMNS[table].values()]
    assert checked.dtypes.astype(str).tolist() == wanted
    schema.write(checked, table, tmp_path / "a.csv")
    pd.testing.assert_frame_equal(schema.read(tmp_path / "a.csv", table), checked, check_exact=True)
    assert set(schema.keys(table)) <= set(schema.columns(table))


@pytest.mark.parametrize("table", ROWS)
def test_empty_tables_pass_with_their_types(table, tmp_path):
    schema.write(made(table).iloc[:0], table, tmp_path / "a.csv")
    empty = schema.read(tmp_path / "a.csv", table)
    assert len(empty) == 0
    assert empty.dtypes.equals(schema.check(made(table), table).dtypes)


BAD_CELLS = [
    ("outputs", {"output_id": ""}, r"column 'output_id' must not be empty: fill it in"),
    ("outputs", {"output_id": 7}, r"'output_id' must be a text.*use astype\(str\).*: 7\."),
    ("outputs", {"text": math.nan}, r"'text' must be a text, never missing.*'o1': nan\."),
    ("outputs", {"context": None}, r"'context' must be a text.*'' for an empty text.*: None\."),
    ("outputs", {"is_human": "yes"}, r"'is_human' must be true or false: write True.*: 'yes'"),
    ("outputs", {"is_human": math.nan}, r"'is_human' must be true or false"),
    ("outputs", {"output_id": "o2"}, r"have the same key \(output_id\).*Found row 1.*; row 2"),
    ("logprobs", {"logprob": 0.5}, r"row 1, output_id='o1', model='m': 0\.5\."),
    ("logprobs", {"logprob": math.nan}, r"'logprob' must not be missing: leave the row out"),
    ("logprobs", {"logprob": "-1,5"}, r"'logprob' must be a number: mend it.*: '-1,5'"),
    ("logprobs", {"logprob": "-1_5"}, r"'logprob' must be a number"),
    ("logprobs", {"logprob": False}, r"'logprob' must be a number.*: False"),
    ("logprobs", {"n_tokens": 0}, r"'n_tokens' must be at least 1: drop empty texts"),
    ("logprobs", {"n_tokens": 2.5}, r"'n_tokens' must be a whole number.*: 2\.5"),
    ("logprobs", {"n_tokens": ""}, r"'n_tokens' must be a whole number.*: ''"),
    ("logprobs", {"n_tokens": 1e300}, r"'n_tokens' must be a whole number \(below 2\*\*53\)"),
    ("judgments", {"value": math.nan}, r"'value' must not be missing: leave the row out"),
    (
        "judgments",
        {"value": math.inf},
        r"'value' must be finite.*'w1', dimension='q', group_id='': inf\.",
    ),
    ("judgments", {"value": "Typical"}, r"'value' must be a number.*: 'Typical'"),
    ("contexts", {"is_target": False}, r"exactly one state of each item: mark one target"),
    ("comparisons", {"prob_a": 20.0}, r"'prob_a' must be a probability.*divide percentages by 100"),
    ("comparisons", {"prob_a": 0.3}, r"'prob_a' must give 1 together with prob_tie and prob_b"),
    ("preferences", {"choice": "left"}, r"'choice' must be one of a, b, tie.*: 'left'"),
    ("claims", {"claim_id": "huse/Table 1/a/b"}, r"'claim_id' must read paper/where/row/column"),
    ("claims", {"claim_id": "huse/table1/a"}, r"'claim_id' must read paper/where/row/column"),
    ("claims", {"claim_id": "huse/table1/a/b\n"}, r"'claim_id' must read paper/where/row/column"),
    ("claims", {"paper": "husee"}, r"'paper' must be one of huse, comm-eval, judge.*: 'husee'"),
    ("claims", {"paper": "comm-eval"}, r"'paper' must be the paper that claim_id begins with"),
    ("claims", {"published": math.nan}, r"'published' must not be missing"),
    ("claims", {"tolerance": -0.005}, r"'tolerance' must not be negative"),
    ("ledger", {"verdict": "match"}, r"'verdict' must be one of matches, differs,.*: 'match'"),
    ("ledger", {"source": "real"}, r"'source' must be one of published, released.*: 'real'"),
    ("ledger", {"tolerance": -1}, r"'tolerance' must not be negative"),
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


def test_wrong_columns_are_named_with_the_nearest():
    frame = made("logprobs")
    where = "the frame passed in: logprobs has"
    for bad, message in [
        (frame.rename(columns={"n_tokens": "n_token"}), "no column 'n_tokens': rename 'n_token'"),
        (frame.drop(columns="model"), "no column 'model': add it .*; found output_id"),
        (
            frame.assign(logprobs=1.0),
            r"a column 'logprobs' that it does not know: .* Did you mean 'logprob'",
        ),
        (frame.assign(color="red"), "a column 'color' that it does not know: drop it"),
        (pd.concat([frame, frame["model"]], axis=1), "two columns 'model': keep one"),
        (pd.DataFrame(), "no columns 'output_id', 'model', 'logprob', 'n_tokens': .*found none"),
        (frame.set_index("model"), "no column 'model'"),
    ]:
        with pytest.raises(schema.TableError, match=f"{where} {message}"):
            schema.check(bad, "logprobs")


def test_contexts_take_numeric_features_and_no_others():
    frame = made("contexts").assign(hue=["10", ""], lightness=[1, 2])
    checked = schema.check(frame, "contexts")
    assert checked[["hue", "lightness"]].dtypes.astype(str).tolist() == ["float64", "float64"]
    assert math.isnan(checked["hue"][1])
    with pytest.raises(schema.TableError, match=r"'color' must be a number.*: 'red'"):
        schema.check(made("contexts").assign(color=["red", "blue"]), "contexts")
    with pytest.raises(schema.TableError, match="a column '' that it does not know"):
        schema.check(made("contexts").assign(**{"": [0, 1]}), "contexts")


def test_unknown_tables_are_answered_with_the_nearest():
    for ask in (schema.columns, lambda name: schema.check(made("judgments"), name)):
        with pytest.raises(
            ValueError, match=r"'judgements' is unknown\. Did you mean 'judgments'\?"
        ):
            ask("judgements")


def test_five_offenders_are_shown_and_the_rest_are_counted():
    frame = pd.concat([made("judgments")] * 600, ignore_index=True)
    frame["annotator_id"] = [f"w{n}" for n in range(len(frame))]
    frame["value"] = math.nan
    with pytest.raises(
        schema.TableError, match=r"row 5, .*'w4'.*: nan; and 1,195 more\.$"
    ) as caught:
        schema.check(frame, "judgments")
    assert "row 6" not in str(caught.value)
    frame["annotator_id"] = "w1"
    with pytest.raises(schema.TableError, match=r"the same key .* and 1,195 more\."):
        schema.check(frame.assign(value=1.0), "judgments")


def test_long_texts_are_cut_in_messages():
    with pytest.raises(schema.TableError) as caught:
        schema.check(made("judgments", value="word " * 1000), "judgments")
    assert len(str(caught.value)) < 400


def test_any_dtype_that_holds_the_values_will_do():
    frame = schema.check(made("judgments"), "judgments")
    loose = frame.astype({"output_id": "category", "dimension": object, "value": "Float32"})
    pd.testing.assert_frame_equal(schema.check(loose[loose.columns[::-1]], "judgments"), frame)
    counts = schema.check(made("logprobs"), "logprobs")
    for dtype in ("int8", "Int64", "float32", "str"):
        loose = counts.astype({"n_tokens": dtype})
        pd.testing.assert_frame_equal(schema.check(loose, "logprobs"), counts)
    outputs = schema.check(made("outputs"), "outputs")
    for dtype in ("boolean", "int64", "float64", "str"):
        loose = outputs.astype({"is_human": dtype}).set_axis([7, 7])
        pd.testing.assert_frame_equal(schema.check(loose, "outputs"), outputs)
    with pytest.raises(schema.TableError, match=r"row 2, .*: <NA>\."):
        schema.check(counts.assign(n_tokens=pd.array([1, None], "Int64")), "logprobs")


hard_texts = st.sampled_from(
    [
        "NA",
        "nan",
        'a "b"',
        "a,b",
        "a\nb",
        "\r",
        "a\rb",
        "\r\n",
        " a",
        "001",
        "",
        "\x00",
        "é",
        "\ufeff",
    ]
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | hard_texts
ids = texts.filter(lambda text: "\0" not in text)
numbers = st.floats(-1e100, 1e100) | st.just(math.nan)


@example(rows=[("\r", 5e-324, "\r")], prefix="\ufeff")
@given(
    rows=st.lists(st.tuples(ids, numbers, texts), max_size=6),
    prefix=ids.filter(bool),
)
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


@settings(max_examples=50)
@given(order=st.permutations(range(4)), columns=st.permutations(schema.columns("comparisons")))
def test_neither_order_nor_index_matters(order, columns):
    rows = [("a", f"b{n}", "c", 0.25, 0.25, 0.5) for n in range(4)]
    frame = pd.DataFrame(rows, columns=schema.columns("comparisons"))
    whole = schema.check(frame, "comparisons")
    mixed = schema.check(frame.iloc[order][list(columns)], "comparisons")
    pd.testing.assert_frame_equal(mixed, whole.iloc[order].reset_index(drop=True))


def test_every_declared_table_is_tried_here():
    assert set(ROWS) == set(schema.COLUMNS) == set(schema.KEYS)
