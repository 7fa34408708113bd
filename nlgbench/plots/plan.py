"""Planned studies: what power they have, by formula and in simulated ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from nlgbench.analysis.planning import StudyPlan
from nlgbench.checks import read_table
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_paper_style,
)
from nlgbench.plots.style import GROUPS, ONE_COLUMN

_LINES = ("-", "--", ":", "-.")


@in_paper_style
def plot_plan(
    plan: StudyPlan | pd.DataFrame, *, power: float = 0.8, ax: Axes | None = None
) -> Drawing:
    """Draw the power of planned studies, with simulated ones beside the formula.

    Parameters
    ----------
    plan : StudyPlan or DataFrame
        From `nlgbench.plan_study`, `plan_correlations` or `plan_huse`, or its ``curve``: ``power``,
        and ``n_items`` (with ``n_annotators``, a line for each number) or ``n_systems``; optional
        ``simulated``, ``simulated_low``, ``simulated_high``.
    power : float
        Where a thin line stands: the power that is wanted.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Lines are the formula, marks with intervals the share of simulated studies that find the
        difference. Marks of several lines at one number stand a little apart.

    Raises
    ------
    ValueError
        If a column is missing, or no number of items or of systems is there.

    Examples
    --------
    >>> curve = pd.DataFrame({"n_items": [50, 100], "n_annotators": 20, "power": [0.4, 0.7]})
    >>> plot_plan(curve).alt
    'Power against the number of items: with 20 annotators 0.40 at 50 and 0.70 at 100.'
    """
    curve = plan.curve if isinstance(plan, StudyPlan) else plan
    needed = "n_items:float? n_annotators:float? n_systems:float? power:float simulated:float? "
    curve = read_table(curve, needed + "simulated_low:float? simulated_high:float?", "curve has")
    x = next((n for n in ("n_items", "n_systems") if n in curve and curve[n].notna().any()), "")
    if not x:
        raise ValueError("curve has neither n_items nor n_systems: there is no axis for power.")
    (ax,) = axes_for(ax, ONE_COLUMN, 2.5)
    by = curve.get("n_annotators", pd.Series(np.nan, curve.index)).fillna(0)
    if x == "n_items" and not by.duplicated().any():
        by = by * 0  # each number of items has its own annotators
    said = []
    ax.axhline(power, color="#555555", linewidth=0.6, zorder=1)
    groups = list(curve.groupby(by, sort=True))
    for n, (people, rows) in enumerate(groups):
        rows = rows.sort_values(x)
        marker, color = GROUPS[n % len(GROUPS)]
        look: dict[str, Any] = {"color": color, "linestyle": _LINES[n % len(_LINES)]}
        name = f"{people:g} annotators" if people else ""
        ax.plot(rows[x], rows["power"], **look)
        ends = rows.iloc[[0, -1]]
        text = " and ".join(
            f"{p:.2f} at {at:g}" for at, p in zip(ends[x], ends["power"], strict=True)
        )
        said.append(f"with {name} {text}" if name else text)
        simulated = "simulated" in rows and rows["simulated"].notna().any()
        mark: dict[str, Any] = {"marker": marker, "markersize": 3.5, "mfc": "white", "zorder": 3}
        if people:
            ax.plot([], [], label=f"{people:g}", **look, **(mark if simulated else {}))
        if not simulated:
            continue
        at = rows[x] * 1.03 ** (n - (len(groups) - 1) / 2)
        if {"simulated_low", "simulated_high"} <= set(rows):
            low, high = rows["simulated_low"], rows["simulated_high"]
            draw_intervals(ax, at, low, high, upright=True, color=color)
        ax.plot(at, rows["simulated"], linestyle="none", color=color, **mark)
    ax.set_xscale("log")
    numbers = np.unique(curve[x].dropna())
    ax.set_xticks(numbers, [f"{n:g}" for n in numbers])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.03)
    what = "items" if x == "n_items" else "systems"
    ax.set_xlabel(f"Number of {what}")
    ax.set_ylabel("Power")
    if any(people for people, _ in groups):
        legend = {"title": "Annotators", "title_fontsize": 7, "ncols": 4, "borderaxespad": 0.2}
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), alignment="left", **legend)
    alt = f"Power against the number of {what}: {'; '.join(said)}."
    if "simulated" in curve and curve["simulated"].notna().any():
        alt += " Marks are shares of simulated studies."
    return drawn_on(ax, curve, alt)
