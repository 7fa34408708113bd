"""Every world: one seed is one study, the door takes its tables, and what cannot be is refused."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.generators.reviews import review_grammar

SMALL = {
    "reviews": {"systems": ["bigram_t0.5"], "n_outputs": 5, "n_truth": 50},
    "crowd": {"systems": ["corrupted_0.5", "memorizer_50"], "n_outputs": 10, "n_truth": 50},
    "colors": {"n_contexts": 8, "n_rounds": {"train": 6}},
    "gaussian": {"n_outputs": 5},
    "judgments": {"n_items": 5, "design": "scattered"},
    "votes": {"n_items": 5},
    "own": {"n_items": 5},
    "judges": {"n_items": 5, "judged": 0.5},
}
TABLES = ("judgments", "preferences", "logprobs", "contexts", "scores", "comparisons")


@pytest.mark.parametrize("name", SMALL)
def test_one_seed_is_one_study_that_the_door_takes(name):
    one, same, other = (nb.simulate(name, seed=seed, **SMALL[name]) for seed in (4, 4, 5))
    tables = {table: getattr(one, table) for table in TABLES}
    tables = {table: frame for table, frame in tables.items() if frame is not None}
    for table, frame in tables.items():
        pd.testing.assert_frame_equal(frame, getattr(same, table))
    for table, frame in one.truth.items():
        pd.testing.assert_frame_equal(frame, same.truth[table])
    assert not all(frame.equals(getattr(other, table)) for table, frame in tables.items())
    assert nb.Study(one.outputs, **tables).dimensions == one.dimensions
    assert one.source == "simulated"


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("votes", {"n_annotators": 2}, "n_votes must be at most 2, the number available. Got 3"),
        ("votes", {"systems": {"x": 0.0, "y": 1.0}}, "n_pairs must be at most 1"),
        ("judges", {"judges": {"x": {"lenght": 1.0}}}, "'length'"),
        ("judges", {"n_pairs": 11}, "n_pairs must be at most 10"),
        ("judges", {"judged": 1.5}, "judged must be a share"),
        ("judgments", {"missing": 1.0}, "at least 0 and below 1"),
        ("judgments", {"means": [1.0]}, "means must contain at least two systems' means"),
        ("crowd", {"systems": ["nobody"]}, "systems: 'nobody' is unknown"),
        ("crowd", {"n_outputs": 10, "per_hit": 15}, "per_hit must be even and divide 240"),
        ("colors", {"n_contexts": 3}, "n_contexts must be an even number"),
        ("colors", {"n_rounds": {"a": 0}}, "every split of n_rounds needs at least one round"),
        ("reviews", {"n_truth": 1}, "at least 2 texts of each class"),
        ("reviews", {"systems": {"human": review_grammar()}}, "no system may be called 'human'"),
        ("reviews", {"systems": ["grammar"]}, "'grammar' is unknown.*Available: grammar_t1.0"),
        ("nowhere", {}, "world: 'nowhere' is unknown"),
    ],
)
def test_a_world_that_cannot_be_is_refused(name, wrong, message):
    with pytest.raises(ValueError, match=message):
        nb.simulate(name, **wrong)
