"""Differences between systems within groups of items, below the difference over all items."""

from __future__ import annotations

import pandas as pd

from nlgbench.analysis.people import SystemComparison
from nlgbench.plots.figures import Drawing, as_drawing, canvas, in_paper_style, two_decimals
from nlgbench.plots.rows import describe_intervals, draw_estimates, draw_reference, label_rows
from nlgbench.plots.style import HUMAN, SYSTEM, TWO_COLUMN

#: The most opponents of the best system that are drawn.
_MOST = 4
#: What the row of all items is called.
ALL = "all items"


@in_paper_style
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
    names = [ALL, *dict.fromkeys(labels)]
    table = pd.concat([pairs.assign(row=ALL), within.assign(row=labels)], ignore_index=True)
    height = 0.8 + 0.2 * len(names)
    axes = canvas(TWO_COLUMN, height, columns=len(pairs), sharey=True, sharex=True)[1]
    texts = []
    for ax, opponent in zip(axes, pairs["opponent"], strict=True):
        rows = table[table["opponent"] == opponent]
        draw_reference(ax, 0)
        for is_all, color in ((True, SYSTEM), (False, HUMAN)):
            marks = rows[(rows["row"] == ALL) == is_all]
            draw_estimates(ax, marks["row"].map(names.index), marks, linewidth=1.2, color=color)
        ax.set_title(f"{best} minus {opponent}".replace("_", " "), loc="left")
        ax.set_xlabel("Difference")
        values = map(two_decimals, rows["estimate"])
        texts.append(
            f"{opponent}: {', '.join(map(' '.join, zip(rows['row'], values, strict=True)))}"
        )
    label_rows(axes[0], names)
    alt = f"Differences of {best} from others by group of items{describe_intervals(table)}: "
    return as_drawing(axes, table, f"{alt}{'; '.join(texts)}.")
