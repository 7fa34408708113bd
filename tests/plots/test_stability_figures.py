"""Stability, multiverse and typicality: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from gray import alike_in_gray
from matplotlib import pyplot as plt

from nlgbench.plots.multiverse import plot_multiverse
from nlgbench.plots.stability import plot_stability
from nlgbench.plots.style import VENUES
from nlgbench.plots.typicality import plot_typicality

CURVE = pd.DataFrame(
    {
        "size": [50, 20, 20, 50],
        "score": ["huse", "huse", "huse_q", "huse_q"],
        "mean": [0.5, 0.7, 0.8, 0.6],
        "ci_low": [0.4, 0.5, 0.6, 0.5],
        "ci_high": [0.6, 0.9, 1.0, 0.7],
    }
)
CHOICES = pd.DataFrame(
    {
        "score": ["huse"] * 3 + ["huse_q"] * 3,
        "n_neighbors": [8, 16, 16] * 2,
        "estimate": [0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "paper": [False, True, False] * 2,
    }
)
TYPICAL = pd.DataFrame(
    {"log_frequency": [-2.0, -1.0], "judgment": [2.0, 4.0], "ci_low": [1, 3], "ci_high": [3, 4.5]}
)


def test_stability_draws_a_line_and_a_band_for_each_score_in_order_of_size():
    ax = plot_stability(CURVE, truth={"huse": 0.45})
    huse, truth, huse_q = ax.lines
    assert huse.get_xydata().tolist() == [[20, 0.7], [50, 0.5]]
    assert huse_q.get_ydata().tolist() == [0.8, 0.6]
    assert set(truth.get_ydata()) == {0.45}
    assert len(ax.collections) == 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["HUSE", "HUSE-Q"]
    assert huse.get_linestyle() != huse_q.get_linestyle(), "told apart in gray"


def test_multiverse_draws_every_combination_and_marks_the_papers():
    ax = plot_multiverse(CHOICES, scores=["huse", "huse_q"], legend=False)
    dots = [c.get_offsets() for c in ax.collections if len(c.get_offsets())]
    drawn = np.sort(np.concatenate([one[:, 1] for one in dots]))
    marked = CHOICES.loc[CHOICES["paper"], "estimate"]
    assert np.allclose(drawn, np.sort(pd.concat([CHOICES["estimate"], marked])))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["8", "16"] * 2
    assert {text.get_text() for text in ax.texts} == {"HUSE", "HUSE-Q"}


def test_what_the_legends_part_is_told_apart_in_gray():
    scores = ("huse", "huse_q", "huse_d", "third", "fourth", "fifth", "sixth")
    curve = pd.concat([CURVE[CURVE["score"] == "huse"].assign(score=name) for name in scores])
    assert alike_in_gray(plot_stability(curve)) == []
    assert alike_in_gray(plot_multiverse(CHOICES, ax=plt.figure().gca())) == []


def test_typicality_draws_each_text_with_its_interval():
    ax = plot_typicality(TYPICAL, score_label="r = 0.9")
    (container,) = ax.containers
    assert container[0].get_xydata().tolist() == [[-2, 2], [-1, 4]]
    (bars,) = container[2]
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[1, 3], [3, 4.5]]
    assert ax.get_title(loc="left") == "r = 0.9"


@pytest.mark.parametrize(
    ("draw", "table", "column"),
    [
        (plot_stability, CURVE, "mean"),
        (plot_multiverse, CHOICES, "n_neighbors"),
        (plot_typicality, TYPICAL, "ci_low"),
    ],
)
def test_a_missing_column_is_named(draw, table, column):
    with pytest.raises(ValueError, match=f"has no column '{column}': it needs .*; found "):
        draw(table.drop(columns=column))


def test_venues_give_a_column_and_a_text_width():
    assert all(column <= text for column, text in VENUES.values())
