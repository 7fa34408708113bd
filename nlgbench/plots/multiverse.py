"""HUSE for all combinations of analysis choices, with the choices of its paper marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import legend_below, mark
from nlgbench.plots.style import HUMAN, SCORE_NAMES, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

_MARK: dict[str, Any] = {"s": 34, "marker": "D", "facecolor": "white", "edgecolor": SYSTEM}


@in_paper_style
def plot_multiverse(table: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw the estimates of all combinations of choices, one strip per number of neighbors.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.multiverse`; each system gets its own panel.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per system; a new figure by default.

    Returns
    -------
    Drawing
        A dot per combination of choices, and a diamond for those of the HUSE paper.

    Raises
    ------
    ValueError
        If a column is missing, or the number of axes differs from that of systems.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", seed=0)
    >>> choices = nb.multiverse(study, systems="t0.7", n_neighbors=[8, 16])
    >>> len(plot_multiverse(choices).axes)
    1
    """
    table = read_table(table, "system score estimate:float paper:bool n_neighbors:int", "table has")
    systems = list(table["system"].unique())
    axes = axes_for(ax, TWO_COLUMN, 2.7 * len(systems), n=len(systems))
    for panel, system in zip(axes, systems, strict=True):
        _draw_strips(panel, table[table["system"] == system])
        if len(systems) > 1:
            panel.set_ylabel(f"Estimate for {system}")
    dot = mark("one combination", "o", HUMAN, markersize=3, alpha=0.6)
    diamond = mark("the paper's choice", "D", SYSTEM, face="white", markersize=5.8)
    legend_below(axes[-1], [dot, diamond])
    spread = table.groupby(["system", "score"], sort=False)["estimate"].agg(["min", "max"])
    ranges = [
        f"{row['system']}, {SCORE_NAMES.get(row['score'], row['score'])}: "
        f"{row['min']:.2f} to {row['max']:.2f}"
        for row in spread.reset_index().to_dict("records")
    ]
    if n_undefined := table["estimate"].isna().sum():
        ranges.append(f"{n_undefined} of {len(table)} undefined")
        axes[-1].set_xlabel(f"Neighbors (k); {ranges[-1]}")
    alt = (
        "Estimates for all combinations of number of neighbors (k), tie rule, scaling and length "
        "normalization, by k, with the paper's choice marked. "
        f"{'; '.join(ranges)}."
    )
    return as_drawing(axes, table, alt)


def _draw_strips(ax: Axes, table: pd.DataFrame) -> None:
    values = sorted(table["n_neighbors"].unique())
    ticks, names = [], []
    for block, score in enumerate(table["score"].unique()):
        rows = table[table["score"] == score]
        start = block * (len(values) + 1.5)
        for number, value in enumerate(values):
            strip = rows[rows["n_neighbors"] == value].sort_values("estimate")
            # A golden-ratio sequence spreads adjacent dots without random numbers.
            side = (np.arange(len(strip)) * 0.618 % 1 - 0.5) * 0.7
            dots: dict[str, Any] = {"s": 6, "color": HUMAN, "alpha": 0.45, "linewidth": 0}
            ax.scatter(start + number + side, strip["estimate"], **dots)
            paper = strip["paper"].to_numpy(dtype=bool)
            x = start + number + side[paper]
            ax.scatter(x, strip.loc[paper, "estimate"], linewidth=1.2, zorder=3, **_MARK)
            ticks.append(start + number)
            names.append(str(value))
        middle = start + (len(values) - 1) / 2
        above = ax.get_xaxis_transform()
        ax.text(middle, 1.01, SCORE_NAMES.get(score, score), transform=above, ha="center")
    ax.set_xticks(ticks, names)
    ax.set_xlabel("Neighbors (k)")
    ax.set_ylabel("Estimate")
