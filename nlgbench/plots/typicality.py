"""Mean judgment against how often a text occurs (Figure 2)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import HUMAN

_COLUMNS = ("log_frequency", "judgment", "ci_low", "ci_high")


def plot_typicality(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    score_label: str = "",
    xlabel: str = "Log-frequency per token (nats)",
    **errorbar_kws: Any,
) -> Axes:
    """Draw judgments with their intervals over the log-frequency of the text.

    Parameters
    ----------
    table : DataFrame
        One row per text: ``log_frequency`` (nats), ``judgment`` (mean), ``ci_low``, ``ci_high``.
    ax : Axes, optional
        Where to draw; the current axes by default.
    score_label : str, optional
        Written above the plot, such as r with its interval.
    xlabel : str
        Name of the horizontal axis.
    **errorbar_kws
        Handed to `matplotlib.axes.Axes.errorbar`.

    Returns
    -------
    Axes
        One error-bar container.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    require_columns(table, _COLUMNS, "table has")
    ax = plt.gca() if ax is None else ax
    low = table["judgment"] - table["ci_low"]
    high = table["ci_high"] - table["judgment"]
    look: dict[str, Any] = {"fmt": "o", "color": HUMAN, "markersize": 3, "elinewidth": 0.6}
    ax.errorbar(table["log_frequency"], table["judgment"], [low, high], **{**look, **errorbar_kws})
    ax.set_xlabel(xlabel)
    ax.set_ylabel("Mean human judgment")
    if score_label:
        ax.set_title(score_label, loc="left")
    return ax
