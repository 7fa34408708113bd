"""Labels of points, placed where they overlap little."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

# Candidate directions of a label from its point, and distances in typographic points.
_STEPS = product((1, -1, 0, 0.5, -0.5), (0, 1, -1, 0.5, -0.5))
_DIRECTIONS = [(x, y) for x, y in _STEPS if 1 in (abs(x), abs(y))]
_DISTANCES = (5.0, 12.0, 20.0, 30.0, 45.0)


def place_labels(
    ax: Axes,
    points: np.ndarray,
    labels: Sequence[str],
    styles: Sequence[dict[str, Any]],
    *,
    avoid: np.ndarray | None = None,
) -> None:
    """Place each label near its point, where it overlaps other labels, points and intervals least.

    Labels are placed in turn, those of crowded points first, and then revised twice. Intervals
    are the lines already drawn; `avoid` are further points, which have no label.
    """
    if not len(labels):
        return
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout sets all positions
    scale = 72 / figure.dpi
    centers = ax.transData.transform(points) * scale
    frame = np.asarray(ax.bbox.extents) * scale
    marks = [np.concatenate([center - 4, center + 4]) for center in centers]
    if avoid is not None:
        spare_points = ax.transData.transform(avoid) * scale
        marks += [np.concatenate([point - 3, point + 3]) for point in spare_points]
    paths = [line.get_xydata() for line in ax.lines if line.get_zorder() > 1]
    for lines in ax.collections:
        paths += lines.get_segments() if isinstance(lines, LineCollection) else []
    intervals = np.vstack([np.empty((0, 4)), *(_boxes_on(ax, path, scale) for path in paths)])
    arrow = {"arrowstyle": "-", "linewidth": 0.4, "color": "#777777", "shrinkA": 0, "shrinkB": 3}
    placement: dict[str, Any] = {"xytext": (0, 0), "textcoords": "offset points", "zorder": 5}
    texts = []
    for label, (x, y), style in zip(labels, points, styles, strict=True):
        style = {"ha": "center", "va": "center", **style}
        texts.append(ax.annotate(label, (x, y), arrowprops=arrow, **placement, **style))
    halves = [np.asarray(text.get_window_extent().size) * scale / 2 for text in texts]
    label_boxes: list[np.ndarray] = [np.empty((0, 4)) for _ in texts]
    near = np.hypot(*(centers[:, None] - centers[None]).T) < 40
    for n in np.tile(np.argsort(-near.sum(axis=0), kind="stable"), 3):
        obstacles = np.vstack([*marks, *(boxes for m, boxes in enumerate(label_boxes) if m != n)])
        least = np.inf
        for distance, direction in product(_DISTANCES, _DIRECTIONS):
            reach = distance if 0 in direction else distance * 0.7
            offset = np.array(direction) * (halves[n] + reach)
            box = np.concatenate([offset - halves[n], offset + halves[n]]) + np.tile(centers[n], 2)
            line_boxes = _boxes_along(centers[n], box) if distance > _DISTANCES[0] else []
            boxes = np.vstack([box, *line_boxes])
            cost = _overlap(boxes[:1], np.vstack([obstacles, intervals]))
            # Crossing a label, a point or an interval is worse than the small overlap suggests.
            cost += 30 * _overlap(boxes[1:], obstacles)
            cost += 2 * _overlap(boxes[:1], intervals) + 8 * _overlap(boxes[1:], intervals)
            # A label must not seem to belong to another point.
            gaps = np.hypot(*(centers - np.clip(centers, box[:2], box[2:])).T)
            mistaken = int((gaps < gaps[n] + 2).sum()) - 1
            outside = float(np.maximum([*(frame[:2] - box[:2]), *(box[2:] - frame[2:])], 0).sum())
            cost += 10 * outside + distance / 4 + (5 if len(boxes) > 1 else 1_000) * mistaken
            if cost < least:
                least, label_boxes[n] = cost, boxes
                texts[n].xyann = (float(offset[0]), float(offset[1]))
    for text, boxes in zip(texts, label_boxes, strict=True):
        if text.arrow_patch is not None:
            text.arrow_patch.set_visible(len(boxes) > 1)


def _boxes_on(ax: Axes, path: Any, scale: float) -> np.ndarray:
    """Return small boxes on a line drawn in the coordinates of data."""
    corners = ax.transData.transform(path) * scale
    steps = [
        np.linspace(*ends, max(2, int(np.hypot(*np.subtract(*ends)) / 2)))
        for ends in pairwise(corners)
    ]
    dots = np.vstack([np.empty((0, 2)), *steps])
    return np.hstack([dots - 1, dots + 1])


def _boxes_along(point: np.ndarray, box: np.ndarray) -> list[np.ndarray]:
    """Return small boxes along the line from a point's mark to the edge of a label's box."""
    way = (box[:2] + box[2:]) / 2 - point
    length = float(np.hypot(*way))
    dots = point + np.outer(np.arange(6, length, 2), way / length)
    dots = dots[((dots < box[:2]) | (dots > box[2:])).any(axis=1)]
    return [np.concatenate([dot - 1, dot + 1]) for dot in dots]


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the total area of overlap between two lists of boxes."""
    sides = np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2])
    return float(np.maximum(sides, 0).prod(axis=2).sum())
