"""Mean judgment against the frequency of a text: Figure 2 of Hashimoto et al. (2019)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import describe_intervals, draw_estimates, interval_name
from nlgbench.plots.style import ONE_COLUMN
from nlgbench.study.checks import read_table


@in_paper_style
def plot_typicality(
    table: pd.DataFrame, *, r: pd.DataFrame | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw mean judgments with intervals against the log-frequency of texts.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.worlds.typicality_table`: ``logprob_per_token`` (nats), ``judgment`` (mean),
        ``ci_low``, ``ci_high``, ``confidence``, ``source``.
    r : DataFrame, optional
        From `nlgbench.worlds.typicality_correlation`; it is shown above the plot.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Its data are `table` without texts; ``logprob_per_token`` is called ``log_frequency``.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> from nlgbench.worlds import typicality_table
    >>> plot_typicality(typicality_table(n_sentences=10, seed=0)).alt
    'Mean judgment of 10 texts against their log-frequency per token, with 90% intervals.'
    """
    needed = "logprob_per_token:float judgment:float ci_low:float ci_high:float confidence:float"
    table = read_table(table, f"{needed} source:text", "table has")
    if r is not None:
        needed = "x pearson:float ci_low:float ci_high:float confidence:float?"
        r = read_table(r, needed, "r has")
        if "logprob_per_token" not in set(r["x"]):
            raise ValueError("r has no row where x is 'logprob_per_token': add it, or omit r.")
    (ax,) = axes_for(ax, ONE_COLUMN, 2.5)
    rows = table.rename(columns={"judgment": "estimate"})
    draw_estimates(ax, rows["logprob_per_token"], rows, upright=True, linewidth=0.6, markersize=3)
    ax.set_xlabel("Log-frequency per token (nats)")
    ax.set_ylabel(f"Mean human judgment, {interval_name(table)}")
    alt = f"Mean judgment of {len(table)} texts against their log-frequency per token,"
    alt += describe_intervals(rows) + "."
    if r is not None:
        names = ["pearson", "ci_low", "ci_high"]
        pearson, low, high = r.set_index("x").loc["logprob_per_token", names]
        label = f"r = {pearson:.2f}, {interval_name(r)} {low:.2f} to {high:.2f} "
        label += f"({table['source'].iloc[0]})"
        ax.set_title(label, loc="left")
        alt += f" {label}."
    data = table.rename(columns={"logprob_per_token": "log_frequency"})
    return as_drawing(ax, data.drop(columns="text", errors="ignore"), alt)
