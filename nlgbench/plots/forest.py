"""Correlations, rates or scores with intervals, one row per evaluator or system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.evaluators.names import label
from nlgbench.plots.figures import (
    Drawing,
    add_notes,
    as_drawing,
    axes_for,
    draw_highest,
    in_paper_style,
    require_unique,
    two_decimals,
)
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    label_rows,
    mark,
)
from nlgbench.plots.style import ESTIMATE, LOOKS, TWO_COLUMN
from nlgbench.study.checks import read_table

_NEEDED = "evaluator estimate:float ci_low:float ci_high:float published:float? kind? data? "
_NEEDED += "confidence:float?"
_COLUMNS = 5  # the most panels in one row
_PUBLISHED: dict[str, Any] = {"marker": "|", "color": "black", "linestyle": "none", "markersize": 9}


@in_paper_style
def plot_forest(
    table: pd.DataFrame,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    xlabel: str = "Correlation with human judgments",
    xlim: tuple[float, float] | None = (-1.1, 1.1),
    line: float = 0.0,
) -> Drawing:
    """Draw evaluators' correlations or rates with their intervals.

    Parameters
    ----------
    table : DataFrame
        One row per evaluator (or system) for one statistic: ``evaluator``, ``estimate``,
        ``ci_low``, ``ci_high``. Optional: ``published``, the published value; ``kind``, with a
        marker and color for each value; ``data``, with a panel for each value.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.
    xlabel : str
        Name of the statistic.
    xlim : tuple of float, optional
        Limits of the x axis; it is longer if values or intervals lie outside. None: those of each
        panel's values.
    line : float
        Position of a thin line: the chance level, such as .5 for shares of votes.

    Returns
    -------
    Drawing
        Evaluators are sorted by estimate, highest first. With several panels, or several kinds of
        one evaluator, they keep the order of `table`. Data: `table`, with evaluators' labels.

    Raises
    ------
    ValueError
        If a column is missing, or `table` is empty or has two rows for one mark.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["chrf"], "estimate": 0.5, "ci_low": 0, "ci_high": 0.8})
    >>> plot_forest(table).alt.split(". ")[1]
    'chrF 0.50'
    """
    table = read_table(table, _NEEDED, "the table has")
    keys = [name for name in ("data", "evaluator", "kind") if name in table]
    require_unique(table, keys, "choose one statistic and one criterion")
    table = table.assign(evaluator=table["evaluator"].map(label))
    kinds = list(dict.fromkeys(table["kind"])) if "kind" in table else [""]
    markers = dict(zip(kinds, LOOKS if len(kinds) > 1 else [("o", ESTIMATE)], strict=False))
    panels = dict(list(table.groupby(table.get("data", pd.Series("", table.index)), sort=False)))
    several = bool(table.duplicated([key for key in keys if key != "kind"]).any())
    rows = table
    if len(panels) == 1 and not several:
        rows = table.sort_values("estimate", ascending=False, kind="stable")
    evaluators = list(dict.fromkeys(rows["evaluator"]))
    columns = len(panels) if len(panels) <= _COLUMNS else 3
    height = 0.9 + (0.1 * len(kinds) if several else 0.2) * len(evaluators)
    height *= -(-len(panels) // columns)
    axes = axes_for(ax, TWO_COLUMN, height, n=len(panels), columns=columns, sharey=True)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    texts = []
    for panel, (name, rows) in zip(axes, panels.items(), strict=True):
        if len(panels) > 1:
            panel.set_title(str(name).replace("_", " "), loc="left")
        x_low, x_high = _limits(table if xlim else rows, xlim)
        if x_low <= line <= x_high:
            draw_reference(panel, line)
        rows = rows.sort_values(
            "evaluator", key=lambda names: names.map(evaluators.index), kind="stable"
        )
        for n, (kind, (marker, color)) in enumerate(markers.items()):
            points = rows[rows["kind"] == kind] if "kind" in rows else rows
            offset = 0.6 * (n - (len(kinds) - 1) / 2) / len(kinds) if several else 0.0
            positions = points["evaluator"].map(evaluators.index) + offset
            draw_estimates(panel, positions, points, marker=marker, color=color)
            for position in positions[points["estimate"].isna()]:
                panel.text(x_low, position, " undefined", fontsize=7, va="center")
            if "published" in points:
                panel.plot(points["published"], positions, **_PUBLISHED, zorder=2.5)
        label_rows(panel, evaluators)
        panel.set_xlim(x_low, x_high)
        if len(panels) == 1 or ax is not None:
            # Right-aligned: a long label may extend to the left, below the evaluators' names.
            panel.set_xlabel(xlabel, loc="right", parse_math=True)
        else:
            panel.locator_params(axis="x", nbins=max(2, 10 // columns))
        named = rows["evaluator"] + (" " + rows["kind"] if several else "")
        named = f"{name}, " + named if len(panels) > 1 else named
        values = map(two_decimals, rows["estimate"])
        texts += [f"{name} {value}" for name, value in zip(named, values, strict=True)]
    if len(panels) > 1 and ax is None:
        figure.supxlabel(xlabel, fontsize=8, parse_math=True)
    handles = [mark(kind, *marker) for kind, marker in markers.items() if len(kinds) > 1]
    if "published" in table:
        handles.append(mark("published", **_PUBLISHED))
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=2)
    alt = f"{xlabel}, by evaluator,{describe_intervals(table)}. {'; '.join(texts)}."
    notes = describe_nested(table)
    notes += f" Vertical line: chance ({line:g})." if line else ""
    return as_drawing(axes, table, alt, notes.strip())


def _limits(table: pd.DataFrame, xlim: tuple[float, float] | None) -> tuple[float, float]:
    """Return limits that include all values and intervals, with room where they are widened."""
    numbers = table[table.columns.intersection(["estimate", "ci_low", "ci_high", "published"])]
    low, high = numbers.min().min(), numbers.max().max()
    start, end = xlim or (high, low)
    room = 0.03 * (max(high, end) - min(low, start))
    return low - room if low < start else start, high + room if high > end else end


def plot_votes(table: pd.DataFrame) -> Drawing:
    """Draw how often evaluators agree with annotators' votes (from `nlgbench.vote_accuracy`)."""
    rows = table.query("measure == 'accuracy_decided' and against == 'votes'")
    rows = rows[["evaluator", "estimate", "ci_low", "ci_high", "confidence"]]
    rows = rows.dropna(subset="estimate").replace({"evaluator": {"people": "Other annotators"}})
    axis: dict[str, Any] = {"xlabel": "Agreement with annotators' votes", "xlim": (0.45, 0.55)}
    drawing = draw_highest(lambda votes: plot_forest(votes, **axis, line=0.5), rows)
    return add_notes(drawing, "Ties are excluded.")
