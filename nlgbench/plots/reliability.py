"""Reliability diagrams: whether an evaluator's probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.evaluators.listeners.listeners import Calibration
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import describe_nested, draw_estimates
from nlgbench.plots.style import ONE_COLUMN, TWO_COLUMN, line_look
from nlgbench.study.checks import read_table


@in_paper_style
def plot_reliability(
    calibrated: Calibration | pd.DataFrame,
    *,
    seed: int | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Drawing:
    """Draw a reliability diagram: how often listeners are right, by predicted probability.

    Parameters
    ----------
    calibrated : Calibration or DataFrame
        From `nlgbench.calibration`; or a row per bin: ``probability`` (mean in the bin),
        ``estimate`` (observed frequency). Optional: ``listener`` (a panel each), ``stage`` (a line
        each), ``ci_low`` and ``ci_high``, and ``ece``, the expected calibration error.
    seed : int, optional
        Seed of the listener to draw, if there are several of one kind. Default: the first.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per listener; a new figure by default.

    Returns
    -------
    Drawing
        In a perfectly calibrated bin, the point is on the diagonal. Its data are the bins.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> bins = pd.DataFrame({"probability": [0.4, 0.8], "estimate": [0.5, 0.7]})
    >>> len(plot_reliability(bins).axes)
    1
    """
    table = calibrated.bins if isinstance(calibrated, Calibration) else calibrated
    optional = "listener? stage? ci_low:float? ci_high:float? ece:float? seed:float?"
    table = read_table(table, f"probability:float estimate:float {optional}", "table has")
    if "seed" in table and table["seed"].notna().any():
        chosen_seed = table["seed"].iloc[0] if seed is None else seed
        table = table[table["seed"].isna() | (table["seed"] == chosen_seed)]
    listeners = table["listener"] if "listener" in table else pd.Series("", table.index)
    groups = {str(name): rows for name, rows in table.groupby(listeners, sort=False)}
    width = ONE_COLUMN if len(groups) == 1 else TWO_COLUMN
    panels = axes_for(ax, width, 2.7, n=len(groups), columns=len(groups), sharey=True)
    for panel, (name, rows) in zip(panels, groups.items(), strict=True):
        _draw_diagram(panel, rows)
        panel.set_title(name, loc="left")
        panel.set_xlabel("Predicted probability")
    panels[0].set_ylabel("Observed share")
    drawn = table.reindex(columns=["probability", "estimate", "ci_low"])
    limits = (np.floor(10 * np.nanmin(drawn)) / 10 - 0.02, 1.02)
    for panel in panels:
        panel.set(xlim=limits, ylim=limits, aspect="equal")
    entries = panels[0].get_legend_handles_labels()
    panels[0].figure.legend(*entries, loc="outside upper right", ncols=2)
    errors = ""
    if "ece" in table and "stage" in table:
        stages = table.assign(listener=listeners).drop_duplicates(["listener", "stage"])
        errors = " Calibration errors before and after temperature scaling: " + "; ".join(
            f"{row.listener} {row.stage} {row.ece:.3f}".strip()
            for row in stages.dropna(subset="ece").itertuples()
        )
        errors += "."
    alt = "Reliability diagram: how often listeners are right, by predicted probability."
    notes = f"Diagonal: perfect calibration.{errors}"
    notes += f" {describe_nested(table)}" if "ci_low" in table else ""
    return as_drawing(panels, table, alt, notes)


def _draw_diagram(ax: Axes, table: pd.DataFrame) -> None:
    """Draw a line per stage."""
    stages = table["stage"].astype(str) if "stage" in table else pd.Series("", table.index)
    names = list(dict.fromkeys(stages))
    ax.plot([0, 1], [0, 1], color="#777777", linewidth=0.6, zorder=1)
    for n, stage in enumerate(names):
        rows = table[stages == stage].dropna(subset=["probability", "estimate"])
        rows = rows.sort_values("probability")
        style = line_look(n)
        points = rows["probability"], rows["estimate"]
        ax.plot(
            *points, label=legend_label(stage) if stage else None, markersize=3.5, zorder=3, **style
        )
        if {"ci_low", "ci_high"} <= set(rows.columns):
            marks = {"color": style["color"], "marker": ""}
            draw_estimates(ax, rows["probability"], rows, upright=True, **marks)
