"""What answers the claims of Learning to Compare, and under which ids, is fixed."""

import fnmatch

import pandas as pd
import pytest

from nlgbench.analysis.trials.running import METHODS
from nlgbench.datasets.published import load_claims
from nlgbench.papers import learning_to_compare as paper


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
    excused = paper.unanswered(pd.DataFrame({"slug": []}), "tfidf", " Missing torch.")
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
    assert wide.loc["sample_level_comparator_exceeds_bleu", "d"] == "0.30 [0.10, 0.50]"


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
