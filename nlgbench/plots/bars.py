"""Rates of human judges (Figure 2), and one score of each system a panel (Figure 3)."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nlgbench.plots.columns import require_columns
from nlgbench.plots.intervals import draw_intervals
from nlgbench.plots.style import GROUPS, HUMAN

_RATES = ("criterion", "measure", "estimate", "ci_low", "ci_high")
_SCORES = ("panel", "system", "score", "ci_low", "ci_high", "human_quality")

_PRINTED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 4.5,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "zorder": 4,
}


def plot_accuracy(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    chance: float | None = None,
    ylabel: str = "Percent",
    legend: bool = True,
    **plot_kws: Any,
) -> Axes:
    """Draw rates of judges, side by side for each criterion, with intervals.

    Parameters
    ----------
    table : DataFrame
        One row per rate: ``criterion`` (such as H1, all votes, and H2, the majority), ``measure``
        (accuracy, true positive rate, ...), ``estimate``, ``ci_low``, ``ci_high``. Optional
        ``published``: the printed value, an open diamond at the left of the estimate.
    ax : Axes, optional
        Where to draw; the current axes by default.
    chance : float, optional
        The rate of guessing, drawn as a broken line.
    ylabel : str, default "Percent"
        Unit of the rates.
    legend : bool, default True
        Above the plot.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for the estimates.

    Returns
    -------
    Axes
        Measures from left to right in the order of `table`. An undefined rate is said in
        words.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or a rate is given twice.
    """
    require_columns(table, _RATES, "table has")
    _check(table, ["criterion", "measure"])
    ax = plt.gca() if ax is None else ax
    measures = list(dict.fromkeys(table["measure"]))
    criteria = list(dict.fromkeys(table["criterion"]))
    handles = []
    for n, criterion in enumerate(criteria):
        marker, color = GROUPS[n % len(GROUPS)]
        rows = table[table["criterion"] == criterion]
        shift = (n - (len(criteria) - 1) / 2) * 0.7 / len(criteria)
        at = np.array([measures.index(name) for name in rows["measure"]]) + shift
        draw_intervals(ax, at, rows["ci_low"], rows["ci_high"], upright=True, color=color)
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        look |= {"markersize": 4.5, "zorder": 3, **plot_kws}
        ax.plot(at, rows["estimate"], **look)
        handles.append(Line2D([], [], label=criterion, **look))
        if "published" in rows:
            ax.plot(at - 0.1, rows["published"], **_PRINTED)
        for place in at[~np.isfinite(rows["estimate"])]:
            words: dict[str, Any] = {
                "rotation": 90,
                "ha": "center",
                "va": "center",
                "fontsize": 6.5,
            }
            ax.text(place, 0.5, "undefined", transform=ax.get_xaxis_transform(), **words)
    if "published" in table:
        handles.append(Line2D([], [], label="printed", **_PRINTED))
    if chance is not None:
        ax.axhline(chance, color="#555555", linewidth=0.6, linestyle="--", zorder=0)
        handles.append(Line2D([], [], color="#555555", lw=0.6, ls="--", label="chance"))
    ax.set_xticks(range(len(measures)), [textwrap.fill(str(name), 14) for name in measures])
    ax.set_xlim(-0.6, len(measures) - 0.4)
    ax.set_ylabel(ylabel)
    if legend:
        above: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
        ax.legend(handles=handles, loc="lower left", ncols=2, **above)
    return ax


def plot_evaluator_bars(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    ncols: int = 3,
    **bar_kws: Any,
) -> Axes:
    """Draw each system's scores, one panel per evaluator, systems from best to worst for humans.

    Parameters
    ----------
    table : DataFrame
        One row per panel and system: ``panel`` (its title: the evaluator, and what it is the
        counterpart of), ``system`` (as it is to be written), ``score``, ``ci_low``, ``ci_high``,
        ``human_quality`` (orders the systems).
    ax : Axes, optional
        Where to draw; the current axes by default.
    ncols : int, default 3
        Panels side by side.
    **bar_kws
        Handed to `matplotlib.axes.Axes.barh`.

    Returns
    -------
    Axes
        Empty but for its ``child_axes``, the panels, in the order of `table`. Each has a scale of
        its own that holds zero; a panel's undefined scores are dashes.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, a score is given twice, or a system has two human
        qualities.
    """
    require_columns(table, _SCORES, "table has")
    _check(table, ["panel", "system"])
    quality = table.groupby("system", sort=False)["human_quality"].agg(["first", "nunique"])
    if (quality["nunique"] > 1).any():
        raise ValueError(
            f"system {quality['nunique'].idxmax()!r} has two values in the column 'human_quality', "
            "which orders the systems: it needs one."
        )
    ax = plt.gca() if ax is None else ax
    ax.set_axis_off()
    systems = quality["first"].sort_values(ascending=False, kind="stable").index
    panels = list(dict.fromkeys(table["panel"]))
    ncols = min(ncols, len(panels))
    nrows = -(-len(panels) // ncols)
    # In shares of a panel: gaps wide enough for ticks below, and for two lines of title above.
    wide, high = 1 / (ncols + 0.12 * (ncols - 1)), 1 / (nrows + 0.32 * (nrows - 1))
    for n, title in enumerate(panels):
        row, column = divmod(n, ncols)
        corner = column * wide * 1.12, 1 - high - row * high * 1.32
        panel = ax.inset_axes((*corner, wide, high))  # a child, which layouts make room for
        scores = table[table["panel"] == title].set_index("system").reindex(systems)
        lanes = np.arange(len(systems))
        look = {"color": "#9CC3DE", "edgecolor": HUMAN, "linewidth": 0.5, "height": 0.7}
        panel.barh(lanes, scores["score"].fillna(0), **{**look, **bar_kws})
        ends = scores["ci_low"], scores["ci_high"]
        draw_intervals(panel, lanes, *ends, upright=False, color="black")
        for lane in lanes[~np.isfinite(scores["score"])]:
            panel.annotate("–", (0, lane), (3, 0), textcoords="offset points", va="center")
        panel.axvline(0, color="black", linewidth=0.6)
        panel.set_yticks(lanes, [str(name) for name in systems] if column == 0 else [])
        panel.tick_params(axis="y", length=0)
        panel.locator_params(axis="x", nbins=4)
        panel.set_ylim(len(systems) - 0.4, -0.6)
        panel.set_title(textwrap.fill(str(title), 30), loc="left", fontsize=7)
    return ax


def _check(table: pd.DataFrame, key: list[str]) -> None:
    if table.empty:
        raise ValueError("table has no row: there is nothing to draw.")
    twice = table[table.duplicated(key)]
    if len(twice):
        found = ", ".join(f"{name} {twice.iloc[0][name]!r}" for name in key)
        raise ValueError(f"table has two rows for {found}: one mark shows one. Keep one of them.")
