"""Rates of human judges (Figure 2), and one score of each system a panel (Figure 3)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    drawn_on,
    in_paper_style,
    one_row_each,
    spearman,
)
from nlgbench.plots.rows import (
    draw_estimates,
    draw_intervals,
    draw_reference,
    legend_above,
    mark,
    name_rows,
)
from nlgbench.plots.style import GROUPS, HUMAN, ONE_COLUMN, TWO_COLUMN
from nlgbench.study.checks import read_table

_RATES = "criterion measure estimate:float ci_low:float ci_high:float published:float?"
_SCORES = "panel system score:float ci_low:float ci_high:float human_quality:float"


@in_paper_style
def plot_accuracy(table: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw rates of judges, side by side for each criterion, with intervals.

    A broken line is the rate of guessing.

    Parameters
    ----------
    table : DataFrame
        One row per rate: ``criterion`` (such as H1, all votes, and H2, the majority), ``measure``
        (accuracy, true positive rate, ...), ``estimate``, ``ci_low``, ``ci_high``. Optional
        ``published``: the printed value, an open diamond at the left of the estimate.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Measures from left to right in the order of `table`. An undefined rate is said in
        words.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or a rate is given twice.

    Examples
    --------
    >>> rate = {"criterion": "H1", "measure": "accuracy", "estimate": 60, "ci_low": 55}
    >>> plot_accuracy(pd.DataFrame([rate | {"ci_high": 65}])).alt
    'Rates in percent, with intervals. H1: accuracy 60.0 (55.0 to 65.0).'
    """
    table = read_table(table, _RATES, "table has")
    one_row_each(table, ["criterion", "measure"], "keep one of them")
    (ax,) = axes_for(ax, ONE_COLUMN, 2.4)
    measures = list(dict.fromkeys(table["measure"]))
    criteria = list(dict.fromkeys(table["criterion"]))
    handles = []
    for n, criterion in enumerate(criteria):
        marker, color = GROUPS[n % len(GROUPS)]
        rows = table[table["criterion"] == criterion]
        shift = (n - (len(criteria) - 1) / 2) * 0.7 / len(criteria)
        at = rows["measure"].map(measures.index) + shift
        draw_estimates(ax, at, rows, upright=True, marker=marker, color=color, markersize=4.5)
        handles.append(mark(criterion, marker, color))
        if "published" in rows:
            ax.plot(at - 0.1, rows["published"], "D", mec="black", mfc="white", ms=4.5, zorder=4)
        for place in at[rows["estimate"].isna()]:
            words: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
            words |= {"rotation": 90, "transform": ax.get_xaxis_transform()}
            ax.text(place, 0.5, "undefined", **words)
    if "published" in table:
        handles.append(mark("printed", "D", "black", face="white"))
    ax.axhline(50, color="#555555", linewidth=0.6, linestyle="--", zorder=0)
    handles.append(mark("chance", "", "#555555", linestyle="--", linewidth=0.6))
    ax.set_xticks(range(len(measures)), [textwrap.fill(str(name), 14) for name in measures])
    ax.set_xlim(-0.6, len(measures) - 0.4)
    ax.set_ylabel("Percent")
    legend_above(ax, handles)
    said = "; ".join(
        f"{row.criterion}: {row.measure} {row.estimate:.1f} ({row.ci_low:.1f} to {row.ci_high:.1f})"
        for row in table.itertuples()
    )
    return drawn_on(ax, table, f"Rates in percent, with intervals. {said}.")


@in_paper_style
def plot_evaluator_bars(table: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw each system's scores, one panel per evaluator, systems from best to worst for humans.

    Parameters
    ----------
    table : DataFrame
        One row per panel and system: ``panel`` (its title: the evaluator, and what it is the
        counterpart of), ``system`` (as it is to be written), ``score``, ``ci_low``, ``ci_high``,
        ``human_quality`` (orders the systems).
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each panel; a figure of its own by default.

    Returns
    -------
    Drawing
        Panels in the order of `table`, each with a scale of its own that holds zero; undefined
        scores are dashes.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, a score is given twice, or a system has two human
        qualities.

    Examples
    --------
    >>> rows = [("BLEU", name, n, n, n, n) for n, name in enumerate("abc")]
    >>> names = ["panel", "system", "score", "ci_low", "ci_high", "human_quality"]
    >>> plot_evaluator_bars(pd.DataFrame(rows, columns=names)).alt[-46:]
    "Spearman's correlation with people: BLEU 1.00."
    """
    table = read_table(table, _SCORES, "table has")
    one_row_each(table, ["panel", "system"], "keep one of them")
    quality = table.groupby("system", sort=False)["human_quality"].agg(["first", "nunique"])
    if (quality["nunique"] > 1).any():
        raise ValueError(
            f"system {quality['nunique'].idxmax()!r} has two values in the column 'human_quality', "
            "which orders the systems: it needs one."
        )
    panels = list(dict.fromkeys(table["panel"]))
    columns = 3 if len(panels) != 4 else 2
    height = 2.6 * -(-len(panels) // columns)
    axes = axes_for(ax, TWO_COLUMN, height, n=len(panels), columns=columns, sharey=True)
    systems = quality["first"].sort_values(ascending=False, kind="stable").index
    for panel, title in zip(axes, panels, strict=True):
        scores = table[table["panel"] == title].set_index("system").reindex(systems)
        lanes = np.arange(len(systems))
        look: dict[str, Any] = {"color": "#9CC3DE", "edgecolor": HUMAN}
        panel.barh(lanes, scores["score"].fillna(0), linewidth=0.5, height=0.7, **look)
        ends = scores["ci_low"], scores["ci_high"]
        draw_intervals(panel, lanes, *ends, upright=False, color="black")
        for lane in lanes[scores["score"].isna()]:
            panel.annotate("–", (0, lane), (3, 0), textcoords="offset points", va="center")
        draw_reference(panel, 0)
        name_rows(panel, list(systems))
        panel.locator_params(axis="x", nbins=4)
        panel.set_title(textwrap.fill(str(title), 30), loc="left", fontsize=7)
    agree = {
        str(title): spearman(own["score"], own["human_quality"])
        for title, own in table.groupby("panel", sort=False)
    }
    alt = (
        "Scores of each system, systems from best to worst for people, with intervals. Spearman's "
        "correlation with people: "
        + "; ".join(f"{title} {value:.2f}" for title, value in agree.items())
        + "."
    )
    return drawn_on(axes, table, alt)
