"""The decision boundary shows every output, and the trade-off plane every system, once."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.transforms import Bbox
from plot_samples import SCORES, small_boundary, tidy

import nlgbench as nb
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.figures import canvas, draw_highest
from nlgbench.plots.style import GROUPS, task_looks
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
    assert drawn.alt.endswith("lstm t1.0: HUSE 0.50, HUSE-Q 0.60, HUSE-D 0.90.")


def test_each_system_has_a_panel(problem):
    other = replace(problem, system="gru", label="GRU", outputs=problem.outputs.iloc[:31])
    drawn = plot_boundary([problem, other])
    titles = ["lstm t1.0\nHUSE = 0.50", "GRU\nHUSE = 0.50"]
    assert [ax.get_title(loc="left") for ax in drawn.axes] == titles
    assert len(drawn.data) == 71
    axes = canvas(3, 3, columns=2)[1]
    assert plot_boundary([problem, other], ax=axes).axes == axes
    alone = replace(problem, grid=problem.grid * 0 + 1.0)
    assert len(plot_boundary(alone).axes[0].collections) == 3, "no boundary"


def test_tradeoff_shows_every_system_once_and_names_it():
    ax = trade(SCORES)
    points = [collection.get_offsets()[0] for collection in ax.collections]
    assert np.allclose(points, SCORES[["huse_q", "huse_d"]])
    title = ax.get_legend().get_title().get_text()
    assert title == "Filled: published. Open: recomputed, released."
    assert ax.get_ylim()[1] > 1.02, "a score above 1 is not cut off"


def test_dominated_is_lower_huse_at_the_same_proportion():
    ax = trade(SCORES)
    (region,) = ax.patches
    printed = SCORES.iloc[:2][["huse_q", "huse_d"]].to_numpy()
    mixture = printed.mean(axis=0)
    assert region.get_path().contains_point(mixture * 0.99)
    assert not region.get_path().contains_point(mixture * 1.01)


def test_a_finished_figure_comes_straight_from_huse():
    study = nb.simulate("reviews", systems=["leaky_t0.7", "trigram_t1.0"], n_truth=500, seed=1)
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=20)
    drawn = nb.plot_tradeoff(scores, truth=study.truth["systems"])
    assert drawn.data["task"].tolist() == ["leaky grammar", "trigram"]
    exact = scores[scores["ties"] == "exact"].set_index(["system", "score"])["estimate"]
    assert drawn.data["huse_q"].tolist() == exact.xs("huse_q", level="score").tolist()
    true = study.truth["systems"]["huse_d"]
    assert drawn.data["huse_d_true"].tolist() == true.tolist()
    assert "leaky grammar t = 0.7: HUSE-Q" in drawn.alt and "(simulated)" in drawn.alt
    assert "crosses are the true values" in drawn.alt


def test_systems_without_a_setting_are_named_and_share_a_look():
    study = nb.simulate("gaussian", systems=dict.fromkeys(["bart", "gpt_2"], (0.3, 0.3)))
    drawn = nb.plot_tradeoff(nb.huse(study, n_resamples=0))
    assert drawn.data["label"].tolist() == ["bart", "gpt 2"]
    assert drawn.data["task"].tolist() == ["system"] * 2


def test_a_point_below_the_line_of_two_others_bounds_nothing():
    points = pd.DataFrame({"huse_q": [0.2, 0.6, 0.9, 0.1], "huse_d": [0.9, 0.5, 0.3, 0.45]})
    ax = trade(points.assign(task="summarization", label="", source="published"))
    (region,) = ax.patches
    corners = {tuple(np.round(corner, 9)) for corner in region.get_xy()}
    assert corners == {(0.0, 0.0), (0.2, 0.9), (0.9, 0.3)}


def test_a_task_has_the_same_look_whatever_the_other_tasks():
    assert task_looks(["LM", "summarization"])["LM"] == task_looks(["captions", "LM"])["LM"]
    looks = task_looks(["LM", *(f"task {n}" for n in range(len(GROUPS) - 1))])
    assert len(set(looks.values())) == len(GROUPS)
    assert len(set(task_looks(f"task {n}" for n in range(34)).values())) == 34


def test_labels_cover_no_point_and_no_interval_and_scores_below_zero_are_shown():
    wide = SCORES.assign(huse_q_low=SCORES["huse_q"] - 0.1, huse_q_high=SCORES["huse_q"] + 0.1)
    wide.loc[1, "huse_d"] = -0.1
    ax = trade(wide)
    assert ax.get_ylim()[0] < -0.1
    ax.figure.draw_without_rendering()
    named = [text for text in ax.texts if text.get_text().startswith("t =")]
    assert len(named) == 3, "one system in one place has one label"
    for text in named:
        box = text.get_window_extent().padded(-1)
        for row in wide.itertuples():
            assert not box.contains(*ax.transData.transform((row.huse_q, row.huse_d)))
            ends = [(row.huse_q_low, row.huse_d), (row.huse_q_high, row.huse_d)]
            assert not box.overlaps(Bbox(ax.transData.transform(ends)).padded(0.5))


def test_of_many_evaluators_the_highest_are_drawn_and_the_figure_says_so():
    """A public study has 34 evaluators: a figure of all is a page that no paper holds."""
    names = [f"e{n}" for n in range(30)] + ["length@sentinel", "people", "length"]
    table = pd.DataFrame({"evaluator": names, "statistic": "pearson", "ci_low": 0.0})
    table = table.assign(estimate=[n / 40 for n in range(30)] + [-0.5, 0.9, -0.2], ci_high=0.95)
    drawn = draw_highest(nb.plot_forest, table)
    words = "The 20 highest of 30 evaluators, plus sentinels, length and humans."
    assert drawn.alt.endswith(words) and drawn.figure.get_supxlabel() == words
    kept = {*(f"e{n}" for n in range(10, 30)), "Length", "Human", "length"}
    assert set(drawn.data["evaluator"]) == kept
    few = draw_highest(lambda rows: nb.plot_forest(rows, line=0.5), table[10:])
    assert set(few.axes[0].lines[0].get_xdata()) == {0.5}, "of votes, chance gives half"
    assert len(few.data) == 23 and not few.figure.get_supxlabel()
