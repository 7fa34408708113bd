"""`nlgbench check` names what to repair, counts what there is, and says what the design lacks."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner import check_study
from nlgbench.runner.cli import main
from nlgbench.study import summary


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def crowd(n_items=12, systems="ab", n_annotators=10):
    """Each annotator judges each output: 1 to 5, by system and item."""
    rows = [(f"{i}/{s}", f"{i}", s) for i in range(n_items) for s in systems]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    annotators = pd.DataFrame({"annotator_id": [f"w{k}" for k in range(n_annotators)]})
    judged = outputs.merge(annotators, how="cross")
    values = 1 + (judged["item_id"].astype(int) + (judged["system"] == "b")) % 5
    return outputs, judged[["output_id", "annotator_id"]].assign(value=values * 1.0)


def test_a_full_crowd_leaves_no_doubt_and_is_counted():
    study = nb.Study(*crowd())
    assert summary.doubts(study) == []
    (row,) = summary.by_dimension(study).to_dict("records")
    counted = ["systems", "items", "annotators", "judgments", "unjudged", "repeated"]
    assert [row[name] for name in counted] == [2, 12, 10, 240, 0, 0]
    assert (row["per output"], row["tied"]) == ("10", "0%")


def test_counts_are_those_of_a_table_counted_by_hand():
    outputs, judgments = crowd(n_items=3, n_annotators=1)
    twice = judgments.iloc[[0]].assign(group_id="again", value=5.0)
    some = pd.concat([judgments.iloc[:5].assign(group_id=""), twice])
    some.loc[some["output_id"].isin(["1/a", "1/b"]), "value"] = 3.0
    study = nb.Study(outputs, some, settings={"scales": {"quality": {"min": 1, "max": 5}}})
    (row,) = summary.by_dimension(study).to_dict("records")
    assert row["unjudged"] == 1 and row["repeated"] == 1 and row["judgments"] == 6
    assert row["per output"] == "1 to 2, median 1"
    # Of two items that have two judged outputs, the second's are equal.
    assert row["tied"] == "50%" and row["scale"] == "1 to 5"


def test_the_design_says_what_it_cannot_tell():
    outputs, judgments = crowd(n_items=4)
    # One judgment of each output; each annotator saw one system.
    once = judgments.drop_duplicates("output_id")
    of_system = once.assign(annotator_id="w" + once["output_id"].str[-1])
    said = " ".join(summary.doubts(nb.Study(outputs, of_system)))
    assert "quality: one judgment of each output" in said
    assert "quality: 2 annotators: intervals" in said and "quality: 4 items" in said
    assert "systems fall into 2 groups that share no annotators (a; b)" in said
    own_items = outputs.assign(item_id=outputs["output_id"])
    said = " ".join(summary.doubts(nb.Study(own_items, judgments)))
    assert "2 groups that share no items (a; b)" in said and "no annotators" not in said
    lacking = summary.doubts(nb.Study(outputs, judgments[judgments["output_id"] != "0/a"]))
    assert "quality: 1 of 8 outputs that are not human are not judged." in lacking
    both = pd.concat([judgments.assign(dimension=one) for one in ("flow", "truth")])
    found = summary.doubts(nb.Study(outputs, both))
    assert found[0].startswith("every dimension: 4 items")
    assert "none is said to be quality" in found[1] and len(found) == 2


def test_votes_across_items_are_counted():
    outputs, _ = crowd()
    votes = pd.DataFrame({"output_a": [f"{i}/a" for i in range(10)], "choice": "a"})
    votes["output_b"] = [f"{i}/b" for i in (1, 0, *range(2, 10))]
    votes["annotator_id"] = [f"w{i}" for i in range(10)]
    assert summary.doubts(nb.Study(outputs, preferences=votes)) == [
        "votes: 2 of 10 compare outputs of two items: easier items and better systems look alike."
    ]


@pytest.mark.parametrize(("noise", "n_items", "said"), [(0.1, 40, True), (0.1, 5, False)])
@pytest.mark.parametrize("turned", [False, True])
def test_an_evaluator_is_called_reversed_only_when_that_is_clear(noise, n_items, said, turned):
    outputs, judgments = crowd(n_items=n_items)
    means = judgments.groupby("output_id")["value"].mean()
    against = -means + np.random.default_rng(0).normal(0, noise, len(means))
    scores = pd.DataFrame({"output_id": means.index, "evaluator": "ter", "score": against})
    scores["signature"] = "direction:lower" if turned else ""
    found = summary.reversed_evaluators(nb.Study(outputs, judgments, scores=scores))
    assert bool(found) == (said and not turned)
    assert not found or found[0].startswith("ter runs against quality (Spearman -0.")


def test_extreme_values_are_named_with_both_orders_where_they_decide():
    """By hand: ten annotators give a 1, b 2, c 3; one gives a 10,000 on one item."""
    outputs, judgments = crowd(n_items=40, systems="abc")
    judgments["value"] = judgments["output_id"].str[-1].map({"a": 1.0, "b": 2.0, "c": 3.0})

    def extreme(value, **settings):
        judgments.loc[7, "value"] = value
        study = nb.Study(outputs, judgments, settings=settings)
        return summary.extreme_values(study), summary.doubts(study)

    assert extreme(60.0)[0].empty  # 20 times the 99th percentile, no more
    found, (values, order) = extreme(10_000.0)
    (row,) = found.to_dict("records")
    assert (row["n_extreme"], row["threshold"], row["value"]) == (1, 60, 10_000)
    assert (row["output_id"], row["annotator_id"]) == ("0/a", "w7")
    assert row["tau"] == pytest.approx(-1 / 3) and row["changes_order"]
    assert (row["by_means"], row["by_ranks"]) == ("a, c, b", "c, b, a")
    assert "values above 60 (20 times the 99th percentile): 1" in values
    assert "By means, best first: a, c, b" in order
    (row,) = extreme(10_000.0, lower_is_better=["quality"])[0].to_dict("records")
    assert (row["by_means"], row["by_ranks"]) == ("b, c, a", "a, b, c")
    assert not extreme(100.0)[0]["changes_order"].item()


def test_columns_that_group_items_are_named_unless_they_are_used():
    outputs, judgments = crowd()
    extra = {"extra": ["document"]}

    def doubts(document, **settings):
        documents = outputs.assign(document=document.astype(str))
        return summary.doubts(nb.Study(documents, judgments, settings=extra | settings))

    in_fours = outputs["item_id"].astype(int) // 4
    (said,) = doubts(in_fours)
    assert said.startswith("12 items have 3 values of document") and "clusters: document" in said
    assert not any("values of document" in one for one in doubts(in_fours, clusters="document"))
    # No fewer than items, and not of items.
    assert doubts(outputs["item_id"]) == doubts(outputs["system"]) == []
    page = judgments["output_id"].str.split("/").str[0].astype(int) // 6
    (said,) = summary.doubts(nb.Study(outputs, judgments.assign(group_id=page.astype(str))))
    assert said.startswith("12 items have 2 values of group_id")


def test_check_ends_with_1_where_something_must_be_repaired(tmp_path):
    outputs, judgments = crowd()
    nb.Study(outputs, judgments).write(tmp_path / "s")
    (tmp_path / "s" / "study.json").unlink(missing_ok=True)
    (tmp_path / "s" / "study.yml").write_text('name: "\\e[31mred"\n')
    right = call("check", tmp_path / "s")
    assert right.exit_code == 0 and "agreement: ready" in right.stdout
    assert "huse: lacks human outputs; logprobs" in right.stdout
    assert "\x1b" not in right.stdout, "a name steers the terminal"
    judgments.assign(value="x").to_csv(tmp_path / "s" / "judgments.csv", index=False)
    wrong = call("check", tmp_path / "s")
    assert wrong.exit_code == 1 and "To be repaired\n  1. " in wrong.stdout
    assert "judgments.csv: judgments, column 'value' must be a number" in wrong.stdout
    nothing = call("check", tmp_path / "t")
    assert nothing.exit_code == 1 and "no folder" in nothing.stderr


def test_a_traceback_is_shown_to_those_who_ask(tmp_path, monkeypatch):
    monkeypatch.setattr(check_study, "check", lambda place: 1 / 0)
    plain = call("check", tmp_path)
    assert plain.exit_code == 1 and "ZeroDivisionError: division by zero" in plain.stderr
    assert "nlgbench --debug" in plain.stderr and "Traceback" not in plain.stderr
    asked = call("--debug", "check", tmp_path)
    assert isinstance(asked.exception, ZeroDivisionError)
