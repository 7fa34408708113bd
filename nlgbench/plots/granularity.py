"""The granularity gap: evaluators' correlations over outputs, within items and over systems."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from nlgbench.analysis.correlation import PooledCorrelations, pooling
from nlgbench.evaluators.names import label
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    format_correlation,
    in_paper_style,
    require_unique,
)
from nlgbench.plots.pooled import MOST_COLUMNS, TASK_LOOKS, drawn_evaluators, panel_title
from nlgbench.plots.rows import draw_estimates, draw_intervals, draw_reference, mark, short_number
from nlgbench.plots.style import TWO_COLUMN

_LEVELS = ("output", "item", "system")
_REQUIREMENTS = (
    f"Required: {pooling.FEWEST_STUDIES} studies with standard errors for a mean, "
    f"{pooling.FEWEST_PREDICTED} for a prediction interval; over systems, "
    f"{pooling.FEWEST_SYSTEMS} systems per study."
)
#: Offset of a level's mean, to the right of its studies.
_OFFSET = 0.32


@in_paper_style
def plot_granularity(pooled: PooledCorrelations) -> Drawing:
    """Draw how evaluators' correlations with human judgments depend on the granularity.

    Parameters
    ----------
    pooled : PooledCorrelations
        From `nlgbench.pool_correlations`, of one statistic at several granularities. Evaluators
        with a mean at any granularity are drawn; if none has one, those with several studies.

    Returns
    -------
    Drawing
        A panel per evaluator. A line connects each study's points; hollow points have no standard
        error and do not enter the mean. To the right of the points are the mean over studies with
        its interval, and the prediction interval for a new study; n counts studies in the mean.
        Its data are the points and, as study ``Mean``, the means.
    """
    summary, studies = pooled.summary, pooled.studies.dropna(subset="point")
    keys = ["evaluator", "granularity"]
    require_unique(summary, keys, "select one statistic, pooled without by=")
    names = drawn_evaluators(summary)
    summary = summary[summary["evaluator"].isin(names)]
    studies = studies[studies["evaluator"].isin(names)]
    studies = studies.assign(task=studies.get("task", ""))
    levels = [level for level in _LEVELS if summary["granularity"].eq(level).any()]
    task_styles = dict(zip(dict.fromkeys(studies["task"]), TASK_LOOKS * len(studies), strict=False))
    statistic = str(summary["statistic"].iloc[0]).capitalize().replace("_", " ")
    n_rows = -(-len(names) // MOST_COLUMNS)
    n_columns = -(-len(names) // n_rows)
    height = 1.75 * n_rows + 0.7
    panels = axes_for(None, TWO_COLUMN, height, n=len(names), columns=n_columns, sharey=True)
    for panel, name in zip(panels, names, strict=True):
        means = summary[summary["evaluator"] == name].set_index("granularity").reindex(levels)
        _draw_evaluator(panel, studies[studies["evaluator"] == name], means, task_styles)
        panel.set_title(panel_title(name), fontsize=7, pad=3)
        panel.tick_params(axis="both", labelsize=7, length=2)
    ylabel = f"{statistic} correlation with human judgments"
    panels[0].figure.supylabel(textwrap.fill(ylabel, 24 * n_rows), fontsize=8)
    handles = [mark(task, *style, markersize=3.5) for task, style in task_styles.items() if task]
    handles.append(mark("mean", "_", "black", markersize=8, markeredgewidth=2))
    panels[0].figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    means = summary.sort_values("granularity", key=lambda column: column.map(levels.index))
    described = means.apply(_describe_mean, axis=1).groupby(means["evaluator"]).agg(", ".join)
    texts = [f"{label(name)} {described[name]}" for name in names]
    alt = f"{statistic} correlation with human judgments by granularity in "
    alt += f"{studies['study'].nunique()} studies, and means: {'; '.join(texts)}."
    columns = ["study", "evaluator", "granularity", "estimate", "ci_low", "ci_high"]
    further = ["prediction_low", "prediction_high", "n_studies"]
    means = means.assign(study="Mean")[[*columns, *further]]
    data = pd.concat([studies[["task", *columns, "point"]], means], ignore_index=True)
    level = f"{pooled.confidence:.0%}"
    notes = f"n: studies in the mean. Thick lines: {level} intervals; thin: {level} prediction "
    notes += f"intervals. Hollow: no standard error, not in the mean. {_REQUIREMENTS}"
    return as_drawing(panels, data, alt, notes)


def _draw_evaluator(
    ax: Axes, studies: pd.DataFrame, means: pd.DataFrame, task_styles: dict[str, tuple[str, str]]
) -> None:
    """Draw an evaluator's studies at their levels, with the means at the right."""
    levels = list(means.index)
    draw_reference(ax, 0, upright=True)
    for _, rows in studies.groupby("study", sort=False):
        positions = rows["granularity"].map(levels.index)
        line = rows.set_index(positions).sort_index()
        marker, color = task_styles[rows["task"].iloc[0]]
        ax.plot(line.index, line["point"], color=color, linewidth=0.5, alpha=0.6, zorder=2)
        for has_error, points in line.groupby(line["z"].notna()):
            style: dict[str, Any] = {"markersize": 2.8, "markeredgewidth": 0.6, "color": color}
            style["markerfacecolor"] = color if has_error else "white"
            ax.plot(points.index, points["point"], marker, **style)
    mean_positions = np.arange(len(levels)) + _OFFSET
    draw_intervals(ax, mean_positions, means, upright=True, prefix="prediction", color="black")
    style = {"color": "black", "marker": "_", "markersize": 8, "linewidth": 2.4, "zorder": 4}
    draw_estimates(ax, mean_positions, means, upright=True, markeredgewidth=2, **style)
    ax.set_xlim(-0.3, len(levels) - 0.35)
    counts = means["n_studies"].fillna(0)
    ax.set_xticks(range(len(levels)), [f"{level}\nn = {n:g}" for level, n in counts.items()])
    ax.yaxis.set_major_locator(MultipleLocator(0.5))
    ax.yaxis.set_major_formatter(short_number)


def _describe_mean(row: pd.Series) -> str:
    """Describe a level's mean and interval, or the number of studies if there is no mean."""
    if not np.isfinite(row["estimate"]):
        return f"{row['granularity']} no mean (n = {row['n_studies']:.0f})"
    ends = map(format_correlation, (row["estimate"], row["ci_low"], row["ci_high"]))
    return "{} {} [{}, {}] (n = {:.0f})".format(row["granularity"], *ends, row["n_studies"])
