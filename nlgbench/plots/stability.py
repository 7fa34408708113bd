"""How an estimate settles as outputs and annotators are added (Figure 5)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import GROUPS, SCORE_NAMES

_COLUMNS = ("size", "score", "mean", "ci_low", "ci_high")
_LINES = ("-", "--", ":", "-.")


def plot_stability(
    curve: pd.DataFrame,
    *,
    ax: Axes | None = None,
    truth: dict[str, float] | None = None,
    xlabel: str = "Outputs",
    legend: bool = True,
    **plot_kws: Any,
) -> Axes:
    """Draw each score against the size of the subsample, with its band.

    Parameters
    ----------
    curve : DataFrame
        ``size``, ``score``, ``mean``, ``ci_low``, ``ci_high``: one row per size and score; the band
        is whatever interval the two columns hold.
    ax : Axes, optional
        Where to draw; the current axes by default.
    truth : dict of str to float, optional
        Score -> its value in the limit, drawn as a short gray line at the right.
    xlabel : str
        What is counted.
    legend : bool, default True
        Above the plot.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for each line.

    Returns
    -------
    Axes
        One line and one band for each score, in the order of `curve`.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    require_columns(curve, _COLUMNS, "curve has")
    ax = plt.gca() if ax is None else ax
    for n, (score, rows) in enumerate(curve.groupby("score", sort=False)):
        rows = rows.sort_values("size")
        marker, color = GROUPS[n % len(GROUPS)]
        look = {"color": color, "linestyle": _LINES[n % len(_LINES)], "marker": marker}
        label = SCORE_NAMES.get(str(score), str(score))
        ax.fill_between(
            rows["size"], rows["ci_low"], rows["ci_high"], color=color, alpha=0.16, linewidth=0
        )
        ax.plot(rows["size"], rows["mean"], **{"label": label, "markersize": 3, **look, **plot_kws})
        if truth and score in truth:
            ax.axhline(truth[str(score)], color=color, linewidth=0.6, alpha=0.7)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("Score")
    if legend:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    return ax
