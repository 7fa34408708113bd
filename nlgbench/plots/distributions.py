"""A matrix that shows which measures of distributions follow a known true value."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from nlgbench.analysis.distributions.measures import MANIFOLDS
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, require_unique
from nlgbench.plots.rows import describe_intervals, label_rows
from nlgbench.plots.style import SCORE_NAMES, TWO_COLUMN
from nlgbench.study.checks import read_table

_NAMES = SCORE_NAMES | {
    "mmd_gaussian": "MMD\N{SUPERSCRIPT TWO}, Gaussian",
    "mmd_linear": "MMD\N{SUPERSCRIPT TWO}, linear",
    "vendi": "Vendi score",
}
_NAMES |= {measure: measure.capitalize() for measure in (*MANIFOLDS, "frontier")}
#: Verdict of `measure_trends` -> color of its cell: pale, so that black text is readable.
_VERDICTS = {
    "sees": "#A6CDE8",
    "sees the wrong way": "#F4B183",
    "not monotone": "#F7E3A1",
    "does not see": "#FFFFFF",
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
        Each cell shows the verdict and the slope with its interval; hatched cells have no verdict.

    Raises
    ------
    ValueError
        If a column is missing, the table is empty, or a cell has two rows.

    Examples
    --------
    >>> trends = pd.DataFrame({"measure": ["vendi"], "change": "temperature", "estimate": 60.0,
    ...     "ci_low": 50.0, "ci_high": 70.0, "verdict": "sees"})
    >>> plot_distributions(trends).alt
    'Verdicts on whether measures follow the truth. temperature: Vendi score "sees" (slope 60).'
    """
    numbers = "estimate:float ci_low:float ci_high:float"
    trends = read_table(
        trends, f"measure change {numbers} verdict:text confidence:float?", "trends have"
    )
    require_unique(trends, ["measure", "change"], "select one true value")
    trends = trends.fillna({"verdict": ""})
    measures, changes = (list(dict.fromkeys(trends[name])) for name in ("measure", "change"))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.75 + 0.3 * len(measures))
    for row in trends.to_dict("records"):
        _write_cell(ax, changes.index(row["change"]), measures.index(row["measure"]), row)
    verdicts = trends["measure"].replace(_NAMES) + ' "' + trends["verdict"].replace("", _UNTESTED)
    verdicts += '" (slope ' + trends["estimate"].map(_format_slope) + ")"
    by_change = verdicts.groupby(trends["change"], sort=False).agg(", ".join)
    texts = "; ".join(by_change.index + ": " + by_change)
    label_rows(ax, [_NAMES.get(measure, measure) for measure in measures])
    ax.set_ylim(len(measures) - 0.5, -0.5)
    ax.set_xlim(-0.5, len(changes) - 0.5)
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(changes)), changes, fontweight="bold")
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    footnote = "Slope per unit of the true value (sign-flipped if lower is better)"
    footnote += describe_intervals(trends) + "."
    if trends["verdict"].eq("").any():
        footnote += " Hatched: not tested (see the column reason)."
    ax.set_xlabel(textwrap.fill(footnote, 100), loc="right", fontsize=7, multialignment="left")
    ax.xaxis.set_label_position("bottom")
    return as_drawing(ax, trends, f"Verdicts on whether measures follow the truth. {texts}.")


def _format_slope(value: float) -> str:
    return f"{value:.2g}" if np.isfinite(value) else "undefined"


def _write_cell(ax: Axes, x: int, y: int, row: dict[Any, Any]) -> None:
    style: dict[str, Any] = {"edgecolor": "#B8B8B8", "linewidth": 0.6}
    color = _VERDICTS.get(row["verdict"])
    style |= {"facecolor": color} if color else {"facecolor": "white", "hatch": "////"}
    ax.add_patch(Rectangle((x - 0.49, y - 0.46), 0.98, 0.92, **style))
    ends = row["ci_low"], row["ci_high"]
    slope = _format_slope(row["estimate"])
    slope += " [{:.2g}, {:.2g}]".format(*ends) if np.isfinite(ends).all() else ""
    text = f"{row['verdict'] or _UNTESTED}\n{slope}".replace("-", "\N{MINUS SIGN}")
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    alignment: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1}
    ax.text(x, y, text, bbox=None if color else box, fontsize=6.5, **alignment)
