"""Atlas and forest plots write their correlations and the usual names of evaluators."""

import numpy as np
import pandas as pd
from plot_samples import forest

from nlgbench.plots.atlas import plot_atlas
from nlgbench.plots.forest import plot_forest


def test_the_atlas_has_a_panel_per_statistic_and_fills_significant_marks():
    rows = [
        ("worse", "Spearman", -0.534, -0.8, -0.1, 0.01, "ok"),
        ("better", "Spearman", 1.0, 0.5, 1.0, 0.05, "ok"),
        ("better", "Pearson", 0.004, np.nan, np.nan, 0.01, "few_items"),
        ("middle", "Spearman", 0.2, -0.1, 0.5, 0.01, "ok"),
    ]
    names = ["evaluator", "statistic", "estimate", "ci_low", "ci_high", "p_adjusted", "status"]
    table = pd.DataFrame(rows, columns=names)
    drawn = plot_atlas(table)
    spearman, pearson = drawn.axes
    assert [tick.get_text() for tick in spearman.get_yticklabels()] == ["better", "middle", "worse"]
    points = [(x, y, line.get_mfc()) for line in spearman.lines for x, y in line.get_xydata()]
    drawn_points = {(1.0, 0.0, "white"), (0.2, 1.0, "white"), (-0.534, 2.0, "#333333")}
    assert drawn_points <= set(points), "whose interval includes 0 is open, whatever its p"
    assert pearson.lines[0].get_marker() == "s", "doubtful"
    assert "Without a mark: undefined (2 of 6)." in drawn.notes
    axes = plot_atlas(table, sort=False).axes
    assert [tick.get_text() for tick in axes[0].get_yticklabels()] == ["worse", "better", "middle"]


def test_the_forest_draws_estimates_intervals_and_printed_values_from_the_best():
    table = forest(5)
    (ax,) = plot_forest(table.drop(columns="kind")).axes
    best = table.sort_values("estimate", ascending=False)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == best["evaluator"].to_list()
    _, estimates, printed = ax.lines
    assert np.array_equal(estimates.get_xdata(), best["estimate"], equal_nan=True)
    assert np.array_equal(printed.get_xdata(), best["published"], equal_nan=True)
    ends = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    assert ends == best[["ci_low", "ci_high"]].dropna().to_numpy().tolist()
    assert [text.get_text() for text in ax.texts] == [" undefined"]
