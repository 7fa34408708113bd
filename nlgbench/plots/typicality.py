"""Mean judgment against the frequency of a text: Figure 2 of Hashimoto et al. (2019)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import describe_intervals, describe_nested, draw_estimates, interval_name
from nlgbench.plots.style import TWO_COLUMN
from nlgbench.study.checks import read_table

#: Columns of log-frequency and their names: the paper's axis, and the one that HUSE uses.
_AXES = {
    "logprob": "Log-frequency of the text (nats)",
    "logprob_per_token": "Log-frequency per token (nats)",
}


@in_paper_style
def plot_typicality(
    table: pd.DataFrame, *, r: pd.DataFrame | None = None, ax: Sequence[Axes] | None = None
) -> Drawing:
    """Draw mean judgments with intervals against the log-frequency of texts, whole and per token.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.worlds.typicality_table`: ``logprob`` and ``logprob_per_token`` (nats),
        ``judgment`` (mean), ``ci_low``, ``ci_high``, ``confidence``, ``source``.
    r : DataFrame, optional
        From `nlgbench.worlds.typicality_correlation`; it is in the notes.
    ax : sequence of two Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        The left panel has the axis of the paper. Its data are `table` without texts.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> from nlgbench.worlds import typicality_table
    >>> [ax.get_xlabel() for ax in plot_typicality(typicality_table(n_sentences=10, seed=0)).axes]
    ['Log-frequency of the text (nats)', 'Log-frequency per token (nats)']
    """
    needed = f"{' '.join(f'{axis}:float' for axis in _AXES)} judgment:float ci_low:float"
    needed += " ci_high:float confidence:float source:text"
    table = read_table(table, needed, "table has")
    axes = axes_for(ax, TWO_COLUMN, 2.5, n=2, columns=2, sharey=True)
    rows = table.rename(columns={"judgment": "estimate"})
    alt = f"Mean judgment of {len(table)} texts against their log-frequency, whole and per token,"
    alt += describe_intervals(rows) + "."
    for panel, (axis, label) in zip(axes, _AXES.items(), strict=True):
        draw_estimates(panel, rows[axis], rows, upright=True, linewidth=0.5, markersize=2)
        panel.set_xlabel(label)
    axes[0].set_ylabel("Mean human judgment")
    notes = describe_nested(rows)
    if r is not None:
        needed = "x pearson:float ci_low:float ci_high:float confidence:float?"
        r = read_table(r, needed, "r has").set_index("x")
        if missing := [axis for axis in _AXES if axis not in r.index]:
            raise ValueError(f"r has no row where x is {missing[0]!r}: add it, or omit r.")
        for panel, axis in zip(axes, _AXES, strict=True):
            pearson, low, high = r.loc[axis, ["pearson", "ci_low", "ci_high"]]
            notes += f" {panel.get_xlabel()}: Pearson's r {pearson:.2f}, "
            notes += f"{interval_name(r)} {low:.2f} to {high:.2f}."
    return as_drawing(axes, table.drop(columns="text", errors="ignore"), alt, notes)
