"""Ratings with intervals, who beats whom, and how ratings settle over games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.names import spaced
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style, one_row_each
from nlgbench.plots.rows import draw_estimates, mark, name_rows
from nlgbench.plots.style import ONE_COLUMN, SYSTEM, TWO_COLUMN, line_look
from nlgbench.study.checks import read_table

_MANY = 24  # systems: beyond these a matrix has no room for numbers, and a list needs a page
_METHODS = {"bradley_terry": "Bradley-Terry", "glicko2": "Glicko-2", "elo": "Elo"}


@in_paper_style
def plot_ratings(ratings: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw each system's rating with its interval, the best at the top.

    Parameters
    ----------
    ratings : DataFrame
        From `nlgbench.rate`, or several after one another: ``system``, ``rating``, ``ci_low``,
        ``ci_high``; NaN bounds draw none, and a system without a rating is left out. Each
        ``method`` has a panel, all with the same axis; ``covers``, where there is one, is written
        below it; systems with a ``reason`` have an open mark, which the figure explains.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each method; a figure of its own by default.

    Returns
    -------
    Drawing
        A line of intervals and a mark per system to a panel, the best at the top.

    Raises
    ------
    ValueError
        If a column is missing, or a system stands twice in a panel.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b"], "rating": [1450.0, 1550.0]})
    >>> plot_ratings(table.assign(ci_low=None, ci_high=None)).alt
    'Ratings of the systems. Best first: b, a.'
    """
    needed = "system rating:float ci_low:float ci_high:float method? covers:text? reason:text?"
    ratings = read_table(ratings, needed, "ratings have")
    if "method" in ratings:
        ratings = ratings.assign(method=ratings["method"].map(lambda one: _METHODS.get(one, one)))
    methods = ratings.get("method", pd.Series("", ratings.index)).fillna("")
    one_row_each(ratings.assign(method=methods), ["method", "system"], "select one comparator")
    panels = dict(list(ratings.groupby(methods, sort=False)))
    n = ratings["system"].nunique()
    width = TWO_COLUMN if len(panels) > 1 or n > _MANY else ONE_COLUMN
    height = max(2.6, 0.6 + 0.13 * n)
    axes = axes_for(ax, width, height, n=len(panels), columns=len(panels), sharex=True)
    said = []
    for one, (method, rows) in zip(axes, panels.items(), strict=True):
        covers = _draw_ratings(one, rows)
        if len(panels) > 1:
            one.set_title(method, loc="left")
        said.append(f"{method} {_over(covers)}".strip() if covers else method)
    first, rows = next(iter(panels.items()))
    best = rows.dropna(subset="rating").sort_values("rating", ascending=False)["system"]
    intervals = f" with 95% intervals: {', '.join(said)}" if said != list(panels) else ""
    by = f"By {first}, best" if len(panels) > 1 else "Best"
    alt = f"Ratings of the systems{intervals}. {by} first: {', '.join(spaced(best).values())}."
    return drawn_on(axes, ratings, alt)


def _draw_ratings(ax: Axes, ratings: pd.DataFrame) -> str:
    """Draw one panel, and say what its intervals cover."""
    rows = ratings.rename(columns={"rating": "estimate"}).dropna(subset="estimate")
    rows = rows.sort_values("estimate", ascending=False).reset_index(drop=True)
    draw_estimates(ax, rows.index, rows, color=SYSTEM, linewidth=1.0)
    name_rows(ax, list(spaced(rows["system"]).values()), ruled=True)
    if "reason" in rows and rows["reason"].ne("").any():
        doubtful = rows[rows["reason"] != ""]
        draw_estimates(
            ax, doubtful.index, doubtful, color=SYSTEM, filled=False, linewidth=0, zorder=4
        )
        words = "no interval, or one that cannot be trusted (reason)"
        handle = mark(words, "o", SYSTEM, face="white")
        ax.legend(handles=[handle], loc="lower left", bbox_to_anchor=(-0.3, 1.0), handlelength=1)
    covers = ""
    if "covers" in rows and rows["ci_low"].notna().any():
        covers = str(rows["covers"].iloc[0])
    ax.set_xlabel(f"Rating\n(intervals {_over(covers)})" if covers else "Rating")
    return covers


def _over(covers: str) -> str:
    return f"for {covers}" if covers.startswith("other ") else f"over {covers}"


@in_paper_style
def plot_win_rates(
    rates: pd.DataFrame, *, ax: Axes | None = None, order: Sequence[str] | None = None
) -> Drawing:
    """Draw who beats whom as a matrix, each rate written in its cell.

    Parameters
    ----------
    rates : DataFrame
        From `nlgbench.win_rates`: ``system``, ``opponent``, ``win_rate`` (0 to 1).
    ax : Axes, optional
        Where to draw; a figure of its own by default.
    order : sequence of str, optional
        Systems from top to bottom and left to right. Default: by their mean win rate, the best
        first.

    Returns
    -------
    Drawing
        A cell per pair: the rate at which the row's system beats the column's, in hundredths, in
        orange below 50 and purple above. Pairs that never played are gray. Of more than 24 systems
        colors alone, with a bar that says what they mean.

    Raises
    ------
    ValueError
        If a column is missing, a pair stands twice, or `order` lacks a system.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b"], "opponent": ["b", "a"], "win_rate": [0.3, 0.7]})
    >>> plot_win_rates(table).alt
    'How often each system beats each other in hundredths, ties as half, best first: b, a.'
    """
    rates = read_table(rates, "system opponent win_rate:float", "rates have")
    one_row_each(rates, ["system", "opponent"], "select one comparator")
    names = rates.groupby("system")["win_rate"].mean().sort_values(ascending=False).index.tolist()
    if order is not None and set(order) != set(names):
        odd = sorted(set(order) ^ set(names))
        raise ValueError(f"order must name each system of rates once; {odd[0]!r} is not in both.")
    names = names if order is None else list(order)
    (ax,) = axes_for(ax, TWO_COLUMN, TWO_COLUMN if len(names) > _MANY else 4.4)
    matrix = rates.pivot(index="system", columns="opponent", values="win_rate")
    values = matrix.reindex(index=names, columns=names).to_numpy(dtype=float)
    draw_matrix(ax, values, names)
    labels = ", ".join(spaced(names).values())
    alt = "How often each system beats each other in hundredths, ties as half, best first: "
    return drawn_on(ax, rates, f"{alt}{labels}.")


def draw_matrix(
    ax: Axes, values: np.ndarray, names: list[str], *, bold: np.ndarray | None = None
) -> None:
    """Draw shares of systems (rows) against opponents in colors centered at a half, and numbers."""
    many = len(names) > _MANY
    # Colors end where black numbers can still be read.
    ends = (0, 1) if many else (-0.3, 1.3)
    look: dict[str, Any] = {"cmap": "PuOr", "vmin": ends[0], "vmax": ends[1], "edgecolor": "white"}
    places = range(len(names))
    ax.set_facecolor("#cccccc")
    shades = ax.pcolormesh(places, places, values, **look, linewidth=0.0 if many else 0.5)
    if many:
        where = ax.inset_axes((1.02, 0, 0.02, 1))
        ax.figure.colorbar(shades, cax=where, label="Win rate")
        where.set_ylim(0, 1)
    for row in places:
        for column in places:
            value = values[row, column]
            if value == value and not many:
                heavy = "bold" if bold is not None and bold[row, column] else "normal"
                text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
                ax.text(column, row, f"{100 * value:.0f}", **text, fontweight=heavy)
    labels = list(spaced(names).values())
    ax.set(xticks=places, yticks=places, xlabel="Opponent", ylabel="System")
    size: dict[str, Any] = {"fontsize": 6} if many else {}
    ax.set_xticklabels(labels, rotation=90, **size)
    ax.set_yticklabels(labels, **size)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


@in_paper_style
def plot_convergence(
    history: pd.DataFrame, *, ratings: pd.DataFrame | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw how ratings settle over games, with a band of one deviation.

    Parameters
    ----------
    history : DataFrame
        ``game``, ``system``, ``rating``, ``deviation``, as `nlgbench.tournament` keeps them.
        Deviations cover games, not other texts.
    ratings : DataFrame, optional
        From `nlgbench.rate`, with Glicko-2: ``system``, ``rating`` after all games, drawn at the
        right. A tournament draws some games, with replacement, so that it ends elsewhere.
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        One line and one band for each system, the best at the end first, as in the legend. Lines of
        different systems differ in dashes and marks as well as in color; marks are ten along a
        line.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> table = pd.DataFrame({"game": [1, 1], "system": ["a", "b"], "rating": [1600.0, 1400.0]})
    >>> plot_convergence(table.assign(deviation=200.0)).alt
    'Ratings of the systems game by game, with bands of one deviation, up to game 1.'
    """
    needed = "game:int system rating:float deviation:float"
    history = read_table(history, needed, "history has")
    final = pd.Series(dtype=float)
    if ratings is not None:
        ratings = read_table(ratings, "system rating:float", "ratings have")
        final = ratings.set_index("system")["rating"]
    (ax,) = axes_for(ax, TWO_COLUMN, 2.8)
    at = 1.04 * history["game"].max()
    last = history.sort_values("game").groupby("system")["rating"].last()
    names = spaced(last.sort_values(ascending=False).index)
    for n, system in enumerate(names):
        rows = history[history["system"] == system].sort_values("game")
        look = line_look(n)
        low, high = rows["rating"] - rows["deviation"], rows["rating"] + rows["deviation"]
        ax.fill_between(rows["game"], low, high, color=look["color"], alpha=0.12, linewidth=0)
        some: dict[str, Any] = {"markersize": 3, "markevery": max(1, len(rows) // 10)}
        ax.plot(rows["game"], rows["rating"], **look, **some, label=names[system])
        if system in final:
            alone: dict[str, Any] = {**look, "linestyle": "none", "mfc": "white", "markersize": 4.5}
            ax.plot(at, final[system], **alone, clip_on=False)
    if len(final):
        ax.add_line(mark("all games, each once", "o", "black", face="white"))
    ax.set_xlabel("Games of one tournament, drawn with replacement")
    ax.set_ylabel("Rating (bands: one deviation)")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), borderaxespad=0.3, handlelength=3)
    alt = "Ratings of the systems game by game, with bands of one deviation, up to game "
    alt += f"{history['game'].max():,}."
    if len(final):
        words = [f"{text} {final[name]:.0f}" for name, text in spaced(final.index).items()]
        alt += f" Open marks, ratings after all games, each once: {', '.join(words)}."
    return drawn_on(ax, history, alt)
