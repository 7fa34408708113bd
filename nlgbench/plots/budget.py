"""Agreement with annotators by the number of labels, beside evaluators that need none."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.evaluators.names import label
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
)
from nlgbench.plots.style import TWO_COLUMN, line_look
from nlgbench.study.checks import read_table


@in_paper_style
def plot_label_curve(curves: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw the table of `label_curve`, a panel per data set; baselines are at the right."""
    needed = "data evaluator n_labels:float? estimate:float ci_low:float ci_high:float"
    curves = read_table(curves, f"{needed} confidence:float?", "curves have")
    panels = list(curves.groupby("data", sort=False))
    axes = axes_for(ax, TWO_COLUMN, 2.8, n=len(panels), columns=2, sharey=True)
    texts = []
    for panel, (data, rows) in zip(axes, panels, strict=True):
        labeled, baselines = rows[rows["n_labels"].notna()], rows[rows["n_labels"].isna()]
        budgets = sorted(labeled["n_labels"].unique())
        for n, (evaluator, curve) in enumerate(labeled.groupby("evaluator", sort=False)):
            curve = curve.sort_values("n_labels")
            line = line_look(n)
            positions = curve["n_labels"].map(budgets.index) + 0.12 * n
            style = {"color": line["color"], "marker": line["marker"]}
            draw_estimates(panel, positions, curve, upright=True, **style)
            panel.plot(
                positions, curve["estimate"], label=legend_label(evaluator), markersize=4, **line
            )
            texts.append(
                f"{data}, {evaluator}: {curve['estimate'].iloc[-1]:.2f} at the most labels"
            )
        places = [len(budgets) + n for n in range(len(baselines))]
        draw_estimates(panel, places, baselines, upright=True, color="#777777")
        names = [*(f"{n:,.0f}" for n in budgets), *baselines["evaluator"].map(label)]
        panel.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
        panel.axvline(len(budgets) - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
        draw_reference(panel, 0.5, upright=True)
        panel.set_title(str(data), loc="left")
    axes[0].set_ylabel("Share of test pairs\ndecided as annotators do")
    figure = axes[0].figure
    figure.supxlabel("Number of labels, and other evaluators", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    alt = f"Agreement with annotators{describe_intervals(curves)} over splits. {'; '.join(texts)}."
    notes = f"{describe_nested(curves)} Horizontal line: chance (0.5)."
    return as_drawing(axes, curves, alt, notes)
