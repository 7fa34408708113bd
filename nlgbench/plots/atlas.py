"""Heat map of evaluators by statistics: which of them agree with human judgments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from nlgbench.evaluators.names import labelled
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    format_correlation,
    in_paper_style,
    require_unique,
)
from nlgbench.plots.rows import describe_intervals, interval_name, is_doubtful
from nlgbench.plots.style import TWO_COLUMN
from nlgbench.study.checks import read_table

#: Adjusted p-values below this get a star.
_ALPHA = 0.05
_COLUMNS = "evaluator estimate:float ci_low:float ci_high:float"
# Pale, so that black text is readable; in grayscale blue is darker, and cells show the sign.
_SHADES = LinearSegmentedColormap.from_list("agreement", ["#F4B183", "#FFFFFF", "#4A90C4"])


@in_paper_style
def plot_atlas(
    correlations: pd.DataFrame,
    *,
    ax: Axes | None = None,
    sort: bool = True,
) -> Drawing:
    """Draw a heat map of correlations, each with its value and interval.

    Parameters
    ----------
    correlations : DataFrame
        From `nlgbench.correlate`: ``evaluator``, ``statistic``, ``estimate`` (-1 to 1), ``ci_low``,
        ``ci_high``. Optional: ``p_adjusted`` (a star if below .05 and no interval includes 0),
        ``kind``, ``status`` (other than ``ok``: marked as doubtful), ``confidence``. Statistics are
        grouped by granularity, study, criterion or dimension: the first with several values.
    ax : Axes, optional
        Where to draw; a new figure by default.
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
    stars = "p_adjusted" in data
    correlations = data.assign(is_doubtful=is_doubtful(data))
    correlations = correlations if stars else correlations.assign(p_adjusted=np.nan)
    kind_sizes = correlations.groupby("kind")["evaluator"].nunique()
    height = float(0.6 + 0.24 * kind_sizes.sum() + 0.15 * len(kind_sizes))
    (ax,) = axes_for(ax, TWO_COLUMN, height)
    rows = _order_rows(correlations, sort=sort)
    headings = list(correlations[columns].drop_duplicates().itertuples(index=False, name=None))
    group_names = list(dict.fromkeys(heading[0] for heading in headings))
    headings.sort(key=lambda heading: group_names.index(heading[0]))
    cells = correlations.set_index(["evaluator", *columns]).to_dict("index")
    keys = [[(name, *heading) for heading in headings] for name, _ in rows]
    grid = np.array([[cells.get(key, {}).get("estimate", np.nan) for key in row] for row in keys])
    texts = [[_describe_cell(cells[key]) if key in cells else "" for key in row] for row in keys]
    # The hatched background shows where a value is undefined; a kind's row is white.
    ax.patch.set(hatch="//////", facecolor="white", edgecolor="#A0A0A0")
    is_heading = np.array([[evaluator is None] for evaluator, _ in rows])
    cell_style: dict[str, Any] = {
        "cmap": _SHADES,
        "vmin": -1,
        "vmax": 1,
        "linewidths": 0.6,
        "linecolor": "white",
    }
    text_style = {"color": "black", "fontsize": 7, "linespacing": 1.0}
    cell_style |= {"annot": texts, "fmt": "", "annot_kws": text_style}
    label_style = {"xticklabels": False, "yticklabels": False, "cbar": False}
    sns.heatmap(np.where(is_heading, 0, grid), ax=ax, **cell_style, **label_style)
    names = [kind if evaluator is None else evaluator for evaluator, kind in rows]
    ax.set_yticks(np.arange(len(rows)) + 0.5, names, rotation=0)
    for (evaluator, _), tick in zip(rows, ax.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if evaluator is None else "normal")
    _write_columns(ax, headings)
    ax.tick_params(length=0)
    n_cells = sum(evaluator is not None for evaluator, _ in rows) * len(headings)
    n_undefined = n_cells - int(np.isfinite(grid).sum())
    notes = f"Each cell: estimate and [{interval_name(data)}]."
    notes += f" * Holm-adjusted p < {_ALPHA:g}, and no interval includes 0." if stars else ""
    if n_doubtful := (correlations["is_doubtful"] & correlations["estimate"].notna()).sum():
        notes += f" † No interval, or a doubtful one ({n_doubtful} of {n_cells})."
    notes += f" Hatched: undefined ({n_undefined} of {n_cells})." if n_undefined else ""
    if len(undefined) and not is_undefined.all():
        notes += f" Undefined and omitted: {', '.join(undefined)}."
    means = pd.Series(np.mean(grid, axis=1), [name for name, _ in rows]).dropna()
    alt = f"Heat map: each evaluator's correlation with human judgments{describe_intervals(data)}, "
    alt += "for each statistic."
    alt += " Within a kind, evaluators are sorted by mean correlation." if sort else ""
    if len(means) > 1:
        alt += f" Of evaluators without undefined values, {means.idxmax()} has the highest mean "
        alt += f"over columns ({means.max():.2f}), and {means.idxmin()} the lowest "
        alt += f"({means.min():.2f})."
    return as_drawing(ax, data, alt, notes)


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


def _describe_cell(cell: dict[Any, Any]) -> str:
    """Write a cell's estimate, and its interval below it."""
    low, high = cell["ci_low"], cell["ci_high"]
    starred = cell["p_adjusted"] < _ALPHA and not low * high <= 0
    marks = ("*" if starred else "") + ("†" if cell["is_doubtful"] else "")
    interval = "\n[{}, {}]".format(*map(format_correlation, (low, high)))
    return format_correlation(cell["estimate"]) + marks + interval * bool(np.isfinite(low + high))


def _write_columns(ax: Axes, headings: list[tuple[Any, ...]]) -> None:
    ax.xaxis.tick_top()
    names = [str(heading[-1]) for heading in headings]
    ax.set_xticks(np.arange(len(headings)) + 0.5, names, rotation=0)
    if len(headings[0]) == 1:
        return
    groups = pd.Series([heading[0] for heading in headings])
    sizes = groups.groupby(groups, sort=False).size()
    ends = sizes.cumsum()
    for end in ends.iloc[:-1]:
        ax.axvline(end, color="black", linewidth=0.8)
    upper = ax.secondary_xaxis("top")
    # The empty line leaves room for the inner names.
    upper.set_xticks(ends - sizes / 2, [f"{name}\n" for name in sizes.index], fontweight="bold")
    upper.tick_params(length=0)
    upper.spines["top"].set_visible(False)
