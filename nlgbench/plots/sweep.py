"""A recorded quantity against a parameter, over the runs of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.names import known
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_legend, in_paper_style
from nlgbench.plots.style import GROUPS, ONE_COLUMN
from nlgbench.study.checks import convert_columns, read_table
from nlgbench.study.csv_files import GREATEST

_MOST_LINES = len(GROUPS)


@in_paper_style
def plot_sweep(
    sweep: pd.DataFrame, x: str, y: str, *, hue: str | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw what runs found against one of their parameters, with intervals.

    Parameters
    ----------
    sweep : DataFrame
        ``sweep.csv`` of a folder of runs: quantity, row, column, estimate, ci_low, ci_high and
        ``param_NAME`` of each parameter.
    x : str
        A parameter, without ``param_``.
    y : str
        A quantity, or the last part of its name, which a run's rows have in common.
    hue : str, optional
        What lines are drawn for: ``row`` (such as the system), another parameter, or a column.
        Where a value of x has several rows otherwise, they are shown as points, and the line goes
        through their median.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Bars are the runs' own intervals; of several rows none is drawn.

    Raises
    ------
    ValueError
        If a column, parameter or quantity is unknown, or there are more lines than looks.

    Examples
    --------
    >>> sweep = pd.DataFrame({"quantity": "simulated/a/huse", "row": "a", "column": "huse",
    ...                       "estimate": [0.5, 0.6], "ci_low": [0.4, 0.5], "ci_high": [0.6, 0.7],
    ...                       "param_n_neighbors": ["8", "16"]})
    >>> plot_sweep(sweep, "n_neighbors", "huse").axes[0].get_xlabel()
    'n_neighbors'
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
    asked = [name for name in (over, named) if name is not None]
    said = pd.DataFrame({name: rows[name].map(str, na_action="ignore") for name in asked})
    said = convert_columns(said, dict.fromkeys(asked, "name"), asked, "a sweep has")
    groups = pd.Series("", rows.index) if named is None else said[named]
    if groups.nunique() > _MOST_LINES:
        raise ValueError(
            f"hue={hue!r} has {groups.nunique()} values, and {_MOST_LINES} lines can be told "
            "apart: leave rows of the sweep out."
        )
    place = axes_for(ax, ONE_COLUMN, 2.4)[0]
    values = pd.to_numeric(rows[over], errors="coerce")
    names = sorted(said[over].unique())
    is_number = bool((values.abs() <= GREATEST).all())
    at = values if is_number else said[over].map(names.index)
    drawn = rows.assign(x=at.to_numpy(dtype=float), hue=groups)
    places = np.unique(drawn["x"])
    step = 0.02 * (np.ptp(places) or 1.0)  # side by side, so that no bar hides another
    of_each = list(drawn.groupby("hue", sort=True))
    for number, (group, lines) in enumerate(of_each):
        marker, color = GROUPS[number]
        aside = step * (number - (len(of_each) - 1) / 2)
        middle = lines.groupby("x")["estimate"].agg(["median", "size"])
        look: dict[str, Any] = {"color": color, "linewidth": 1, "label": in_legend(group)}
        if (middle["size"] == 1).all():
            lines = lines.sort_values("x")
            ends = lines[["ci_low", "ci_high"]].to_numpy()
            away = np.abs(ends - lines[["estimate"]].to_numpy()).T
            x_at = lines["x"] + aside
            place.errorbar(x_at, lines["estimate"], yerr=away, marker=marker, markersize=4, **look)
        else:
            place.plot(middle.index + aside, middle["median"], **look)
            place.scatter(lines["x"] + aside, lines["estimate"], s=8, marker=marker, color=color)
    if not is_number:
        place.set_xticks(range(len(names)), names)
    elif len(places) <= _MOST_LINES:
        place.set_xticks(places)
    place.set_xlabel(x)
    place.set_ylabel(y)
    if hue is not None:
        place.legend(title=hue, loc="center left", bbox_to_anchor=(1, 0.5))
    several = ", for each " + hue if hue else ""
    words = f"{y} against {x} over {rows['run'].nunique() if 'run' in rows else len(names)} runs"
    shown = drawn.drop(columns="hue") if hue is None else drawn
    return drawn_on([place], shown, f"{words}{several}.")
