"""Rates of human judges (Figure 2), and one score of each system a panel (Figure 3)."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_legend,
    in_paper_style,
    spearman,
)
from nlgbench.plots.style import GROUPS, HUMAN, ONE_COLUMN, TWO_COLUMN
from nlgbench.study.checks import read_table

_RATES = "criterion measure estimate:float ci_low:float ci_high:float published:float?"
_SCORES = "panel system score:float ci_low:float ci_high:float human_quality:float"

_PRINTED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 4.5,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "zorder": 4,
}


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
    _check(table, ["criterion", "measure"])
    (ax,) = axes_for(ax, ONE_COLUMN, 2.4)
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
        look |= {"markersize": 4.5, "zorder": 3}
        ax.plot(at, rows["estimate"], **look)
        handles.append(Line2D([], [], label=in_legend(criterion), **look))
        if "published" in rows:
            ax.plot(at - 0.1, rows["published"], **_PRINTED)
        for place in at[~np.isfinite(rows["estimate"])]:
            words: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
            words |= {"rotation": 90, "transform": ax.get_xaxis_transform()}
            ax.text(place, 0.5, "undefined", **words)
    if "published" in table:
        handles.append(Line2D([], [], label="printed", **_PRINTED))
    ax.axhline(50, color="#555555", linewidth=0.6, linestyle="--", zorder=0)
    handles.append(Line2D([], [], color="#555555", lw=0.6, ls="--", label="chance"))
    ax.set_xticks(range(len(measures)), [textwrap.fill(str(name), 14) for name in measures])
    ax.set_xlim(-0.6, len(measures) - 0.4)
    ax.set_ylabel("Percent")
    above: dict[str, Any] = {"bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    ax.legend(handles=handles, loc="lower left", ncols=2, **above)
    said = "; ".join(
        f"{row.criterion}: {row.measure} {row.estimate:.1f} ({row.ci_low:.1f} to {row.ci_high:.1f})"
        for row in table.itertuples()
    )
    return drawn_on(ax, table, f"Rates in percent, with intervals. {said}.")


@in_paper_style
def plot_evaluator_bars(table: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw each system's scores, one panel per evaluator, systems from best to worst for humans.

    Parameters
    ----------
    table : DataFrame
        One row per panel and system: ``panel`` (its title: the evaluator, and what it is the
        counterpart of), ``system`` (as it is to be written), ``score``, ``ci_low``, ``ci_high``,
        ``human_quality`` (orders the systems).
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Its Axes are empty but for ``child_axes``, the panels, in the order of `table`: three side
        by side, or two by two. Each has a scale of its own that holds zero; a panel's undefined
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
    _check(table, ["panel", "system"])
    quality = table.groupby("system", sort=False)["human_quality"].agg(["first", "nunique"])
    if (quality["nunique"] > 1).any():
        raise ValueError(
            f"system {quality['nunique'].idxmax()!r} has two values in the column 'human_quality', "
            "which orders the systems: it needs one."
        )
    panels = list(dict.fromkeys(table["panel"]))
    ncols = min(3 if len(panels) != 4 else 2, len(panels))
    nrows = -(-len(panels) // ncols)
    (ax,) = axes_for(ax, TWO_COLUMN, 2.6 * nrows)
    ax.set_axis_off()
    systems = quality["first"].sort_values(ascending=False, kind="stable").index
    # In shares of a panel: gaps wide enough for ticks below, and for two lines of title above.
    wide, high = 1 / (ncols + 0.12 * (ncols - 1)), 1 / (nrows + 0.32 * (nrows - 1))
    for n, title in enumerate(panels):
        row, column = divmod(n, ncols)
        corner = column * wide * 1.12, 1 - high - row * high * 1.32
        panel = ax.inset_axes((*corner, wide, high))  # a child, which layouts make room for
        scores = table[table["panel"] == title].set_index("system").reindex(systems)
        lanes = np.arange(len(systems))
        look: dict[str, Any] = {"color": "#9CC3DE", "edgecolor": HUMAN}
        look |= {"linewidth": 0.5, "height": 0.7}
        panel.barh(lanes, scores["score"].fillna(0), **look)
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
    return drawn_on(ax, table, alt)


def _check(table: pd.DataFrame, key: list[str]) -> None:
    twice = table[table.duplicated(key)]
    if len(twice):
        found = ", ".join(f"{name} {twice.iloc[0][name]!r}" for name in key)
        raise ValueError(f"table has two rows for {found}: one mark shows one. Keep one of them.")
