"""Systems by two of their scores, each named."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_paper_style,
    outside,
    overlap,
    spearman,
)
from nlgbench.plots.style import HUMAN, TWO_COLUMN
from nlgbench.study.checks import convert_columns

# Directions in which a label is tried, and how far from its point, in points of type.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_DISTANCES = (5.0, 12.0, 20.0, 30.0, 45.0)


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
        One row per system: ``system`` (as it is to be written) and the columns `x` and `y`.
        Optional intervals: each name with ``_low`` and ``_high``; NaN draws none.
    x, y : str
        Columns of the two scores.
    ax : Axes, optional
        Where to draw; a figure of its own by default. Set the figure's size and the limits of
        shared axes before: places of names are sought at that size.
    xlabel, ylabel : str, optional
        Names of the axes; the columns' own by default.

    Returns
    -------
    Drawing
        One collection of points, in the order of `table`. Systems without both scores are not
        drawn; the line above the plot says how many.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b", "c"], "x": [0, 1, 2], "y": [2, 1, 0]})
    >>> plot_scatter_systems(table, "x", "y").alt
    "y against x of 3 systems. Spearman's correlation of the two is -1.00."
    """
    intervals = [f"{name}_{end}" for name in (x, y) for end in ("low", "high")]
    kinds = {"system": "name", **dict.fromkeys([x, y, *intervals], "float")}
    table = convert_columns(table, kinds, ["system", x, y], "table has")
    (ax,) = axes_for(ax, TWO_COLUMN, 3.4)
    known = table[np.isfinite(table[[x, y]]).all(axis=1)]
    ax.scatter(known[x], known[y], s=16, color=HUMAN, linewidth=0, zorder=3)
    lines: list[np.ndarray] = []
    for name, at, upright in ((x, y, False), (y, x, True)):
        if {f"{name}_low", f"{name}_high"} <= set(known.columns):
            low, high = known[f"{name}_low"], known[f"{name}_high"]
            draw_intervals(ax, known[at], low, high, upright=upright, color=HUMAN, linewidth=0.6)
            for ends in zip(known[at], low, high, strict=True):
                if np.isfinite(ends).all():
                    line = np.array([[ends[0], ends[1]], [ends[0], ends[2]]])
                    lines.append(line if upright else line[:, ::-1])
    ax.margins(0.12)
    # A column's name is data; what is written for the figure may hold a formula.
    ax.set_xlabel(x if xlabel is None else xlabel, parse_math=xlabel is not None)
    ax.set_ylabel(y if ylabel is None else ylabel, parse_math=ylabel is not None)
    missing = len(table) - len(known)
    if missing:
        ax.set_title(f"{missing} of {len(table)} undefined, not drawn", loc="left")
    if len(known):
        names = [str(name) for name in known["system"]]
        _place_labels(ax, known[[x, y]].to_numpy(dtype=float), names, lines)
    alt = f"{ax.get_ylabel()} against {ax.get_xlabel()} of {len(known)} systems"
    alt += ", with intervals" if lines else ""
    if len(known) > 2:
        alt += f". Spearman's correlation of the two is {spearman(known[x], known[y]):.2f}"
    return drawn_on(ax, table, f"{alt}.")


def _place_labels(ax: Axes, points: np.ndarray, labels: list[str], lines: list[np.ndarray]) -> None:
    """Write each label beside its point, at the free place that is nearest and covers no line.

    Places are sought at the figure's present size. Labels choose in turn, those of crowded points
    first, and again once all have chosen. A label that stands apart from its point is joined to it
    by a thin line. Nothing is random.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout decides where everything stands
    scale = 72 / figure.dpi
    centers = ax.transData.transform(points) * scale
    frame = np.asarray(ax.bbox.extents) * scale
    marks = [np.concatenate([center - 4, center + 4]) for center in centers]
    spans: list[np.ndarray] = [np.empty((0, 4))]
    for line in lines:
        ends = ax.transData.transform(line) * scale
        spans.append(np.concatenate([ends.min(axis=0) - 1, ends.max(axis=0) + 1]))
    look: dict[str, Any] = {"fontsize": 6.5, "zorder": 5, "ha": "center", "va": "center"}
    arrow = {"arrowstyle": "-", "linewidth": 0.4, "color": "#777777", "shrinkA": 0, "shrinkB": 3}
    look |= {"textcoords": "offset points", "arrowprops": arrow}
    texts = [
        ax.annotate(label, (at[0], at[1]), xytext=(0, 0), **look)
        for label, at in zip(labels, points, strict=True)
    ]
    halves = [np.asarray(text.get_window_extent().size) * scale / 2 for text in texts]
    taken: list[np.ndarray] = [np.empty((0, 4)) for _ in texts]
    near = np.hypot(*(centers[:, None] - centers[None]).T) < 40
    for n in np.tile(np.argsort(-near.sum(axis=0), kind="stable"), 3):
        others = np.vstack([*marks, *(boxes for m, boxes in enumerate(taken) if m != n)])
        least = np.inf
        for distance, direction in product(_DISTANCES, _DIRECTIONS):
            reach = distance if 0 in direction else distance * 0.7
            offset = np.array(direction) * (halves[n] + reach)
            box = np.concatenate([offset - halves[n], offset + halves[n]]) + np.tile(centers[n], 2)
            boxes = np.vstack([box, *(_line(centers[n], box) if distance > _DISTANCES[0] else [])])
            cost = overlap(boxes[:1], np.vstack([others, *spans]))
            # A name or a point that a line crosses is worse than the small area says.
            cost += 30 * overlap(boxes[1:], others)
            # Nor may a label seem to be another point's.
            gaps = np.hypot(*(centers - np.clip(centers, box[:2], box[2:])).T)
            mistaken = int((gaps < gaps[n] + 2).sum()) - 1
            cost += (
                10 * outside(box, frame) + distance / 4 + (5 if len(boxes) > 1 else 50) * mistaken
            )
            if cost < least:
                least, taken[n] = cost, boxes
                texts[n].xyann = (float(offset[0]), float(offset[1]))
    for text, boxes in zip(texts, taken, strict=True):
        if text.arrow_patch is not None:
            text.arrow_patch.set_visible(len(boxes) > 1)


def _line(point: np.ndarray, box: np.ndarray) -> list[np.ndarray]:
    """Give small boxes along the way from a point's mark towards the middle of a box, up to it."""
    way = (box[:2] + box[2:]) / 2 - point
    length = float(np.hypot(*way))
    dots = point + np.outer(np.arange(6, length, 2), way / length)
    dots = dots[((dots < box[:2]) | (dots > box[2:])).any(axis=1)]
    return [np.concatenate([dot - 1, dot + 1]) for dot in dots]
