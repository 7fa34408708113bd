"""Every defensible choice at once: a strip of estimates with the paper's marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import HUMAN, SCORE_NAMES, SYSTEM

_COLUMNS = ("score", "estimate", "paper")


def plot_multiverse(
    table: pd.DataFrame,
    *,
    by: str = "n_neighbors",
    scores: Sequence[str] = ("huse", "huse_q", "huse_d"),
    ax: Axes | None = None,
    legend: bool = True,
    **scatter_kws: Any,
) -> Axes:
    """Draw the estimates of all combinations of conventions, one strip per value of one of them.

    Parameters
    ----------
    table : DataFrame
        ``score``, ``estimate``, ``paper`` (True for the paper's choice), and the column `by`: one
        row per combination and score.
    by : str, default "n_neighbors"
        The convention that parts the strips.
    scores : sequence of str
        Which scores, from left to right.
    ax : Axes, optional
        Where to draw; the current axes by default.
    legend : bool, default True
        Above the plot.
    **scatter_kws
        Handed to `matplotlib.axes.Axes.scatter` for the dots of all combinations.

    Returns
    -------
    Axes
        A collection of dots and one of the paper's marks for each score.

    Raises
    ------
    ValueError
        If a column is missing.

    Notes
    -----
    Dots of one strip are spread sideways by their rank, so that the same table gives the same
    picture.
    """
    require_columns(table, (*_COLUMNS, by), "table has")
    ax = plt.gca() if ax is None else ax
    values = sorted(table[by].unique())
    ticks, names = [], []
    for block, score in enumerate(scores):
        rows = table[table["score"] == score]
        start = block * (len(values) + 1.5)
        for place, value in enumerate(values):
            strip = rows[rows[by] == value].sort_values("estimate")
            # A golden-ratio sequence spreads neighbors apart without a random number.
            side = (np.arange(len(strip)) * 0.618 % 1 - 0.5) * 0.7
            dots = {"s": 6, "color": HUMAN, "alpha": 0.45, "linewidth": 0}
            ax.scatter(start + place + side, strip["estimate"], **{**dots, **scatter_kws})
            marked = strip["paper"].to_numpy(dtype=bool)
            ax.scatter(
                start + place + side[marked],
                strip.loc[marked, "estimate"],
                s=34,
                marker="D",
                facecolor="white",
                edgecolor=SYSTEM,
                linewidth=1.2,
                zorder=3,
            )
            ticks.append(start + place)
            names.append(str(value))
        middle = start + (len(values) - 1) / 2
        ax.text(
            middle,
            1.01,
            SCORE_NAMES.get(score, score),
            transform=ax.get_xaxis_transform(),
            ha="center",
        )
    ax.set_xticks(ticks, names)
    ax.set_xlabel("Neighbors (k)" if by == "n_neighbors" else by.replace("_", " "))
    ax.set_ylabel("Estimate")
    if legend:
        handles = [
            ax.scatter([], [], s=10, color=HUMAN, alpha=0.6, label="one combination"),
            ax.scatter([], [], s=34, marker="D", facecolor="white", edgecolor=SYSTEM),
        ]
        labels = ["one combination", "the paper's choice"]
        below: dict[str, Any] = {"bbox_to_anchor": (0.5, 0), "borderaxespad": 4.2}
        ax.legend(handles, labels, loc="upper center", ncols=2, **below)
    return ax
