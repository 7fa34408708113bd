"""Choices: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from nlgbench.plots.choosing import plot_choices, plot_training

CURVES = pd.DataFrame(
    {
        "panel": ["quality"] * 3 + ["BLEU"] * 3,
        "progress": [1.0, 0.5, 0.75, 0.5, 0.75, 1.0],
        "value": [3.0, 1.0, 2.0, 0.4, 0.2, 0.1],
        "ci_low": [2.5, 0.5, 1.5, np.nan, np.nan, np.nan],
        "ci_high": [3.5, 1.5, 2.5, np.nan, np.nan, np.nan],
    }
)
CHOSEN = pd.DataFrame({"panel": ["quality", "BLEU"], "progress": [1.0, 0.5]})
TABLE = pd.DataFrame(
    {
        "evaluator": ["a", "a", "b", "b", "c"],
        "measure": ["regret", "win_times"] * 2 + ["regret"],
        "estimate": [0.3, 2.0, 0.1, 7.0, np.nan],
        "ci_low": [0.1, 1.0, 0.0, 4.0, np.nan],
        "ci_high": [0.5, 4.0, 0.2, 9.0, np.nan],
        "n": [10, 10, 10, 10, 0],
    }
)


def panels(number: int):
    return plt.subplots(1, number)[1].ravel().tolist()


def test_each_panel_has_its_curve_and_what_is_chosen_on_it():
    quality, bleu = plot_training(CURVES, CHOSEN, axes=panels(3), truth="quality")
    assert [ax.get_title("left") for ax in (quality, bleu)] == ["quality", "BLEU"]
    curve, best, ring = quality.lines
    assert curve.get_xydata().tolist() == [[0.5, 1], [0.75, 2], [1, 3]]
    assert ring.get_xydata().tolist() == [[1, 3]]
    assert ring.get_markerfacecolor() == "none"
    assert len(quality.collections) == 1 and not bleu.collections, "bounds where there are some"
    _, line, ring = bleu.lines
    assert line.get_xdata() == best.get_xdata() == [1, 1]
    assert ring.get_xydata().tolist() == [[0.5, 0.4]]
    assert len(quality.figure.axes) == 2, "left-over axes are gone"


def test_where_nothing_is_chosen_nothing_is_marked():
    nothing = CHOSEN.assign(progress=[np.nan, 0.5]).iloc[:1]
    for ax in plot_training(CURVES, nothing, axes=panels(2), truth="quality"):
        assert len(ax.lines) == 2 and not len(ax.lines[1].get_xdata())


def test_regret_stands_in_order_with_wins_beside_it():
    ax = plot_choices(TABLE, baselines=["a"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "a", "c"]
    segments = ax.collections[0].get_segments()
    assert [segment[:, 0].tolist() for segment in segments] == [[0.0, 0.2], [0.1, 0.5]]
    said = [text.get_text() for text in ax.texts]
    assert said == ["7 of 10", "2 of 10", "undefined", "best"]
    first, second = ax.lines[:2]
    assert first.get_markerfacecolor() != "white" == second.get_markerfacecolor()
    assert first.get_xydata().tolist() == [[0.1, 0]]
    other = plot_choices(TABLE, order=["c", "z", "b"], ax=plt.figure().gca())
    assert [tick.get_text() for tick in other.get_yticklabels()] == ["c", "z", "b"]
    assert [text.get_text() for text in other.texts] == ["undefined", "7 of 10", "best"]


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="no column 'value'"):
        plot_training(CURVES.drop(columns="value"), CHOSEN, axes=panels(2))
    with pytest.raises(ValueError, match="2 panels, and 1 axes"):
        plot_training(CURVES, CHOSEN, axes=[plt.gca()])
    with pytest.raises(ValueError, match="'x' is no panel"):
        plot_training(CURVES, CHOSEN, axes=panels(2), truth="x")
    with pytest.raises(ValueError, match="'quality' has two rows"):
        plot_training(pd.concat([CURVES, CURVES]), CHOSEN, axes=panels(2))
    with pytest.raises(ValueError, match="no column 'n'"):
        plot_choices(TABLE.drop(columns="n"))
    with pytest.raises(ValueError, match="two rows of 'a'"):
        plot_choices(pd.concat([TABLE, TABLE]))
