"""HUSE's two-dimensional classification problem: Figures 1 and 4 of Hashimoto et al. (2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch

from nlgbench.analysis.huse import Boundary
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import legend_below, mark
from nlgbench.plots.style import HUMAN, ONE_COLUMN, SCORE_NAMES, SYSTEM, TWO_COLUMN

# Pale, so that points stay visible; white where the classifier is undecided; blue is darker in
# grayscale.
_SHADES = LinearSegmentedColormap.from_list("shades", ["#86B6DA", "#FFFFFF", "#FAD3B4"])


@in_paper_style
def plot_boundary(
    boundaries: Boundary | Sequence[Boundary], *, ax: Axes | Sequence[Axes] | None = None
) -> Drawing:
    """Draw outputs by judgment and log-probability, with the classifier that determines HUSE.

    Parameters
    ----------
    boundaries : Boundary or sequence of Boundary
        From `nlgbench.boundary`; each gets its own panel.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.

    Returns
    -------
    Drawing
        Shading shows the classifier's probability of a model output, which is one half on the line.
        Histograms show each feature's distribution. Data: the outputs of all panels.

    Raises
    ------
    ValueError
        If `boundaries` is empty, or `ax` does not have one Axes per boundary.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", seed=0)
    >>> drawn = plot_boundary([nb.boundary(study, system=name) for name in study.systems])
    >>> len(drawn.axes)
    3
    """
    panels = [boundaries] if isinstance(boundaries, Boundary) else list(boundaries)
    if not panels:
        raise ValueError("boundaries is empty: pass at least one boundary.")
    size = (ONE_COLUMN, ONE_COLUMN) if len(panels) == 1 else (TWO_COLUMN, 3.0)
    axes = axes_for(ax, *size, n=len(panels), columns=len(panels))
    for panel, boundary in zip(axes, panels, strict=True):
        huse = f"HUSE = {boundary.scores['huse']:.2f}"
        title = f"{huse} ({boundary.source})" if len(panels) == 1 else f"{boundary.label}\n{huse}"
        _draw_boundary(panel, boundary, title)
    handles: list[Any] = [
        mark("human reference", "s", HUMAN, markersize=4),
        mark("model output", "o", SYSTEM, face="white", markersize=4),
        Patch(facecolor=_SHADES(0.0), label="classified human"),
        Patch(facecolor=_SHADES(1.0), label="classified model"),
    ]
    legend_below(axes[0 if len(panels) == 1 else 1], handles)
    notes = "Line: the classifier finds both classes equally likely. Margins: distributions."
    data = pd.concat([boundary.outputs for boundary in panels], ignore_index=True)
    return as_drawing(axes, data.drop(columns="item_id"), _describe_boundaries(panels), notes)


def _describe_boundaries(panels: Sequence[Boundary]) -> str:
    scores = "; ".join(
        f"{boundary.label}: "
        + ", ".join(f"{SCORE_NAMES[name]} {value:.2f}" for name, value in boundary.scores.items())
        for boundary in panels
    )
    return (
        "Mean human judgment against log-probability per token for human references (squares) and "
        f"outputs of each system (circles), shaded by the {panels[0].n_neighbors}-nearest-neighbor "
        f"classifier whose leave-one-out error gives HUSE and its parts. {scores}."
    )


def _draw_boundary(ax: Axes, boundary: Boundary, title: str) -> None:
    x, y = boundary.grid.columns.to_numpy(), boundary.grid.index.to_numpy()
    share = boundary.grid.to_numpy()
    shading: dict[str, Any] = {"cmap": _SHADES, "vmin": 0, "vmax": 1, "shading": "nearest"}
    ax.pcolormesh(x, y, share, zorder=0, rasterized=True, **shading)
    # Without both classes there is no boundary, and contour would warn.
    if share.min() < 0.5 < share.max():
        line: dict[str, Any] = {"levels": [0.5], "colors": "#444444", "linewidths": 0.6}
        ax.contour(x, y, share, zorder=1, **line)
    is_human = boundary.outputs["is_human"].to_numpy(dtype=bool)
    human: dict[str, Any] = {"marker": "s", "facecolor": HUMAN, "edgecolor": "white"}
    model: dict[str, Any] = {"marker": "o", "facecolor": "white", "edgecolor": SYSTEM}
    for is_shown, style, width in ((is_human, human, 0.4), (~is_human, model, 0.9)):
        outputs = boundary.outputs[is_shown]
        style |= {"s": 11, "linewidth": width, "zorder": 3}
        ax.scatter(outputs["logprob_per_token"], outputs["judgment"], **style)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    ax.set_xlabel("Log-probability per token (nats)")
    ax.set_ylabel("Mean human judgment")
    _draw_marginals(ax, boundary.outputs, is_human)
    ax.set_title(title, loc="left", pad=3)  # above the upper histogram


def _draw_marginals(ax: Axes, outputs: pd.DataFrame, is_human: np.ndarray) -> None:
    above = ax.inset_axes((0, 1.02, 1, 0.15), sharex=ax)  # layouts make room for a child
    right = ax.inset_axes((1.02, 0, 0.15, 1), sharey=ax)
    filled = {"color": HUMAN, "alpha": 0.55, "linewidth": 0}
    outline = {"color": SYSTEM, "linewidth": 0.9, "element": "step", "fill": False}
    margins = [(above, "x", "logprob_per_token", ax.get_xlim())]
    margins += [(right, "y", "judgment", ax.get_ylim())]
    for margin, axis, name, limits in margins:
        histogram = {axis: name, "bins": np.linspace(*limits, 25), "ax": margin}
        sns.histplot(outputs[is_human], **histogram, **filled)
        sns.histplot(outputs[~is_human], **histogram, **outline)
        margin.set_axis_off()
