"""A table that a figure cannot draw is refused, with the column or row that is wrong."""

import numpy as np
import pandas as pd
import pytest
from plot_samples import (
    CHOICES,
    CHOSEN,
    COMPONENTS,
    CORRECTED,
    CURVES,
    HISTORY,
    MULTIVERSE,
    PEOPLE,
    RATES,
    RATINGS,
    SCORES,
    STABILITY,
    SYSTEMS,
    TRENDS,
    TYPICAL,
    colored,
    correlations,
    forest,
    points,
    small_boundary,
    tidy,
)

import nlgbench as nb
from nlgbench.plots.figures import canvas


def scatter(table):
    return nb.plot_scatter_systems(table, "self_bleu", "quality")


def training(table):
    return nb.plot_training(table, CHOSEN, truth="quality")


@pytest.mark.parametrize(
    ("plot", "table", "column"),
    [
        (nb.plot_atlas, correlations(1), "statistic"),
        (nb.plot_forest, forest(2), "ci_low"),
        (scatter, points(3), "quality"),
        (nb.plot_tradeoff, tidy(SCORES), "source"),
        (nb.plot_systems, SYSTEMS, "ci_low"),
        (nb.plot_severity, PEOPLE, "severity"),
        (nb.plot_ratings, RATINGS, "ci_low"),
        (nb.plot_win_rates, RATES, "win_rate"),
        (nb.plot_convergence, HISTORY, "deviation"),
        (training, CURVES, "value"),
        (nb.plot_choices, CHOICES, "n"),
        (nb.plot_corrected, CORRECTED, "method"),
        (nb.plot_distributions, TRENDS, "slope"),
        (nb.plot_components, COMPONENTS, "share"),
        (nb.plot_stability, STABILITY, "mean"),
        (nb.plot_multiverse, MULTIVERSE, "n_neighbors"),
        (nb.plot_typicality, TYPICAL, "ci_low"),
    ],
)
def test_a_missing_column_and_an_empty_table_are_named(plot, table, column):
    need = f"no column '{column}': (it needs|they need) .*; found "
    with pytest.raises(ValueError, match=need):
        plot(table.drop(columns=column))
    with pytest.raises(ValueError, match="no row: there is nothing to draw"):
        plot(table.iloc[:0])


@pytest.mark.parametrize(
    ("plot", "table", "said"),
    [
        (nb.plot_atlas, correlations(1), "evaluator 'Evaluator 0 .*, criterion 'H1', statistic"),
        (nb.plot_forest, correlations(1), "evaluator 'Evaluator 0 .*: choose one statistic"),
        (nb.plot_systems, SYSTEMS, "system 'b_1': select one dimension"),
        (nb.plot_severity, PEOPLE, "annotator_id 'w1': select one dimension"),
        (nb.plot_ratings, RATINGS, ".*system 'a'"),
        (nb.plot_win_rates, RATES, "system 'a', opponent 'b'"),
        (training, CURVES, "evaluator 'quality', progress 1.0"),
        (nb.plot_choices, CHOICES, ".*evaluator 'last_checkpoint'"),
        (nb.plot_corrected, CORRECTED, "system 'b_1', method 'labels alone'"),
        (nb.plot_distributions, TRENDS, "measure 'mmd_linear', change 'temperature'"),
        (nb.plot_components, COMPONENTS, "component 'item'"),
    ],
)
def test_two_rows_for_one_place_are_refused(plot, table, said):
    with pytest.raises(ValueError, match=f"two rows for {said}"):
        plot(pd.concat([table, table]))


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: nb.plot_boundary([]), "at least one"),
        (lambda: nb.plot_boundary(small_boundary(), ax=canvas(3, 3, columns=2)[1]), "one Axes"),
        (lambda: nb.plot_training(CURVES, CHOSEN, ax=canvas(3, 2)[1]), "ax must be 2 Axes"),
        (lambda: nb.plot_training(CURVES, CHOSEN, truth="x"), "truth: 'x' is unknown"),
        (lambda: nb.plot_tradeoff(tidy(SCORES.assign(huse_q=np.nan))), "score of 's0' is undef"),
        (lambda: nb.plot_severity(PEOPLE.assign(severity=np.nan)), "no annotator's severity"),
        (lambda: nb.plot_win_rates(RATES, order=["a", "b", "c", "z"]), "'z' is not in both"),
        (lambda: nb.plot_corrected(CORRECTED.replace("corrected", "x")), "method: 'x' is unknown"),
        (lambda: nb.plot_components(COMPONENTS.assign(variance=np.nan)), "no variance is known"),
        (lambda: nb.plot_plan(pd.DataFrame({"power": [0.5]})), "neither n_items nor n_systems"),
        (
            lambda: nb.plot_contexts(*colored(hue=[361.0] * 3)),
            r"hue \(0 to 360\).*got \[361",
        ),
        (lambda: nb.plot_contexts(*colored(), outputs=["o9"]), "outputs: 'o9' is unknown"),
        (lambda: nb.plot_contexts(*colored(), evaluators=["chrf"]), "evaluators: 'chrf'"),
        (lambda: nb.plot_stability(STABILITY, truth=TYPICAL.assign(system="x")), "no row for"),
    ],
)
def test_what_has_no_place_in_a_figure_is_named(draw, said):
    with pytest.raises(ValueError, match=said):
        draw()
