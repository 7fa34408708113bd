"""HUSE for all combinations of analysis choices, with the choices of its paper marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import legend_below, mark
from nlgbench.plots.style import ACCENT, LOOKS, SCORE_NAMES, TWO_COLUMN
from nlgbench.study.checks import read_table

_MARK: dict[str, Any] = {"s": 34, "marker": "D", "facecolor": "none", "edgecolor": ACCENT}


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
        A mark per combination of choices: its color and form show the scaling, and open marks
        another length normalization than the paper's. A diamond frames the HUSE paper's choice.

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
    needed = "system score estimate:float paper:bool n_neighbors:int scaling? length?"
    table = read_table(table, needed, "table has")
    texts = table.get(["scaling", "length"], pd.DataFrame("", table.index, ["scaling", "length"]))
    table = table.assign(**texts.fillna(""))
    groups = table.sort_values("paper", ascending=False, kind="stable")
    scalings, lengths = (groups[name].unique().tolist() for name in ("scaling", "length"))
    styles = {
        (scaling, length): (marker, color, color if length == lengths[0] else "none")
        for scaling, (marker, color) in zip(scalings, LOOKS, strict=False)
        for length in lengths
    }
    systems = list(table["system"].unique())
    axes = axes_for(ax, TWO_COLUMN, 2.7 * len(systems), n=len(systems))
    for panel, system in zip(axes, systems, strict=True):
        _draw_strips(panel, table[table["system"] == system], styles)
        if len(systems) > 1:
            panel.set_ylabel(f"Estimate for {system}")
    handles = [
        mark(
            f"{scaling} scaling, {length}".replace("none", "no").strip(" ,"),
            marker,
            color,
            face=face,
            markersize=3,
        )
        for (scaling, length), (marker, color, face) in styles.items()
    ]
    diamond = mark("the paper's choice", "D", ACCENT, face="none", markersize=5.8)
    legend_below(axes[-1], [*handles, diamond], ncols=3)
    spread = table.groupby(["system", "score"], sort=False)["estimate"].agg(["min", "max"])
    ranges = [
        f"{row['system']}, {SCORE_NAMES.get(row['score'], row['score'])}: "
        f"{row['min']:.2f} to {row['max']:.2f}"
        for row in spread.reset_index().to_dict("records")
    ]
    if n_undefined := table["estimate"].isna().sum():
        ranges.append(f"{n_undefined} of {len(table)} undefined")
    alt = (
        "Estimates for all combinations of number of neighbors (k), tie rule, scaling and length "
        "normalization, by k, with the paper's choice marked. "
        f"{'; '.join(ranges)}."
    )
    return as_drawing(axes, table, alt, "Several marks of one kind differ in the tie rule.")


def _draw_strips(ax: Axes, table: pd.DataFrame, styles: dict[tuple, tuple]) -> None:
    """Draw a strip per score and number of neighbors, with a column per scaling and length."""
    values = sorted(table["n_neighbors"].unique())
    ticks, names = [], []
    for block, score in enumerate(table["score"].unique()):
        rows = table[table["score"] == score]
        start = block * (len(values) + 1.5)
        for number, value in enumerate(values):
            strip = rows[rows["n_neighbors"] == value].set_index(["scaling", "length"])
            for n, (group, (marker, color, face)) in enumerate(styles.items()):
                points = strip[strip.index == group]
                x = np.full(len(points), start + number + (n - (len(styles) - 1) / 2) * 0.14)
                style: dict[str, Any] = {"marker": marker, "edgecolor": color, "facecolor": face}
                ax.scatter(x, points["estimate"], s=8, linewidth=0.6, **style)
                paper = points["paper"].to_numpy(dtype=bool)
                chosen = points.loc[paper, "estimate"]
                ax.scatter(x[paper], chosen, linewidth=1.2, zorder=3, **_MARK)
            ticks.append(start + number)
            names.append(str(value))
        middle = start + (len(values) - 1) / 2
        above = ax.get_xaxis_transform()
        ax.text(middle, 1.01, SCORE_NAMES.get(score, score), transform=above, ha="center")
    ax.set_xticks(ticks, names)
    ax.set_xlabel("Neighbors (k)")
    ax.set_ylabel("Estimate")
