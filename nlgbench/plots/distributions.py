"""Which measures of distributions follow the truth, and how often each sees a difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    drawn_on,
    in_legend,
    in_paper_style,
    name_lanes,
)
from nlgbench.plots.style import GROUPS, SCORE_NAMES, TWO_COLUMN
from nlgbench.study.checks import read_table

_NAMES = SCORE_NAMES | {
    "mmd_gaussian": "MMD\N{SUPERSCRIPT TWO}, Gaussian",
    "mmd_linear": "MMD\N{SUPERSCRIPT TWO}, linear",
    "precision": "Precision",
    "recall": "Recall",
    "density": "Density",
    "coverage": "Coverage",
    "vendi": "Vendi score",
    "frontier": "Frontier",
}
#: Verdict of `measure_trends` -> color of its cell, pale, so that black reads on it.
_VERDICTS = {
    "sees": "#A6CDE8",
    "sees the wrong way": "#F4B183",
    "not monotone": "#F7E3A1",
    "does not see": "#FFFFFF",
}
_UNTESTED = "not tested"
_LEVEL = 0.05
_LINES = ("-", "--")


@in_paper_style
def plot_distributions(trends: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw which measures follow the truth over which changes: a matrix of slopes and verdicts.

    Parameters
    ----------
    trends : DataFrame
        As `measure_trends` gives it for one true value, a table for each change below the other,
        with a column ``change`` that names it.
    ax : Axes, optional
        Where to draw; a figure of its own by default, as high as the measures need.

    Returns
    -------
    Drawing
        Measures down the left and changes across, in the order of `trends`. A cell has the verdict
        and the slope with its interval; it is hatched where the verdict is empty.

    Raises
    ------
    ValueError
        If a column is missing, there is no row, or a cell is given twice.

    Examples
    --------
    >>> trends = pd.DataFrame({"measure": ["vendi"], "change": "temperature", "slope": 60.0,
    ...     "ci_low": 50.0, "ci_high": 70.0, "verdict": "sees", "reason": ""})
    >>> plot_distributions(trends).alt
    'Whether each measure follows the truth. temperature: Vendi score sees (slope 60).'
    """
    numbers = "slope:float ci_low:float ci_high:float"
    trends = read_table(
        trends, f"measure change {numbers} verdict:text reason:text?", "trends have"
    )
    if trends.duplicated(["measure", "change"]).any():
        twice = trends[trends.duplicated(["measure", "change"])].iloc[0]
        raise ValueError(
            f"trends have several rows of {twice['measure']!r} for the change {twice['change']!r}: "
            "keep those of one true value."
        )
    measures, changes = (list(dict.fromkeys(trends[name])) for name in ("measure", "change"))
    (ax,) = axes_for(ax, TWO_COLUMN, 0.75 + 0.3 * len(measures))
    for row in trends.fillna({"verdict": ""}).to_dict("records"):
        _write_cell(ax, changes.index(row["change"]), measures.index(row["measure"]), row)
    name_lanes(ax, [_NAMES.get(one, one) for one in measures])
    ax.set_ylim(len(measures) - 0.5, -0.5)
    ax.set_xlim(-0.5, len(changes) - 0.5)
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(changes)), changes, fontweight="bold")
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    words = "Slope on the true value, higher being better, with its 95% interval."
    if trends["verdict"].fillna("").eq("").any():
        words += " Hatched: some systems have no standard error."
    ax.set_xlabel(words, loc="right", fontsize=7)
    ax.xaxis.set_label_position("bottom")
    parts: dict[str, list[str]] = {change: [] for change in changes}
    for row in trends.fillna({"verdict": ""}).to_dict("records"):
        name = _NAMES.get(row["measure"], row["measure"])
        parts[row["change"]].append(
            f"{name} {row['verdict'] or _UNTESTED} (slope {row['slope']:.2g})"
        )
    said = "; ".join(f"{change}: {', '.join(part)}" for change, part in parts.items())
    return drawn_on(ax, trends, f"Whether each measure follows the truth. {said}.")


def _write_cell(ax: Axes, x: int, y: int, row: dict[Any, Any]) -> None:
    look: dict[str, Any] = {"edgecolor": "#B8B8B8", "linewidth": 0.6}
    color = _VERDICTS.get(row["verdict"])
    look |= {"facecolor": color} if color else {"facecolor": "white", "hatch": "////"}
    ax.add_patch(Rectangle((x - 0.49, y - 0.46), 0.98, 0.92, **look))
    ends = row["ci_low"], row["ci_high"]
    slope = f"{row['slope']:.2g}"
    slope += " [{:.2g}, {:.2g}]".format(*ends) if np.isfinite(ends).all() else ""
    words = f"{row['verdict'] or _UNTESTED}\n{slope}".replace("-", "\N{MINUS SIGN}")
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    placed: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "linespacing": 1.1}
    ax.text(x, y, words, bbox=None if color else white, **placed)


@in_paper_style
def plot_power(powers: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw how often each measure finds a difference, by the number of texts.

    Parameters
    ----------
    powers : DataFrame
        measure, n (texts of either side), power (a share). Optional panel, one for each value; and
        se, the share's standard error: bars of 1.96 to either side.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each panel; a figure of its own by default.

    Returns
    -------
    Drawing
        A line per measure; a thin line at .05, what a test finds where there is nothing.

    Raises
    ------
    ValueError
        If a column is missing, there are more measures than looks, or not as many axes as panels.

    Examples
    --------
    >>> powers = pd.DataFrame({"measure": "vendi", "n": [50, 100], "power": [0.2, 0.6]})
    >>> plot_power(powers).alt
    'Power by the number of texts, 50 to 100. Vendi score: 0.20, 0.60.'
    """
    powers = read_table(powers, "measure n:int power:float se:float? panel:text?", "powers have")
    measures = list(dict.fromkeys(powers["measure"]))
    if len(measures) > len(GROUPS) * len(_LINES):
        raise ValueError(
            f"{len(measures)} measures, and {len(GROUPS) * len(_LINES)} lines can be told apart: "
            "leave some out."
        )
    named = powers["panel"] if "panel" in powers else pd.Series("", powers.index)
    panels = list(dict.fromkeys(named))
    columns = min(2, len(panels))
    n_rows = -(-len(panels) // columns)
    axes = axes_for(ax, TWO_COLUMN, 0.3 + 2.1 * n_rows, rows=n_rows, columns=columns, sharey=True)
    if len(axes) < len(panels) or (ax is not None and len(axes) != len(panels)):
        raise ValueError(f"ax must be {len(panels)} Axes, one for each panel. Got {len(axes)}.")
    sizes = sorted(powers["n"].unique())
    for place, panel in zip(axes, panels, strict=False):
        for number, measure in enumerate(measures):
            line = powers[(named == panel) & (powers["measure"] == measure)].sort_values("n")
            _draw_power(place, line, number, len(measures), str(measure))
        place.axhline(_LEVEL, color="#888888", linewidth=0.5, zorder=0)
        place.set(xscale="log", ylim=(-0.04, 1.04), title=panel)
        place.set_xticks(sizes, [f"{size:g}" for size in sizes])
        place.minorticks_off()
        place.set_xlabel("texts of either side")
    for place in axes[::columns]:
        place.set_ylabel("power")
    for spare in axes[len(panels) :]:
        spare.set_axis_off()
    if ax is None:
        figure = axes[0].get_figure(root=True)
        assert figure is not None
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
    parts = []
    for (panel, measure), line in powers.groupby([named, "measure"], sort=False):
        values = ", ".join(f"{value:.2f}" for value in line.sort_values("n")["power"])
        where = f"{panel}, " if panel else ""
        parts.append(f"{where}{_NAMES.get(str(measure), measure)}: {values}")
    words = f"Power by the number of texts, {sizes[0]} to {sizes[-1]}. {'; '.join(parts)}."
    return drawn_on(axes[: len(panels)], powers, words)


def _draw_power(ax: Axes, line: pd.DataFrame, number: int, n_measures: int, measure: str) -> None:
    """Draw one line, its points a little aside so that bars do not hide one another."""
    round_, look = divmod(number, len(GROUPS))
    marker, color = GROUPS[look]
    x = line["n"] * np.exp(0.02 * (number - (n_measures - 1) / 2))
    error = 1.96 * line["se"] if "se" in line else None
    style: dict[str, Any] = {"color": color, "linestyle": _LINES[round_], "linewidth": 0.9}
    style |= {"marker": marker, "markersize": 3.2, "elinewidth": 0.6}
    style |= {"markerfacecolor": "white" if round_ else color}
    ax.errorbar(
        x, line["power"], yerr=error, label=in_legend(_NAMES.get(measure, measure)), **style
    )
