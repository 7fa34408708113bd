"""Correlations with intervals, one evaluator a line: by themselves, and across labelings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nlgbench.evaluators.names import label
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_paper_style,
    name_lanes,
)
from nlgbench.plots.style import HUMAN, LOOKS, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

_COLUMNS = "evaluator estimate:float ci_low:float ci_high:float published:float? kind?"

#: Column of `plot_flip`'s table -> its words, marker, color, face, and lane.
_FLIP: dict[str, tuple[str, str, str, str, float]] = {
    "natural": ("labels by source", "o", "#000000", "#000000", 0.0),
    "majority": ("labels by majority vote", "s", HUMAN, HUMAN, -0.2),
    "independence": ("majority, if independent", "D", SYSTEM, SYSTEM, 0.2),
}


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
    _check(correlations, "correlations have")
    data = correlations.assign(evaluator=correlations["evaluator"].map(label))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.9 + 0.2 * len(data))
    rows = data.sort_values("estimate", ascending=False, kind="stable")
    lanes = np.arange(len(rows))
    kinds = rows["kind"].astype(str) if "kind" in rows else pd.Series("", rows.index)
    names = list(dict.fromkeys(data["kind"].astype(str))) if "kind" in rows else [""]
    looks = dict(zip(names, LOOKS if len(names) > 1 else [("o", HUMAN)], strict=False))
    handles = []
    ax.axvline(line, color="#555555", linewidth=0.6, zorder=1)
    for kind, (marker, color) in looks.items():
        chosen = (kinds == kind).to_numpy()
        part = rows[chosen]
        draw_intervals(
            ax, lanes[chosen], part["ci_low"], part["ci_high"], upright=False, color=color
        )
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        look |= {"markersize": 4, "zorder": 3}
        ax.plot(part["estimate"], lanes[chosen], **look)
        if len(looks) > 1:
            handles.append(Line2D([], [], label=kind, **look))
    if "published" in rows:
        open_look: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 6.5}
        open_look |= {"markerfacecolor": "none", "markeredgecolor": "black", "zorder": 4}
        ax.plot(rows["published"], lanes, **open_look)
        handles.append(Line2D([], [], label="printed", **open_look))
    _finish(ax, rows["evaluator"].tolist(), xlabel, xlim)
    for lane in lanes[~np.isfinite(rows["estimate"])]:
        # At the end of the line that is farther from what was printed.
        left = not rows.iloc[lane].get("published", np.nan) < sum(xlim) / 2
        at, side = (xlim[0] + 0.05, "left") if left else (xlim[1] - 0.05, "right")
        ax.text(at, lane, "undefined", fontsize=6.5, ha=side, va="center")
    if handles:
        _draw_legend(ax, handles)
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
    _check(table, "table has")
    data = table.assign(evaluator=table["evaluator"].map(label))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.85 + 0.25 * len(data))
    lanes = np.arange(len(data))
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    handles, interval = [], []
    for name, (words, marker, color, face, offset) in _FLIP.items():
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        look |= {"markerfacecolor": face, "markersize": 4.2, "zorder": 3}
        ax.plot(data[name], lanes + offset, **look)
        if {f"{name}_low", f"{name}_high"} <= set(data.columns):
            ends = data[f"{name}_low"], data[f"{name}_high"]
            draw_intervals(ax, lanes + offset, *ends, upright=False, color=color)
            interval = [Line2D([], [], color="#555555", linewidth=0.8, label="interval")]
        handles.append(Line2D([], [], label=words, **look))
    lost = [
        [name for name, value in row.items() if not np.isfinite(value)]
        for row in data[list(_FLIP)].to_dict("records")
    ]
    lines = [
        f"{evaluator}\n(undefined: {', '.join(map(str, names))})" if names else str(evaluator)
        for evaluator, names in zip(data["evaluator"], lost, strict=True)
    ]
    _finish(ax, lines, xlabel, (-1.1, 1.1))
    _draw_legend(ax, handles + interval)
    off = (data["majority"] - data["independence"]).abs().max()
    alt = (
        f"{xlabel} of each evaluator on labels by source, on labels by majority vote, and what "
        "majority labels would give if evaluator and majority erred independently, which is off "
        f"by at most {off:.2f}."
    )
    return drawn_on(ax, data, alt)


def _check(table: pd.DataFrame, subject: str) -> None:
    twice = table.loc[table["evaluator"].duplicated(), "evaluator"]
    if len(twice):
        raise ValueError(
            f"{subject} two rows for evaluator {twice.iloc[0]!r}: a line holds one. Choose one "
            "statistic and one criterion."
        )


def _finish(ax: Axes, lines: list[str], xlabel: str, xlim: tuple[float, float]) -> None:
    name_lanes(ax, lines)
    ax.set_xlim(*xlim)
    # Leftwards it may reach below the evaluators' names.
    ax.set_xlabel(xlabel, loc="right", parse_math=True)


def _draw_legend(ax: Axes, handles: list[Any]) -> None:
    # Anchored at the right, so that it may reach over the evaluators' names.
    above: dict[str, Any] = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
    ax.legend(handles=handles, loc="lower right", ncols=2, **above)
