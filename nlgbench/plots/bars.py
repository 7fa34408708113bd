"""Scores of systems, an evaluator a panel (Figure 3)."""

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
    draw_intervals,
    draw_reference,
    name_rows,
)
from nlgbench.plots.style import HUMAN, TWO_COLUMN
from nlgbench.study.checks import read_table

_SCORES = "panel system score:float ci_low:float ci_high:float human_quality:float"


@in_paper_style
def plot_evaluator_bars(table: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw each system's scores, one panel per evaluator, systems from best to worst for humans.

    Parameters
    ----------
    table : DataFrame
        ``panel`` (its title, such as the evaluator), ``system``, ``score``, ``ci_low``,
        ``ci_high``, ``human_quality`` (orders the systems).
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each panel; a figure of its own by default.

    Returns
    -------
    Drawing
        Panels in the order of `table`, each with a scale of its own; undefined scores are dashes.

    Raises
    ------
    ValueError
        If a column is missing, a score is given twice, or a system has two human qualities.

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
