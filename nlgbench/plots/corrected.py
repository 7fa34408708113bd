"""Systems' means from labels alone and from the evaluator alone, and corrected means."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.analysis.judges import CorrectedQuality
from nlgbench.clustering import write_scope
from nlgbench.names import known
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    in_paper_style,
    require_unique,
    two_decimals,
)
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    has_interval,
    label_rows,
    legend_above,
    row_names,
    write_beside,
)
from nlgbench.plots.style import LOOKS, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Method -> offset from the row of its system, marker, and color.
_LOOKS = {
    "labels alone": (-0.24, *LOOKS[0]),
    "evaluator alone": (0.0, *LOOKS[1]),
    "corrected": (0.24, *LOOKS[2]),
}


@in_paper_style
def plot_corrected(
    corrected: pd.DataFrame | CorrectedQuality, *, ax: Axes | None = None
) -> Drawing:
    """Draw each system's mean from labels alone, from the evaluator alone, and corrected.

    Parameters
    ----------
    corrected : CorrectedQuality or DataFrame
        From `nlgbench.corrected_quality`, or its ``systems``: ``system``, ``method``,
        ``estimate``, ``ci_low``, ``ci_high``; optional ``label``, ``labels_saved``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Systems keep the order of the table. At the right: the number of labels saved, negative if
        the correction costs precision. The evaluator's means are omitted if they are on another
        scale than judgments.

    Raises
    ------
    ValueError
        If a column is missing, a method is unknown, or a system has two rows for a method.

    Examples
    --------
    >>> table = pd.DataFrame({"system": "a", "method": ["labels alone", "corrected"]})
    >>> table = table.assign(estimate=[3.5, 3.6], ci_low=[3.0, 3.3], ci_high=[4.0, 3.9])
    >>> plot_corrected(table).alt.split(". ")[:2]
    ['Means by system (labels alone, corrected) with intervals', 'a 3.50, 3.60']
    """
    if isinstance(corrected, CorrectedQuality):
        table = corrected.systems.merge(corrected.details, on=["system", "method"])
    else:
        table = corrected
    needed = "system method estimate:float ci_low:float ci_high:float label? labels_saved:float?"
    needed += " n_labels:float? n_outputs:float? covers? confidence:float?"
    table = read_table(table, needed, "table has")
    for method in table["method"].unique():
        known(method, list(_LOOKS), "method")
    require_unique(table, ["system", "method"], "select one evaluator")
    systems = table.drop_duplicates("system")
    lane = {name: row for row, name in enumerate(systems["system"])}
    by_people = table["method"] != "evaluator alone"
    judged = table.loc[by_people, ["estimate", "ci_low", "ci_high"]]
    low, high = judged.min().min(), judged.max().max()
    in_scale = table["estimate"].between(2 * low - high, 2 * high - low)
    has_evaluator = bool((in_scale | table["estimate"].isna() | by_people).all())
    drawn = table[by_people | has_evaluator]
    (ax,) = axes_for(ax, TWO_COLUMN, 0.95 + 0.3 * len(lane))
    names = row_names(systems)
    label_rows(ax, names)
    for row in range(1, len(lane)):
        ax.axhline(row - 0.5, color="#dddddd", linewidth=0.5, zorder=0)
    for method, rows in drawn.dropna(subset="estimate").groupby("method", sort=False):
        offset, marker, color = _LOOKS[str(method)]
        style: dict[str, Any] = {"marker": marker, "color": color, "label": method}
        draw_estimates(ax, rows["system"].map(lane) + offset, rows, **style)
    ax.set_xlabel("Mean judgment")
    legend_above(ax, ncols=3)
    saved = table[table["method"] == "corrected"]
    if "labels_saved" in saved and saved["labels_saved"].notna().any():
        saved = saved.dropna(subset="labels_saved")
        numbers = [f"{n:.0f}".replace("-", "\u2212") for n in saved["labels_saved"]]
        saved_at = zip(saved["system"].map(lane), numbers, strict=True)
        write_beside(ax, "labels\nsaved by\ncorrection", saved_at, x=1.06)
    wide = drawn.pivot(index="system", columns="method", values="estimate").loc[[*lane]]
    methods = [name for name in _LOOKS if name in wide]
    texts = [
        f"{name} {', '.join(map(two_decimals, row))}"
        for name, row in zip(names, wide[methods].to_numpy(), strict=True)
    ]
    alt = f"Means by system ({', '.join(methods)}){describe_intervals(drawn)}. {'; '.join(texts)}."
    notes = f"{_describe_labels(table)} {describe_nested(drawn)}"
    if "labels_saved" in saved:
        notes += " Right: how many more labels would give the same precision without the evaluator."
    notes += "" if has_evaluator else " The evaluator's own means are on another scale."
    return as_drawing(ax, table, alt, notes.strip())


def _describe_labels(table: pd.DataFrame) -> str:
    """State how many outputs have labels, and what intervals of the labels generalize to."""
    statements = []
    rows = table[table["method"] == "labels alone"]
    if len(rows) and {"n_labels", "n_outputs"} <= set(rows):
        statements.append(
            f"Labels for {rows['n_labels'].sum():,.0f} of {rows['n_outputs'].sum():,.0f} outputs."
        )
    with_interval = rows[has_interval(rows)]
    if len(with_interval) and "covers" in rows:
        statements.append(f"Intervals generalize to {write_scope(with_interval['covers'][:1])}.")
    return " ".join(statements)
