"""Ratings: what is on the axes."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.ratings.rating import tournament
from nlgbench.plots.figures import canvas
from nlgbench.plots.ratings import plot_convergence, plot_ratings, plot_win_rates
from nlgbench.plots.style import TWO_COLUMN

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
    (ax,) = plot_ratings(RATINGS).axes
    assert ax.lines[0].get_xydata().tolist() == [[1700, 0], [1500, 1], [1400, 2]]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "a", "c"]
    segments = [one[:, 0].tolist() for one in ax.collections[0].get_segments()]
    assert [1450, 1550] in segments and [1650, 1800] in segments


def test_systems_whose_names_differ_by_an_underscore_are_told_apart_in_labels():
    alike = {"a": "under_score", "b": "under score", "c": "a_system"}
    (ax,) = plot_ratings(RATINGS.replace({"system": alike})).axes
    written = [tick.get_text() for tick in ax.get_yticklabels()]
    assert written == ["under score", "under_score", "a system"]
    (ax,) = plot_win_rates(RATES.replace(alike)).axes
    assert {tick.get_text() for tick in ax.get_xticklabels()} == set(written)


def test_an_estimate_may_lie_outside_its_interval():
    (ax,) = plot_ratings(RATINGS.assign(ci_low=1800.0, ci_high=1900.0)).axes
    assert len(ax.collections[0].get_segments()) == RATINGS["rating"].notna().sum()


def test_the_axis_says_what_intervals_cover_and_doubtful_ones_have_an_open_mark():
    said = RATINGS.assign(covers="outputs", reason=["", "few outputs: 3", "", "no interval"])
    (ax,) = plot_ratings(said).axes
    assert ax.get_xlabel() == "Rating\n(intervals over outputs)"
    doubtful = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xydata().tolist() for line in doubtful] == [[[1700, 0]]]
    assert doubtful[0].get_zorder() > ax.lines[0].get_zorder()
    (words,) = ax.get_legend().get_texts()
    assert words.get_text() == "no interval, or one that cannot be trusted (reason)"
    votes = plot_ratings(RATINGS.assign(covers="other items, these annotators"))
    assert votes.axes[0].get_xlabel() == "Rating\n(intervals for other items, these annotators)"
    bare = plot_ratings(said.assign(ci_low=np.nan, ci_high=np.nan))
    assert bare.axes[0].get_xlabel() == "Rating"


def test_win_rates_are_written_where_a_pair_played():
    (ax,) = plot_win_rates(RATES).axes
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["b", "a", "c"], "the best first"
    written = {
        (names[round(t.get_position()[1])], names[round(t.get_position()[0])]): t.get_text()
        for t in ax.texts
    }
    assert written == {("a", "b"): "25", ("b", "a"): "75", ("a", "c"): "90", ("c", "a"): "10"}
    assert ax.yaxis_inverted()
    shades = ax.collections[0]
    assert shades.norm(0.5) == 0.5 and shades.get_cmap().name == "PuOr"
    (other,) = plot_win_rates(RATES, order=["c", "b", "a"]).axes
    assert [tick.get_text() for tick in other.get_xticklabels()] == ["c", "b", "a"]


def test_convergence_draws_a_line_and_a_band_for_each_system():
    (ax,) = plot_convergence(HISTORY).axes
    best, other = ax.lines
    assert best.get_xydata().tolist() == [[1, 1550], [2, 1600]]
    assert other.get_ydata().tolist() == [1450, 1400]
    assert len(ax.collections) == 2
    assert ax.collections[0].get_paths()[0].get_extents().intervaly.tolist() == [1250, 1850]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    drawn = plot_convergence(HISTORY, ratings=RATINGS.iloc[:2])
    (ax,) = drawn.axes
    ends = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert sorted(line.get_ydata()[0] for line in ends if len(line.get_ydata())) == [1500, 1700]
    assert ax.get_legend().get_texts()[-1].get_text() == "all games, each once"
    assert drawn.alt.endswith("Open marks, ratings after all games, each once: a 1500, b 1700.")


def test_lines_of_many_systems_are_told_apart_without_color():
    many = pd.concat([HISTORY.iloc[:2].assign(system=f"s{n}") for n in range(14)])
    (ax,) = plot_convergence(many).axes
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
    with pytest.raises(ValueError, match=r"two rows for .*system 'a'"):
        plot_ratings(pd.concat([RATINGS, RATINGS]))
    with pytest.raises(ValueError, match="two rows for system 'a', opponent"):
        plot_win_rates(pd.concat([RATES, RATES]))
    with pytest.raises(ValueError, match="'z' is not in both"):
        plot_win_rates(RATES, order=["a", "b", "c", "z"])


def test_each_method_has_a_panel_and_words_say_who_is_best():
    both = pd.concat(
        [
            RATINGS.assign(method="glicko2", covers="games"),
            RATINGS.assign(method="bradley_terry", covers="items", rating=RATINGS["rating"][::-1]),
        ]
    )
    drawn = plot_ratings(both)
    assert [ax.get_title("left") for ax in drawn.axes] == ["Glicko-2", "Bradley-Terry"]
    assert drawn.alt == (
        "Ratings of the systems with 95% intervals: Glicko-2 over games, Bradley-Terry over items. "
        "By Glicko-2, best first: b, a, c."
    )
    assert drawn.data["method"].unique().tolist() == ["Glicko-2", "Bradley-Terry"]
    assert drawn.figure.get_size_inches().tolist() == [TWO_COLUMN, 2.6]
    assert drawn.axes[0].get_xlim() == drawn.axes[1].get_xlim()


def test_on_axes_that_are_given_nothing_else_changes():
    figure, (one, other) = canvas(6, 3, columns=2)
    before = mpl.rcParams.copy()
    drawn = [plot_ratings(RATINGS, ax=one), plot_convergence(HISTORY, ax=other)]
    assert all(part.figure is figure for part in drawn) and dict(mpl.rcParams) == dict(before)
    assert drawn[0].alt.startswith("Ratings of the systems. Best first: b, a, c.")


def test_ratings_of_a_study_are_drawn():
    study = nb.simulate("reviews", systems=["grammar_t0.7", "bigram_t1.0"], n_truth=0)
    train, test = nb.split(study.replace(outputs=study.outputs.assign(context="")))
    comparator = nb.train_comparator(nb.supervise(train, held_out=test), backend="tfidf")
    compared = nb.compare_texts(test, comparator, n_per_pair=30)
    drawn = nb.plot_ratings(nb.rate(compared))
    assert "best" in drawn.alt.lower() and "bigram t1.0" in drawn.alt
    assert len(nb.plot_win_rates(nb.win_rates(compared)).data) == 2
    assert nb.plot_convergence(tournament(compared, max_games=50).history).alt


def test_many_systems_have_room():
    names = [f"system_{n:02d}" for n in range(40)]
    ratings = pd.DataFrame({"system": names, "rating": np.arange(40.0)})
    drawn = plot_ratings(ratings.assign(ci_low=0.0, ci_high=50.0))
    boxes = [
        text.get_window_extent(drawn.figure.canvas.get_renderer())
        for text in drawn.axes[0].get_yticklabels()
    ]
    assert all(low.y1 <= high.y0 + 1 for high, low in pairwise(boxes))
    pairs = [(one, other) for one in names for other in names if one != other]
    rates = pd.DataFrame(pairs, columns=["system", "opponent"]).assign(win_rate=0.5)
    (ax,) = plot_win_rates(rates).axes
    assert not ax.texts
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "Win rate"
