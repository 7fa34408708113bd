"""Ratings and win rates are sorted, with what their intervals cover, and converge by game."""

from itertools import permutations

import matplotlib as mpl
import numpy as np
import pandas as pd
from plot_samples import HISTORY, RATES, RATINGS

from nlgbench.plots.figures import canvas
from nlgbench.plots.ratings import plot_convergence, plot_ratings, plot_win_rates


def test_ratings_are_sorted_with_their_intervals():
    (ax,) = plot_ratings(RATINGS).axes
    assert ax.lines[0].get_xydata().tolist() == [[1700, 0], [1500, 1], [1400, 2]]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "a", "c"]
    segments = [one[:, 0].tolist() for one in ax.collections[0].get_segments()]
    assert [1450, 1550] in segments and [1650, 1800] in segments


def test_systems_whose_names_differ_by_an_underscore_have_distinct_labels():
    alike = {"a": "under_score", "b": "under score", "c": "a_system"}
    (ax,) = plot_ratings(RATINGS.replace({"system": alike})).axes
    written = [tick.get_text() for tick in ax.get_yticklabels()]
    assert written == ["under score", "under_score", "a system"]
    (ax,) = plot_win_rates(RATES.replace(alike)).axes
    assert {tick.get_text()[:-4] for tick in ax.get_yticklabels()} == set(written)


def test_notes_say_what_intervals_cover_and_doubtful_ones_have_an_open_mark():
    said = RATINGS.assign(covers="outputs", status=["ok", "few_outputs", "ok", "no_votes"])
    drawn = plot_ratings(said.assign(confidence=0.9))
    (ax,) = drawn.axes
    omitted = "1 of 4 systems omitted: undefined"
    lines = "Thin lines: 90% intervals; thick lines: 50%, assuming normal errors."
    begin = f"Ratings with 90% intervals (no interval: 1) generalizing to other outputs; {omitted}."
    assert drawn.notes == f"{begin} Open marks: interval missing or unreliable. {lines}"
    doubtful = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xydata().tolist() for line in doubtful] == [[[1700, 0]]]
    notes = plot_ratings(RATINGS[:3].assign(covers="other items, these annotators")).notes
    assert " generalizing to other items with these annotators." in notes


def test_each_pair_has_one_win_rate_and_many_systems_are_cut_with_a_count():
    drawn = plot_win_rates(RATES.assign(orders="tie"))
    (ax,) = drawn.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b (1)", "a (2)", "c (3)"]
    shades = ax.collections[-1].get_array().filled(np.nan)
    assert np.allclose(shades, [[75, np.nan], [np.nan, 90], [np.nan] * 2], equal_nan=True)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no comparisons"]
    assert drawn.notes.endswith("decides differently in the two orders, count half.")
    (other,) = plot_win_rates(RATES, order=["c", "b", "a"]).axes
    assert [tick.get_text() for tick in other.get_yticklabels()] == ["c (1)", "b (2)", "a (3)"]
    table = pd.DataFrame(permutations(range(30), 2), columns=["system", "opponent"]).astype(str)
    drawn = plot_win_rates(table.assign(estimate=0.5))
    assert (
        drawn.axes[0].collections[-1].get_array().count() == 190
        and "The 20 best of 30 systems." in drawn.notes
    )


def test_convergence_draws_a_line_and_a_band_for_each_system():
    (ax,) = plot_convergence(HISTORY).axes
    best, _ = ax.lines
    assert best.get_xydata().tolist() == [[1, 1550], [2, 1600]]
    assert ax.collections[0].get_paths()[0].get_extents().intervaly.tolist() == [1250, 1850]
    drawn = plot_convergence(HISTORY, ratings=RATINGS.iloc[:2])
    assert "Ratings after all games: a 1500, b 1700." in drawn.alt


def test_on_axes_that_are_given_nothing_else_changes():
    figure, (one, other) = canvas(6, 3, columns=2)
    before = mpl.rcParams.copy()
    drawn = [plot_ratings(RATINGS, ax=one), plot_convergence(HISTORY, ax=other)]
    assert all(part.figure is figure for part in drawn) and dict(mpl.rcParams) == dict(before)
    assert "Best first: b, a, c." in drawn[0].alt
