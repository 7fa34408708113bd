"""The decision boundary shows every output, and the trade-off plane every system, once."""

import numpy as np
import pandas as pd
import pytest
from plot_samples import SCORES, small_boundary, tidy

import nlgbench as nb
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.figures import draw_highest
from nlgbench.plots.tradeoff import plot_tradeoff


def trade(points):
    """The axes of the plane, of points."""
    return plot_tradeoff(tidy(points)).axes[0]


@pytest.fixture
def problem():
    return small_boundary()


def test_boundary_shows_every_output_the_grid_and_both_margins(problem):
    drawn = plot_boundary(problem)
    (ax,) = drawn.axes
    shading, line, human, machine = ax.collections
    assert np.array_equal(shading.get_array(), problem.grid)
    outputs = problem.outputs
    assert np.allclose(human.get_offsets(), outputs.loc[outputs.is_human].iloc[:, :2])
    assert np.allclose(machine.get_offsets(), outputs.loc[~outputs.is_human].iloc[:, :2])
    (path,) = line.get_paths()  # where the share is one half
    assert np.allclose(path.vertices[:, 0], -2.0)
    assert "lstm t1.0: HUSE 0.50, HUSE-Q 0.60, HUSE-D 0.90." in drawn.alt


def test_tradeoff_shows_every_system_once_and_names_it():
    ax = trade(SCORES)
    points = [collection.get_offsets()[0] for collection in ax.collections]
    assert np.allclose(points, SCORES[["huse_q", "huse_d"]])
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries[-2:] == ["published", "recomputed, released"]
    assert ax.get_ylim()[1] > 1.02, "a score above 1 is not cut off"


def test_a_finished_figure_comes_straight_from_huse():
    study = nb.simulate("reviews", systems=["leaky_t0.7", "trigram_t1.0"], n_truth=500, seed=1)
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=20)
    drawn = nb.plot_tradeoff(scores, truth=study.truth["systems"])
    assert drawn.data["task"].tolist() == ["leaky", "trigram"]
    exact = scores[scores["ties"] == "exact"].set_index(["system", "score"])["estimate"]
    assert drawn.data["huse_q"].tolist() == exact.xs("huse_q", level="score").tolist()
    assert drawn.data["huse_d_true"].tolist() == study.truth["systems"]["huse_d"].tolist()
    assert "leaky t = 0.7: HUSE-Q" in drawn.alt and "(simulated)" in drawn.alt
    assert "small filled marks are the true values" in drawn.alt


def test_a_point_below_the_line_of_two_others_bounds_nothing():
    points = pd.DataFrame({"huse_q": [0.2, 0.6, 0.9, 0.1], "huse_d": [0.9, 0.5, 0.3, 0.45]})
    (region,) = trade(points.assign(task="summarization", label="", source="published")).patches
    corners = {tuple(np.round(corner, 9)) for corner in region.get_xy()}
    assert corners == {(0.0, 0.0), (0.2, 0.9), (0.9, 0.3)}


def test_of_many_evaluators_the_highest_are_drawn_and_the_figure_says_so():
    """A public study has 34 evaluators: a figure of all is a page that no paper holds."""
    names = [f"e{n}" for n in range(30)] + ["length@sentinel", "people", "length"]
    table = pd.DataFrame({"evaluator": names, "statistic": "pearson", "ci_low": 0.0})
    table = table.assign(estimate=[n / 40 for n in range(30)] + [-0.5, 0.9, -0.2], ci_high=0.95)
    drawn = draw_highest(nb.plot_forest, table)
    words = "The 20 highest of 30 evaluators, plus sentinels, length and humans."
    assert drawn.alt.endswith(words) and drawn.notes.endswith(words)
    kept = {*(f"e{n}" for n in range(10, 30)), "Length", "Human", "length"}
    assert set(drawn.data["evaluator"]) == kept
    few = draw_highest(lambda rows: nb.plot_forest(rows, line=0.5), table[10:])
    assert set(few.axes[0].lines[0].get_xdata()) == {0.5}, "of votes, chance gives half"
    assert len(few.data) == 23 and "highest" not in few.notes
