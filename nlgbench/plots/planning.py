"""Study planning: power of planned studies."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from nlgbench.analysis.planning import StudyPlan
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style
from nlgbench.plots.rows import draw_reference, legend_above
from nlgbench.plots.style import ONE_COLUMN, line_look
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
        Power against the number of items.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> curve = pd.DataFrame({"n_items": [50, 100], "n_annotators": 20, "power": [0.4, 0.7]})
    >>> plot_plan(curve).alt
    'Power against the number of items: with 20 annotators, 0.40 at 50 and 0.70 at 100.'
    """
    curve = plan.curve if isinstance(plan, StudyPlan) else plan
    curve = read_table(
        curve, "n_items:float n_annotators:float? n_votes:float? power:float", "curve has"
    )
    (ax,) = axes_for(ax, ONE_COLUMN, 2.5)
    by = curve.get("n_annotators", pd.Series(np.nan, curve.index)).fillna(0)
    if not by.duplicated().any():
        by = by * 0  # the number of annotators varies with that of items
    draw_reference(ax, _TARGET, upright=True)
    texts = []
    groups = list(curve.groupby(by, sort=True))
    for n, (n_annotators, rows) in enumerate(groups):
        rows = rows.sort_values("n_items")
        look = line_look(n)
        look.pop("marker")
        label = f"{n_annotators:g}" if n_annotators else None
        ax.plot(rows["n_items"], rows["power"], label=label, **look)
        known = rows[["power", "n_items"]].dropna()
        named = known.iloc[[0, -1][: len(known)]].itertuples(index=False)
        words = " and ".join(f"{power:.2f} at {at:g}" for power, at in named)
        texts.append(f"with {n_annotators:g} annotators, {words}" if n_annotators else words)
    ax.set_xscale("log")
    numbers = np.unique(curve["n_items"].dropna())
    ax.set_xticks(numbers, [f"{n:g}" for n in numbers])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("Number of items")
    ax.set_ylabel("Power")
    question = ""
    if isinstance(plan, StudyPlan):
        question = plan.question
        # Leave room for a legend.
        pad = 30 if any(number for number, _ in groups) else 4
        title = question[:1].upper() + question[1:]
        ax.set_title(textwrap.fill(title, 44), loc="left", fontsize=7, pad=pad)
    if any(number for number, _ in groups):
        legend_above(ax, title="Annotators", title_fontsize=7, ncols=4, alignment="left")
    of = f" ({question})" if question else ""
    votes = curve.get("n_votes", pd.Series(dtype=float)).dropna().unique()
    if len(votes) == 1:
        of += f" with {votes[0]:g} annotators per output or pair"
    alt = f"Power{of} against the number of items: {'; '.join(texts)}."
    return drawn_on(ax, curve, alt)
