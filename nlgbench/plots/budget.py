"""Agreement with annotators by the number of labels, beside evaluators that need none."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from nlgbench.evaluators.names import label
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    label_rows,
)
from nlgbench.plots.style import TWO_COLUMN, line_look
from nlgbench.study.checks import read_table


@in_paper_style
def plot_label_curve(curves: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw the table of `label_curve`: for each data set, the curves, and baselines in rows."""
    needed = "data evaluator n_labels:float? estimate:float ci_low:float ci_high:float"
    curves = read_table(curves, f"{needed} confidence:float?", "curves have")
    groups = list(curves.groupby("data", sort=False))
    axes = axes_for(ax, TWO_COLUMN, 0.7 + 1.5 * len(groups), n=2 * len(groups), columns=2)
    texts = []
    for lines, rows_panel, (data, rows) in zip(axes[::2], axes[1::2], groups, strict=True):
        labeled, baselines = rows[rows["n_labels"].notna()], rows[rows["n_labels"].isna()]
        budgets = sorted(labeled["n_labels"].unique())
        for n, (evaluator, curve) in enumerate(labeled.groupby("evaluator", sort=False)):
            curve = curve.sort_values("n_labels")
            look = line_look(n)
            # Intervals of several curves would cover each other.
            positions = curve["n_labels"] * 1.1**n + n
            draw_estimates(lines, positions, curve, upright=True, color=look["color"], marker="")
            look |= {"label": legend_label(evaluator), "markersize": 3}
            lines.plot(positions, curve["estimate"], **look)
            texts.append(
                f"{data}, {evaluator}: {curve['estimate'].iloc[-1]:.2f} at the most labels"
            )
        lines.set_xscale("symlog", linthresh=max(budgets[:2]) or 1)
        lines.set_xticks(budgets, [f"{n:,.0f}" for n in budgets])
        lines.xaxis.set_minor_locator(NullLocator())
        draw_reference(lines, 0.5, upright=True)
        lines.set_title(str(data), loc="left")
        draw_estimates(rows_panel, range(len(baselines)), baselines)
        draw_reference(rows_panel, 0.5)
        label_rows(rows_panel, list(baselines["evaluator"].map(label)), ruled=True)
    axes[-2].set_xlabel("Number of labels")
    axes[-1].set_xlabel("Share, other evaluators")
    figure = axes[0].figure
    figure.supylabel("Share of test pairs\ndecided as annotators do", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    alt = f"Agreement with annotators{describe_intervals(curves)} over splits. {'; '.join(texts)}."
    notes = f"{describe_nested(curves)} Gray lines: chance (0.5)."
    return as_drawing(axes, curves, alt, notes)
