"""Ratings with intervals, win rates, and convergence of ratings over games."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nlgbench.analysis.people import SystemComparison
from nlgbench.analysis.ratings.rating import Ratings
from nlgbench.clustering import write_scope
from nlgbench.names import spaced
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, require_unique
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    has_interval,
    is_doubtful,
    label_rows,
    mark,
    name_source,
)
from nlgbench.plots.style import ESTIMATE, ONE_COLUMN, TWO_COLUMN, line_look
from nlgbench.study.checks import read_table
from nlgbench.text import counted

_MANY = 24  # the most systems whose list fits one column
_FEW, _SHORT = 8, 20  # the most systems, and letters of a name, whose matrix fits one column
_MOST = 20  # the most systems of a matrix
_LINES = 4  # the most systems whose ratings have a line of their own
_METHODS = {"bradley_terry": "Bradley-Terry", "glicko2": "Glicko-2", "elo": "Elo"}


@in_paper_style
def plot_ratings(
    ratings: pd.DataFrame | Ratings, *, ax: Axes | Sequence[Axes] | None = None
) -> Drawing:
    """Draw each system's rating with its interval, highest first.

    Parameters
    ----------
    ratings : Ratings or DataFrame
        From `nlgbench.rate` (the first comparator is drawn), or its ``systems``, concatenated:
        ``system``, ``estimate``, ``ci_low``, ``ci_high``. Optional: ``method``, with a panel for
        each value; ``covers``, for the notes; ``confidence``; ``status`` (other than
        ``ok``: an open mark); ``comparator``, which is named.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per method; a new figure by default.

    Returns
    -------
    Drawing
        Each panel has a mark and an interval per system, the best at the top. The notes count
        systems without a rating.

    Raises
    ------
    ValueError
        If a column is missing, or a system has two rows in a panel.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b"], "estimate": [1450.0, 1550.0]})
    >>> plot_ratings(table.assign(ci_low=None, ci_high=None)).alt
    'Ratings of the systems. Best first: b, a. Ratings without intervals.'
    """
    needed = "system estimate:float ci_low:float ci_high:float method? covers:text? status:text?"
    if isinstance(ratings, Ratings):
        ratings = next(rows for _, rows in ratings.systems.groupby("comparator"))
    ratings = read_table(ratings, f"{needed} confidence:float?", "ratings have")
    if "method" in ratings:
        ratings = ratings.assign(method=ratings["method"].replace(_METHODS))
    methods = ratings.get("method", pd.Series("", ratings.index)).fillna("")
    require_unique(ratings.assign(method=methods), ["method", "system"], "select one comparator")
    panels = dict(list(ratings.groupby(methods, sort=False)))
    n = ratings["system"].nunique()
    width = TWO_COLUMN if len(panels) > 1 or n > _MANY else ONE_COLUMN
    height = max(2.6, 0.6 + 0.13 * n)
    axes = axes_for(ax, width, height, n=len(panels), columns=len(panels), sharex=True)
    notes = []
    for panel, (method, rows) in zip(axes, panels.items(), strict=True):
        described = _draw_ratings(panel, rows)
        notes.append(f"{method} {described}" if method else described[:1].upper() + described[1:])
        if len(panels) > 1:
            panel.set_title(method, loc="left")
    first, rows = next(iter(panels.items()))
    best = rows.dropna(subset="estimate").sort_values("estimate", ascending=False)["system"]
    order = f"By {first}, best" if len(panels) > 1 else "Best"
    alt = f"Ratings of the systems. {order} first: {', '.join(spaced(best).values())}."
    source = name_source(ratings) if len(panels) == 1 else ""
    if source:
        axes[0].set_xlabel(f"Rating\n{textwrap.fill(source, 30)}")
        alt = f"{source}: {alt}"
    notes += [describe_nested(ratings)]
    return as_drawing(axes, ratings, alt, " ".join(filter(None, notes)))


def _draw_ratings(ax: Axes, ratings: pd.DataFrame) -> str:
    """Draw one panel, and describe its intervals and the systems omitted."""
    n_systems = len(ratings)
    rows = ratings.dropna(subset="estimate")
    rows = rows.sort_values("estimate", ascending=False).reset_index(drop=True)
    draw_estimates(ax, rows.index, rows)
    label_rows(ax, list(spaced(rows["system"]).values()), ruled=True)
    doubtful = rows[is_doubtful(rows)]
    if len(doubtful):
        draw_estimates(ax, doubtful.index, doubtful, filled=False, linewidth=0, zorder=4)
    with_interval = rows[has_interval(rows)]
    ax.set_xlabel("Rating")
    notes = f"ratings{describe_intervals(rows)}"
    if "covers" in rows and len(with_interval):
        notes += f" generalizing to {write_scope(with_interval['covers'][:1])}"
    if len(rows) < n_systems:
        notes += f"; {n_systems - len(rows)} of {n_systems} systems omitted: undefined"
    return f"{notes}." + " Open marks: interval missing or unreliable." * bool(len(doubtful))


@in_paper_style
def plot_win_rates(
    rates: pd.DataFrame | SystemComparison,
    *,
    ax: Axes | None = None,
    order: Sequence[str] | None = None,
) -> Drawing:
    """Draw a matrix of win rates between systems.

    Parameters
    ----------
    rates : DataFrame or SystemComparison
        From `nlgbench.win_rates`: ``system``, ``opponent``, ``estimate`` (0 to 1). Or from
        `nlgbench.compare_systems`, whose pairs have ``superiority`` and ``verdict`` instead.
    ax : Axes, optional
        Where to draw; a new figure by default.
    order : sequence of str, optional
        Systems, best first. Default: by mean win rate or judgment.

    Returns
    -------
    Drawing
        Each shade is the percentage of comparisons that the row's system wins against the column's,
        or of pairs of judgments in which it is judged better; ties count half. Significant cells
        have a dot; pairs without comparisons are gray. At most 20 systems are drawn, the best.

    Raises
    ------
    ValueError
        If a column is missing, a pair has two rows, or `order` does not match the systems.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b"], "opponent": ["b", "a"], "estimate": [0.3, 0.7]})
    >>> plot_win_rates(table).alt.split(". ")[0]
    'Best first, by mean win rate: b, a'
    """
    table = rates.pairs if isinstance(rates, SystemComparison) else rates
    source = name_source(rates.systems) if isinstance(rates, SystemComparison) else ""
    value = "superiority" if "superiority" in table else "estimate"
    table = read_table(table, f"system opponent {value}:float verdict:text? orders?", "rates have")
    require_unique(table, ["system", "opponent"], "select one comparator, or dimension")
    names = list(dict.fromkeys(table["system"]))  # `compare_systems` sorts them by mean
    if value == "estimate":
        names = table.groupby("system")[value].mean().sort_values(ascending=False).index.tolist()
    if order is not None and set(order) != set(names):
        odd = sorted(set(order) ^ set(names))
        raise ValueError(f"order must list the same systems as rates; {odd[0]!r} is not in both.")
    names = list(names if order is None else order)
    n_systems, names = len(names), names[:_MOST]
    table = table[table["system"].isin(names) & table["opponent"].isin(names)]
    labels = spaced(names)
    # Numbers stand for names below the columns, where names would have to be vertical.
    ticks = [f"{label} ({n})" for n, label in enumerate(labels.values(), 1)]
    is_small = len(names) <= _FEW and max(map(len, ticks)) <= _SHORT
    (ax,) = axes_for(ax, ONE_COLUMN if is_small else TWO_COLUMN, 1.4 + 0.15 * len(names))
    verdicts = table.get("verdict", pd.Series("", table.index)).fillna("")
    table = table.assign(significant=verdicts.str.startswith(("better", "worse")))
    # Each pair has one cell, in the row of its better system.
    ranks = table[["system", "opponent"]].map(names.index)
    upper = table[ranks["system"] < ranks["opponent"]]
    values = upper.pivot(index="system", columns="opponent", values=value)
    values = 100 * values.reindex(index=names, columns=names[1:])
    missing = values.isna() & np.triu(np.ones(values.shape, dtype=bool))
    ax.pcolormesh(np.where(missing, 1.0, np.nan), cmap="Greys", vmin=0, vmax=4)
    reach = np.nanmax(abs(values.to_numpy() - 50), initial=10)
    # Darker colors would hide the dots.
    style: dict[str, Any] = {
        "cmap": "PuOr",
        "vmin": 50 - 1.4 * reach,
        "vmax": 50 + 1.4 * reach,
        "cbar": False,
    }
    style |= {"xticklabels": range(2, len(names) + 1), "yticklabels": ticks, "linewidths": 0.5}
    sns.heatmap(values, ax=ax, **style)
    bar = ax.figure.colorbar(ax.collections[-1], ax=ax, pad=0.02)
    bar.ax.set_ylim(50 - reach, 50 + reach)
    bar.outline.set_visible(False)
    dots = ranks[table["significant"]].query("system < opponent")
    ax.plot(dots["opponent"] - 0.5, dots["system"] + 0.5, "o", color="black", markersize=2.2)
    handles: list[Any] = [mark("significant", "o", "black", markersize=2.2)] * bool(len(dots))
    handles += [Patch(color="#CCCCCC", label="no comparisons")] * bool(missing.any(axis=None))
    if handles:
        ax.legend(handles=handles, loc="lower left")
    noun = "score" if source else "judgment"
    verb = "is judged better than" if noun == "judgment" else "scores better than"
    verb = "wins against" if value == "estimate" else verb
    ax.set(xlabel="Opponent", ylabel="")
    ax.tick_params(length=0, rotation=0)
    bar.set_label("Wins (%)" if value == "estimate" else "Judged better (%)")
    units = "comparisons" if value == "estimate" else f"pairs of {noun}s"
    notes = f"Shades: percentage of {units} in which the row's system {verb} the column's. Ties"
    if table.get("orders", pd.Series("")).eq("tie").any():
        notes += ", and pairs that the judge decides differently in the two orders,"
    notes += " count half."
    notes += f" The {len(names)} best of {n_systems} systems." if n_systems > len(names) else ""
    criterion = "mean win rate" if value == "estimate" else f"mean {noun}"
    listed = f"Best first, by {criterion}" if order is None else "From the top"
    with_verdict = table["system"][verdicts.ne("") if verdicts.any() else verdicts.eq("")]
    alt = f"{listed}: {', '.join(labels[name] for name in labels if name in {*with_verdict})}."
    if untested := [labels[name] for name in labels if name not in {*with_verdict}]:
        alt += f" Not tested: {', '.join(untested)}."
    sides = pd.DataFrame(np.sort(table[["system", "opponent"]], axis=1), table.index)
    pairs = table[~sides.duplicated()]
    if n_tested := verdicts[pairs.index].ne("").sum():
        differences = "Significant" if value == "estimate" else "Significant differences of means"
        alt += (
            f" {differences}: {pairs['significant'].sum()} of {counted(n_tested, 'pair')} tested."
        )
    if n_undefined := pairs[value].isna().sum():
        alt += f" Undefined: {counted(n_undefined, 'pair')}."
    if source:
        ax.set_title(textwrap.fill(source, 34), loc="left")
        alt = f"{source}: {alt}"
    return as_drawing(ax, table.drop(columns="significant"), alt, notes)


@in_paper_style
def plot_convergence(
    history: pd.DataFrame, *, ratings: pd.DataFrame | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw the convergence of ratings over games, with bands of one deviation on each side.

    Parameters
    ----------
    history : DataFrame
        From `nlgbench.convergence`: ``game``, ``system``, ``rating``, ``deviation``. Deviations
        generalize to other games, not to other texts.
    ratings : DataFrame, optional
        ``system`` and its ``estimate`` after all games, drawn at the right.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        A line and a band for the best and the last system, and for two between them; gray lines
        are the others. Its data are of all systems.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> table = pd.DataFrame({"game": [1, 1], "system": ["a", "b"], "rating": [1600.0, 1400.0]})
    >>> plot_convergence(table.assign(deviation=200.0)).alt
    'Ratings of 2 systems after each of 1 game. Bands: one deviation on each side.'
    """
    needed = "game:int system rating:float deviation:float"
    history = read_table(history, needed, "history has")
    final = pd.Series(dtype=float)
    if ratings is not None:
        ratings = read_table(ratings, "system estimate:float", "ratings have")
        final = ratings.set_index("system")["estimate"].dropna()
    (ax,) = axes_for(ax, TWO_COLUMN, 2.8)
    x_final = 1.04 * history["game"].max()
    last = history.sort_values("game").groupby("system")["rating"].last()
    names = spaced(last.sort_values(ascending=False).index)
    drawn_ranks = np.linspace(0, len(names) - 1, min(_LINES, len(names))).round().astype(int)
    lines = {list(names)[rank]: line_look(n) for n, rank in enumerate(drawn_ranks)}
    for system in names:
        rows = history[history["system"] == system].sort_values("game")
        if system not in lines:
            ax.plot(rows["game"], rows["rating"], color="#BBBBBB", linewidth=0.5, zorder=1)
            continue
        style = lines[system] | {"color": ESTIMATE}
        low, high = rows["rating"] - rows["deviation"], rows["rating"] + rows["deviation"]
        ax.fill_between(rows["game"], low, high, color=style["color"], alpha=0.12, linewidth=0)
        marker_style: dict[str, Any] = {"markersize": 3, "markevery": max(1, len(rows) // 10)}
        ax.plot(rows["game"], rows["rating"], **style, **marker_style, label=names[system])
        if system in final:
            style |= {"linestyle": "none", "mfc": "white", "markersize": 4.5}
            ax.plot(x_final, final[system], **style, clip_on=False)
    ax.set(xlabel="Games", ylabel="Rating")
    entries = ax.get_legend_handles_labels()[0]
    if len(names) > len(lines):
        entries.append(Line2D([], [], color="#BBBBBB", linewidth=0.5, label="other systems"))
    if len(final):
        entries.append(mark("rating from all games", "o", ESTIMATE, face="white"))
    legend: dict[str, Any] = {
        "loc": "center left",
        "bbox_to_anchor": (1, 0.5),
        "borderaxespad": 0.3,
    }
    ax.legend(handles=entries, handlelength=3, **legend)
    alt = f"Ratings of {counted(len(names), 'system')} after each of "
    alt += f"{counted(history['game'].max(), 'game')}."
    notes = "Bands: one deviation on each side."
    if len(final):
        texts = [f"{text} {final[name]:.0f}" for name, text in names.items() if name in final]
        alt += f" Ratings after all games: {', '.join(texts)}."
        notes += " The games of one tournament are drawn with replacement, and once each "
        notes += "for ratings from all games."
        history = history.assign(after_all_games=history["system"].map(final))
    return as_drawing(ax, history, alt, notes)
