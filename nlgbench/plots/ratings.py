"""Ratings with intervals, who beats whom, and how ratings settle over games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.names import spaced
from nlgbench.plots.figures import Drawing, axes_for, draw_intervals, drawn_on, in_paper_style
from nlgbench.plots.style import GROUPS, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

_LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 3)))
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
    methods = [""]
    if "method" in ratings:
        ratings = ratings.assign(method=ratings["method"].fillna(""))
        methods = list(dict.fromkeys(ratings["method"]))
    n = ratings["system"].nunique()
    width = TWO_COLUMN if len(methods) > 1 or n > _MANY else TWO_COLUMN / 2
    axes = axes_for(ax, width, max(2.6, 0.6 + 0.13 * n), columns=len(methods), sharex=True)
    said, covered = [], False
    for one, method in zip(axes, methods, strict=True):
        rows = ratings[ratings["method"] == method] if "method" in ratings else ratings
        covers = _draw_ratings(one, rows)
        covered |= bool(covers)
        name = _METHODS.get(method, method)
        if len(methods) > 1:
            one.set_title(name, loc="left")
        said.append(f"{name} {_over(covers)}".strip() if covers else name)
    first = ratings[ratings["method"] == methods[0]] if "method" in ratings else ratings
    best = first.dropna(subset="rating").sort_values("rating", ascending=False)["system"]
    order = ", ".join(str(name).replace("_", " ") for name in best)
    intervals = f" with 95% intervals: {', '.join(said)}" if covered else ""
    by = f"By {_METHODS.get(methods[0], methods[0])}, best" if len(methods) > 1 else "Best"
    data = ratings
    if "method" in ratings:
        data = ratings.assign(method=ratings["method"].map(lambda x: _METHODS.get(x, x)))
    alt = f"Ratings of the systems{intervals}. {by} first: {order}."
    return drawn_on(axes, data, alt)


def _draw_ratings(ax: Axes, ratings: pd.DataFrame) -> str:
    """Draw one panel, and say what its intervals cover."""
    doubled = ratings.loc[ratings["system"].duplicated(), "system"]
    if len(doubled):
        raise ValueError(f"ratings have system {doubled.iloc[0]!r} twice: select one comparator.")
    rows = ratings.dropna(subset="rating").sort_values("rating").reset_index(drop=True)
    ends = rows["ci_low"], rows["ci_high"]
    draw_intervals(ax, rows.index, *ends, upright=False, color=SYSTEM, linewidth=1.0)
    ax.plot(rows["rating"].astype(float), rows.index, "o", color=SYSTEM, markersize=4)
    ax.set_yticks(rows.index, list(spaced(rows["system"]).values()))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="y", color="#dddddd", linewidth=0.5)
    ax.set_axisbelow(True)
    if "reason" in rows and rows["reason"].ne("").any():
        doubtful = rows[rows["reason"] != ""]
        over: dict[str, Any] = {"color": SYSTEM, "markersize": 4, "mfc": "white", "zorder": 3}
        (mark,) = ax.plot(doubtful["rating"], doubtful.index, "o", **over)
        words = "no interval, or one that cannot be trusted (reason)"
        ax.legend([mark], [words], loc="lower left", bbox_to_anchor=(-0.3, 1.0), handlelength=1)
    covers = ""
    if "covers" in rows and rows["ci_low"].notna().any():
        covers = str(rows["covers"].iloc[0])
    between = "\n" if len(covers) > 12 else " "
    ax.set_xlabel(f"Rating{between}(intervals {_over(covers)})" if covers else "Rating")
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
    if rates.duplicated(["system", "opponent"]).any():
        raise ValueError("rates have a pair of systems twice: select one comparator.")
    names = rates.groupby("system")["win_rate"].mean().sort_values(ascending=False).index.tolist()
    if order is not None and set(order) != set(names):
        odd = sorted(set(order) ^ set(names))
        raise ValueError(f"order must name each system of rates once; {odd[0]!r} is not in both.")
    names = names if order is None else list(order)
    size = (TWO_COLUMN, TWO_COLUMN) if len(names) > _MANY else (TWO_COLUMN * 0.75, 4.4)
    (ax,) = axes_for(ax, *size)
    matrix = rates.pivot(index="system", columns="opponent", values="win_rate")
    values = matrix.reindex(index=names, columns=names).to_numpy(dtype=float)
    draw_matrix(ax, values, names)
    labels = ", ".join(str(name).replace("_", " ") for name in names)
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
    ax.set(aspect="equal", xticks=places, yticks=places, xlabel="Opponent", ylabel="System")
    size: dict[str, Any] = {"fontsize": 5} if many else {}
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
    for n, system in enumerate(last.sort_values(ascending=False).index):
        rows = history[history["system"] == system].sort_values("game")
        marker, color = GROUPS[n % len(GROUPS)]
        # Past seven systems colors come again, with the next dashes.
        line = _LINES[(n + n // len(GROUPS)) % len(_LINES)]
        look: dict[str, Any] = {"color": color, "linestyle": line, "marker": marker}
        look |= {"markersize": 3, "markevery": max(1, len(rows) // 10)}
        low, high = rows["rating"] - rows["deviation"], rows["rating"] + rows["deviation"]
        ax.fill_between(rows["game"], low, high, color=color, alpha=0.12, linewidth=0)
        ax.plot(rows["game"], rows["rating"], **look, label=str(system).replace("_", " "))
        if system in final:
            alone: dict[str, Any] = {"marker": marker, "color": color, "mfc": "white"}
            ax.plot(at, final[system], **alone, markersize=4.5, linestyle="none", clip_on=False)
    if len(final):
        alone = {"marker": "o", "color": "black", "mfc": "white", "linestyle": "none"}
        ax.plot([], [], **alone, markersize=4.5, label="all games, each once")
    ax.set_xlabel("Games of one tournament, drawn with replacement")
    ax.set_ylabel("Rating (bands: one deviation)")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), borderaxespad=0.3, handlelength=3)
    alt = "Ratings of the systems game by game, with bands of one deviation, up to game "
    alt += f"{history['game'].max():,}."
    if len(final):
        words = ", ".join(
            f"{str(name).replace('_', ' ')} {final[name]:.0f}" for name in final.index
        )
        alt += f" Open marks, ratings after all games, each once: {words}."
    return drawn_on(ax, history, alt)
