"""Correlations of evaluators by statistics: which of them agree with human judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from nlgbench.evaluators.names import labelled
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    in_paper_style,
    require_unique,
)
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    is_doubtful,
    label_rows,
    mark,
    short_number,
)
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Marks with adjusted p-values below this are filled.
_ALPHA = 0.05
_MOST = 6  # panels in a row
_COLUMNS = "evaluator estimate:float ci_low:float ci_high:float"


@in_paper_style
def plot_atlas(
    correlations: pd.DataFrame,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    sort: bool = True,
) -> Drawing:
    """Draw correlations with their intervals, a row per evaluator and a panel per statistic.

    Parameters
    ----------
    correlations : DataFrame
        From `nlgbench.correlate`: ``evaluator``, ``statistic``, ``estimate`` (-1 to 1), ``ci_low``,
        ``ci_high``. Optional: ``p_adjusted`` (filled if below .05 and no interval includes 0),
        ``kind``, ``status`` (other than ``ok``: marked as doubtful), ``confidence``. Statistics are
        grouped by granularity, study, criterion or dimension: the first with several values.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per statistic; a new figure by default.
    sort : bool
        Sort the evaluators of a kind by mean estimate, highest first; False keeps their order.

    Returns
    -------
    Drawing
        Its data are the rows drawn, with the labels of evaluators and statistics.

    Raises
    ------
    ValueError
        If a column is missing, a cell has two rows, or there is nothing to draw.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["chrf"], "statistic": "spearman", "estimate": 0.5})
    >>> plot_atlas(table.assign(ci_low=0.1, ci_high=0.8)).data["evaluator"].tolist()
    ['chrF']
    """
    several = [
        name
        for name in ("granularity", "study", "criterion", "dimension")
        if name in correlations and len(correlations[name].unique()) > 1
    ]
    columns = [*several[:1], "statistic"]
    needed = " ".join(
        [_COLUMNS, *columns, "kind? status:text? p_adjusted:float? confidence:float?"]
    )
    data = labelled(read_table(correlations, needed, "correlations have"))
    is_undefined = data["estimate"].isna().groupby(data["evaluator"]).transform("all")
    undefined = data.loc[is_undefined, "evaluator"].unique()
    data = data if is_undefined.all() else data[~is_undefined]
    if data.empty:
        raise ValueError("correlations have no row: there is nothing to draw.")
    require_unique(data, ["evaluator", *columns], "select one row per cell")
    rows = _order_rows(data, sort=sort)
    names = [kind if evaluator is None else evaluator for evaluator, kind in rows]
    headings = data[columns].drop_duplicates()
    groups = list(headings[columns[0]].unique())
    headings = headings.iloc[headings[columns[0]].map(groups.index).argsort(kind="stable")]
    n_columns = min(_MOST, len(headings))
    height = (0.9 + 0.16 * max(4, len(rows))) * -(-len(headings) // n_columns)
    grid: dict[str, Any] = {"columns": n_columns, "sharex": True, "sharey": True}
    panels = axes_for(ax, TWO_COLUMN, height, n=len(headings), **grid)
    doubtful = is_doubtful(data)
    no_effect = data["ci_low"] * data["ci_high"] <= 0
    significant = (data.get("p_adjusted", pd.Series(0.0, data.index)) < _ALPHA) & ~no_effect
    for panel, heading in zip(panels, headings.itertuples(index=False, name=None), strict=True):
        drawn = (data[columns] == list(heading)).all(axis=1)
        for (doubt, effect), points in data[drawn].groupby([doubtful, significant], sort=False):
            style: dict[str, Any] = {"marker": "s" if doubt else "o", "filled": effect}
            draw_estimates(panel, points["evaluator"].map(names.index), points, **style)
        draw_reference(panel, 0)
        label_rows(panel, names, ruled=True)
        panel.set_title("\n".join(map(str, heading)), fontsize=7)
        panel.xaxis.set_major_locator(MultipleLocator(0.5 if n_columns < 5 else 1))
        panel.xaxis.set_major_formatter(short_number)
    for (evaluator, _), tick in zip(rows, panels[0].get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if evaluator is None else "normal")
    figure = panels[0].figure
    figure.supxlabel("Correlation with human judgments", fontsize=8)
    handles = []
    if "p_adjusted" in data:
        handles += [mark(f"adjusted p < {_ALPHA:g}, intervals exclude 0", "o", ESTIMATE)]
        handles += [mark("otherwise", "o", ESTIMATE, face="white")]
    handles += [mark("square: doubtful", "s", "#777777")] * bool(doubtful.any())
    figure.legend(handles=handles, loc="outside upper right", ncols=3)
    n_cells = data["evaluator"].nunique() * len(headings)
    n_undefined = n_cells - int(data["estimate"].notna().sum())
    notes = describe_nested(data)
    if doubtful.any():
        notes += " Squares: the interval is missing, one-sided or unreliable."
    notes += f" Without a mark: undefined ({n_undefined} of {n_cells})." if n_undefined else ""
    if len(undefined) and not is_undefined.all():
        notes += f" Undefined and omitted: {', '.join(undefined)}."
    means = data.groupby("evaluator", sort=False)["estimate"].agg(lambda x: x.mean(skipna=False))
    means = means.dropna()
    alt = f"Each evaluator's correlation with human judgments{describe_intervals(data)}, "
    alt += "for each statistic."
    alt += " Within a kind, evaluators are sorted by mean correlation." if sort else ""
    if len(means) > 1:
        alt += f" Of evaluators without undefined values, {means.idxmax()} has the highest mean "
        alt += f"over columns ({means.max():.2f}), and {means.idxmin()} the lowest "
        alt += f"({means.min():.2f})."
    return as_drawing(panels, data, alt, notes)


def _order_rows(correlations: pd.DataFrame, *, sort: bool) -> list[tuple[str | None, str]]:
    """List the rows as evaluator and kind; the heading of a kind has no evaluator."""
    rows = correlations.groupby("evaluator", sort=False)
    evaluators = pd.DataFrame({"mean": rows["estimate"].mean(), "kind": rows["kind"].first()})
    if (evaluators["kind"] == "Others").all():
        evaluators["kind"] = ""
    kinds = dict.fromkeys(evaluators["kind"])
    if sort:
        evaluators = evaluators.sort_values("mean", ascending=False, kind="stable")
    order: list[tuple[str | None, str]] = []
    for kind in kinds:
        order += [(None, kind)] if kind else []
        order += [(str(name), kind) for name in evaluators.index[evaluators["kind"] == kind]]
    return order
