"""Differences between systems within groups of items, below the difference over all items."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from nlgbench.analysis.people import SystemComparison
from nlgbench.evaluators.sentinels import SENTINELS
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, two_decimals
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    label_rows,
    name_source,
)
from nlgbench.plots.style import ACCENT, ESTIMATE, TWO_COLUMN

#: The most opponents of the best system that are drawn, and the most panels in a row.
_MOST = _COLUMNS = 4
#: What the row of all items is called.
ALL = "all items"


def plot_groups(compared: SystemComparison) -> Drawing:
    """Draw how the best system differs from others within groups of items.

    `compared` comes from `nlgbench.compare_systems` with ``by``. Each panel is one opponent; the
    rows are all items and each group, with n items.
    """
    best = compared.systems["system"].iloc[0]
    pairs = compared.pairs[compared.pairs["system"] == best]
    pairs = pairs[pairs["dimension"] == pairs["dimension"].iloc[0]].iloc[:_MOST]
    keys = ["dimension", "system", "opponent"]
    within = compared.groups.merge(pairs[keys], on=keys)
    labels = within["group"] + " (" + within["n_items"].astype(int).astype(str) + ")"
    table = pd.concat([pairs.assign(row=ALL), within.assign(row=labels)], ignore_index=True)
    drawing = draw_groups(table.assign(panel=best + " minus " + table["opponent"]), "Difference")
    if source := name_source(compared.systems):
        drawing.figure.supxlabel(source, fontsize=8)
        drawing = replace(drawing, alt=f"{source}: {drawing.alt}")
    return drawing


def plot_evaluators_by_group(within: pd.DataFrame, overall: pd.DataFrame) -> Drawing:
    """Draw evaluators' correlations over outputs: all items, then each group of items.

    Both tables come from `nlgbench.correlate`, the first with ``by``. Sentinels are left out.
    """
    overall = overall[overall["granularity"].isin(within["granularity"])].assign(group=ALL)
    table = pd.concat([overall, within], ignore_index=True)
    table = table[(table["statistic"] == "spearman") & ~table["evaluator"].isin(SENTINELS)]
    table = table.assign(panel=table["evaluator"], row=table["group"])
    table = table[table["panel"].isin(table["panel"].unique()[:_MOST])]
    return draw_groups(table, "Spearman's ρ")


@in_paper_style
def draw_groups(table: pd.DataFrame, xlabel: str) -> Drawing:
    """Draw differences: a ``panel`` for each pair, a ``row`` for all items and each group."""
    rows, panels = table["row"].unique().tolist(), table["panel"].unique()
    columns = min(_COLUMNS, len(panels))
    height = (0.8 + 0.2 * len(rows)) * -(-len(panels) // columns)
    grid = {"n": len(panels), "columns": columns, "sharey": True, "sharex": True}
    axes = axes_for(None, TWO_COLUMN, height, **grid)
    texts = []
    for ax, panel in zip(axes, panels, strict=True):
        pairs = table[table["panel"] == panel]
        draw_reference(ax, 0)
        for is_all, color in ((True, ACCENT), (False, ESTIMATE)):
            marks = pairs[(pairs["row"] == ALL) == is_all]
            draw_estimates(ax, marks["row"].map(rows.index), marks, color=color)
        ax.set_title(panel.replace("_", " "), loc="left")
        ax.set_xlabel(xlabel)
        values = map(two_decimals, pairs["estimate"])
        texts.append(f"{panel}: {', '.join(map(' '.join, zip(pairs['row'], values, strict=True)))}")
    label_rows(axes[0], rows)
    alt = f"{xlabel} by group of items{describe_intervals(table)}: {'; '.join(texts)}."
    return as_drawing(axes, table, alt, describe_nested(table))
