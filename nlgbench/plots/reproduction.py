"""Recomputed against published numbers, with a panel per scale and source of evidence."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.names import known
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import draw_intervals
from nlgbench.plots.style import GROUPS, ONE_COLUMN, TWO_COLUMN
from nlgbench.status import Unsupported
from nlgbench.text import counted

#: Prefixes of units -> name of their common scale.
_SCALES = {
    ("proportion", "score", "ratio", "share"): "share or score",
    ("count", "mean count"): "count",
    ("correlation, magnitude",): "correlation (magnitude)",
}
_SOURCES = {"published": "derived", "released": "from data", "study": "from data"}
#: A panel's axes are logarithmic if the ratio of its extremes exceeds this.
_LOG_FROM = 50


@in_paper_style
def plot_reproduction(
    found: pd.DataFrame, *, paper: str | None = None, ax: Sequence[Axes] | None = None
) -> Drawing:
    """Draw a paper's recomputed numbers against its published ones.

    Parameters
    ----------
    found : DataFrame
        From `nlgbench.reproduction`.
    paper : str, optional
        Name of the paper, as in the table. Default: the first with numbers.
    ax : sequence of Axes, optional
        Where to draw, one per combination of scale and source; a new figure by default.

    Returns
    -------
    Drawing
        A panel per scale (percent, correlations, counts, ...) and source: recomputed from data, or
        derived from other published numbers. Markers distinguish tables; open ones mark conditions
        that differ from the paper's. Lines are intervals. Its data are the rows drawn.

    Raises
    ------
    ValueError
        If the paper is unknown, or none of its numbers was recomputed.

    Examples
    --------
    >>> import nlgbench as nb
    >>> ids = [f"study/pilot/table1/{name}" for name in ("bleu", "chrf", "ter")]
    >>> ledger = pd.DataFrame({"claim_id": ids, "published": [0.4, 0.5, 0.6]})
    >>> ledger = ledger.assign(recomputed=[0.4, 0.52, 0.6], source="study")
    >>> ledger["verdict"] = ["matches", "differs", "matches"]
    >>> print(plot_reproduction(nb.reproduction(ledger)).alt)
    study/pilot, recomputed against published: 3 values. Verdicts: matches: 2, differs: 1.
    """
    recomputed = found[found["kind"].eq("number") & found["recomputed"].notna()]
    if recomputed.empty:
        raise Unsupported("no_numbers", "no number was recomputed: there is nothing to draw.")
    papers = recomputed["paper"].unique().tolist()
    name = papers[0] if paper is None else known(paper, papers, "paper")
    data = recomputed[recomputed["paper"] == name].reset_index(drop=True)
    source = data["source"].map(_SOURCES).fillna(data["source"])
    data = data.assign(panel=data["unit"].map(_scale) + ", " + source)
    titles = data["panel"].value_counts().index
    n_columns = min(len(titles), 3)
    n_rows = math.ceil(len(titles) / n_columns)
    width = TWO_COLUMN if n_columns > 1 else ONE_COLUMN
    height = n_rows * (2.3 if n_columns > 1 else ONE_COLUMN + 0.1)
    axes = axes_for(ax, width, height, n=len(titles), columns=n_columns)
    for panel, title in zip(axes, titles, strict=True):
        _draw_values(panel, data[data["panel"] == title])
        panel.set_title(title[0].upper() + title[1:], fontsize=7.5)
    counts = data["verdict"].replace("new", "under other conditions (open marks)").value_counts()
    verdicts = ", ".join(f"{verdict}: {n}" for verdict, n in counts.items())
    alt = f"{name}, recomputed against published: {counted(len(data), 'value')}. "
    return as_drawing(axes, data, f"{alt}Verdicts: {verdicts}.")


def _scale(unit: str) -> str:
    """Return the scale of a unit; several units can share one."""
    scales = (name for prefixes, name in _SCALES.items() if unit.startswith(prefixes))
    return next(scales, unit.split(",")[0] or "number")


def _draw_values(ax: Axes, panel: pd.DataFrame) -> None:
    """Draw one panel: the line of equality, intervals, and a mark for each value."""
    numbers = panel[["published", "recomputed", "ci_low", "ci_high"]]
    low, high = float(numbers.min().min()), float(numbers.max().max())
    if low > 0 and high / low > _LOG_FROM:
        ax.set(xscale="log", yscale="log")
        limits = (low / 1.5, high * 1.5)
    else:
        margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
        limits = (low - margin, high + margin)
        ax.locator_params(nbins=4, steps=[1, 2, 5, 10])
    ax.plot(limits, limits, color="#777777", linewidth=0.6, zorder=1)
    group = panel["where"].str.replace(r"([a-z])(\d)", r"\1 \2", regex=True).str.capitalize()
    if len(set(group)) == 1 < len(set(panel["variant"])):
        group = panel["variant"].where(panel["variant"].ne(""), group)
    names = group.value_counts().index.tolist()
    if len(names) > len(GROUPS):  # the smallest share one marker
        names = [*names[: len(GROUPS) - 1], "others"]
        group = group.where(group.isin(names), "others")
    for name, (marker, color) in zip(names, GROUPS, strict=False):
        group_rows = panel[group == name]
        line: dict[str, Any] = {"color": color, "linewidth": 0.5, "alpha": 0.45}
        draw_intervals(ax, group_rows["published"], group_rows, upright=True, **line)
        face = (group_rows["verdict"] == "new").map({True: "white", False: color})
        label = legend_label(textwrap.shorten(name or "claims", 34, placeholder=" ..."))
        points = ax.scatter(
            "published", "recomputed", s=13, c=face, marker=marker, data=group_rows, zorder=3
        )
        points.set(edgecolor=color, linewidth=0.7, label=label)
    ax.set(xlim=limits, ylim=limits, xlabel="Published", ylabel="Recomputed")
    ax.tick_params(labelsize=7)
    ax.legend(loc="best", fontsize=7, framealpha=0.7, edgecolor="none", handlelength=1.0)
