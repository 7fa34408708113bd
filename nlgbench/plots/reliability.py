"""Whether an evaluator's probabilities are as often right as they say."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.intervals import draw_intervals
from nlgbench.plots.style import GROUPS

_LINES = ("--", "-", ":", "-.")


def plot_reliability(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    legend: bool = True,
    **plot_kws: Any,
) -> Axes:
    """Draw how often events happened against the probability they were given.

    Parameters
    ----------
    table : DataFrame
        One row per bin: ``probability`` (mean in the bin), ``share`` (how often it happened).
        Optional ``stage`` (such as "before" and "after" calibration), drawn as lines of their
        own; ``ci_low`` and ``ci_high`` of the share; and ``ece``, the expected calibration error
        of the stage, written in the legend. Bins without a probability or a share are left out.
    ax : Axes, optional
        Where to draw; the current axes by default.
    legend : bool, default True
        Above the plot, where there are stages.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot`.

    Returns
    -------
    Axes
        On the diagonal, probabilities are as often right as they say; below it they say too much.

    Raises
    ------
    ValueError
        If a column is missing, a value is none between 0 and 1, or stages are too many.
    """
    require_columns(table, ("probability", "share"), "table has")
    for name in ("probability", "share"):
        bad = ~(table[name].isna() | table[name].between(0, 1))
        if bad.any():
            raise ValueError(
                f"table has {name} = {table[name][bad].iloc[0]:g}: it must be between 0 and 1; "
                "divide percentages by 100."
            )
    stages = table["stage"].astype(str) if "stage" in table else pd.Series("", table.index)
    names = list(dict.fromkeys(stages))
    if len(names) > len(_LINES):
        raise ValueError(
            f"table has {len(names)} stages, and only {len(_LINES)} can be told apart: "
            f"{', '.join(names)}. Draw them in several figures."
        )
    ax = plt.gca() if ax is None else ax
    ax.plot([0, 1], [0, 1], color="#777777", linewidth=0.6, zorder=1)
    for n, stage in enumerate(names):
        rows = table[stages == stage].dropna(subset=["probability", "share"])
        rows = rows.sort_values("probability")
        marker, color = GROUPS[n]
        label = f"{stage} (ECE {rows['ece'].iloc[0]:.3f})" if "ece" in rows and len(rows) else stage
        look: dict[str, Any] = {
            "color": color,
            "linestyle": _LINES[n],
            "label": label,
            "marker": marker,
        }
        look |= {"markersize": 3.5, "zorder": 3}
        ax.plot(rows["probability"], rows["share"], **{**look, **plot_kws})
        if {"ci_low", "ci_high"} <= set(rows.columns):
            draw_intervals(
                ax, rows["probability"], rows["ci_low"], rows["ci_high"], upright=True, color=color
            )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel("Probability given")
    ax.set_ylabel("Share that happened")
    if legend and names != [""]:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.2)
    return ax
