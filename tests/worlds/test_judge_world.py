"""In the world of judges, annotators and judges answer for the same outputs, with biases."""

import numpy as np
import pytest

import nlgbench as nb


@pytest.fixture(scope="module")
def study():
    return nb.simulate("judges", n_items=1_500, n_annotators=30, judged=0.3, seed=2)


def by_pair(study):
    """A row per comparison, with the share of people's votes for its a, a tie as half."""
    votes = study.preferences
    share = votes["choice"].map({"a": 1, "tie": 0.5, "b": 0})
    share = share.groupby([votes["output_a"], votes["output_b"]]).mean().rename("share")
    turned = (1 - share).rename_axis(["output_b", "output_a"]).reset_index()
    rows = study.comparisons.merge(share.reset_index(), on=["output_a", "output_b"], how="left")
    rows = rows.merge(turned, on=["output_a", "output_b"], how="left", suffixes=("", "_turned"))
    return rows.assign(share=rows["share"].fillna(rows["share_turned"]))


def test_people_and_judges_answer_for_the_same_outputs(study):
    n_votes = study.preferences.groupby(["output_a", "output_b"])["annotator_id"].nunique()
    assert (n_votes == 3).all() and len(n_votes) == 4_500
    assert len(study.comparisons) == 5 * 2 * 4_500
    assert study.judgments["output_id"].nunique() == 0.3 * 7_500
    assert study.judgments.groupby("output_id")["annotator_id"].nunique().eq(3).all()


def test_only_the_overconfident_judge_is_not_calibrated(study):
    rows = by_pair(study)
    said = rows["prob_a"] + rows["prob_tie"] / 2
    sure = np.maximum(said, 1 - said)
    right = rows["share"].where(said > 0.5, 1 - rows["share"])
    over = (sure - right).groupby(rows["comparator"]).mean()
    # 9,000 answers of 4,500 pairs with three votes each: a standard error of about .005.
    assert abs(over["fair"]) < 0.015 and over["certain"] > 0.1


def test_of_the_hasty_judges_flips_seventy_in_a_hundred_go_to_the_first(study):
    comparisons = study.comparisons
    said = np.sign(comparisons["prob_a"] - comparisons["prob_b"])
    ends = comparisons[["output_a", "output_b"]]
    pair = [comparisons["comparator"], ends.min(axis=1), ends.max(axis=1)]
    # The first shown won in both orders, or the second did.
    flips = said.groupby(pair).agg(["sum", "size"]).query("size == 2 and abs(sum) == 2")
    first = (flips["sum"] > 0).groupby(level=0).mean()
    assert first["hasty"] == pytest.approx(0.70, abs=0.04)
    assert first["fair"] == pytest.approx(0.50, abs=0.05)
