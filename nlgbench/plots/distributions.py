"""Measures of distributions along a series of systems, and how often each sees a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nlgbench.analysis.distributions.trends import LOWER_IS_BETTER
from nlgbench.checks import read_table
from nlgbench.names import spaced
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_legend,
    in_paper_style,
)
from nlgbench.plots.style import GROUPS, HUMAN, SCORE_NAMES, SYSTEM, TWO_COLUMN

_NAMES = SCORE_NAMES | {
    "mmd_gaussian": "MMD\N{SUPERSCRIPT TWO}, Gaussian",
    "mmd_linear": "MMD\N{SUPERSCRIPT TWO}, linear",
    "precision": "Precision",
    "recall": "Recall",
    "density": "Density",
    "coverage": "Coverage",
    "vendi": "Vendi score",
    "frontier": "Frontier",
}
_TRUTHS = SCORE_NAMES | {"l_star": "L*"}
_COLUMNS = 4
#: Verdict of `measure_trends` -> its color; the words say it, too.
_VERDICTS = {"sees": HUMAN, "does not see": "#555555", "sees the wrong way": SYSTEM}
_LEVEL = 0.05
_LINES = ("-", "--")


@in_paper_style
def plot_distributions(
    table: pd.DataFrame,
    *,
    levels: Mapping[str, float | str] | None = None,
    xlabel: str = "",
    truth: pd.DataFrame | None = None,
    trends: pd.DataFrame | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Drawing:
    """Draw every measure over the systems, a panel for each.

    Parameters
    ----------
    table : DataFrame
        system, measure, estimate, ci_low and ci_high, as `compare_distributions` gives them, and
        below it what other measures say of the same systems, such as `huse` (its ``score`` called
        ``measure``). Optional p_value: a point is filled where it is at most .05, and half where
        there is none; and between_people, what the measure is between texts of people alone.
    levels : mapping, optional
        The systems of a series, in its order, and the level of each, which is written below it:
        ``{"lstm_t1.0": 1.0, "lstm_t0.7": 0.7}``. Without, all systems by name, below each other.
    xlabel : str
        What the levels are, such as "temperature".
    truth : DataFrame, optional
        system, and true values in columns named as measures are: crosses.
    trends : DataFrame, optional
        As `measure_trends` gives it, a row per measure: its verdict stands below the name.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each measure; a figure of its own by default.

    Returns
    -------
    Drawing
        Measures in the order of `table`, with an arrow to the side that is better. Data: the rows
        drawn, with ``true`` and ``verdict`` where they are known.

    Raises
    ------
    ValueError
        If a column is missing, a system or measure is there twice, or there are not as many axes as
        measures.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"system": ["a", "b"], "measure": "vendi", "estimate": [60.0, 40.0],
    ...      "ci_low": [55.0, 36.0], "ci_high": [65.0, 44.0]}
    ... )
    >>> plot_distributions(table, levels={"a": 1.0, "b": 0.5}, xlabel="temperature").alt
    'Vendi score of 2 systems by temperature (1.0, 0.5): 60, 40.'
    """
    needed = "system measure estimate:float ci_low:float ci_high:float"
    table = read_table(table, f"{needed} p_value:float? between_people:float?", "tables have")
    order = list(dict.fromkeys(table["system"])) if levels is None else list(levels)
    written = list(spaced(order).values())
    if levels is not None:
        written = [str(level) for level in levels.values()]
        if lost := sorted(set(order) - set(table["system"])):
            raise ValueError(f"tables have no row of system {lost[0]!r}: leave it out of levels.")
    rows = table[table["system"].isin(order)].copy()
    if rows.duplicated(["system", "measure"]).any():
        twice = rows[rows.duplicated(["system", "measure"])].iloc[0]
        raise ValueError(
            f"tables have {twice['measure']!r} of system {twice['system']!r} twice: keep one row."
        )
    rows["x"] = rows["system"].map(order.index)
    rows = _with_truth(_with_verdicts(rows, trends), truth)
    measures = list(dict.fromkeys(rows["measure"]))
    upright = levels is not None
    axes = _axes(ax, len(measures), 1.35 if upright else 0.55 + 0.16 * len(order))
    for n, (place, measure) in enumerate(zip(axes, measures, strict=False)):
        _draw_measure(place, measure, rows[rows["measure"] == measure].sort_values("x"), upright)
        if upright:
            below = n + _COLUMNS < len(measures) and ax is None
            place.set_xticks(range(len(order)), [""] * len(order) if below else written)
            place.set_xlim(-0.5, len(order) - 0.5)
            place.set_xlabel("" if below else xlabel)
        else:
            beside = n % _COLUMNS > 0 and ax is None
            place.set_yticks(range(len(order)), [""] * len(order) if beside else written)
            place.set_ylim(len(order) - 0.5, -0.5)
    if ax is None:
        _draw_key(axes, len(measures), rows)
    return drawn_on(axes[: len(measures)], rows, _words(rows, written, xlabel, trends))


def _axes(ax: Axes | Sequence[Axes] | None, n: int, height: float) -> tuple[Axes, ...]:
    columns = min(_COLUMNS, n)
    n_rows = -(-n // columns)
    axes = axes_for(ax, TWO_COLUMN, 0.5 + height * n_rows, rows=n_rows, columns=columns)
    if ax is not None and len(axes) != n:
        raise ValueError(f"ax must be {n} Axes, one for each measure. Got {len(axes)}.")
    return axes


def _with_verdicts(rows: pd.DataFrame, trends: pd.DataFrame | None) -> pd.DataFrame:
    if trends is None:
        return rows
    said = read_table(trends, "measure truth verdict:text reason:text?", "trends have")
    if said["measure"].duplicated().any():
        twice = said.loc[said["measure"].duplicated(), "measure"].iloc[0]
        raise ValueError(f"trends have several rows of {twice!r}: keep one true value of each.")
    named = said["truth"].map(lambda name: _TRUTHS.get(name, name))
    words = (said["verdict"] + ": " + named).where(said["verdict"] != "", "no verdict")
    return rows.assign(verdict=rows["measure"].map(dict(zip(said["measure"], words, strict=True))))


def _with_truth(rows: pd.DataFrame, truth: pd.DataFrame | None) -> pd.DataFrame:
    if truth is None:
        return rows
    measures = [one for one in rows["measure"].unique() if one in truth.columns]
    truth = read_table(truth, " ".join(["system", *(f"{m}:float" for m in measures)]), "truth has")
    if truth["system"].duplicated().any():
        twice = truth.loc[truth["system"].duplicated(), "system"].iloc[0]
        raise ValueError(f"truth has system {twice!r} twice: keep one row of each.")
    long = truth.melt("system", measures, var_name="measure", value_name="true")
    return rows.merge(long, on=["system", "measure"], how="left", validate="one_to_one")


def _draw_measure(ax: Axes, measure: str, part: pd.DataFrame, upright: bool) -> None:
    """Draw one measure: over levels, or of named systems below each other."""
    blue = GROUPS[0][1]

    def points(of: pd.DataFrame, values: str, **look: Any) -> None:
        both = (of["x"], of[values]) if upright else (of[values], of["x"])
        ax.scatter(*both, **look)

    if upright:
        ax.plot(part["x"], part["estimate"], color=blue, linewidth=0.6, zorder=1)
    draw_intervals(ax, part["x"], part["ci_low"], part["ci_high"], upright=upright, color=blue)
    p = part["p_value"] if "p_value" in part else pd.Series(np.nan, part.index)
    for found, face in ((p <= _LEVEL, blue), (p > _LEVEL, "white"), (p.isna(), "#9CC4DE")):
        points(part[found], "estimate", s=13, facecolor=face, edgecolor=blue, zorder=3)
    if "true" in part and part["true"].notna().any():
        points(part, "true", s=16, color="black", marker="x", linewidth=0.9, zorder=4)
    between = part["between_people"].dropna() if "between_people" in part else part["x"].iloc[:0]
    if len(between):
        line = ax.axhline if upright else ax.axvline
        line(between.median(), color="#555555", linewidth=0.7, linestyle=":", zorder=0)
    arrow = "\N{DOWNWARDS ARROW}" if measure in LOWER_IS_BETTER else "\N{UPWARDS ARROW}"
    ax.set_title(f"{_NAMES.get(measure, measure)} {arrow}", pad=14 if "verdict" in part else 4)
    said = part["verdict"].dropna() if "verdict" in part else part["system"].iloc[:0]
    if len(said):
        color = _VERDICTS.get(said.iloc[0].split(":")[0], "#555555")
        where: dict[str, Any] = {"xy": (0.5, 1), "xycoords": "axes fraction", "ha": "center"}
        where |= {"xytext": (0, 4), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(said.iloc[0], color=color, fontsize=7, **where)


def _draw_key(axes: tuple[Axes, ...], n_measures: int, rows: pd.DataFrame) -> None:
    """Say what points and lines are: in the place that is left, or below."""
    blue = GROUPS[0][1]

    def point(face: str, words: str) -> Line2D:
        look: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": blue, "markersize": 4}
        return Line2D([], [], marker="o", linestyle="none", label=words, **look)

    handles = []
    if "p_value" in rows and rows["p_value"].notna().any():
        p = rows["p_value"]
        kinds = [(p <= _LEVEL, blue, "p \N{LESS-THAN OR EQUAL TO} .05")]
        kinds += [(p > _LEVEL, "white", "p > .05"), (p.isna(), "#9CC4DE", "no test")]
        handles = [point(face, words) for there, face, words in kinds if there.any()]
    if "true" in rows and rows["true"].notna().any():
        look: dict[str, Any] = {"markeredgecolor": "black", "markersize": 4}
        handles.append(Line2D([], [], marker="x", linestyle="none", label="true value", **look))
    if "between_people" in rows and rows["between_people"].notna().any():
        line: dict[str, Any] = {"color": "#555555", "linestyle": ":", "linewidth": 0.9}
        handles.append(Line2D([], [], label="people's texts alone", **line))
    for spare in axes[n_measures:]:
        spare.set_axis_off()
    if not handles:
        return
    if len(axes) > n_measures:
        axes[n_measures].legend(handles=handles, loc="center left")
    else:
        figure = axes[0].get_figure(root=True)
        assert figure is not None
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _words(rows: pd.DataFrame, written: list[str], xlabel: str, trends: pd.DataFrame | None) -> str:
    by = f" by {xlabel}" if xlabel else ""
    parts = []
    for measure, part in rows.groupby("measure", sort=False):
        values = ", ".join(f"{value:.3g}" for value in part.sort_values("x")["estimate"])
        said = part["verdict"].dropna().tolist() if "verdict" in part else []
        more = f" ({said[0]})" if said else ""
        parts.append((f"{_NAMES.get(str(measure), str(measure))}{more}", values))
    of = f" of {len(written)} systems{by} ({', '.join(written)})"
    if len(parts) == 1:
        return f"{parts[0][0]}{of}: {parts[0][1]}."
    more = "; verdicts say whether each follows the truth" if trends is not None else ""
    every = "; ".join(f"{name}: {values}" for name, values in parts)
    return f"{len(parts)} measures{of}, with intervals{more}. {every}."


@in_paper_style
def plot_power(powers: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw how often each measure finds a difference, by the number of texts.

    Parameters
    ----------
    powers : DataFrame
        measure, n (texts of either side), power (a share). Optional panel, one for each value; and
        se, the share's standard error: bars of 1.96 to either side.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each panel; a figure of its own by default.

    Returns
    -------
    Drawing
        A line per measure; a thin line at .05, what a test finds where there is nothing.

    Raises
    ------
    ValueError
        If a column is missing, there are more measures than looks, or not as many axes as panels.

    Examples
    --------
    >>> powers = pd.DataFrame({"measure": "vendi", "n": [50, 100], "power": [0.2, 0.6]})
    >>> plot_power(powers).alt
    'Power by the number of texts, 50 to 100. Vendi score: 0.20, 0.60.'
    """
    powers = read_table(powers, "measure n:int power:float se:float? panel:text?", "powers have")
    measures = list(dict.fromkeys(powers["measure"]))
    if len(measures) > len(GROUPS) * len(_LINES):
        raise ValueError(
            f"{len(measures)} measures, and {len(GROUPS) * len(_LINES)} lines can be told apart: "
            "leave some out."
        )
    named = powers["panel"] if "panel" in powers else pd.Series("", powers.index)
    panels = list(dict.fromkeys(named))
    columns = min(2, len(panels))
    n_rows = -(-len(panels) // columns)
    axes = axes_for(ax, TWO_COLUMN, 0.3 + 2.1 * n_rows, rows=n_rows, columns=columns, sharey=True)
    if len(axes) < len(panels) or (ax is not None and len(axes) != len(panels)):
        raise ValueError(f"ax must be {len(panels)} Axes, one for each panel. Got {len(axes)}.")
    sizes = sorted(powers["n"].unique())
    for place, panel in zip(axes, panels, strict=False):
        for number, measure in enumerate(measures):
            line = powers[(named == panel) & (powers["measure"] == measure)].sort_values("n")
            _draw_power(place, line, number, len(measures), str(measure))
        place.axhline(_LEVEL, color="#888888", linewidth=0.5, zorder=0)
        place.set(xscale="log", ylim=(-0.04, 1.04), title=panel)
        place.set_xticks(sizes, [f"{size:g}" for size in sizes])
        place.minorticks_off()
        place.set_xlabel("texts of either side")
    for place in axes[::columns]:
        place.set_ylabel("power")
    for spare in axes[len(panels) :]:
        spare.set_axis_off()
    if ax is None:
        figure = axes[0].get_figure(root=True)
        assert figure is not None
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
    parts = []
    for (panel, measure), line in powers.groupby([named, "measure"], sort=False):
        values = ", ".join(f"{value:.2f}" for value in line.sort_values("n")["power"])
        where = f"{panel}, " if panel else ""
        parts.append(f"{where}{_NAMES.get(str(measure), measure)}: {values}")
    words = f"Power by the number of texts, {sizes[0]} to {sizes[-1]}. {'; '.join(parts)}."
    return drawn_on(axes[: len(panels)], powers, words)


def _draw_power(ax: Axes, line: pd.DataFrame, number: int, n_measures: int, measure: str) -> None:
    """Draw one line, its points a little aside so that bars do not hide one another."""
    round_, look = divmod(number, len(GROUPS))
    marker, color = GROUPS[look]
    x = line["n"] * np.exp(0.02 * (number - (n_measures - 1) / 2))
    error = 1.96 * line["se"] if "se" in line else None
    style: dict[str, Any] = {"color": color, "linestyle": _LINES[round_], "linewidth": 0.9}
    style |= {"marker": marker, "markersize": 3.2, "elinewidth": 0.6}
    style |= {"markerfacecolor": "white" if round_ else color}
    ax.errorbar(
        x, line["power"], yerr=error, label=in_legend(_NAMES.get(measure, measure)), **style
    )
