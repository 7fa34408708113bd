"""Systems by two of their scores, each with its name."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, two_decimals
from nlgbench.plots.labels import place_labels
from nlgbench.plots.rows import draw_intervals, interval_name
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN
from nlgbench.study.checks import convert_columns


@in_paper_style
def plot_scatter_systems(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    ax: Axes | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
) -> Drawing:
    """Draw systems by two scores, with their names and intervals.

    Parameters
    ----------
    table : DataFrame
        One row per system: ``system`` (its label in the figure) and the columns `x` and `y`.
        Optional interval ends: ``bleu_low`` and ``bleu_high`` if `x` is ``bleu``; NaN draws none;
        and ``confidence``.
    x, y : str
        Columns with the two scores.
    ax : Axes, optional
        Where to draw; a new figure by default. Names are placed for the current size of `ax`.
    xlabel, ylabel : str, optional
        Labels of the axes; the names of the columns by default.

    Returns
    -------
    Drawing
        Systems that lack a score are omitted; the notes count them.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b", "c"], "x": [0, 1, 2], "y": [2, 1, 0]})
    >>> plot_scatter_systems(table, "x", "y").alt
    "y against x for 3 systems. Spearman's correlation is -1.00."
    """
    intervals = [f"{name}_{end}" for name in (x, y) for end in ("low", "high")]
    kinds = {"system": "name", **dict.fromkeys([x, y, *intervals], "float")}
    table = convert_columns(table, kinds, ["system", x, y], "table has")
    (ax,) = axes_for(ax, TWO_COLUMN, 3.4)
    complete = table[np.isfinite(table[[x, y]]).all(axis=1)]
    ax.scatter(complete[x], complete[y], s=16, color=ESTIMATE, linewidth=0, zorder=3)
    ends = pd.DataFrame(complete, columns=intervals)
    line = {"color": ESTIMATE, "linewidth": 0.6}
    draw_intervals(ax, complete[y], ends, prefix=x, upright=False, **line)
    draw_intervals(ax, complete[x], ends, prefix=y, upright=True, **line)
    ax.margins(0.12)
    # The name of a column is data; a label written for the figure may contain a formula.
    ax.set_xlabel(x if xlabel is None else xlabel, parse_math=xlabel is not None)
    ax.set_ylabel(y if ylabel is None else ylabel, parse_math=ylabel is not None)
    missing = len(table) - len(complete)
    styles = [{"fontsize": 6.5}] * len(complete)
    place_labels(ax, complete[[x, y]].to_numpy(dtype=float), complete["system"].tolist(), styles)
    alt = f"{ax.get_ylabel()} against {ax.get_xlabel()} for {len(complete)} systems"
    alt += f", with {interval_name(table)}s" if ends.notna().any(axis=None) else ""
    if len(complete) > 2:
        spearman = complete[x].corr(complete[y], method="spearman")
        alt += f". Spearman's correlation is {two_decimals(spearman)}"
    notes = f"{missing} of {len(table)} systems omitted: undefined." if missing else ""
    return as_drawing(ax, table, f"{alt}.", notes)
