"""A recorded quantity against a parameter over the runs of a grid."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.names import known
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_legend, in_paper_style
from nlgbench.plots.rows import draw_estimates
from nlgbench.plots.style import ONE_COLUMN, line_look
from nlgbench.study.checks import read_table

_MOST_TICKS = 7


@in_paper_style
def plot_sweep(
    sweep: pd.DataFrame, x: str, y: str, *, hue: str | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw results of runs against one of their parameters, as ``nlgbench plot-sweep`` does.

    `sweep` is the ``sweep.csv`` of a folder of runs, and `y` a quantity or the last part of its
    name. `hue` distinguishes lines: ``row`` (such as the system), another parameter, or a column.
    If a value of `x` has several rows, the line connects their medians.
    """
    needed = "quantity:text row:text column:text estimate:float ci_low:float ci_high:float"
    sweep = read_table(sweep, f"{needed} run:text?", "a sweep has")
    parameters = [
        name.removeprefix("param_") for name in map(str, sweep) if name.startswith("param_")
    ]
    known(x, parameters, "x")
    rows = sweep[(sweep["column"] == y) | (sweep["quantity"] == y)]
    if rows.empty:
        known(y, sorted({*sweep["column"], *sweep["quantity"]}), "y")
    over, named = f"param_{x}", f"param_{hue}" if hue in parameters else hue
    if named is not None:
        known(named, list(sweep.columns), "hue")
    groups = pd.Series("", rows.index) if named is None else rows[named].astype(str)
    (place,) = axes_for(ax, ONE_COLUMN, 2.4)
    values = pd.to_numeric(rows[over], errors="coerce")
    names = sorted(rows[over].astype(str).unique())
    words = values.isna().any()
    drawn = rows.assign(x=rows[over].map(names.index) if words else values, hue=groups)
    places = np.unique(drawn["x"])
    step = 0.02 * (np.ptp(places) or 1.0)  # offset, so that bars don't overlap
    n_lines = groups.nunique()
    for n, (group, lines) in enumerate(drawn.groupby("hue", sort=True)):
        look = line_look(n)
        marker = look.pop("marker")
        aside = step * (n - (n_lines - 1) / 2)
        middle = lines.groupby("x")["estimate"].agg(["median", "size"])
        if (middle["size"] > 1).any():
            lines = lines.assign(ci_low=np.nan, ci_high=np.nan)
        place.plot(middle.index + aside, middle["median"], label=in_legend(group), **look)
        mark = {"marker": marker, "color": look["color"]}
        draw_estimates(place, lines["x"] + aside, lines, upright=True, **mark)
    if words:
        place.set_xticks(range(len(names)), names)
    elif len(places) <= _MOST_TICKS:
        place.set_xticks(places)
    place.set_xlabel(x)
    place.set_ylabel(y)
    if hue is not None:
        place.legend(title=hue, loc="center left", bbox_to_anchor=(1, 0.5))
    several = ", by " + hue if hue else ""
    alt = f"{y} against {x} over {rows['run'].nunique() if 'run' in rows else len(names)} runs"
    shown = drawn.drop(columns="hue") if hue is None else drawn
    return drawn_on([place], shown, f"{alt}{several}.")
