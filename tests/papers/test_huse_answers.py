"""Only the release answers the claims of the HUSE paper; other studies get ids of their own."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.huse import (
    annotator_difference,
    interval_widths,
    length_difference,
    outputs_changed_by_ties,
)
from nlgbench.datasets.huse import RAW_FILE
from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.papers import huse as paper
from nlgbench.worlds import theorem_1, typicality_correlation, typicality_table
from nlgbench.worlds.sweep import greedy_systems
from tests.released import needs

RELEASED = needs(RAW_FILE)


@pytest.fixture(scope="module")
def study():
    return nb.simulate("reviews", systems=["leaky_t0.7"], n_outputs=40, n_truth=200, seed=3)


def test_printed_scores_are_those_of_table_1_and_keep_its_order():
    long, printed = paper.printed_scores(), load_printed("huse/table1")
    again = long.pivot(index="system", columns="score", values="estimate")
    pd.testing.assert_frame_equal(
        again.loc[printed.index, printed.columns], printed, check_names=False
    )
    assert nb.plot_tradeoff(long).data["system"].tolist() == printed.index.tolist()


def test_simulated_results_answer_no_claim(study):
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=20)
    moved = outputs_changed_by_ties(study)
    rows = paper.answers(study, scores=scores, moved=moved)
    assert rows["claim_id"].str.startswith("simulated/huse-tradeoff/leaky_t0.7/").all()
    assert rows["variant"].tolist() == ["ties=exact"] * 3 + ["ties=released"] * 3
    assert rows["value"].tolist() == scores["estimate"].tolist()
    disagree = rows["reason"].str.contains(f"disagree about {len(moved)} outputs")
    assert disagree.tolist() == [False, *[len(moved) > 0] * 2] * 2
    other = paper.answers(study, scores=nb.huse(study, n_neighbors=8, n_resamples=0))
    assert not other["comparable"].any() and rows["comparable"].all()
    beside = paper.table1(study, scores).loc["leaky_t0.7"]
    assert beside["huse_q (true)"] == round(study.truth["systems"]["huse_q"].iloc[0], 2)
    assert beside["huse"].startswith(f"{scores['estimate'].iloc[0]:.2f} [")


def test_equation_9_follows_where_rounding_explains_it():
    assert paper.equation_9().set_index("row")["follows"].drop("lm_t1.0").all()
    rows = paper.answers_from_print()
    assert (rows["source"] == "published").all()
    assert set(rows["claim_id"]) < set(load_claims("huse")["claim_id"])
    assert rows["reason"].str.contains("caption").sum() == 1


def test_directions_have_their_signs(study):
    options = {"n_resamples": 20, "seed": 0}
    length = length_difference(study, **options)
    fifty = interval_widths(study, n_outputs=25, n_studies=5, confidence=0.9)
    fewer = annotator_difference(study, n_annotators=5, **options)
    directed = paper.directions(length, fifty, fewer)
    table = directed.set_index("slug")
    small = table.loc["fifty_outputs_suffice", ["estimate", "ci_low", "ci_high"]].tolist()
    width = fifty.set_index("score").loc["huse", ["width", "width_high", "width_low"]]
    assert small == pytest.approx([0.1, 0.05, 0.2] - width.astype(float).to_numpy() / 2)
    rows = paper.answers(study, directed=directed)
    start = "simulated/huse-stability/leaky_t0.7/direction/"
    assert rows["claim_id"].tolist() == [start + slug for slug in table.index]
    assert table.loc["ten_annotators_are_too_few"]["estimate"] == fewer["estimate"].iloc[0]


def test_a_study_of_ones_own_has_the_tails_of_a_simulated_one(study, tmp_path):
    study.write(tmp_path / "own")
    own = nb.read_study(tmp_path / "own", name="pilot")
    greedy = nb.simulate("reviews", systems=greedy_systems, n_outputs=20, n_truth=0, seed=1)
    results = {
        "scores": nb.huse(study, n_resamples=20),
        "bounds": theorem_1(study, systems=["grammar_t0.7"], n_texts=50, seed=0),
        "greedy": nb.huse(greedy, n_resamples=20),
        "settled": nb.stability(greedy, over="annotators", sizes=[10, 20], n_resamples=5),
    }
    for name, table in results.items():
        theirs, ours = (paper.answers(one, **{name: table}) for one in (study, own))
        tail = theirs["claim_id"].str.replace("^simulated/[^/]+/", "study/pilot/", regex=True)
        assert ours["claim_id"].tolist() == tail.tolist(), name
        assert np.array_equal(ours["value"], theirs["value"])


@RELEASED
def test_the_release_answers_the_claims_and_a_part_of_it_does_not():
    study = nb.load("huse")
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=0)
    moved, outputs = outputs_changed_by_ties(study), nb.boundary(study, n_grid=2).outputs
    rows = paper.answers(study, scores=scores, moved=moved, outputs=outputs)
    known = load_claims("huse").set_index("claim_id")
    assert set(rows["claim_id"]) <= set(known.index)
    assert len(paper.table2(study, outputs)) == 6
    hj = rows[rows["claim_id"].str.endswith("/hj")].set_index("claim_id")["value"]
    assert (hj - known.loc[hj.index, "published"]).abs().max() <= 0.05 + 1e-9
    assert paper.figure3(study, scores)["source"].unique().tolist() == ["published", "released"]
    bounds = {"frequency": typicality_correlation(typicality_table(n_sentences=9, seed=0))}
    assert paper.answers(study, **bounds).empty, "the release says nothing of simulated worlds"
    part = study.replace(name="huse")
    assert paper.answers(part, scores=scores)["claim_id"].str.startswith("study/huse/").all()
