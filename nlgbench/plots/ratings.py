"""Ratings with intervals, who beats whom, and how ratings settle over games."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import GROUPS, SYSTEM

_LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 3)))


def plot_ratings(
    ratings: pd.DataFrame, *, ax: Axes | None = None, xlabel: str = "Rating", **errorbar_kws: Any
) -> Axes:
    """Draw each system's rating with its interval, the best at the top.

    Parameters
    ----------
    ratings : DataFrame
        ``system``, ``rating``, ``ci_low``, ``ci_high``: one row per system; NaN bounds draw none,
        and a system without a rating is left out. ``covers``, where there is one, is written below
        the axis; systems with a ``reason`` have an open mark.
    ax : Axes, optional
        Where to draw; the current axes by default.
    xlabel : str
        Name of the scale.
    **errorbar_kws
        Handed to `matplotlib.axes.Axes.errorbar`.

    Returns
    -------
    Axes
        One error-bar container, in the order of the ratings.

    Raises
    ------
    ValueError
        If a column is missing, or a system stands twice.
    """
    require_columns(ratings, ("system", "rating", "ci_low", "ci_high"), "ratings have")
    doubled = ratings.loc[ratings["system"].duplicated(), "system"]
    if len(doubled):
        raise ValueError(
            f"ratings have system {doubled.iloc[0]!r} twice: select one dataset and comparator."
        )
    ax = plt.gca() if ax is None else ax
    rows = ratings.dropna(subset="rating").sort_values("rating").reset_index(drop=True)
    bounds = [rows["rating"] - rows["ci_low"], rows["ci_high"] - rows["rating"]]
    look: dict[str, Any] = {"fmt": "o", "color": SYSTEM, "markersize": 4, "elinewidth": 1.0}
    ax.errorbar(rows["rating"], rows.index, xerr=bounds, **{**look, **errorbar_kws})
    ax.set_yticks(rows.index, rows["system"])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="y", color="#dddddd", linewidth=0.5)
    ax.set_axisbelow(True)
    if "covers" in rows and rows["ci_low"].notna().any():
        xlabel += f" (intervals over {rows['covers'].iloc[0]})"
    if "reason" in rows and rows["reason"].ne("").any():
        doubtful = rows[rows["reason"] != ""]
        ax.plot(doubtful["rating"], doubtful.index, "o", color=SYSTEM, markersize=4, mfc="white")
    ax.set_xlabel(xlabel)
    return ax


def plot_win_rates(
    rates: pd.DataFrame,
    *,
    ax: Axes | None = None,
    order: list[str] | None = None,
    **pcolormesh_kws: Any,
) -> Axes:
    """Draw who beats whom as a matrix, each rate written in its cell.

    Parameters
    ----------
    rates : DataFrame
        ``system``, ``opponent``, ``win_rate`` (0 to 1): one row per ordered pair.
    ax : Axes, optional
        Where to draw; the current axes by default.
    order : list of str, optional
        Systems from top to bottom and left to right. Default: by their mean win rate, the best
        first.
    **pcolormesh_kws
        Handed to `matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    Axes
        A cell per pair: the rate at which the row's system beats the column's, in hundredths. Pairs
        that never played are blank.

    Raises
    ------
    ValueError
        If a column is missing, a pair stands twice, or `order` lacks a system.
    """
    require_columns(rates, ("system", "opponent", "win_rate"), "rates have")
    if rates.duplicated(["system", "opponent"]).any():
        raise ValueError("rates have a pair of systems twice: select one dataset and comparator.")
    names = rates.groupby("system")["win_rate"].mean().sort_values(ascending=False).index.tolist()
    if order is not None and set(order) != set(names):
        odd = sorted(set(order) ^ set(names))
        raise ValueError(f"order must name each system of rates once; {odd[0]!r} is not in both.")
    names = names if order is None else order
    ax = plt.gca() if ax is None else ax
    matrix = rates.pivot(index="system", columns="opponent", values="win_rate")
    values = matrix.reindex(index=names, columns=names).to_numpy(dtype=float)
    # Shades end at a middle gray, on which black numbers can still be read.
    look: dict[str, Any] = {"cmap": "Greys", "vmin": 0, "vmax": 1.6, "edgecolor": "white"}
    places = range(len(names))
    ax.pcolormesh(places, places, values, **{**look, "linewidth": 0.5, **pcolormesh_kws})
    for row in places:
        for column in places:
            value = values[row, column]
            if value == value:
                text = f"{100 * value:.0f}"
                ax.text(column, row, text, ha="center", va="center", fontsize=6.5)
    ax.set(aspect="equal", xticks=places, yticks=places, xlabel="Opponent", ylabel="System")
    ax.set_xticklabels(names, rotation=90)
    ax.set_yticklabels(names)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def plot_convergence(
    history: pd.DataFrame, *, ax: Axes | None = None, legend: bool = True, **plot_kws: Any
) -> Axes:
    """Draw how ratings settle over games, with a band of one deviation.

    Parameters
    ----------
    history : DataFrame
        ``game``, ``system``, ``rating``, ``deviation``, as `ratings.pairing.tournament` keeps them.
        Deviations cover games, not other texts.
    ax : Axes, optional
        Where to draw; the current axes by default.
    legend : bool, default True
        At the right, in the order of the last ratings.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for each line.

    Returns
    -------
    Axes
        One line and one band for each system, the best at the end first. Lines of different systems
        differ in dashes and marks as well as in color; marks are ten along a line.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    require_columns(history, ("game", "system", "rating", "deviation"), "history has")
    ax = plt.gca() if ax is None else ax
    last = history.sort_values("game").groupby("system")["rating"].last()
    for n, system in enumerate(last.sort_values(ascending=False).index):
        rows = history[history["system"] == system].sort_values("game")
        marker, color = GROUPS[n % len(GROUPS)]
        # Past seven systems colors come again, with the next dashes.
        line = _LINES[(n + n // len(GROUPS)) % len(_LINES)]
        look: dict[str, Any] = {"color": color, "linestyle": line, "marker": marker}
        look |= {"markersize": 3, "markevery": max(1, len(rows) // 10), "label": str(system)}
        low, high = rows["rating"] - rows["deviation"], rows["rating"] + rows["deviation"]
        ax.fill_between(rows["game"], low, high, color=color, alpha=0.12, linewidth=0)
        ax.plot(rows["game"], rows["rating"], **{**look, **plot_kws})
    ax.set_xlabel("Games")
    ax.set_ylabel("Rating")
    if legend:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), borderaxespad=0.3, handlelength=3)
    return ax
