"""A matrix that shows which measures of distributions follow a known true value."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from nlgbench.analysis.distributions.measures import MANIFOLDS
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, require_unique
from nlgbench.plots.rows import describe_intervals
from nlgbench.plots.style import SCORE_NAMES, TWO_COLUMN
from nlgbench.study.checks import read_table

_NAMES = SCORE_NAMES | {
    "mmd_gaussian": "MMD\N{SUPERSCRIPT TWO}, Gaussian",
    "mmd_linear": "MMD\N{SUPERSCRIPT TWO}, linear",
    "vendi": "Vendi score",
}
_NAMES |= {measure: measure.capitalize() for measure in (*MANIFOLDS, "frontier")}
#: Verdict of `measure_trends` -> color of its cell: pale, so that black text is readable.
_COLORS = {
    "": "#DDDDDD",
    "detects": "#A6CDE8",
    "detects the reverse": "#F4B183",
    "not monotone": "#F7E3A1",
    "inconclusive": "#FFFFFF",
}
_UNTESTED = "not tested"


@in_paper_style
def plot_distributions(trends: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw a matrix of slopes and verdicts, which shows whether measures follow the true value.

    Parameters
    ----------
    trends : DataFrame
        From `measure_trends` for one true value; concatenate the tables of several changes, with a
        column ``change`` that names each.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Each cell shows the verdict and the slope with its interval; gray cells have no verdict.

    Raises
    ------
    ValueError
        If a column is missing, the table is empty, or a cell has two rows.

    Examples
    --------
    >>> trends = pd.DataFrame({"measure": ["vendi"], "change": "temperature", "estimate": 60.0,
    ...     "ci_low": 50.0, "ci_high": 70.0, "verdict": "detects"})
    >>> plot_distributions(trends).alt
    'Verdicts on whether measures follow the truth. temperature: Vendi score "detects" (slope 60).'
    """
    numbers = "estimate:float ci_low:float ci_high:float"
    trends = read_table(
        trends, f"measure change {numbers} verdict:text confidence:float?", "trends have"
    )
    require_unique(trends, ["measure", "change"], "select one true value")
    trends = trends.fillna({"verdict": ""})
    measures, changes = (list(dict.fromkeys(trends[name])) for name in ("measure", "change"))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.75 + 0.3 * len(measures))
    codes = pd.Categorical(trends["verdict"], list(_COLORS)).codes  # others: -1, the first color
    cells = trends.assign(code=codes, text=trends.apply(_describe_cell, axis=1))
    grid, texts = (
        cells.pivot(index="measure", columns="change", values=column).loc[measures, changes]
        for column in ("code", "text")
    )
    style: dict[str, Any] = {"cmap": [*_COLORS.values()], "vmin": 0, "vmax": len(_COLORS) - 1}
    style |= {"cbar": False, "linewidths": 0.6, "linecolor": "#B8B8B8", "clip_on": False}
    style |= {"fmt": "", "annot_kws": {"color": "black", "fontsize": 6.5, "linespacing": 1.1}}
    sns.heatmap(grid.rename(_NAMES), ax=ax, annot=texts, xticklabels=1, yticklabels=1, **style)
    ax.xaxis.tick_top()
    ax.set_xticklabels(changes, fontweight="bold")
    ax.tick_params(length=0, labelrotation=0)
    ax.set_ylabel("")
    verdicts = trends["measure"].replace(_NAMES) + ' "' + trends["verdict"].replace("", _UNTESTED)
    verdicts += '" (slope ' + trends["estimate"].map(_format_slope) + ")"
    by_change = verdicts.groupby(trends["change"], sort=False).agg(", ".join)
    described = "; ".join(by_change.index + ": " + by_change)
    footnote = "Slope per unit of the true value (sign-flipped if lower is better)"
    footnote += describe_intervals(trends) + "."
    if trends["verdict"].eq("").any():
        footnote += " Gray: not tested (see the column reason)."
    ax.set_xlabel(textwrap.fill(footnote, 100), loc="right", fontsize=7, multialignment="left")
    ax.xaxis.set_label_position("bottom")
    return as_drawing(ax, trends, f"Verdicts on whether measures follow the truth. {described}.")


def _format_slope(value: float) -> str:
    return f"{value:.2g}" if np.isfinite(value) else "undefined"


def _describe_cell(row: pd.Series) -> str:
    ends = row["ci_low"], row["ci_high"]
    slope = _format_slope(row["estimate"])
    slope += " [{:.2g}, {:.2g}]".format(*ends) if np.isfinite(ends).all() else ""
    return f"{row['verdict'] or _UNTESTED}\n{slope}".replace("-", "\N{MINUS SIGN}")
