"""The numbers, filters and presets of the table of outputs, against plain loops and by hand."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.explorer import tables
from nlgbench.explorer.items import N_CHARACTERS, describe_item


@pytest.fixture(scope="module")
def study():
    """Two systems on three items, whose every preset can be read off."""
    ids = ["1-x", "2-x", "3-x", "1-y", "2-y", "3-y"]
    outputs = pd.DataFrame({"output_id": ids, "item_id": [*"123123"], "system": [*"xxxyyy"]})
    texts = ["The red house.", "=1+1", "a <b>bold</b> house", "RED", "", "x" * 50_000]
    values = {"1-x": (5, 5), "2-x": (1, 2), "3-x": (1, 5), "1-y": (3, 4), "2-y": (1, 1)}
    judgments = [
        {"output_id": name, "annotator_id": f"w{n}", "dimension": "fluency", "value": float(value)}
        for name, both in values.items()
        for n, value in enumerate(both)
    ]
    votes = [("1-x", "1-y", "a"), ("1-y", "1-x", "a"), ("2-y", "2-x", "a"), ("3-x", "3-y", "tie")]
    preferences = pd.DataFrame(votes, columns=["output_a", "output_b", "choice"])
    scores = pd.DataFrame(
        {"output_id": ids, "evaluator": "error", "score": [0, 9, 5, 20, 9, np.nan]}
    )
    return nb.Study(
        outputs.assign(text=texts, domain=[*"aabbab"]),
        pd.DataFrame(judgments),
        preferences=preferences.assign(annotator_id=[*"abab"]),
        scores=scores.assign(signature="direction:lower"),
        settings={"extra": ["domain"]},
    )


@pytest.fixture(scope="module")
def table(study):
    return tables.output_table(study)


def test_numbers_are_those_of_plain_loops():
    study = nb.simulate("judges", n_items=12, seed=3)
    table = tables.output_table(study).set_index("output_id")
    for name, row in table.sample(20, random_state=0).iterrows():
        judged = study.judgments.loc[study.judgments["output_id"] == name, "value"]
        assert row["mean: quality"] == pytest.approx(judged.mean())
        assert row["SD: quality"] == pytest.approx(judged.std(), nan_ok=True)
        won = []
        for vote in study.preferences.itertuples():
            if name in (vote.output_a, vote.output_b):
                own = "a" if vote.output_a == name else "b"
                won.append({own: 1.0, "tie": 0.5}.get(vote.choice, 0.0))
        assert row["n: votes"] == len(won) or (np.isnan(row["n: votes"]) and not won)
        assert not won or row["won: votes"] == pytest.approx(np.mean(won))
        scored = study.scores[study.scores["output_id"] == name].set_index("evaluator")["score"]
        assert all(row[f"score: {one}"] == scored[one] for one in scored.index)


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"words": "house RED"}, "0"),
        ({"words": "<b>"}, "2"),
        ({"words": ".*"}, ""),
        ({"systems": ["y"]}, "345"),
        ({"column": "mean: fluency", "low": 3}, "023"),
        ({"column": "score: error", "high": 5, "extra": "domain", "part": "B"}, "2"),
        ({"extra": "item_id"}, "012345"),
    ],
)
def test_filters_keep_what_passes_all(filters, kept, table, study):
    none = {"systems": ["x", "y"], "words": "", "column": "", "extra": ""}
    found = tables.pass_filters(table, study.outputs["text"], none | filters)
    assert np.flatnonzero(found).tolist() == [int(place) for place in kept]


def test_presets_find_what_they_are_named_for(table, study):
    good, pairs = tables.measures(study, table), tables.pair_table(study)
    assert tables.descending(-good["score: error"])[0] == 3  # lower is better
    # 1-y has the greatest error, and the second best judgments.
    assert tables.disagreements(good["score: error"], good["fluency"])[0] == 3
    lost = tables.lost(pairs, "votes", "x")
    assert lost[["first", "second", "won", "n"]].to_numpy().tolist() == [[1, 4, 0, 1]]
    votes = tables.pair_table(nb.simulate("votes", n_items=10, n_votes=4, seed=0))
    halves = tables.divided(votes, "votes")["won"]
    assert (halves - 0.5).abs().is_monotonic_increasing and len(halves) == len(votes) / 2
    won = tables.won(pairs, "votes", "y", "x")
    assert won[["first", "second", "won"]].to_numpy().tolist() == [[4, 1, 1]]
    judged = tables.better(table, "x", "y", good["fluency"])
    assert judged[["first", "second"]].to_numpy().tolist() == [[0, 3], [1, 4]]
    shown = tables.as_pairs(table, judged, "mean: fluency")
    assert shown["mean: fluency, A"].tolist() == [5.0, 1.5] and [*shown["system B"]] == ["y", "y"]


def test_sorting_keeps_order_and_puts_the_undefined_last(table):
    rows = tables.as_selection(table, np.arange(6), ["mean: fluency"])
    for falling, order in ((True, [0, 3, 2, 1, 4, 5]), (False, [4, 1, 2, 3, 0, 5])):
        assert tables.ordered(rows, "mean: fluency", falling)["first"].tolist() == order


def test_a_csv_has_whole_texts_and_no_formulas(table, study):
    found = tables.as_selection(table, np.arange(6), ["mean: fluency"])
    written = tables.as_csv(found, study.outputs).decode()
    csv.field_size_limit(1_000_000)
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["text"] for row in rows] == ["The red house.", "'=1+1", *study.outputs["text"][2:]]
    assert [row["mean: fluency"] for row in rows[:2]] == ["5.0", "1.5"]
    formulas = pd.DataFrame({"output_id": ["@x"], "text": ["\t=cmd"]})
    one = pd.DataFrame({"first": [0], "second": [-1], "=name": ["-1-1"], "score": [-1.0]})
    head, row = tables.as_csv(one, formulas).decode().splitlines()
    assert (head, row) == ("'=name,score,output_id,text", "'-1-1,-1.0,'@x,'\t=cmd")


def test_numbers_of_a_column_have_equal_decimals():
    assert tables.format_numbers(pd.Series([98.5, 0, np.nan, -1])) == ["98.50", "0.00", "", "−1.00"]
    assert tables.format_numbers(pd.Series([0.25, 1 / 3])) == ["0.2500", "0.3333"]
    assert tables.format_numbers(pd.Series([1234, 2.0, np.nan])) == ["1,234", "2", ""]


def test_an_item_has_all_systems_beside_each_other_and_long_texts_cut(table, study):
    item = describe_item(study, table, [5])
    assert item["columns"] == ["x", "y"] and item["chosen"] == [1]
    rows = {row["name"]: row["cells"] for rows in item["tables"] for row in rows}
    assert rows["text"][1] == f"{'x' * N_CHARACTERS}… (50,000 characters)"
    assert rows["fluency"] == ["3.00 (w0 1, w1 5)", ""]
    assert rows["won: votes"] == ["0.5000 (n = 1)"] * 2 and rows["domain"] == ["b", "b"]
    assert item["votes"]["rows"] == [["b", "quality", "x", "y", "tie"]]
