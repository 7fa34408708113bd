"""Evaluators against humans: what is on the axes, and whether it can be read in print."""

import re

import numpy as np
import pandas as pd
import pytest
from gray import alike_in_gray, contrast
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from nlgbench.plots.atlas import plot_atlas
from nlgbench.plots.forest import plot_forest
from nlgbench.plots.scatter import plot_scatter_systems
from nlgbench.plots.style import ONE_COLUMN, TWO_COLUMN, paper_style

NAMES = [
    "Word LSTM temp 1.0",
    "Word LSTM temp 0.7",
    "Word LSTM temp 0.5",
    "Scheduled Sampling",
    "Google LM",
    "Attention Attribute to Sequence",
    "Contexts to Sequences",
    "Gated Contexts to Sequences",
    "MLE SeqGAN",
    "SeqGAN",
    "RankGAN",
    "LeakGAN",
]


def correlations(n, *, kinds=True):
    """Made-up correlations of n evaluators, of which the first cell is undefined."""
    rng = np.random.default_rng(n)
    names = ["human", "discriminative", "overlap", "diversity"]
    rows = [
        (f"Evaluator {e} (natural labels)", names[e % 4], criterion, statistic)
        for e in range(n)
        for criterion in ("H1", "H2")
        for statistic in ("Kendall τ-b", "Spearman", "Pearson")
    ]
    table = pd.DataFrame(rows, columns=["evaluator", "kind", "criterion", "statistic"])
    table["estimate"] = rng.uniform(-1, 1, len(table))
    table["ci_low"] = (table["estimate"] - 0.3).clip(-1)
    table["ci_high"] = (table["estimate"] + 0.2).clip(upper=1)
    table["p_adjusted"] = rng.uniform(0, 0.1, len(table))
    table.loc[0, ["estimate", "ci_low", "ci_high", "p_adjusted"]] = np.nan
    return table if kinds else table.drop(columns="kind")


def forest(n):
    table = correlations(n).query("criterion == 'H1' and statistic == 'Kendall τ-b'")
    return table.assign(published=table["estimate"] + 0.05)


def rates():
    """Three rates of two evaluators, one of them undefined, with printed values."""
    table = pd.DataFrame(
        [
            (evaluator, kind)
            for evaluator in ("H1", "H2")
            for kind in ("accuracy", "true positive rate", "true negative rate")
        ],
        columns=["evaluator", "kind"],
    )
    table["estimate"] = [66.6, 79.0, 54.3, 72.6, np.nan, 57.0]
    table["ci_low"], table["ci_high"] = table["estimate"] - 2, table["estimate"] + 3
    return table.assign(published=[66.0, 79.0, 54.0, 73.0, 88.0, 57.0])


def points(n=12):
    rng = np.random.default_rng(3)
    x = np.linspace(20, 60, n) + rng.normal(0, 3, n)
    table = pd.DataFrame({"system": NAMES[:n], "self_bleu": x, "quality": x + rng.normal(0, 4, n)})
    for name in ("self_bleu", "quality"):
        table[f"{name}_low"], table[f"{name}_high"] = table[name] - 2, table[name] + 2
    return table


def both(ax, n):
    return plot_atlas(correlations(n), ax=ax)


def doubted(n):
    """Correlations with a second interval; every fifth cell is doubtful, and has none."""
    table = correlations(n)
    fifth = np.arange(len(table)) % 5 == 0
    return table.assign(
        second_low=np.where(fifth, np.nan, -0.95),
        second_high=np.where(fifth, np.nan, 0.95),
        reason=np.where(fifth, "5 systems", ""),
    )


FIGURES = {
    "atlas": (TWO_COLUMN, 8.5, lambda ax: both(ax, 30)),
    "atlas, 40 rows": (
        *(TWO_COLUMN, 9.6),
        lambda ax: plot_atlas(correlations(40, kinds=False), ax=ax),
    ),
    "atlas, two intervals": (
        *(TWO_COLUMN, 4.8),
        lambda ax: plot_atlas(doubted(8), ax=ax),
    ),
    "atlas, one row": (TWO_COLUMN, 1.5, lambda ax: both(ax, 1)),
    "forest, rates": (
        *(TWO_COLUMN, 2.0),
        lambda ax: plot_forest(rates(), ax=ax, xlabel="Percent", xlim=(0, 100), line=50),
    ),
    "forest": (ONE_COLUMN, 6, lambda ax: plot_forest(forest(30), ax=ax)),
    "forest, one row": (ONE_COLUMN, 1.4, lambda ax: plot_forest(forest(1), ax=ax)),
    "scatter": (
        *(ONE_COLUMN, 3),
        lambda ax: plot_scatter_systems(points(), "self_bleu", "quality", ax=ax),
    ),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_every_text_can_be_read_in_print_and_every_mark_in_gray(figure):
    width, height, draw = FIGURES[figure]
    with plt.rc_context(paper_style()):
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        drawn = draw(ax)
        fig = drawn.figure
        fig.draw_without_rendering()
    assert alike_in_gray(drawn.axes[0]) == []
    shown = [
        text
        for text in fig.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text.axes is not None
    ]
    boxes = [Text.get_window_extent(text) for text in shown]  # without the line to a point
    for text, box in zip(shown, boxes, strict=True):
        assert text.get_fontsize() >= 6.5, text.get_text()
        assert fig.bbox.padded(2).contains(*box.min), text.get_text()
        assert fig.bbox.padded(2).contains(*box.max), text.get_text()
    # Ink is lower than a line of type: a fifth of the height may be shared.
    inner = np.array(
        [[b.x0 + 1, b.y0 + b.height / 5, b.x1 - 1, b.y1 - b.height / 5] for b in boxes]
    )
    low = np.maximum(inner[:, None, :2], inner[None, :, :2])
    high = np.minimum(inner[:, None, 2:], inner[None, :, 2:])
    covered = np.triu((high > low).all(axis=2), 1)
    pairs = [(shown[m].get_text(), shown[n].get_text()) for m, n in np.argwhere(covered)]
    assert pairs == []


def test_the_atlas_writes_each_value_with_its_interval_and_star():
    table = pd.DataFrame(
        {
            "evaluator": ["worse", "better", "better"],
            "statistic": ["Spearman", "Spearman", "Pearson"],
            "estimate": [-0.534, 1.0, 0.004],
            "ci_low": [-0.8, 0.5, np.nan],
            "ci_high": [-0.1, 1.0, np.nan],
            "p_adjusted": [0.01, 0.05, np.nan],
        }
    )
    (ax,) = plot_atlas(table).axes
    words = [text.get_text() for text in ax.texts]
    assert words == ["1.00", "[.50, 1.00]", ".00", "−.53*", "[−.80, −.10]", "–"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["better", "worse"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Spearman", "Pearson"]
    assert [patch.get_xy() for patch in ax.patches if patch.get_hatch()] == [(1, 1)]
    assert re.sub(r"\s+", " ", ax.get_xlabel()).endswith("Hatched, –: undefined (1 of 4).")
    mesh = ax.collections[0]
    assert mesh.get_clim() == (-1, 1)
    assert np.allclose(mesh.get_array().compressed(), [1.0, 0.004, -0.534])


def test_the_atlas_writes_a_second_interval_and_marks_doubt():
    table = pd.DataFrame(
        {
            "evaluator": ["e", "f"],
            "statistic": "Pearson",
            "estimate": [0.5, 0.4],
            "ci_low": [0.25, np.nan],
            "ci_high": [0.75, np.nan],
            "second_low": [-0.1, np.nan],
            "second_high": [0.9, np.nan],
            "p_adjusted": [0.01, 0.5],
            "reason": ["", "two items"],
        }
    )
    (ax,) = plot_atlas(table, interval_label="95% over items").axes
    words = [text.get_text() for text in ax.texts]
    assert words == [".50", "[.25, .75]", "(−.10, .90)", ".40†"]
    below = re.sub(r"\s+", " ", ax.get_xlabel())
    assert "[95% over items] and (95% interval over systems)" in below
    assert "† No interval, or a doubtful one" in below
    assert "†" not in plot_atlas(table.iloc[:1]).axes[0].get_xlabel()


def test_the_atlas_groups_kinds_and_orders_each_by_agreement():
    table = correlations(9)
    (ax,) = plot_atlas(table).axes
    lines = [tick.get_text() for tick in ax.get_yticklabels()]
    kinds = ["human", "discriminative", "overlap", "diversity"]
    assert [line for line in lines if line in kinds] == kinds
    means = table.groupby("evaluator")["estimate"].mean()
    humans = lines[1 : lines.index("discriminative")]
    assert len(humans) == 3
    assert means[humans].is_monotonic_decreasing
    outer = [tick.get_text().strip() for tick in ax.child_axes[0].get_xticklabels()]
    assert outer == ["H1", "H2"]


def test_the_atlas_writes_what_correlate_gives_as_figures_do_and_by_kind():
    names = ["svm_meta@natural/majority", "rouge_l", "minus_self_bleu_4", "rouge_2"]
    table = pd.DataFrame({"evaluator": names, "statistic": "kendall_b", "dimension": "quality"})
    table = table.assign(estimate=[0.1, 0.2, 0.3, 0.4], ci_low=0.0, ci_high=0.5, reason="")
    drawn = plot_atlas(table)
    (ax,) = drawn.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        *("Word overlap", "ROUGE-2", "ROUGE-L", "Diversity", "minus Self-BLEU-4"),
        *("Discriminators, trained/scored on", "SVM natural/majority"),
    ]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["τ-b"]
    assert "Holm" not in ax.get_xlabel()
    assert "the greatest is that of ROUGE-2 (0.40)" in drawn.alt
    one = plot_atlas(table, kinds=["Diversity"])
    assert one.data["evaluator"].tolist() == ["minus Self-BLEU-4"]
    assert one.figure.get_figheight() < drawn.figure.get_figheight()


def test_black_reads_on_every_shade_of_the_atlas():
    mesh = plot_atlas(correlations(2)).axes[0].collections[0]
    shades = mesh.get_cmap()(np.linspace(0, 1, 101))
    assert min(contrast(to_rgb(shade), "black") for shade in shades) >= 4.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="ci_low"), "no column 'ci_low': they need evaluator"),
        (lambda t: t.drop(columns="statistic"), "no column 'statistic'"),
        (lambda t: t.iloc[:0], "have no row"),
        (lambda t: pd.concat([t, t]), "two rows for evaluator 'Evaluator 0 .*, criterion 'H1', st"),
        (lambda t: t.assign(estimate=1.5), "between -1 and 1; row 0 has 1.5"),
    ],
)
def test_the_atlas_refuses_what_is_no_map_of_correlations(change, message):
    with pytest.raises(ValueError, match=message):
        plot_atlas(change(correlations(1)))


def test_a_star_stands_beside_no_interval_that_includes_0():
    table = pd.DataFrame({"evaluator": list("abc"), "statistic": "pearson", "estimate": 0.8})
    table = table.assign(p_adjusted=0.01, ci_low=[0.6, -0.1, 0.6], ci_high=0.9)
    table = table.assign(second_low=[0.3, 0.3, -0.3], second_high=0.99)
    (ax,) = plot_atlas(table).axes[:1]
    assert [one.get_text() for one in ax.texts if one.get_text().startswith(".8")] == [
        ".80*",
        ".80",
        ".80",
    ]
    assert "* Holm-adjusted p < 0.05, and no interval includes 0." in ax.get_xlabel().replace(
        "\n", " "
    )


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


def test_the_forest_writes_evaluators_as_figures_do_and_say_what_they_show():
    table = forest(3).iloc[1:].assign(evaluator=["bleu_4@coco", "svm_meta@natural/majority"])
    drawn = plot_forest(table, xlabel="Spearman's correlation")
    assert drawn.data["evaluator"].tolist() == ["BLEU-4 (coco)", "SVM natural/majority"]
    assert drawn.alt.startswith("Spearman's correlation of each evaluator, with intervals: ")
    assert all(
        f"{one} {value:.2f}" in drawn.alt
        for one, value in drawn.data[["evaluator", "estimate"]].to_numpy()
    )
    assert "undefined" in plot_forest(forest(3)).alt


def test_an_interval_that_misses_its_estimate_is_drawn_as_it_is():
    table = forest(2).iloc[1:].assign(estimate=0.5, ci_low=0.1, ci_high=0.4)
    (segment,) = plot_forest(table).axes[0].collections[0].get_segments()
    assert segment[:, 0].tolist() == [0.1, 0.4]


def test_the_forest_refuses_two_rows_of_one_evaluator_and_draws_many_kinds():
    with pytest.raises(ValueError, match=r"two rows for evaluator 'Evaluator 0 .*choose one stat"):
        plot_forest(correlations(1))
    many = forest(34).assign(kind=[f"kind {n}" for n in range(34)])
    handles = plot_forest(many).axes[0].get_legend().legend_handles
    looks = {(one.get_marker(), one.get_color()) for one in handles[:34]}
    assert len(looks) == 34


def test_rates_of_one_evaluator_stand_side_by_side_with_what_was_printed():
    table = rates()
    drawn = plot_forest(table, xlabel="Percent", xlim=(0, 100), line=50)
    (ax,) = drawn.axes
    chance, *marks = ax.lines
    assert set(chance.get_xdata()) == {50}
    estimates, printed = marks[::2], marks[1::2]
    assert [line.get_xdata().tolist() for line in estimates[::2]] == [[66.6, 72.6], [54.3, 57.0]]
    for one, other in zip(estimates, printed, strict=True):
        assert one.get_ydata().tolist() == other.get_ydata().tolist()
        assert other.get_markerfacecolor() == "none"
    assert [line.get_ydata()[0] for line in estimates] == pytest.approx([-0.2, 0, 0.2])
    assert [text.get_text() for text in ax.texts] == [" undefined"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["accuracy", "true positive rate", "true negative rate", "printed"]
    assert "H1 accuracy 66.60; H1 true positive rate 79.00" in drawn.alt
    with pytest.raises(ValueError, match="two rows for evaluator 'H1', kind 'accur"):
        plot_forest(pd.concat([table, table]))


def test_each_data_set_has_a_panel():
    sets = ("reviews", "topical_chat", "third")
    table = pd.concat([forest(3).drop(columns="kind").assign(data=name) for name in sets])
    drawn = plot_forest(table)
    assert [ax.get_title(loc="left") for ax in drawn.axes] == ["reviews", "topical chat", "third"]
    assert len(drawn.figure.axes) == 3, "a place without a panel stays empty"
    assert "topical_chat, Evaluator 1" in drawn.alt
    (names, *_) = [[tick.get_text() for tick in ax.get_yticklabels()] for ax in drawn.axes]
    assert names == list(dict.fromkeys(table["evaluator"])), "rows are shared, in the table's order"
    assert len(plot_forest(table[table["data"] == "third"]).axes) == 1


def test_the_scatter_names_every_system_beside_its_own_point():
    with plt.rc_context(paper_style()):
        fig, ax = plt.subplots(figsize=(ONE_COLUMN, 3), layout="constrained")
        table = points()
        plot_scatter_systems(table, "self_bleu", "quality", ax=ax)
        fig.draw_without_rendering()
        assert [text.get_text() for text in ax.texts] == NAMES
        centers = ax.transData.transform(table[["self_bleu", "quality"]].to_numpy())
        for n, text in enumerate(ax.texts):
            box = Text.get_window_extent(text)
            assert not any(box.contains(*center) for center in centers)
            nearest = np.clip(centers, box.min, box.max)
            if not text.arrow_patch.get_visible():
                assert np.hypot(*(centers - nearest).T).argmin() == n, text.get_text()


def test_the_scatter_says_how_many_it_cannot_draw():
    table = points()
    table.loc[4, "quality"] = np.nan
    (ax,) = plot_scatter_systems(table, "self_bleu", "quality").axes
    assert ax.get_title(loc="left") == "1 of 12 undefined, not drawn"
    assert len(ax.collections[0].get_offsets()) == 11
    assert len(ax.texts) == 11
    assert [len(lines.get_segments()) for lines in ax.collections[1:]] == [11, 11]
    nothing = table.assign(quality=np.nan)
    assert not plot_scatter_systems(nothing, "self_bleu", "quality").axes[0].texts


@pytest.mark.parametrize(
    ("draw", "table", "column"),
    [
        (plot_forest, forest(2), "ci_low"),
        (lambda t: plot_scatter_systems(t, "self_bleu", "quality"), points(), "quality"),
    ],
)
def test_a_missing_column_is_named_and_an_empty_table_refused(draw, table, column):
    with pytest.raises(ValueError, match=f"no column '{column}': "):
        draw(table.drop(columns=column))
    if "self_bleu" not in table:
        with pytest.raises(ValueError, match="no row: there is nothing to draw"):
            draw(table.iloc[:0])
