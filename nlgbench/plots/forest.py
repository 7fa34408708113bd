"""Correlations with intervals, one evaluator a line: by themselves, and across labelings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.evaluators.names import label
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style, one_row_each
from nlgbench.plots.rows import draw_estimates, draw_reference, mark, name_rows
from nlgbench.plots.style import HUMAN, LOOKS, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

_COLUMNS = "evaluator estimate:float ci_low:float ci_high:float published:float? kind?"

#: Column of `plot_flip`'s table -> its words, marker, color, and distance from the row.
_FLIP = {
    "natural": ("labels by source", "o", "#000000", 0.0),
    "majority": ("labels by majority vote", "s", HUMAN, -0.2),
    "independence": ("majority, if independent", "D", SYSTEM, 0.2),
}
_TWICE = "choose one statistic and one criterion"


@in_paper_style
def plot_forest(
    correlations: pd.DataFrame,
    *,
    ax: Axes | None = None,
    xlabel: str = "Correlation with humans",
    xlim: tuple[float, float] = (-1.1, 1.1),
    line: float = 0.0,
) -> Drawing:
    """Draw the correlation of each evaluator with its interval.

    Parameters
    ----------
    correlations : DataFrame
        One row per evaluator, of one statistic: ``evaluator``, ``estimate``, ``ci_low``,
        ``ci_high``. Optional ``published``, a printed value drawn as an open diamond, and ``kind``,
        drawn with a marker and a color of its own.
    ax : Axes, optional
        Where to draw; a figure of its own by default, as high as the rows need.
    xlabel : str
        Names the statistic.
    xlim : tuple of float, default (-1.1, 1.1)
        Ends of the axis.
    line : float, default 0
        Where a thin line stands: the value without any agreement, .5 for shares of votes.

    Returns
    -------
    Drawing
        The greatest estimate on top. An undefined one is said in words at its line, at the end.
        Its data are `correlations`, with evaluators as the figure writes them.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["chrf"], "estimate": 0.5, "ci_low": 0, "ci_high": 0.8})
    >>> plot_forest(table).alt
    'Correlation with humans of each evaluator, with intervals: chrF 0.50.'
    """
    correlations = read_table(correlations, _COLUMNS, "correlations have")
    one_row_each(correlations, ["evaluator"], _TWICE)
    data = correlations.assign(evaluator=correlations["evaluator"].map(label))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.9 + 0.2 * len(data))
    rows = data.sort_values("estimate", ascending=False, kind="stable").reset_index(drop=True)
    kinds = rows["kind"].astype(str) if "kind" in rows else pd.Series("", rows.index)
    names = list(dict.fromkeys(data["kind"].astype(str))) if "kind" in rows else [""]
    looks = dict(zip(names, LOOKS if len(names) > 1 else [("o", HUMAN)], strict=False))
    handles = []
    draw_reference(ax, line)
    for kind, (marker, color) in looks.items():
        part = rows[kinds == kind]
        draw_estimates(ax, part.index, part, marker=marker, color=color)
        if len(looks) > 1:
            handles.append(mark(kind, marker, color))
    if "published" in rows:
        printed = mark("printed", "D", "black", face="none", markersize=6.5)
        handles.append(printed)
        ax.plot(rows["published"], rows.index, "D", mec="black", mfc="none", ms=6.5, zorder=4)
    _finish(ax, rows["evaluator"].tolist(), xlabel, xlim, handles)
    for row in rows[rows["estimate"].isna()].index:
        # At the end of the row that is farther from what was printed.
        left = not rows.loc[row].get("published", np.nan) < sum(xlim) / 2
        at, side = (xlim[0] + 0.05, "left") if left else (xlim[1] - 0.05, "right")
        ax.text(at, row, "undefined", fontsize=6.5, ha=side, va="center")
    said = "; ".join(
        f"{one} {value:.2f}" if np.isfinite(value) else f"{one} undefined"
        for one, value in zip(rows["evaluator"], rows["estimate"], strict=True)
    )
    alt = f"{xlabel} of each evaluator, with intervals: {said}."
    return drawn_on(ax, data, alt)


@in_paper_style
def plot_flip(
    table: pd.DataFrame, *, ax: Axes | None = None, xlabel: str = "Correlation with humans"
) -> Drawing:
    """Draw how correlations move with the labels, beside what independence alone would give.

    Parameters
    ----------
    table : DataFrame
        One row per evaluator: ``evaluator``, ``natural`` (correlation where a text's label is its
        source), ``majority`` (where it is the majority of its judgments), ``independence`` (what
        majority labels would give if evaluator and majority erred independently within each
        system). Optional intervals: each name with ``_low`` and ``_high``.
    ax : Axes, optional
        Where to draw; a figure of its own by default, as high as the rows need.
    xlabel : str
        Names the statistic.

    Returns
    -------
    Drawing
        Evaluators in the order of `table`, from the top, each with a mark for every kind of
        labels, and its interval where there is one. Undefined values are named below the evaluator.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.

    Notes
    -----
    With accuracy p on labels by source and a share m of texts whose majority is
    right, an independent evaluator is right about the majority with probability
    ``pm + (1 - p)(1 - m)``. Where humans are mostly wrong (``m < 1/2``) its order of
    systems is turned around without anything being learned.

    Examples
    --------
    >>> one = {"evaluator": "svm", "natural": -0.6, "majority": 0.5, "independence": 0.45}
    >>> plot_flip(pd.DataFrame([one])).data["evaluator"].tolist()
    ['SVM']
    """
    intervals = " ".join(f"{name}_low:float? {name}_high:float?" for name in _FLIP)
    points = " ".join(f"{name}:float" for name in _FLIP)
    table = read_table(table, f"evaluator {points} {intervals}", "table has")
    one_row_each(table, ["evaluator"], _TWICE)
    data = table.assign(evaluator=table["evaluator"].map(label))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.85 + 0.25 * len(data))
    draw_reference(ax, 0)
    handles, lanes = [], np.arange(len(data))
    for name, (words, marker, color, away) in _FLIP.items():
        columns = {"estimate": name, "ci_low": f"{name}_low", "ci_high": f"{name}_high"}
        rows = data.reindex(columns=list(columns.values())).set_axis(list(columns), axis=1)
        draw_estimates(ax, lanes + away, rows, marker=marker, color=color, markersize=4.2)
        handles.append(mark(words, marker, color, markersize=4.2))
    if any(f"{name}_low" in data for name in _FLIP):
        handles.append(mark("interval", "", "#555555", linestyle="-", linewidth=0.8))
    lost = [
        ", ".join(name for name in _FLIP if not np.isfinite(row[name]))
        for row in data.to_dict("records")
    ]
    lines = [
        f"{evaluator}\n(undefined: {names})" if names else str(evaluator)
        for evaluator, names in zip(data["evaluator"], lost, strict=True)
    ]
    _finish(ax, lines, xlabel, (-1.1, 1.1), handles)
    off = (data["majority"] - data["independence"]).abs().max()
    alt = (
        f"{xlabel} of each evaluator on labels by source, on labels by majority vote, and what "
        "majority labels would give if evaluator and majority erred independently, which is off "
        f"by at most {off:.2f}."
    )
    return drawn_on(ax, data, alt)


def _finish(
    ax: Axes, lines: list[str], xlabel: str, xlim: tuple[float, float], handles: list[Any]
) -> None:
    name_rows(ax, lines)
    ax.set_xlim(*xlim)
    # Leftwards it may reach below the evaluators' names, and the legend over them.
    ax.set_xlabel(xlabel, loc="right", parse_math=True)
    if handles:
        above: dict[str, Any] = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
        ax.legend(handles=handles, loc="lower right", ncols=2, **above)
