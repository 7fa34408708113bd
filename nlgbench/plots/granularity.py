"""The granularity gap: evaluators' correlations over outputs, within items and over systems."""

from __future__ import annotations

import numpy as np
import pandas as pd
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
from nlgbench.plots.pooled import drawn_evaluators, panel_title
from nlgbench.plots.rows import (
    describe_nested,
    draw_estimates,
    draw_reference,
    label_rows,
    mark,
    short_number,
)
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN

_LEVELS = {"output": "Over outputs", "item": "Within items", "system": "Over systems"}
_REQUIREMENTS = (
    f"A mean needs {pooling.FEWEST_STUDIES} studies with standard errors; over systems, "
    f"{pooling.FEWEST_SYSTEMS} systems per study."
)


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
        A panel per granularity, with a row per evaluator: the studies, and their mean with its
        interval. Its data are the studies and, as study ``Mean``, the means.
    """
    summary, studies = pooled.summary, pooled.studies.dropna(subset="point")
    keys = ["evaluator", "granularity"]
    require_unique(summary, keys, "select one statistic, pooled without by=")
    names = drawn_evaluators(summary)
    summary = summary[summary["evaluator"].isin(names)].assign(confidence=pooled.confidence)
    studies = studies[studies["evaluator"].isin(names)]
    levels = [level for level in _LEVELS if summary["granularity"].eq(level).any()]
    statistic = str(summary["statistic"].iloc[0]).capitalize().replace("_", " ")
    grid = {"n": len(levels), "columns": len(levels), "sharex": True, "sharey": True}
    panels = axes_for(None, TWO_COLUMN, 0.9 + 0.2 * len(names), **grid)
    for panel, level in zip(panels, levels, strict=True):
        points = studies[studies["granularity"] == level]
        rows = points["evaluator"].map(names.index)
        panel.plot(points["point"], rows, "|", color="#999999", markersize=6, zorder=1)
        means = summary[summary["granularity"] == level]
        draw_estimates(panel, means["evaluator"].map(names.index), means)
        draw_reference(panel, 0)
        label_rows(panel, [panel_title(name) for name in names], ruled=True)
        panel.set_title(_LEVELS[level], loc="left")
        panel.xaxis.set_major_locator(MultipleLocator(0.5))
        panel.xaxis.set_major_formatter(short_number)
    figure = panels[0].figure
    figure.supxlabel(f"{statistic} correlation with human judgments", fontsize=8)
    handles = [mark("mean over studies", "o", ESTIMATE, markersize=2.6)]
    handles.append(mark("one study", "|", "#999999", markersize=6))
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    means = summary.sort_values("granularity", key=lambda column: column.map(levels.index))
    described = means.apply(_describe_mean, axis=1).groupby(means["evaluator"]).agg(", ".join)
    texts = [f"{label(name)} {described[name]}" for name in names]
    alt = f"{statistic} correlation with human judgments by granularity in "
    alt += f"{studies['study'].nunique()} studies, and means: {'; '.join(texts)}."
    columns = ["study", "evaluator", "granularity", "estimate", "ci_low", "ci_high"]
    means = means.assign(study="Mean")[[*columns, "n_studies"]]
    data = pd.concat([studies[[*columns, "point"]], means], ignore_index=True)
    notes = f"{describe_nested(summary)} {_REQUIREMENTS}"
    return as_drawing(panels, data, alt, notes)


def _describe_mean(row: pd.Series) -> str:
    """Describe a level's mean and interval, or the number of studies if there is no mean."""
    if not np.isfinite(row["estimate"]):
        return f"{row['granularity']} no mean (n = {row['n_studies']:.0f})"
    ends = map(format_correlation, (row["estimate"], row["ci_low"], row["ci_high"]))
    return "{} {} [{}, {}] (n = {:.0f})".format(row["granularity"], *ends, row["n_studies"])
