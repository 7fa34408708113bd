"""The two-dimensional classification problem of HUSE (Figures 1 and 4)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import HUMAN, SYSTEM

# Pale, so that points read on it; white where the classifier is undecided; blue is the darker
# in gray.
_SHADES = LinearSegmentedColormap.from_list("shades", ["#86B6DA", "#FFFFFF", "#FAD3B4"])

_COLUMNS = ("logprob_per_token", "judgment", "is_human")


class Grid(Protocol):
    """A classifier evaluated over the plane."""

    @property
    def logprob_per_token(self) -> np.ndarray:
        """Columns of the grid, in nats."""

    @property
    def judgment(self) -> np.ndarray:
        """Rows of the grid."""

    @property
    def machine_share(self) -> np.ndarray:
        """Confidence that an output there is a machine's, 0 to 1."""


def plot_boundary(
    features: pd.DataFrame,
    grid: Grid,
    *,
    ax: Axes | None = None,
    score_label: str = "",
    marginals: bool = True,
    legend: bool = True,
    **scatter_kws: Any,
) -> Axes:
    """Draw outputs by judgment and log-probability over the classifier that gave their HUSE.

    Parameters
    ----------
    features : DataFrame
        One row per output: ``logprob_per_token`` (nats), ``judgment``, ``is_human``.
    grid : object
        With ``logprob_per_token`` (g,), ``judgment`` (g,) and ``machine_share`` (g, g), rows being
        judgments: the classifier's confidence, drawn as shading; a line where it is one half.
    ax : Axes, optional
        Where to draw; the current axes by default.
    score_label : str, optional
        Written above the plot, where it covers no point.
    marginals : bool, default True
        Histograms of both features along the top and the right.
    legend : bool, default True
        Below the plot.
    **scatter_kws
        Handed to `matplotlib.axes.Axes.scatter` for both groups of points.

    Returns
    -------
    Axes
        The main axes. Its first collection is the shading, with the drawn array; the histograms are
        its ``child_axes``.

    Raises
    ------
    ValueError
        If a column is missing or not what it must be, or the grid's shape does not fit.
    """
    require_columns(features, _COLUMNS, "features have")
    if not pd.api.types.is_bool_dtype(features["is_human"]):
        raise ValueError(
            f"features' column 'is_human' must be bool, not {features['is_human'].dtype}: the text "
            "'False' would count as true. Convert it, or read it with nlgbench.tables.read."
        )
    for name in _COLUMNS[:2]:
        bad = features.index[~np.isfinite(features[name])]
        if len(bad):
            raise ValueError(
                f"features' column {name!r} must be finite; row {bad[0]!r} has "
                f"{features.loc[bad[0], name]} ({len(bad)} such rows). nlgbench.analysis.huse.huse "
                "floors infinite log-probabilities; drop what is undefined."
            )
    shape = (len(grid.judgment), len(grid.logprob_per_token))
    if grid.machine_share.shape != shape:
        raise ValueError(
            f"grid.machine_share has shape {grid.machine_share.shape} and its axes ask for {shape}."
        )
    ax = plt.gca() if ax is None else ax
    x, y = grid.logprob_per_token, grid.judgment
    shown: dict[str, Any] = {
        "cmap": _SHADES,
        "vmin": 0,
        "vmax": 1,
        "shading": "nearest",
        "rasterized": True,
    }
    ax.pcolormesh(x, y, grid.machine_share, zorder=0, **shown)
    # A line where there is something to separate; contour warns where there is not.
    if grid.machine_share.min() < 0.5 < grid.machine_share.max():
        line: dict[str, Any] = {"levels": [0.5], "colors": "#444444", "linewidths": 0.6}
        ax.contour(x, y, grid.machine_share, zorder=1, **line)

    is_human = features["is_human"].to_numpy(dtype=bool)
    looks: dict[str, dict[str, Any]] = {
        "human reference": {"marker": "s", "facecolor": HUMAN, "edgecolor": "white"},
        "model output": {"marker": "o", "facecolor": "white", "edgecolor": SYSTEM},
    }
    for (label, look), chosen in zip(looks.items(), (is_human, ~is_human), strict=True):
        points = features.loc[chosen]
        size = {"s": 11, "linewidth": 0.4 if label == "human reference" else 0.9}
        ax.scatter(
            points["logprob_per_token"],
            points["judgment"],
            **{"label": label, "zorder": 3, **size, **look, **scatter_kws},
        )
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    ax.set_xlabel("Log-probability per token (nats)")
    ax.set_ylabel("Mean human judgment")
    if marginals:
        _draw_marginals(ax, features, is_human)
    if score_label:
        ax.set_title(score_label, loc="left", pad=3)  # which stands above the upper histogram
    if legend:
        _draw_legend(ax, looks)
    return ax


def _draw_marginals(ax: Axes, features: pd.DataFrame, is_human: np.ndarray) -> None:
    sides: list[tuple[Any, ...]] = [
        ((0, 1.02, 1, 0.15), "logprob_per_token", "vertical", ax.get_xlim()),
        ((1.02, 0, 0.15, 1), "judgment", "horizontal", ax.get_ylim()),
    ]
    for place, name, orientation, limits in sides:
        share: dict[str, Any] = {"sharex" if orientation == "vertical" else "sharey": ax}
        margin = ax.inset_axes(place, **share)  # a child, which layouts make room for
        bins = np.linspace(limits[0], limits[1], 25).tolist()
        values = features[name]
        margin.hist(values[is_human], bins=bins, orientation=orientation, color=HUMAN, alpha=0.55)
        outline: dict[str, Any] = {"histtype": "step", "color": SYSTEM, "linewidth": 0.9}
        margin.hist(values[~is_human], bins=bins, orientation=orientation, **outline)
        margin.set_axis_off()


def _draw_legend(ax: Axes, looks: dict[str, dict[str, Any]]) -> None:
    handles: list[Line2D | Patch] = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=look["marker"],
            markersize=4,
            markerfacecolor=look["facecolor"],
            markeredgecolor=SYSTEM if label == "model output" else HUMAN,
            label=label,
        )
        for label, look in looks.items()
    ]
    handles += [
        Patch(facecolor=_SHADES(0.0), label="classified human"),
        Patch(facecolor=_SHADES(1.0), label="classified model"),
    ]
    # The distance is in font sizes, so that it clears the axis' label at any size of figure.
    below: dict[str, Any] = {"bbox_to_anchor": (0.5, 0), "borderaxespad": 4.2}
    ax.legend(handles=handles, loc="upper center", ncols=2, **below)
