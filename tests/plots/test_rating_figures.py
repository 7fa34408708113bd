"""Ratings: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from nlgbench.plots.ratings import plot_convergence, plot_ratings, plot_win_rates

RATINGS = pd.DataFrame(
    {
        "system": ["a", "b", "c", "d"],
        "rating": [1500.0, 1700.0, 1400.0, np.nan],
        "ci_low": [1450.0, 1650.0, np.nan, np.nan],
        "ci_high": [1550.0, 1800.0, np.nan, np.nan],
    }
)
RATES = pd.DataFrame(
    {
        "system": ["a", "b", "a", "c"],
        "opponent": ["b", "a", "c", "a"],
        "win_rate": [0.25, 0.75, 0.9, 0.1],
    }
)
HISTORY = pd.DataFrame(
    {
        "game": [2, 1, 1, 2],
        "system": ["a", "a", "b", "b"],
        "rating": [1600.0, 1550.0, 1450.0, 1400.0],
        "deviation": [200.0, 300.0, 300.0, 200.0],
    }
)


def test_ratings_stand_in_order_with_their_intervals():
    ax = plot_ratings(RATINGS)
    (container,) = ax.containers
    assert container[0].get_xydata().tolist() == [[1400, 0], [1500, 1], [1700, 2]]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["c", "a", "b"]
    segments = container[2][0].get_segments()
    assert segments[1][:, 0].tolist() == [1450, 1550]
    assert segments[2][:, 0].tolist() == [1650, 1800]


def test_the_axis_says_what_intervals_cover_and_doubtful_ones_have_an_open_mark():
    said = RATINGS.assign(covers="outputs", reason=["", "few outputs: 3", "", "no interval"])
    ax = plot_ratings(said)
    assert ax.get_xlabel() == "Rating (intervals over outputs)"
    doubtful = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xydata().tolist() for line in doubtful] == [[[1700, 2]]]
    bare = plot_ratings(said.assign(ci_low=np.nan, ci_high=np.nan), ax=plt.figure().gca())
    assert bare.get_xlabel() == "Rating"


def test_win_rates_are_written_where_a_pair_played():
    ax = plot_win_rates(RATES)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["b", "a", "c"], "the best first"
    written = {
        (names[round(t.get_position()[1])], names[round(t.get_position()[0])]): t.get_text()
        for t in ax.texts
    }
    assert written == {("a", "b"): "25", ("b", "a"): "75", ("a", "c"): "90", ("c", "a"): "10"}
    assert ax.yaxis_inverted()
    other = plot_win_rates(RATES, order=["c", "b", "a"], ax=plt.figure().gca())
    assert [tick.get_text() for tick in other.get_xticklabels()] == ["c", "b", "a"]


def test_convergence_draws_a_line_and_a_band_for_each_system():
    ax = plot_convergence(HISTORY)
    best, other = ax.lines
    assert best.get_xydata().tolist() == [[1, 1550], [2, 1600]]
    assert other.get_ydata().tolist() == [1450, 1400]
    assert len(ax.collections) == 2
    assert ax.collections[0].get_paths()[0].get_extents().intervaly.tolist() == [1250, 1850]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_lines_of_many_systems_are_told_apart_without_color():
    many = pd.concat([HISTORY.iloc[:2].assign(system=f"s{n}") for n in range(14)])
    ax = plot_convergence(many, legend=False)
    looks = {(str(line._dash_pattern), line.get_marker()) for line in ax.lines}
    assert len(looks) == 14


@pytest.mark.parametrize(
    ("draw", "table", "column"),
    [
        (plot_ratings, RATINGS, "ci_low"),
        (plot_win_rates, RATES, "win_rate"),
        (plot_convergence, HISTORY, "deviation"),
    ],
)
def test_a_missing_column_is_named(draw, table, column):
    with pytest.raises(ValueError, match=f"no column '{column}': (it needs|they need) .*; found "):
        draw(table.drop(columns=column))


def test_two_studies_in_one_figure_are_refused():
    with pytest.raises(ValueError, match="system 'a' twice"):
        plot_ratings(pd.concat([RATINGS, RATINGS]))
    with pytest.raises(ValueError, match="a pair of systems twice"):
        plot_win_rates(pd.concat([RATES, RATES]))
    with pytest.raises(ValueError, match="'z' is not in both"):
        plot_win_rates(RATES, order=["a", "b", "c", "z"])
