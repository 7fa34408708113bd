"""What answers the claims of Learning to Compare, and under which ids, is fixed."""

import fnmatch

import pandas as pd
import pytest

from nlgbench.analysis.trials.running import METHODS
from nlgbench.datasets.published import load_claims
from nlgbench.papers import learning_to_compare as paper
from nlgbench.study import from_tables, with_tables


def outputs_table(data="reviews"):
    rows = [
        {"evaluator": name, "statistic": statistic, "estimate": 0.1 * n}
        for n, name in enumerate(paper.IN_PRINT)
        for statistic in ("spearman", "pearson")
    ]
    table = pd.DataFrame(rows).assign(data=data, supervision="human", mean=0.2, min=0.1, max=0.3)
    return table.assign(ci_low=0.0, ci_high=0.5)


def study_of(source, **options):
    rows = {"output_id": ["1"], "item_id": "1", "system": "a", "text": "t", "is_human": False}
    return from_tables(pd.DataFrame(rows).assign(context=""), name="mine", source=source, **options)


RELEASED = with_tables(study_of("released"), origin="released:x", pristine=True)


@pytest.mark.parametrize(
    ("study", "own", "direction"),
    [
        (RELEASED, "learning-to-compare/finding", "learning-to-compare"),
        (study_of("simulated"), *["simulated/learning-to-compare"] * 2),
        (study_of("study"), *["study/mine"] * 2),
        (with_tables(RELEASED, scores=None), *["study/mine"] * 2),
    ],
)
def test_where_results_are_recorded(study, own, direction):
    directed = pd.DataFrame({"slug": ["tie_option_helps"], "data": "reviews", "estimate": 0.1})
    directed = directed.assign(ci_low=0.0, ci_high=0.2, over="o", status="ok", reason="")
    nothing = {"systems": None, "agreement": pd.DataFrame({"split": [], "estimate": []})}
    nothing["agreement"]["data"] = []
    found = paper.answers({"reviews": study}, outputs=outputs_table(), directed=directed, **nothing)
    assert found["claim_id"].iloc[0] == f"{own}/table1/with_skill_rating/reviews/spearman"
    assert found["claim_id"].iloc[-1] == f"{direction}/direction/tie_option_helps"


def test_print_alone_says_that_two_tables_repeat_each_other():
    found = paper.answers_from_print()
    assert found["source"].eq("published").all()
    claims = load_claims().set_index("claim_id")["published"]
    assert (claims[found["claim_id"]].to_numpy() == found["value"]).all()
    assert found["variant"].eq("from Table 2's dialogue half").all()


def test_every_claim_of_a_direction_is_answered_or_excused():
    claims = load_claims()
    ids = claims.loc[claims["notebook"] == "06-learning-to-compare", "claim_id"]
    asked = set(fnmatch.filter(ids, "learning-to-compare/direction/*"))
    nothing = pd.DataFrame({"slug": []})
    excused = paper.unanswered(nothing, "tfidf", " Missing torch.")
    assert set(excused) == asked


def test_directions_are_the_differences_that_the_paper_speaks_of():
    pairs = {"evaluator_a": METHODS[0], "evaluator_b": ["BLEU", "w/o tie option", "human alone"]}
    ends = {"ci_low": 0.1, "ci_high": 0.5, "status": "ok", "reason": "", "data": "d"}
    between = pd.DataFrame({**pairs, "statistic": "spearman", "estimate": [0.2, -0.1, 0.4], **ends})
    other = between.assign(statistic="pearson", estimate=9.0)
    beside = pd.DataFrame({"evaluator_b": ["BLEU"], "estimate": 0.3, "over": "first split", **ends})
    table = paper.directions(pd.concat([between, other]), beside)
    assert table.set_index("slug")["estimate"].to_dict() == {
        "comparator_exceeds_bleu": 0.2,
        "tie_option_helps": -0.1,
        "sample_level_comparator_exceeds_bleu": 0.3,
    }
    wide = paper.by_claim(table)
    assert wide.loc["sample_level_comparator_exceeds_bleu", "d"] == "+0.30 [+0.10, +0.50]"


def test_tables_are_written_out_beside_print():
    table = paper.table1(outputs_table())
    shown = {"evaluators": list(paper.IN_PRINT), "number": 1}
    reviews = paper.side_by_side(table.assign(data="reviews"), **shown)
    assert "printed (dialogue)" not in reviews
    table = pd.concat([table, table.assign(data="dailydialog")])
    wide = paper.side_by_side(table, **shown)
    assert wide.index.get_level_values("evaluator").tolist() == list(paper.IN_PRINT)
    assert wide["reviews"].iloc[0] == "0.00 [0.00, 0.50]"
    assert wide["printed (dialogue)"].tolist() == table["printed_dialogue"].iloc[:12:2].tolist()


def test_a_folder_is_opened_in_place_of_the_world(tmp_path):
    made = paper.open_studies(n_outputs=10, of_ratings=True, seed=1)["reviews"]
    made.write(tmp_path / "mine")
    ((name, read),) = paper.open_studies(folder=tmp_path / "mine").items()
    assert name == "reviews" and read.source == "study"
    pd.testing.assert_frame_equal(read.outputs, made.outputs)
    many = made.related["many"].truth["outputs"]
    pd.testing.assert_frame_equal(read.related["many"].truth["outputs"], many)
    with pytest.raises(ValueError, match="are two studies"):
        paper.open_studies(source="released", folder=tmp_path)
    assert not paper.worse_but_winning(read).duplicated().any()


def test_supervision_is_laid_out_by_kind_without_averages():
    ways = ["references", "human texts", "strong, weak", "human"]
    table = pd.DataFrame({"evaluator": [*"abc", "averaged d"], "supervision": ways})
    found = paper.supervised(table.assign(statistic="spearman", estimate=0.5))
    assert found["kind"].tolist() == ["references, texts", "references, texts", "several kinds"]


def test_checkpoints_that_are_rated_in_their_true_order_correlate_at_1():
    orders = pd.DataFrame({"games of two systems": [100], "accuracy": ["0.8"]})
    orders = orders.assign(**{"in true order": 0.9, "clear pairs": 6})
    steps = pd.DataFrame({"rating": [1400, 1500, 1600], "true quality": [0.1, 0.2, 0.4]})
    found = paper.answers_of_truth(study_of("simulated"), orders, steps).set_index("claim_id")
    place = "simulated/learning-to-compare"
    assert found["value"].to_dict() == {
        f"{place}/true_order/accuracy_0.8": 0.9,
        f"{place}/weak_supervision_orders_checkpoints/spearman": 1.0,
    }
