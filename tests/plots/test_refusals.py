"""What a figure cannot draw is refused, with the column, row or name that is wrong."""

import numpy as np
import pandas as pd
import plot_samples as small
import pytest
from test_recomputed_figure import ROWS, ledger

import nlgbench as nb
from nlgbench.plots.figures import canvas


def pooled(studies, **options):
    return nb.pool_correlations(small.effects(studies=studies), **options)


def training(table):
    return nb.plot_training(table, small.CHOSEN, truth="quality")


@pytest.mark.parametrize(
    ("plot", "table", "column"),
    [
        (nb.plot_atlas, small.correlations(1), "statistic"),
        (nb.plot_forest, small.forest(2), "ci_low"),
        (nb.plot_tradeoff, small.tidy(small.SCORES), "source"),
        (nb.plot_systems, small.SYSTEMS, "ci_low"),
        (nb.plot_severity, small.PEOPLE, "estimate"),
        (nb.plot_ratings, small.RATINGS, "ci_low"),
        (nb.plot_win_rates, small.RATES, "estimate"),
        (nb.plot_convergence, small.HISTORY, "deviation"),
        (training, small.CURVES, "estimate"),
        (nb.plot_choices, small.CHOICES, "n"),
        (nb.plot_corrected, small.CORRECTED, "method"),
        (nb.plot_stability, small.STABILITY, "mean"),
        (nb.plot_multiverse, small.MULTIVERSE, "n_neighbors"),
        (nb.plot_typicality, small.TYPICAL, "ci_low"),
    ],
)
def test_a_missing_column_and_an_empty_table_are_named(plot, table, column):
    need = f"no column '{column}': (it needs|they need) .*; found "
    with pytest.raises(ValueError, match=need):
        plot(table.drop(columns=column))
    with pytest.raises(ValueError, match=r"no rows\."):
        plot(table.iloc[:0])


@pytest.mark.parametrize(
    ("plot", "table", "said"),
    [
        (nb.plot_atlas, small.correlations(1), "evaluator 'Evaluator 0 .*, criterion 'H1'"),
        (nb.plot_forest, small.correlations(1), "evaluator 'Evaluator 0 .*: choose one statistic"),
        (nb.plot_systems, small.SYSTEMS, "system 'b_1': select one dimension"),
        (nb.plot_severity, small.PEOPLE, "annotator_id 'w1': select one dimension"),
        (nb.plot_ratings, small.RATINGS, ".*system 'a'"),
        (nb.plot_win_rates, small.RATES, "system 'a', opponent 'b'"),
        (training, small.CURVES, "evaluator 'quality', progress 1.0"),
        (nb.plot_choices, small.CHOICES, ".*evaluator 'last_checkpoint'"),
        (nb.plot_corrected, small.CORRECTED, "system 'b_1', method 'labels alone'"),
    ],
)
def test_two_rows_for_one_place_are_refused(plot, table, said):
    with pytest.raises(ValueError, match=f"two rows for {said}"):
        plot(pd.concat([table, table]))


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: nb.plot_boundary([]), "non-empty list"),
        (lambda: nb.plot_boundary(small.small_boundary(), ax=canvas(3, 3, rows=2)[1]), "one Axes"),
        (lambda: nb.plot_training(small.CURVES, small.CHOSEN, ax=canvas(3, 2)[1]), "2 Axes"),
        (lambda: nb.plot_training(small.CURVES, small.CHOSEN, truth="x"), "truth: 'x' is unknown"),
        (lambda: nb.plot_tradeoff(small.tidy(small.SCORES.assign(huse_q=np.nan))), "of 's0' is"),
        (lambda: nb.plot_severity(small.PEOPLE.assign(estimate=np.nan)), "fewer than two"),
        (lambda: nb.plot_win_rates(small.RATES, order=["a", "b", "c", "z"]), "'z' is not in both"),
        (lambda: nb.plot_corrected(small.CORRECTED.replace("corrected", "x")), "method: 'x'"),
        (lambda: nb.plot_plan(pd.DataFrame({"power": [0.5]})), "no column 'n_items'"),
        (lambda: nb.plot_contexts(*small.colored(hue=[361.0] * 3)), "0 to 360.*got .361"),
        (lambda: nb.plot_contexts(*small.colored(), outputs=["o9"]), "outputs: 'o9' is unknown"),
        (lambda: nb.plot_contexts(*small.colored(), evaluators=["chrf"]), "evaluators: 'chrf'"),
        (lambda: nb.plot_stability(small.STABILITY, truth=small.RATES), "no row for"),
        (lambda: nb.plot_recomputed(ledger(ROWS[-1:])), "no published number that this run"),
        (lambda: nb.plot_granularity(pooled("a")), "effects in several studies"),
        (lambda: nb.plot_pooled(pooled("a")), "no evaluator has effects in several"),
        (lambda: nb.plot_pooled(pooled("abcdefgh", by="task")), "two rows for evaluator"),
    ],
)
def test_what_has_no_place_in_a_figure_is_named(draw, said):
    with pytest.raises(ValueError, match=said):
        draw()
