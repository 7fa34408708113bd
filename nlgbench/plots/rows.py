"""Shared parts of figures: estimates with intervals in rows, and legends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from scipy.stats import norm

from nlgbench.evaluators.names import label
from nlgbench.names import spaced
from nlgbench.plots.figures import legend_label
from nlgbench.plots.style import ESTIMATE


def draw_intervals(
    ax: Axes,
    positions: ArrayLike,
    rows: pd.DataFrame,
    *,
    upright: bool,
    prefix: str = "ci",
    **style: Any,
) -> None:
    """Draw a line from ``<prefix>_low`` to ``<prefix>_high`` of each row, if both are finite."""
    ends = np.column_stack([positions, rows[f"{prefix}_low"], rows[f"{prefix}_high"]]).astype(float)
    ends = ends[np.isfinite(ends).all(axis=1)]
    if len(ends):
        draw = ax.vlines if upright else ax.hlines
        draw(*ends.T, **{"linewidth": 0.8, "zorder": 2, **style})


def draw_estimates(
    ax: Axes,
    positions: ArrayLike,
    rows: pd.DataFrame,
    *,
    upright: bool = False,
    filled: bool = True,
    linewidth: float = 0.8,
    **mark: Any,
) -> None:
    """Draw estimates with their intervals, in rows, or side by side if `upright`.

    Thick lines are intervals of 50%, assuming that errors are normal.
    """
    mark = {"color": ESTIMATE, "markersize": 2.6, "marker": "o", "zorder": 3, **mark}
    mark = {"markeredgewidth": 0.6, **mark}  # larger marks would hide the intervals of 50%
    draw_intervals(ax, positions, rows, upright=upright, color=mark["color"], linewidth=linewidth)
    confidence = pd.Series(rows.get("confidence", 0.95), rows.index).fillna(0.95)
    share = norm.ppf(0.75) / norm.ppf(0.5 + confidence / 2)
    for end in ("ci_low", "ci_high"):
        inner = rows["estimate"] + share * (rows[end] - rows["estimate"])
        rows = rows.assign(**{end: inner})
    thick = {"color": mark["color"], "linewidth": 2.4 * linewidth}
    draw_intervals(ax, positions, rows, upright=upright, **thick)
    points = (positions, rows["estimate"]) if upright else (rows["estimate"], positions)
    face = mark["color"] if filled else "white"
    if mark["marker"]:
        ax.plot(*points, linestyle="none", markerfacecolor=face, **mark)


def has_interval(rows: pd.DataFrame) -> pd.Series:
    """Return whether each row has both ends of an interval."""
    return rows[["ci_low", "ci_high"]].notna().all(axis=1)


def is_doubtful(table: pd.DataFrame) -> pd.Series:
    """Return whether each row has a status other than ``ok``; without the column, none has."""
    return table.get("status", pd.Series("ok", table.index)).fillna("ok").ne("ok")


def interval_name(table: pd.DataFrame) -> str:
    """Name intervals by their confidence, such as "90% interval", or "interval" if unknown."""
    shares = table.get("confidence", pd.Series(dtype="float64")).dropna().unique()
    return f"{100 * shares[0]:g}% interval" if len(shares) == 1 else "interval"


def describe_nested(table: pd.DataFrame) -> str:
    """Name the levels of nested intervals, for a figure's notes; empty without intervals."""
    lines = f"Thin lines: {interval_name(table)}s; thick lines: 50%, assuming normal errors."
    return lines if has_interval(table).any() else ""


def name_source(table: pd.DataFrame) -> str:
    """Name the evaluator or comparator of estimates in a title; empty if annotators are theirs."""
    column = "evaluator" if "evaluator" in table else "comparator"
    name = str(table[column].iloc[0]) if column in table else "people"
    return "" if name == "people" else f"By {label(name)}, not by annotators"


def describe_intervals(rows: pd.DataFrame) -> str:
    """Describe the intervals of the estimates drawn, and how many have none."""
    is_known = has_interval(rows[rows["estimate"].notna()])
    if not is_known.any():
        return " without intervals"
    missing = f" (no interval: {(~is_known).sum()})" if not is_known.all() else ""
    return f" with {interval_name(rows)}s{missing}"


def mark(label: object, marker: str, color: str, *, face: str | None = None, **more: Any) -> Line2D:
    """Make an entry of a legend."""
    style: dict[str, Any] = {"linestyle": "none", "markersize": 4.5, "color": color, **more}
    style["markerfacecolor"] = face or color
    return Line2D([], [], label=legend_label(label), marker=marker, **style)


def label_rows(ax: Axes, names: Sequence[str], *, ruled: bool = False) -> None:
    """Label rows at the left, the first at the top; `ruled` draws a pale line through each."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    if ruled:
        ax.grid(axis="y", color="#dddddd", linewidth=0.5)
        ax.set_axisbelow(True)


def row_names(table: pd.DataFrame) -> list[str]:
    """Return systems' labels if the table has them, else their names with spaces."""
    return list(table["label"] if "label" in table else spaced(table["system"]).values())


def draw_reference(ax: Axes, value: float, *, upright: bool = False) -> None:
    """Draw a thin line at a value: vertical for rows, horizontal if `upright`."""
    draw = ax.axhline if upright else ax.axvline
    draw(value, color="#555555", linewidth=0.6, zorder=1)


def short_number(value: float, _: float = 0) -> str:
    """Format a tick of correlations, without a leading zero."""
    return f"{value:g}".replace("-", "−").replace("0.", ".")


def write_beside(ax: Axes, title: str, texts: Iterable[tuple[float, str]], *, x: float) -> None:
    """Write a column of words to the right of the rows, with a title; x is in axes widths."""
    style: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "fontsize": 7, "ha": "center"}
    ax.text(x, -0.75, title, va="bottom", **style)
    for position, text in texts:
        ax.text(x, position, text, va="center", **style)


def legend_above(ax: Axes, *, ncols: int = 2, **style: Any) -> None:
    """Add a legend above the axes, aligned with their left edge."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=ncols, **style)


def legend_below(ax: Axes, handles: Sequence[Any], **style: Any) -> None:
    """Add a legend below the axis label, at the same distance in every figure."""
    style = {"bbox_to_anchor": (0.5, 0), "borderaxespad": 4.2, "ncols": 2, **style}
    ax.legend(handles=handles, loc="upper center", **style)
