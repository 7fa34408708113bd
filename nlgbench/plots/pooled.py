"""Correlations in many studies, a panel per evaluator: effects, mean and prediction interval."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from matplotlib.ticker import MultipleLocator

from nlgbench.analysis.correlation.pooling import PooledCorrelations
from nlgbench.evaluators.names import kind, label, order
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    format_correlation,
    in_paper_style,
    require_unique,
)
from nlgbench.plots.rows import (
    describe_nested,
    draw_estimates,
    draw_intervals,
    draw_reference,
    short_number,
)
from nlgbench.plots.style import GROUPS, ONE_COLUMN, TWO_COLUMN
from nlgbench.status import Unsupported

#: Maximum number of panels in a row: narrower ones have no room for a name and an interval.
MOST_COLUMNS = 5
SENTINELS = "Sentinels"
#: Markers and colors of tasks: black shows means.
TASK_LOOKS = [(marker, color) for marker, color in GROUPS if color != "#000000"]
_MEAN, _FURTHER = "Mean", "prediction interval"


@in_paper_style
def plot_pooled(pooled: PooledCorrelations, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw evaluators' correlations in many studies, with the mean over studies.

    Parameters
    ----------
    pooled : PooledCorrelations
        From `nlgbench.pool_correlations`, of one statistic at one granularity: correlations, or
        differences from one evaluator. Evaluators with a mean over studies are drawn; if none has
        one, those with several studies.
    ax : sequence of Axes, optional
        Where to draw, one per evaluator; a new figure by default.

    Returns
    -------
    Drawing
        A panel per evaluator, sentinels last. Each study has a row; below are the mean (a diamond
        as wide as its interval) and the prediction interval for a new study (a bar). Its data are
        the effects and, as studies ``Mean`` and ``prediction interval``, the means.

    Raises
    ------
    ValueError
        If an evaluator has several means, or none has effects in several studies.

    Examples
    --------
    >>> table = pd.DataFrame({"study": list("abcde"), "estimate": [0.3, 0.4, 0.5, 0.4, 0.3]})
    >>> table = table.assign(evaluator="chrf", dimension="quality", statistic="spearman")
    >>> table = table.assign(granularity="output", confidence=0.95, ci_low=0.2, ci_high=0.6)
    >>> from nlgbench.analysis.correlation.pooling import pool_correlations
    >>> plot_pooled(pool_correlations(table)).alt.split(". ")[1]
    'Means: chrF .38 [.24, .51] (n = 5)'
    """
    summary, studies = _select(pooled)
    statistic = str(summary["statistic"].iloc[0]).capitalize().replace("_", " ")
    xlabel = f"{statistic} correlation with human judgments"
    if "evaluator_b" in summary:
        baseline = label(summary["evaluator_b"].iloc[0])
        xlabel += f", minus that of {baseline.lower() if baseline.istitle() else baseline}"
    names = list(summary.index)
    lines = _list_rows(studies)
    n_rows = -(-len(names) // MOST_COLUMNS)
    n_columns = -(-len(names) // n_rows)
    height = n_rows * (0.72 + 0.135 * (len(lines) + 2.9)) + 0.35
    width = TWO_COLUMN if n_columns > 1 else ONE_COLUMN
    grid = {"columns": n_columns, "sharex": True, "sharey": True}
    panels = axes_for(ax, width, height, n=len(names), **grid)
    lanes = {line: float(lane) for lane, (line, _) in enumerate(lines)}
    tasks = enumerate(dict.fromkeys(studies["task"]))
    task_styles = {task: TASK_LOOKS[n % len(TASK_LOOKS)] for n, task in tasks}
    mean_row = len(lines) + 0.3
    level = f"{pooled.confidence:.0%}"
    tick_labels = [line for line, _ in lines] + [_MEAN, f"{level} prediction\ninterval"]
    heads = {number for number, (_, head) in enumerate(lines) if head}
    heads |= {len(lines), len(lines) + 1}
    ends = [*studies[["ci_low", "ci_high"]].to_numpy().ravel(), 0]
    ends += [
        *summary[["prediction_low", "prediction_high", "ci_low", "ci_high"]].to_numpy().ravel()
    ]
    limits = (np.nanmin(ends) - 0.05, np.nanmax(ends) + 0.05)
    for number, (panel, name) in enumerate(zip(panels, names, strict=True)):
        mean, effects = summary.loc[name], studies[studies["evaluator"] == name]
        draw_reference(panel, 0)
        panel.axhline(mean_row - 0.65, color="#555555", linewidth=0.4)
        effects = effects[effects["z"].notna()]
        for task, (marker, color) in task_styles.items():
            task_effects = effects[effects["task"] == task]
            places = task_effects["study"].map(lanes)
            draw_estimates(panel, places, task_effects, marker=marker, color=color, markersize=2)
        _draw_mean(panel, mean, mean_row)
        panel.set_title(panel_title(name), fontsize=7, pad=3)
        panel.set_yticks([*lanes.values(), mean_row, mean_row + 1.2], tick_labels, fontsize=7)
        panel.tick_params(axis="y", length=0, labelleft=number % n_columns == 0)
        for n, tick in enumerate(panel.get_yticklabels()):
            tick.set_fontweight("bold" if n in heads else "normal")
        panel.set(xlim=limits, ylim=(mean_row + 1.9, -0.7))
        panel.xaxis.set_major_locator(MultipleLocator(0.5))
        panel.xaxis.set_major_formatter(short_number)
        panel.tick_params(axis="x", labelsize=7)
    if ax is None:
        figure = panels[0].figure
        # A panel's own label would widen its column.
        figure.supxlabel(textwrap.fill(xlabel, 110 if n_columns > 1 else 50), fontsize=8)
    else:
        panels[(n_rows - 1) * n_columns].set_xlabel(xlabel, loc="left")
    means = summary.reset_index().assign(study=_MEAN)
    further = means[["evaluator"]].assign(
        study=_FURTHER, ci_low=means["prediction_low"], ci_high=means["prediction_high"]
    )
    columns = ["study", "evaluator", "estimate", "ci_low", "ci_high"]
    data = pd.concat([studies[columns], means[columns], further], ignore_index=True)
    texts = "; ".join(f"{label(name)} {_describe_mean(summary.loc[name])}" for name in names)
    n = studies["study"].nunique()
    notes = f"Diamond: mean and {level} interval. Without a mark: too few studies, or undefined."
    notes += f" {describe_nested(studies.assign(confidence=pooled.confidence))}"
    return as_drawing(panels, data, f"{xlabel} in {n} studies. Means: {texts}.", notes)


def panel_title(name: str) -> str:
    """Name an evaluator above its panel, and mark sentinels."""
    return label(name) + " (sentinel)" * (kind(name) == SENTINELS)


def drawn_evaluators(summary: pd.DataFrame) -> list[str]:
    """List evaluators to draw: those with a mean, or else with several studies; sentinels last."""
    with_mean = summary["estimate"].notna()
    names = summary.loc[with_mean if with_mean.any() else summary["n_studies"] > 1, "evaluator"]
    if names.empty:
        message = "no evaluator has effects in several studies: there is nothing to draw."
        raise Unsupported("no_estimates", message)
    return sorted(order(names), key=lambda name: kind(name) == SENTINELS)


def _select(pooled: PooledCorrelations) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Select the evaluators to draw, in the order of figures, with sentinels last."""
    first = {"evaluator_a": "evaluator"}
    summary, studies = pooled.summary.rename(columns=first), pooled.studies.rename(columns=first)
    studies = studies.assign(task=studies.get("task", ""))
    if "evaluator_b" in summary and len(summary["evaluator_b"].unique()) > 1:
        raise ValueError("pooled has several evaluators in column evaluator_b: select one of them.")
    require_unique(
        summary,
        ["evaluator"],
        "select one statistic and granularity, pooled over all studies (without by=)",
    )
    names = drawn_evaluators(summary)
    studies = studies[studies["evaluator"].isin(names)]
    some = studies.groupby("study")["z"].transform(lambda z: z.notna().any())
    return summary.set_index("evaluator").loc[names], studies[some.astype(bool)]


def _list_rows(studies: pd.DataFrame) -> list[tuple[str, bool]]:
    """List the rows of a panel from the top: studies, below their task if it is known."""
    lines: list[tuple[str, bool]] = []
    for task, rows in studies.groupby("task", sort=False):
        lines += [(str(task), True)] if task else []
        lines += [(study, False) for study in dict.fromkeys(rows["study"])]
    return lines


def _draw_mean(ax: Axes, mean: pd.Series, row: float) -> None:
    """Draw a diamond for the mean, and below it a bar for the prediction interval."""
    if np.isfinite(mean["estimate"]):
        middle, low, high = mean[["estimate", "ci_low", "ci_high"]]
        corners = [(low, row), (middle, row - 0.38), (high, row), (middle, row + 0.38)]
        ax.add_patch(Polygon(corners, color="black", linewidth=0))
    bar: dict[str, Any] = {"prefix": "prediction", "color": "black", "linewidth": 2.2}
    draw_intervals(ax, [row + 1.2], mean.to_frame().T, upright=False, **bar)


def _describe_mean(mean: pd.Series) -> str:
    """Describe a panel's mean and interval, or why the mean is missing."""
    if not np.isfinite(mean["estimate"]):
        return f"no mean (n = {mean['n_studies']:.0f})"
    ends = map(format_correlation, mean[["estimate", "ci_low", "ci_high"]])
    return "{} [{}, {}] (n = {:.0f})".format(*ends, mean["n_studies"])
