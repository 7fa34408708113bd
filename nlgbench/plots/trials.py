"""Evaluators beside people, over outputs and over systems, as Learning to Compare sets them."""

from __future__ import annotations

import pandas as pd

from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style
from nlgbench.plots.forest import plot_forest
from nlgbench.plots.style import TWO_COLUMN
from nlgbench.study.checks import read_table


@in_paper_style
def plot_single_outputs(table: pd.DataFrame) -> Drawing:
    """Draw how evaluators' scores of single outputs agree with people, a panel per data set.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.analysis.trials.correlate_outputs`: ``data``, ``evaluator``, ``statistic``,
        ``estimate``, ``ci_low``, ``ci_high``; Spearman's correlations are drawn.

    Returns
    -------
    Drawing
        Its data are the rows that are drawn.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    needed = "data evaluator statistic estimate:float ci_low:float ci_high:float"
    table = read_table(table, needed, "table has")
    rows = table[table["statistic"] == "spearman"]
    if rows.empty:
        raise ValueError("table has no row where statistic is 'spearman': that is what is drawn.")
    names = list(dict.fromkeys(rows["data"]))
    height = 0.6 + 1.45 * -(-len(names) // 2)
    axes = axes_for(None, TWO_COLUMN, height, n=len(names), columns=2)
    for ax, name in zip(axes, names, strict=True):
        panel = rows.loc[rows["data"] == name, ["evaluator", "estimate", "ci_low", "ci_high"]]
        plot_forest(panel, ax=ax, xlabel="Spearman, over outputs")
        ax.set_title(name.replace("_", " "), loc="left")
    said = "; ".join(f"{row.data}, {row.evaluator} {row.estimate:.2f}" for row in rows.itertuples())
    alt = (
        "Spearman correlation of each evaluator's scores of single outputs with their judgments, "
        f"one panel per data set, with 95% intervals: {said}."
    )
    return drawn_on(axes, rows, alt)


@in_paper_style
def plot_supervision(table: pd.DataFrame) -> Drawing:
    """Draw how evaluators' scores of systems agree with people, marked by what they learned from.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.analysis.trials.correlate_systems`, of one data set: ``evaluator``,
        ``statistic``, ``estimate``, ``ci_low``, ``ci_high``, ``supervision``; Spearman's
        correlations are drawn, of the comparator those that are rated.

    Returns
    -------
    Drawing
        Its data are the rows that are drawn, with ``kind``.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    needed = "evaluator statistic estimate:float ci_low:float ci_high:float supervision"
    table = read_table(table, needed, "table has")
    averaged = table["evaluator"].str.startswith("averaged ")
    rows = table[(table["statistic"] == "spearman") & ~averaged]
    rows = rows.replace({"evaluator": {"with skill rating": "full model, rated"}})
    texts = rows["supervision"].isin(["references", "human texts"])
    kind = rows["supervision"].mask(texts, "references, texts")
    rows = rows.assign(kind=kind.mask(rows["supervision"].str.contains(", "), "several kinds"))
    (ax,) = axes_for(None, TWO_COLUMN, 3.2)
    xlabel = "Spearman's correlation with human quality, over systems"
    plot_forest(rows, ax=ax, xlabel=xlabel)
    said = "; ".join(f"{row.evaluator} {row.estimate:.2f}" for row in rows.itertuples())
    alt = (
        "Correlation over systems of each evaluator and variant of the comparator with human "
        f"quality, with 95% intervals over systems and splits, marked by supervision: {said}."
    )
    return drawn_on(ax, rows, alt)
