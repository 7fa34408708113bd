"""Judges audited: order, length, own systems, agreement, ties and calibration on one page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from nlgbench.analysis.judges import Audit
from nlgbench.names import spaced
from nlgbench.plots.figures import Drawing, canvas, drawn_on, in_legend, in_paper_style
from nlgbench.plots.rows import draw_estimates, draw_intervals, draw_reference, mark
from nlgbench.plots.style import HUMAN, SYSTEM, TWO_COLUMN, line_look

#: Test -> what stands over its panel, and below its axis.
_PANELS = {
    "consistency": ("Same verdict in both orders", "share of pairs"),
    "position": ("Shown first gains", "share of verdicts"),
    "length": ("Twice as long gains", "share of verdicts"),
    "own": ("Its own system gains", "share of verdicts"),
    "agreement": ("Agrees with the others", "share of votes"),
    "ties": ("Ties, less people's", "share of verdicts"),
}
_GRAY = "#777777"
#: Verdict -> color, marker, whether the marker is filled (all three differ in gray), and words.
_LOOKS = {
    "found": (SYSTEM, "s", True, "bias beyond margin"),
    "significant": (SYSTEM, "s", False, "significant, not beyond"),
    "acquitted": (HUMAN, "o", True, "acquitted"),
    "not shown": (_GRAY, "o", False, "not shown"),
    "": ("#333333", "D", True, "not tested"),
}
_BIASES = ("position", "length", "own")
#: Longer names take the panels' room.
_LONGEST = 18


@in_paper_style
def plot_audit(audited: Audit) -> Drawing:
    """Draw what an audit found of judges, on one page.

    Parameters
    ----------
    audited : Audit
        From `nlgbench.audit`.

    Returns
    -------
    Drawing
        A row per judge, sentinels below, each estimate with its interval and a mark by its verdict.
        Tests that are known of no judge have no panel. Of judges with probabilities: how often
        people prefer what the judge prefers, against what it says.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judges", n_items=400, seed=1)
    >>> wrote = study.truth["judges"].set_index("judge")["system"].to_dict()
    >>> plot_audit(nb.audit(study, authors=wrote)).alt.split(". ")[1]
    'Found: wordy length, vain own'
    """
    table = audited.findings.merge(audited.details, on=["evaluator", "test"])
    names = list(dict.fromkeys(table["evaluator"]))
    sentinels = set(table.loc[table["is_sentinel"], "evaluator"])
    judged = [name for name in names if name not in sentinels]
    # A gap separates judges from sentinels.
    lane = {name: n + 0.6 * (name in sentinels) for n, name in enumerate(names)}
    short = [
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        for text in spaced(names).values()
    ]
    # A test that is known of no judge has no panel.
    seen = table[table["evaluator"].isin(judged) & table["estimate"].notna()]["test"].unique()
    tests = [test for test in _PANELS if test in seen]
    bins = audited.calibration[audited.calibration["evaluator"].isin(judged)]
    slots = len(tests) + 2 * bool(len(bins))  # calibration is two panels wide
    if not slots:
        raise ValueError("no test of the judge has an estimate, so there is nothing to draw.")
    n_rows = -(-slots // 4)
    # Calibration stands at the end, and never on two rows.
    n_columns = -(-slots // n_rows)
    figure, (first,) = canvas(TWO_COLUMN, n_rows * (0.75 + 0.15 * len(names)) + 0.6)
    first.remove()
    grid = figure.add_gridspec(n_rows, n_columns)
    axes = [figure.add_subplot(grid[n // n_columns, n % n_columns]) for n in range(len(tests))]
    for number, (ax, test) in enumerate(zip(axes, tests, strict=True)):
        title, unit = _PANELS[test]
        ax.set_yticks(list(lane.values()), short if number % n_columns == 0 else [])
        ax.set_ylim(max(lane.values()) + 0.6, -0.6)
        ax.tick_params(axis="y", length=0)
        _draw_test(ax, table[table["test"] == test], lane, audited.margin, test)
        ax.set_title(title, fontsize=7)
        ax.set_xlabel(unit, fontsize=7)
        ax.axhline(len(judged) - 0.2, color="#bbbbbb", linewidth=0.5)
    own = table[(table["test"] == "agreement_of_people") & table["estimate"].notna()]
    if "agreement" in tests:
        at = own["evaluator"].map(lane).astype(float)
        ax = axes[tests.index("agreement")]
        ax.vlines(own["estimate"], at - 0.4, at + 0.4, color=HUMAN, linewidth=1.6)
    if len(bins):
        axes.append(figure.add_subplot(grid[-1, n_columns - 2 :]))
        _draw_bins(axes[-1], bins, dict(zip(names, short, strict=True)))
    _legend(figure, table[table["test"].isin(tests)], len(own) > 0)
    found = table[table["verdict"].eq("found") & ~table["is_sentinel"]]
    listed = ", ".join(
        f"{one} {test}" for one, test in zip(found["evaluator"], found["test"], strict=True)
    )
    alt = (
        f"Audit of {len(judged)} judges beside {len(sentinels)} sentinels: order, length, own "
        f"systems, agreement, ties and calibration. Found: {listed or 'nothing'}. "
        f"Gray is the margin, {audited.margin:g} of verdicts."
    )
    return drawn_on(axes, table, alt)


def _draw_test(
    ax: Axes, rows: pd.DataFrame, lane: dict[str, float], margin: float, test: str
) -> None:
    """Draw an estimate with its interval for each evaluator, marked by its verdict."""
    if test in _BIASES:
        ax.axvspan(-margin, margin, color="#e6e6e6", linewidth=0, zorder=0)
    draw_reference(ax, 0 if test in (*_BIASES, "ties") else 0.5)
    if test not in (*_BIASES, "ties"):
        ax.set_xlim(-0.03, 1.03)
        ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    there = rows[rows["estimate"].notna()]
    for verdict, part in there.groupby("verdict", sort=False):
        color, marker, filled, _ = _LOOKS[str(verdict)]
        look: dict[str, Any] = {"color": color, "marker": marker, "clip_on": False}
        at = part["evaluator"].map(lane).astype(float)
        draw_estimates(ax, at, part, filled=filled, linewidth=1.0, markersize=3.4, **look)
    for name in rows.loc[rows["estimate"].isna(), "evaluator"]:
        ax.plot(0, lane[name], marker="x", color=_GRAY, markersize=3.4, zorder=3)


def _draw_bins(ax: Axes, bins: pd.DataFrame, short: dict[str, str]) -> None:
    """Draw how often people prefer what a judge prefers, against what it says."""
    ax.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=0.6, zorder=1)
    ax.set_title("Calibration: people prefer what the judge prefers", fontsize=7)
    ax.set_xlabel("probability that the judge gives it", fontsize=7)
    ax.set_ylabel("share of votes, ties half", fontsize=7)
    judges = bins["evaluator"].unique()
    for number, name in enumerate(judges):
        part = bins[bins["evaluator"] == name]
        look = {**line_look(number), "markersize": 2.8, "linewidth": 0.9}
        ax.plot(part["said"], part["people"], label=in_legend(short[name]), zorder=3, **look)
        line = {"color": look["color"], "alpha": 0.5}
        draw_intervals(ax, part["said"], part["ci_low"], part["ci_high"], upright=True, **line)
    ax.legend(loc="upper left", ncols=1 + (len(judges) > 4), handlelength=1.8, fontsize=6.5)
    ends = bins[["people", "ci_low", "ci_high"]].to_numpy(dtype=float)
    ax.set_ylim(min(0.45, np.nanmin(ends) - 0.02), max(1.0, np.nanmax(ends) + 0.02))
    ax.set_xlim(0.49, 1.01)


def _legend(figure: Figure, table: pd.DataFrame, annotators: bool) -> None:
    """Explain below the panels the marks that are drawn."""
    there = table[table["estimate"].notna()]
    handles: list[Any] = [
        mark(words, marker, color, face=color if filled else "white", markersize=4)
        for verdict, (color, marker, filled, words) in _LOOKS.items()
        if there["verdict"].eq(verdict).any()
    ]
    if len(there) < len(table):
        handles.append(mark("not known", "x", _GRAY, markersize=4))
    if table["test"].isin(_BIASES).any():
        handles.append(Patch(color="#e6e6e6", label="margin"))
    if annotators:
        handles.append(mark("an annotator's own", "", HUMAN, linestyle="-", linewidth=1.6))
    look: dict[str, Any] = {"ncols": -(-len(handles) // 2), "fontsize": 6.5}
    figure.legend(handles=handles, loc="outside lower center", **look)
