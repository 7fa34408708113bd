"""What a study holds is counted, and what its design cannot tell is said, and no more than that."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.study import summary


def test_one_text_for_most_items_is_named(crowd):
    is_a = crowd.outputs["system"] == "a"
    outputs = crowd.outputs.assign(text=crowd.outputs["text"].mask(is_a, "Yes."))
    (said,) = summary.doubts(nb.Study(outputs, crowd.judgments))
    assert said.startswith("a: 12 of 12 outputs are the same text.")
    few = outputs["item_id"].isin([str(one) for one in range(9)])
    kept = crowd.judgments["output_id"].isin(outputs.loc[few, "output_id"])
    assert "same" not in " ".join(summary.doubts(nb.Study(outputs[few], crowd.judgments[kept])))


def test_counts_are_those_of_a_table_counted_by_hand(crowd):
    few = crowd.judgments.drop_duplicates("output_id").iloc[:5]
    some = pd.concat([few, few.iloc[[0]].assign(group_id="again", value=5.0)])
    some.loc[some["output_id"].isin(["1/a", "1/b"]), "value"] = 3.0
    outputs = crowd.outputs[crowd.outputs["item_id"].isin(["0", "1", "2"])]
    scale = {"scales": {"quality": {"min": 1, "max": 5}}}
    votes = [
        ("0/a", "0/b", "w1", "", "a"),
        ("0/a", "0/b", "w1", "h", "tie"),
        ("1/a", "1/b", *"w_a"),
    ]
    names = ["output_a", "output_b", "annotator_id", "group_id", "choice"]
    scores = pd.DataFrame({"output_id": ["0/a", "0/b", "1/a"], "evaluator": "e", "score": 1.0})
    scores.loc[2, "score"] = np.nan
    of_systems = pd.DataFrame({"system": ["a", "b"], "evaluator": "s", "score": 2.0})
    study = nb.Study(
        *(outputs, some),
        preferences=pd.DataFrame(votes, columns=names),
        scores=scores,
        system_scores=of_systems,
        settings=scale,
    )
    assert repr(study).split("\n")[1:] == [
        "  6 outputs of 2 systems, 3 items, without texts",
        "  6 judgments of quality (1 to 5) by 1 annotator, 2 systems, 3 items, 1 repeated",
        "  3 votes on quality by 2 annotators, 2 systems, 2 items, 1 repeated, 33% ties",
        "  3 scores of 3 outputs by e, 1 undefined",
        "  2 scores of 2 systems by s",
    ]


def said_of(study):
    return " ".join(summary.doubts(study))


def test_the_design_says_what_it_cannot_tell(crowd):
    outputs = crowd.outputs[crowd.outputs["item_id"].isin([*"0123"])]
    judgments = crowd.judgments[crowd.judgments["output_id"].isin(outputs["output_id"])]
    # One judgment of each output; each annotator saw one system.
    once = judgments.drop_duplicates("output_id")
    said = said_of(nb.Study(outputs, once.assign(annotator_id="w" + once["output_id"].str[-1])))
    assert "quality: one judgment per output" in said
    assert "few annotators (2): with fewer" in said and "few items (4): with fewer" in said
    assert "systems fall into 2 groups that share no annotators (a; b)" in said
    said = said_of(nb.Study(outputs.assign(item_id=outputs["output_id"]), judgments))
    assert "2 groups that share no items (a; b)" in said and "no annotators" not in said
    lacking = nb.Study(outputs, judgments[judgments["output_id"] != "0/a"])
    assert "quality: 1 of 8 outputs of systems are not judged." in summary.doubts(lacking)
    two = crowd.judgments["output_id"].str.split("/").str[0].astype(int) % 2
    paged = crowd.replace(judgments=crowd.judgments.assign(group_id=two.astype(str)))
    (said,) = summary.doubts(paged.replace(settings={"clusters": "group_id"}))
    assert said.startswith("quality: few clusters by group_id (2): with fewer than 10")


@pytest.mark.parametrize(("n_items", "turned", "clear"), [(12, 0, 1), (5, 0, 0), (12, 1, 0)])
@pytest.mark.parametrize("of", ["scores", "system_scores"])
def test_an_evaluator_is_called_reversed_only_when_that_is_clear(crowd, n_items, turned, clear, of):
    names = [f"s{number}" for number in range(n_items)]
    own = crowd.outputs.assign(system="s" + crowd.outputs["item_id"])
    own = own[own["system"].isin(names) & own["output_id"].str.endswith("a")]
    judgments = crowd.judgments[crowd.judgments["output_id"].isin(own["output_id"])]
    means = judgments.groupby("output_id")["value"].mean()
    rows = own[["output_id", "system"]].assign(score=-own["output_id"].map(means))
    rows["score"] += np.random.default_rng(0).normal(0, 0.1, len(rows))
    rows = rows.drop(columns="system" if of == "scores" else "output_id")
    rows = rows.assign(evaluator="ter", signature="direction:lower" if turned else "")
    found = summary.reversed_evaluators(nb.Study(own, judgments, **{of: rows}))
    assert len(found) == clear
    what = "items" if of == "scores" else "systems"
    assert not clear or f"(Spearman -0.9{found[0].split('0.9')[1][0]}, 12 {what})" in found[0]


def test_an_evaluator_of_chance_is_hardly_ever_called_reversed(crowd):
    rng = np.random.default_rng(1)
    chance = [
        pd.DataFrame({"output_id": crowd.outputs["output_id"], "evaluator": f"e{k}", "score": row})
        for k, row in enumerate(rng.normal(size=(100, 24)))
    ]
    assert summary.reversed_evaluators(crowd.replace(scores=pd.concat(chance))) == []


def test_extreme_values_are_named_with_both_orders_where_they_decide():
    """By hand: ten annotators give a 1, b 2, c 3; one gives a 10,000 on one item."""
    rows = [(f"{i}/{s}", f"{i}", s) for i in range(40) for s in "abc"]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    who = pd.DataFrame({"annotator_id": [f"w{k}" for k in range(10)]})
    judgments = outputs[["output_id"]].merge(who, how="cross")
    judgments["value"] = judgments["output_id"].str[-1].map({"a": 1.0, "b": 2.0, "c": 3.0})

    def extreme(value, **declared):
        judgments.loc[7, "value"] = value
        return summary.doubts(nb.Study(outputs, judgments, settings=declared))

    (doubt,) = extreme(60.0)  # 20 times the 99th percentile, no more
    assert "far from the scale of most others, 1 to 3: 1; the greatest is 60" in doubt
    greatest, order = extreme(10_000.0)
    assert "values above 60 (20 times the 99th percentile): 1; the greatest is 10,000" in greatest
    assert "for output 0/a, by w7" in greatest and "tau -0.33" in order
    assert "By means, best first: a, c, b. By mean ranks within annotators: c, b, a." in order
    _, order = extreme(10_000.0, lower_is_better=["quality"])
    assert "By means, best first: b, c, a. By mean ranks within annotators: a, b, c." in order
    assert len(extreme(100.0)) == 1


def test_columns_that_group_items_are_named_unless_they_are_used(crowd):
    number = crowd.outputs["item_id"].astype(int)
    extra = {"extra": ["document"]}
    for document, n in [
        ((number // 4).astype(str), 3),
        ((number // 2).astype(str), 6),
        ((number % 7).astype(str), 0),  # too many to be groups
        (crowd.outputs["system"], 0),  # not of items
        ("one", 0),
    ]:
        outputs = crowd.outputs.assign(document=document)
        found = summary.doubts(nb.Study(outputs, crowd.judgments, settings=extra))
        assert len(found) == bool(n)
        assert not n or found[0].startswith(f"12 items have {n} values of document")
        used = nb.Study(outputs, crowd.judgments, settings=extra | {"clusters": "document"})
        assert not any("values of document" in one for one in summary.doubts(used))
    page = crowd.judgments["output_id"].str.split("/").str[0].astype(int) // 6
    (said,) = summary.doubts(
        crowd.replace(judgments=crowd.judgments.assign(group_id=page.astype(str)))
    )
    assert said.startswith("12 items have 2 values of group_id") and "clusters: " not in said
    assert "2 clusters are too few to correct this (fewer than 10): compare" in said


def test_votes_across_items_and_few_annotators_are_counted(crowd):
    votes = pd.DataFrame({"output_a": [f"{i}/a" for i in range(10)], "choice": "a"})
    votes["output_b"] = [f"{i}/b" for i in (1, 0, *range(2, 10))]
    votes["annotator_id"] = [f"w{i}" for i in range(10)]
    across = (
        "votes on quality: 2 of 10 compare outputs for different items: easier items make "
        "systems look better."
    )
    assert summary.doubts(nb.Study(crowd.outputs, preferences=votes)) == [across]
    tied = summary.doubts(nb.Study(crowd.outputs, preferences=votes.assign(choice="tie")))
    assert "in 1 of 1 pairs of systems: a and b (equal in 10 of 10 votes). A sign" in tied[0]
    few = summary.doubts(nb.Study(crowd.outputs, preferences=votes.assign(annotator_id="w")))
    assert few[1] == across and few[0].startswith("votes on quality: few annotators (1): with")


@pytest.mark.parametrize(("n_equal", "named"), [(9, True), (6, False), (3, False)])
def test_ties_are_named_where_they_leave_too_few_comparisons(crowd, n_equal, named):
    """Two systems on twelve items: a sign test of three cannot order them, one of six could."""
    number = crowd.judgments["output_id"].str.split("/").str[0].astype(int)
    equal = crowd.judgments.assign(value=crowd.judgments["value"].mask(number < n_equal, 2.0))
    found = summary.doubts(crowd.replace(judgments=equal))
    said = "in 1 of 1 pairs of systems: a and b (equal in 9 of 12 items). A sign test cannot order"
    assert [said in one and "too few to order" not in one for one in found] == [True] * named


@pytest.mark.parametrize(("of_a", "of_b", "named"), [(0, 15, True), (15, 15, False), (0, 2, False)])
def test_missing_judgments_are_named_where_they_depend_on_the_system(of_a, of_b, named):
    """By hand: with Yates' correction, 0 and 15 of 60 have chi-squared 14.9, p = .0001."""
    rows = [(f"{i}/{s}", f"{i}", s) for i in range(60) for s in "ab"]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    who = pd.DataFrame({"annotator_id": [f"w{i}" for i in range(10)]})
    given = outputs[["output_id"]].merge(who, how="cross").assign(value=range(1200))
    lost = [f"{i}/a" for i in range(of_a)] + [f"{59 - i}/b" for i in range(of_b)]
    given = given[~(given["output_id"].isin(lost) & (given["annotator_id"] == "w3"))]
    (*_, said) = ["", *summary.doubts(nb.Study(outputs, given))]
    assert named == said.endswith(
        "0% of the outputs of a have fewer than 10, compared with 25% for b (chi-squared test of "
        "all systems: p = 0.0001). If bad outputs were skipped, b looks better than it is."
    )
