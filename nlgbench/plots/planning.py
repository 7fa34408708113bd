"""Planning: power of planned studies, components of variance, and how often intervals hold."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from statsmodels.stats.proportion import proportion_confint

from nlgbench.analysis.planning import StudyPlan
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_paper_style,
    name_lanes,
)
from nlgbench.plots.style import GROUPS, HUMAN, ONE_COLUMN, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

_LINES = ("-", "--", ":", "-.")
#: Where coverage is as it should be.
_LOW, _HIGH = 0.93, 0.97
#: More rows than these have no names; those of a quantity share so many lanes.
_MOST_LANES, _SHARED = 40, 8


@in_paper_style
def plot_plan(
    plan: StudyPlan | pd.DataFrame, *, power: float = 0.8, ax: Axes | None = None
) -> Drawing:
    """Draw the power of planned studies, with simulated ones beside the formula.

    Parameters
    ----------
    plan : StudyPlan or DataFrame
        From `nlgbench.plan_study`, `plan_correlations` or `plan_huse`, or its ``curve``: ``power``,
        and ``n_items`` (with ``n_annotators``, a line for each number) or ``n_systems``; optional
        ``simulated``, ``simulated_low``, ``simulated_high``.
    power : float
        Where a thin line stands: the power that is wanted.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Lines are the formula, marks with intervals the share of simulated studies that find the
        difference, which a plan's title names. Marks of several lines at one number stand a little
        apart.

    Raises
    ------
    ValueError
        If a column is missing, or no number of items or of systems is there.

    Examples
    --------
    >>> curve = pd.DataFrame({"n_items": [50, 100], "n_annotators": 20, "power": [0.4, 0.7]})
    >>> plot_plan(curve).alt
    'Power against the number of items: with 20 annotators 0.40 at 50 and 0.70 at 100.'
    """
    curve = plan.curve if isinstance(plan, StudyPlan) else plan
    needed = "n_items:float? n_annotators:float? n_systems:float? power:float simulated:float? "
    curve = read_table(curve, needed + "simulated_low:float? simulated_high:float?", "curve has")
    x = next((n for n in ("n_items", "n_systems") if n in curve and curve[n].notna().any()), "")
    if not x:
        raise ValueError("curve has neither n_items nor n_systems: there is no axis for power.")
    (ax,) = axes_for(ax, ONE_COLUMN, 2.5)
    by = curve.get("n_annotators", pd.Series(np.nan, curve.index)).fillna(0)
    if x == "n_items" and not by.duplicated().any():
        by = by * 0  # each number of items has its own annotators
    said = []
    ax.axhline(power, color="#555555", linewidth=0.6, zorder=1)
    groups = list(curve.groupby(by, sort=True))
    for n, (people, rows) in enumerate(groups):
        rows = rows.sort_values(x)
        marker, color = GROUPS[n % len(GROUPS)]
        look: dict[str, Any] = {"color": color, "linestyle": _LINES[n % len(_LINES)]}
        name = f"{people:g} annotators" if people else ""
        ax.plot(rows[x], rows["power"], **look)
        ends = rows.iloc[[0, -1]]
        text = " and ".join(
            f"{p:.2f} at {at:g}" for at, p in zip(ends[x], ends["power"], strict=True)
        )
        said.append(f"with {name} {text}" if name else text)
        simulated = "simulated" in rows and rows["simulated"].notna().any()
        mark: dict[str, Any] = {"marker": marker, "markersize": 3.5, "mfc": "white", "zorder": 3}
        if people:
            ax.plot([], [], label=f"{people:g}", **look, **(mark if simulated else {}))
        if not simulated:
            continue
        at = rows[x] * 1.03 ** (n - (len(groups) - 1) / 2)
        if {"simulated_low", "simulated_high"} <= set(rows):
            low, high = rows["simulated_low"], rows["simulated_high"]
            draw_intervals(ax, at, low, high, upright=True, color=color)
        ax.plot(at, rows["simulated"], linestyle="none", color=color, **mark)
    ax.set_xscale("log")
    numbers = np.unique(curve[x].dropna())
    ax.set_xticks(numbers, [f"{n:g}" for n in numbers])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.03)
    what = "items" if x == "n_items" else "systems"
    ax.set_xlabel(f"Number of {what}")
    ax.set_ylabel("Power")
    question = ""
    if isinstance(plan, StudyPlan):
        question = str(plan.report.set_index("what")["value"]["question"])
        # Above the legend, where there is one.
        pad = 30 if any(people for people, _ in groups) else 4
        title = question[:1].upper() + question[1:]
        ax.set_title(textwrap.fill(title, 56), loc="left", fontsize=7, pad=pad)
    if any(people for people, _ in groups):
        legend = {"title": "Annotators", "title_fontsize": 7, "ncols": 4, "borderaxespad": 0.2}
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), alignment="left", **legend)
    of = f" ({question})" if question else ""
    alt = f"Power{of} against the number of {what}: {'; '.join(said)}."
    if "simulated" in curve and curve["simulated"].notna().any():
        alt += " Marks are shares of simulated studies."
    return drawn_on(ax, curve, alt)


@in_paper_style
def plot_components(components: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw variance components with intervals, and their shares.

    Parameters
    ----------
    components : DataFrame
        From `nlgbench.variance_components`: ``component``, ``variance``, ``ci_low``, ``ci_high``,
        ``share``.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        A bar for each component, with its share in percent at the right. One without an interval
        has none; what the design does not tell apart is said in words.

    Raises
    ------
    ValueError
        If a column is missing, a component stands twice, or no variance is known.

    Examples
    --------
    >>> table = pd.DataFrame({"component": ["item", "rest"], "variance": [1.0, 3.0]})
    >>> plot_components(table.assign(ci_low=[0.5, 2.0], ci_high=[2, 5], share=[0.25, 0.75])).alt
    'Share of the variance of judgments in each component: item 25%, rest 75%.'
    """
    needed = "component variance:float ci_low:float ci_high:float share:float"
    table = read_table(components, needed, "table has")
    twice = table.loc[table["component"].duplicated(), "component"]
    if len(twice):
        raise ValueError(f"table has component {twice.iloc[0]!r} twice: select one dimension.")
    if table["variance"].isna().all():
        raise ValueError("no variance is known, so there is nothing to draw: see the reasons.")
    (ax,) = axes_for(ax, ONE_COLUMN, 0.6 + 0.22 * len(table))
    lanes = np.arange(len(table))
    known = table["variance"].notna().to_numpy()
    ax.barh(lanes[known], table["variance"][known], height=0.62, color=SYSTEM, alpha=0.45)
    ends = table["ci_low"], table["ci_high"]
    draw_intervals(ax, lanes, *ends, upright=False, color="black", linewidth=1.0)
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right", "fontsize": 6.5}
    for lane, share in enumerate(table["share"]):
        if np.isfinite(share):
            ax.text(1.12, lane, f"{share:.0%}", va="center", **place)
        else:
            ax.text(0, lane, " not told apart", va="center", fontsize=6.5, color="#555555")
    name_lanes(ax, table["component"].tolist())
    ax.set_xlim(left=0)
    ax.set_xlabel("Variance (squared points), 95% interval")
    said = ", ".join(
        f"{name} {share:.0%}" if np.isfinite(share) else f"{name} not told apart"
        for name, share in zip(table["component"], table["share"], strict=True)
    )
    alt = f"Share of the variance of judgments in each component: {said}."
    return drawn_on(ax, table, alt)


@in_paper_style
def plot_coverage(coverage: pd.DataFrame, *, ax: Axes | None = None) -> Drawing:
    """Draw how often intervals held in simulated studies, against the share that was asked for.

    Parameters
    ----------
    coverage : DataFrame
        From `nlgbench.coverage`, for 95% intervals: ``quantity``, ``name``, ``coverage``,
        ``n_worlds``; optional ``opponent``, ``granularity``.
    ax : Axes, optional
        Where to draw; a figure of its own by default, as high as the rows need.

    Returns
    -------
    Drawing
        A point per row with its Monte Carlo interval (Wilson 1927, 95%), the line at .95, and a
        band from .93 to .97. A point whose interval lies off the band is filled. More than 40 rows
        have no names: those of one quantity share a line. Rows without intervals are left out, and
        counted in words.

    Raises
    ------
    ValueError
        If a column is missing, or no row has a coverage.

    Examples
    --------
    >>> table = pd.DataFrame({"quantity": "mean", "name": ["a", "b"], "n_worlds": 200})
    >>> plot_coverage(table.assign(coverage=[0.95, 0.8])).alt
    'Share of 95% intervals that hold, of 2 intervals: 0.80 to 0.95; clearly below .93: 1.'
    """
    needed = "quantity:text name:text coverage:float n_worlds:number opponent:text? "
    table = read_table(coverage, needed + "granularity:text?", "table has")
    rows = table.dropna(subset="coverage").reset_index(drop=True)
    if rows.empty:
        raise ValueError("no row has a coverage, so there is nothing to draw: see the reasons.")
    rows, lanes, ticks = _lanes(rows)
    (ax,) = axes_for(ax, TWO_COLUMN * 0.6, 0.91 + 0.16 * lanes[-1])
    share, n = rows["coverage"].to_numpy(dtype=float), rows["n_worlds"].to_numpy(dtype=float)
    low, high = proportion_confint(share * n, n, method="wilson")
    ax.axvspan(_LOW, _HIGH, color="#e6e6e6", linewidth=0, zorder=0)
    ax.axvline(0.95, color="#555555", linewidth=0.6, zorder=1)
    crowded = len(rows) > _MOST_LANES
    line = {"linewidth": 0.4, "alpha": 0.4} if crowded else {}
    draw_intervals(ax, lanes, low, high, upright=False, color=HUMAN, **line)
    off = (high < _LOW) | (low > _HIGH)
    look: dict[str, Any] = {"color": HUMAN, "markersize": 2 if crowded else 3.5, "zorder": 3}
    ax.plot(share[~off], lanes[~off], "o", mfc="white", **look)
    ax.plot(share[off], lanes[off], "o", **look)
    ax.set_yticks(list(ticks.values()), list(ticks))
    ax.set_ylim(lanes[-1] + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(min(0.85, float(low.min()) - 0.01), 1.005)
    ax.set_xlabel("Share of intervals that hold")
    n_below = int((high < _LOW).sum())
    alt = (
        f"Share of 95% intervals that hold, of {len(rows)} intervals: {share.min():.2f} to "
        f"{share.max():.2f}; clearly below .93: {n_below}."
    )
    lost = len(table) - len(rows)
    alt += f" {lost} without intervals are left out." if lost else ""
    return drawn_on(ax, table, alt)


def _lanes(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, dict[str, float]]:
    """Order rows, place them from the top, and say where which name stands.

    Of very many rows those of a quantity share a few lanes, the lowest coverage first.
    """
    names = [_named(one) for one in rows.to_dict("records")]
    lanes = np.arange(len(rows), dtype=np.float64)
    if len(rows) <= _MOST_LANES:
        return rows, lanes, dict(zip(names, lanes, strict=True))
    nameless = rows.reindex(columns=["quantity", "granularity"], fill_value="")
    line, quantities = pd.factorize(pd.Series([_named(one) for one in nameless.to_dict("records")]))
    order = np.lexsort([rows["coverage"].to_numpy(), line])
    sizes = np.bincount(line)
    deep = np.minimum(sizes, _SHARED)
    top = np.cumsum(deep + 1) - deep - 1
    within = np.concatenate([np.linspace(0, d - 1, n) for d, n in zip(deep, sizes, strict=True)])
    middles = dict(zip(quantities, top + (deep - 1) / 2, strict=True))
    ticks = {f"{name} ({n})": middles[name] for name, n in zip(quantities, sizes, strict=True)}
    return rows.iloc[order], top[line[order]] + within, ticks


def _named(row: dict) -> str:
    """Write what a row is about."""
    about = " \u2212 ".join(str(row[one]) for one in ("name", "opponent") if row.get(one))
    of = f" ({row['granularity']})" if row.get("granularity") else ""
    return f"{row['quantity']}{of} {about}".replace("_", " ").strip()
