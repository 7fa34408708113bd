"""Atlas and forest plots write their correlations and the usual names of evaluators."""

import numpy as np
import pandas as pd
from plot_samples import forest

from nlgbench.plots.atlas import plot_atlas
from nlgbench.plots.forest import plot_forest


def test_the_atlas_writes_each_value_with_its_interval_and_star():
    rows = [
        ("worse", "Spearman", -0.534, -0.8, -0.1, 0.01),
        ("better", "Spearman", 1.0, 0.5, 1.0, 0.05),
        ("better", "Pearson", 0.004, np.nan, np.nan, np.nan),
    ]
    names = ["evaluator", "statistic", "estimate", "ci_low", "ci_high", "p_adjusted"]
    table = pd.DataFrame(rows, columns=names)
    drawn = plot_atlas(table)
    (ax,) = drawn.axes
    words = [text.get_text() for text in ax.texts]
    assert words == ["1.00\n[.50, 1.00]", ".00", "−.53*\n[−.80, −.10]"]
    (mesh, *_) = ax.collections
    assert mesh.get_array().mask.tolist() == [[False, False], [False, True]]
    assert ax.patch.get_hatch(), "which is seen where no cell is drawn"
    assert drawn.notes.endswith("Hatched: undefined (1 of 4).") and drawn.alt.endswith(drawn.notes)
    (ax,) = plot_atlas(table, sort=False).axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["worse", "better"]


def test_the_atlas_writes_the_interval_and_marks_doubt():
    table = pd.DataFrame({"evaluator": ["e", "f"], "estimate": [0.5, 0.4]})
    ends = {"ci_low": 0.25, "ci_high": 0.75}
    table = table.assign(statistic="Pearson", status=["ok", "few_items"], p_adjusted=[0.01, 0.5])
    table = table.assign(**{name: [end, np.nan] for name, end in ends.items()}, confidence=0.9)
    drawn = plot_atlas(table)
    (ax,) = drawn.axes
    words = [text.get_text() for text in ax.texts]
    assert words == [".50*\n[.25, .75]", ".40†"]
    assert "Each cell: estimate and [90% interval]." in drawn.notes
    assert "† No interval, or a doubtful one (1 of 2)." in drawn.notes
    assert "†" not in plot_atlas(table.iloc[:1]).notes


def test_a_value_has_no_star_if_an_interval_includes_0():
    table = pd.DataFrame({"evaluator": list("ab"), "statistic": "pearson", "estimate": 0.8})
    table = table.assign(p_adjusted=0.01, ci_low=[0.6, -0.1], ci_high=0.9)
    drawn = plot_atlas(table)
    texts = [text.get_text().split("\n")[0] for text in drawn.axes[0].texts]
    assert texts == [".80*", ".80"] and "and no interval includes 0." in drawn.notes


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
