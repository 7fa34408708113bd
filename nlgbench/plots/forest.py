"""Correlations with intervals, one evaluator a line: by themselves, and across labelings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nlgbench.plots.columns import require_columns
from nlgbench.plots.intervals import draw_intervals
from nlgbench.plots.style import GROUPS, HUMAN, SYSTEM

_COLUMNS = ("evaluator", "estimate", "ci_low", "ci_high")

#: Column of `plot_flip`'s table -> its words, marker, color, face, line, and lane.
_FLIP: dict[str, tuple[str, str, str, str, Any, float]] = {
    "natural": ("labels by source", "o", "#000000", "#000000", "", 0.0),
    "majority": ("labels by majority vote", "s", HUMAN, HUMAN, "-", -0.2),
    "independence": ("majority, if independent", "D", SYSTEM, "white", (0, (2, 1)), 0.2),
}


def plot_forest(
    correlations: pd.DataFrame,
    *,
    ax: Axes | None = None,
    ceiling: tuple[float, float] | None = None,
    xlabel: str = "Correlation with humans",
    legend: bool = True,
    **plot_kws: Any,
) -> Axes:
    """Draw the correlation of each evaluator with its interval.

    Parameters
    ----------
    correlations : DataFrame
        One row per evaluator, of one statistic: ``evaluator``, ``estimate``, ``ci_low``,
        ``ci_high``. Optional ``published``, a printed value drawn as an open diamond, and ``kind``,
        drawn with a marker and a color of its own.
    ax : Axes, optional
        Where to draw; the current axes by default.
    ceiling : tuple of float, optional
        Interval of the correlation that humans reach with humans, drawn as a band.
    xlabel : str
        Names the statistic.
    legend : bool, default True
        Above the plot, where there is something to tell apart.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for the estimates.

    Returns
    -------
    Axes
        The greatest estimate on top. An undefined one is said in words at its line, at the end.

    Raises
    ------
    ValueError
        If a column is missing, or there is no row or more kinds than can be told apart.
    """
    require_columns(correlations, _COLUMNS, "correlations have")
    _check(correlations, "correlations have")
    ax = plt.gca() if ax is None else ax
    rows = correlations.sort_values("estimate", ascending=False, kind="stable")
    lanes = np.arange(len(rows))
    kinds = correlations["kind"].astype(str) if "kind" in rows else pd.Series("", rows.index)
    names = list(dict.fromkeys(kinds))
    if len(names) > len(GROUPS):
        raise ValueError(
            f"correlations have {len(names)} kinds, and only {len(GROUPS)} can be told apart: "
            f"{', '.join(names)}. Draw them in several figures."
        )
    looks = dict(zip(names, GROUPS if len(names) > 1 else [("o", HUMAN)], strict=False))
    handles: list[Line2D | Patch] = []
    if ceiling is not None:
        ax.axvspan(*ceiling, facecolor="#DDDDDD", edgecolor="none", zorder=0)
        handles.append(Patch(facecolor="#DDDDDD", label="humans with humans"))
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    for kind, (marker, color) in looks.items():
        chosen = (kinds[rows.index] == kind).to_numpy()
        part = rows[chosen]
        draw_intervals(
            ax, lanes[chosen], part["ci_low"], part["ci_high"], upright=False, color=color
        )
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        look |= {"markersize": 4, "zorder": 3, **plot_kws}
        ax.plot(part["estimate"], lanes[chosen], **look)
        if len(looks) > 1:
            handles.append(Line2D([], [], label=kind, **look))
    if "published" in rows:
        open_look: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 6.5}
        open_look |= {"markerfacecolor": "none", "markeredgecolor": "black", "zorder": 4}
        ax.plot(rows["published"], lanes, **open_look)
        handles.append(Line2D([], [], label="printed", **open_look))
    _finish(ax, [str(evaluator) for evaluator in rows["evaluator"]], xlabel)
    for lane in lanes[~np.isfinite(rows["estimate"])]:
        # At the end of the line that is farther from what was printed.
        left = not rows.iloc[lane].get("published", np.nan) < 0
        side = "left" if left else "right"
        ax.text(-1.05 if left else 1.05, lane, "undefined", fontsize=6.5, ha=side, va="center")
    if legend and handles:
        _draw_legend(ax, handles)
    return ax


def plot_flip(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    xlabel: str = "Correlation with humans",
    legend: bool = True,
    **plot_kws: Any,
) -> Axes:
    """Draw how correlations move with the labels, beside what independence alone would give.

    Parameters
    ----------
    table : DataFrame
        One row per evaluator: ``evaluator``, ``natural`` (correlation where a text's label is its
        source), ``majority`` (where it is the majority of its judgments), ``independence`` (what
        majority labels would give if evaluator and majority erred independently within each
        system). Optional intervals: each name with ``_low`` and ``_high``.
    ax : Axes, optional
        Where to draw; the current axes by default.
    xlabel : str
        Names the statistic.
    legend : bool, default True
        Above the plot.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for the points.

    Returns
    -------
    Axes
        Evaluators in the order of `table`, from the top. A line leads from the labels by source
        to each of the two others: solid to what was found, broken to independence. Undefined
        values are named below the evaluator.

    Raises
    ------
    ValueError
        If a column is missing or there is no row.

    Notes
    -----
    With accuracy :math:`p` on labels by source and a share :math:`m` of texts whose majority is
    right, an independent evaluator is right about the majority with probability
    :math:`pm + (1 - p)(1 - m)`. Where humans are mostly wrong (:math:`m < 1/2`) its order of
    systems is turned around without anything being learned.
    """
    require_columns(table, ("evaluator", *_FLIP), "table has")
    _check(table, "table has")
    ax = plt.gca() if ax is None else ax
    lanes = np.arange(len(table))
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    handles = []
    for name, (words, marker, color, face, line, offset) in _FLIP.items():
        if offset:
            for lane, start, end in zip(lanes, table["natural"], table[name], strict=True):
                ax.plot([start, end], [lane, lane + offset], color=color, ls=line, zorder=1)
        if {f"{name}_low", f"{name}_high"} <= set(table.columns):
            ends = table[f"{name}_low"], table[f"{name}_high"]
            draw_intervals(ax, lanes + offset, *ends, upright=False, color=color, linewidth=0.6)
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        look |= {"markerfacecolor": face, "markersize": 4.2, "zorder": 3, **plot_kws}
        ax.plot(table[name], lanes + offset, **look)
        handles.append(Line2D([], [], label=words, **{**look, "linestyle": line or "none"}))
    lost = [
        [name for name, value in row.items() if not np.isfinite(value)]
        for row in table[list(_FLIP)].to_dict("records")
    ]
    lines = [
        f"{evaluator}\n(undefined: {', '.join(map(str, names))})" if names else str(evaluator)
        for evaluator, names in zip(table["evaluator"], lost, strict=True)
    ]
    _finish(ax, lines, xlabel)
    if legend:
        _draw_legend(ax, handles)
    return ax


def _check(table: pd.DataFrame, subject: str) -> None:
    if table.empty:
        raise ValueError(f"{subject} no row: there is nothing to draw.")
    twice = table.loc[table["evaluator"].duplicated(), "evaluator"]
    if len(twice):
        raise ValueError(
            f"{subject} two rows for evaluator {twice.iloc[0]!r}: a line holds one. Choose one "
            "statistic and one criterion."
        )


def _finish(ax: Axes, lines: list[str], xlabel: str) -> None:
    ax.set_yticks(np.arange(len(lines)), lines)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_xlim(-1.1, 1.1)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel, loc="right")  # leftwards it may reach below the evaluators' names


def _draw_legend(ax: Axes, handles: list[Any]) -> None:
    # Anchored at the right, so that it may reach over the evaluators' names.
    above: dict[str, Any] = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
    ax.legend(handles=handles, loc="lower right", ncols=2, **above)
