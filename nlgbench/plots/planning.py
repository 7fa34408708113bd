"""Study planning: power of planned studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from nlgbench.analysis.planning import StudyPlan
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import draw_reference, legend_above
from nlgbench.plots.style import ACCENT, ESTIMATE, LINES, ONE_COLUMN
from nlgbench.study.checks import read_table

#: The target power of planned studies.
_TARGET = 0.8


@in_paper_style
def plot_plan(plan: StudyPlan | pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw the power of planned studies.

    Parameters
    ----------
    plan : StudyPlan or DataFrame
        From `nlgbench.plan_study`, or its ``curve``: ``power`` and ``n_items``; ``n_annotators``
        (optional): one line per number.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Power against the number of items; a ring is the cheapest design with the planned power.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> curve = pd.DataFrame({"n_items": [50, 100], "n_annotators": 20, "power": [0.4, 0.7]})
    >>> plot_plan(curve).alt.split(". ")[1]
    'Power: with 20 annotators, 0.40 at 50 and 0.70 at 100'
    """
    curve = plan.curve if isinstance(plan, StudyPlan) else plan
    curve = read_table(
        curve, "n_items:float n_annotators:float? n_votes:float? power:float", "curve has"
    )
    (ax,) = axes_for(ax, ONE_COLUMN, 2.5)
    n_annotators = curve.get("n_annotators", pd.Series(np.nan, curve.index)).fillna(0)
    if not n_annotators.duplicated().any():
        n_annotators = n_annotators * 0  # the number of annotators varies with that of items
    draw_reference(ax, _TARGET, upright=True)
    texts = []
    groups = list(curve.groupby(n_annotators, sort=True))
    designs = plan.designs if isinstance(plan, StudyPlan) else pd.DataFrame()
    cheapest = designs.iloc[0] if len(designs) else {"n_annotators": np.nan}
    for n, (number, rows) in enumerate(groups):
        rows = rows.sort_values("n_items")
        label = f"{number:g} annotators" if number else None
        dashes = LINES[n % len(LINES)]
        ax.plot(rows["n_items"], rows["power"], label=label, color=ESTIMATE, linestyle=dashes)
        known_power = rows[["power", "n_items"]].dropna()
        named = known_power.iloc[[0, -1][: len(known_power)]].itertuples(index=False)
        ends = " and ".join(f"{power:.2f} at {n_items:g}" for power, n_items in named)
        texts.append(f"with {number:g} annotators, {ends}" if number else ends)
    ax.set_xscale("log")
    numbers = np.unique(curve["n_items"].dropna())
    ax.set_xticks(numbers, [f"{n:g}" for n in numbers])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("Number of items")
    ax.set_ylabel("Power")
    notes = f"Horizontal line: a power of {_TARGET:g}."
    if len(designs):
        ring: dict[str, Any] = {"color": ACCENT, "markerfacecolor": "none", "zorder": 4}
        ring["label"] = "cheapest design"
        ax.plot(cheapest["n_items"], cheapest["power"], "o", **ring)
        notes += f" Ring: the cheapest design with a power of {cheapest['power']:.2f} has "
        notes += f"{cheapest['n_items']:g} items and {cheapest['n_annotators']:g} annotators, "
        notes += f"{cheapest['n_votes']:g} of them per output or pair."
    if ax.get_legend_handles_labels()[0]:
        legend_above(ax)
    condition = f" for {plan.question}" if isinstance(plan, StudyPlan) else ""
    votes = curve.get("n_votes", pd.Series(dtype=float)).dropna().unique()
    if len(votes) == 1:
        condition += f" with {votes[0]:g} annotators per output or pair"
    alt = f"Power{condition} by number of items. Power: {'; '.join(texts)}."
    return as_drawing(ax, curve, alt, notes)
