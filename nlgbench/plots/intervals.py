"""Intervals beside estimates, drawn where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike


def draw_intervals(
    ax: Axes, at: ArrayLike, low: ArrayLike, high: ArrayLike, *, upright: bool, **line_kws: Any
) -> None:
    """Draw a line from each lower bound to its upper bound.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    at, low, high : array_like, shape (n,)
        Place across the line, and its two ends. Where one of them is NaN nothing is drawn. The
        estimate need not lie between the ends: a bootstrap's interval may miss it.
    upright : bool
        Whether the lines stand upright, at abscissas `at`, or lie, at ordinates `at`.
    **line_kws
        Handed to `matplotlib.axes.Axes.vlines` or `matplotlib.axes.Axes.hlines`.
    """
    ends = np.column_stack([at, low, high]).astype(float)
    ends = ends[np.isfinite(ends).all(axis=1)]
    if len(ends):
        draw = ax.vlines if upright else ax.hlines
        draw(*ends.T, **{"linewidth": 0.8, "zorder": 2, **line_kws})
