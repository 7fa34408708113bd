"""Judges audited: order, length, own systems, agreement, ties and calibration on one page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nlgbench.analysis.judges import Audit
from nlgbench.plots.figures import (
    Drawing,
    canvas,
    draw_intervals,
    drawn_on,
    in_legend,
    in_paper_style,
)
from nlgbench.plots.style import GROUPS, HUMAN, SYSTEM, TWO_COLUMN

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
#: Verdict -> color, marker, and whether the marker is filled: all three differ in gray.
_LOOKS = {
    "found": (SYSTEM, "s", True),
    "significant": (SYSTEM, "s", False),
    "acquitted": (HUMAN, "o", True),
    "not shown": (_GRAY, "o", False),
    "": ("#333333", "D", True),
}
_LINES = ("-", "--", ":", "-.")
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
        A row per judge, sentinels below (which are not tested), each estimate with its interval.
        Biases have a square where they are found, an open one where they are significant but not
        beyond the gray margin, a full circle where the judge is acquitted (the 90% interval lies in
        the margin), an open one where neither is shown. Panels of what is not known of any judge
        are left out. Beside each judge's agreement with the
        other annotators stands an annotator's own, a blue bar. Of judges with probabilities: how
        often people prefer what the judge prefers, against what it says.

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
    n_judges = len(names) - len(sentinels)
    # A gap parts judges from sentinels.
    lane = {name: n + 0.6 * (name in sentinels) for n, name in enumerate(names)}
    judged = [name for name in names if name not in sentinels]
    # Of what is known of no judge there is no panel.
    seen = table[table["evaluator"].isin(judged) & table["estimate"].notna()]["test"].unique()
    tests = [test for test in _PANELS if test in seen]
    calibrated = audited.calibration["evaluator"].isin(judged).any()
    slots = len(tests) + 2 * int(calibrated)  # calibration is two panels wide
    n_rows = -(-slots // 4)
    # Reliability diagrams stand at the end, and never on two rows.
    n_columns = -(-slots // n_rows)
    figure, (first,) = canvas(TWO_COLUMN, n_rows * (0.75 + 0.15 * len(names)) + 0.6)
    first.remove()
    grid = figure.add_gridspec(n_rows, n_columns)
    axes = [figure.add_subplot(grid[n // n_columns, n % n_columns]) for n in range(len(tests))]
    for number, (ax, test) in enumerate(zip(axes, tests, strict=True)):
        title, unit = _PANELS[test]
        _draw_lanes(ax, table[table["test"] == test], lane, audited.margin, test)
        ax.set_title(title, fontsize=7)
        ax.set_xlabel(unit, fontsize=7)
        named = number % n_columns == 0
        ax.set_yticks(list(lane.values()), [_short(name) for name in names] if named else [])
        ax.set_ylim(max(lane.values()) + 0.6, -0.6)
        ax.axhline(n_judges - 0.2, color="#bbbbbb", linewidth=0.5)
        ax.tick_params(axis="y", length=0)
    own = table[table["test"] == "agreement_of_people"]
    if "agreement" in tests:
        ax = axes[tests.index("agreement")]
        for name, value in zip(own["evaluator"], own["estimate"], strict=True):
            if np.isfinite(value):
                at = lane[str(name)]
                ax.plot([value, value], [at - 0.4, at + 0.4], color=HUMAN, linewidth=1.6)
    if calibrated:
        axes.append(figure.add_subplot(grid[-1, n_columns - 2 :]))
        _draw_bins(axes[-1], audited.calibration, judged)
    _legend(figure, table[table["test"].isin(tests)], bool(own["estimate"].notna().any()))
    found = table[table["verdict"].eq("found") & ~table["is_sentinel"]]
    listed = ", ".join(
        f"{one} {test}" for one, test in zip(found["evaluator"], found["test"], strict=True)
    )
    alt = (
        f"Audit of {n_judges} judges beside {len(sentinels)} sentinels: order, length, own "
        f"systems, agreement, ties and calibration. Found: {listed or 'nothing'}. "
        f"Gray is the margin, {audited.margin:g} of verdicts."
    )
    return drawn_on(axes, table, alt)


def _short(name: object) -> str:
    text = str(name).replace("_", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


def _draw_lanes(
    ax: Axes, rows: pd.DataFrame, lane: dict[str, float], margin: float, test: str
) -> None:
    """Draw an estimate with its interval for each evaluator, marked by its verdict."""
    if test in ("position", "length", "own"):
        ax.axvspan(-margin, margin, color="#e6e6e6", linewidth=0, zorder=0)
        ax.axvline(0, color="#999999", linewidth=0.6, zorder=1)
    elif test == "ties":
        ax.axvline(0, color="#999999", linewidth=0.6, zorder=1)
    else:
        ax.axvline(0.5, color="#999999", linewidth=0.6, zorder=1)
        ax.set_xlim(-0.03, 1.03)
        ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    rows = rows.set_index("evaluator")
    there = rows[np.isfinite(rows["estimate"])]
    for verdict, (color, marker, full) in _LOOKS.items():
        part = there[there["verdict"] == verdict]
        if part.empty:  # a line without points has a place, which the layout would make room for
            continue
        at = [lane[str(name)] for name in part.index]
        ends = part["ci_low"], part["ci_high"]
        draw_intervals(ax, at, *ends, upright=False, color=color, linewidth=1.0)
        look: dict[str, Any] = {"color": color, "markersize": 3.4, "zorder": 3, "clip_on": False}
        ax.plot(part["estimate"], at, marker, mfc=color if full else "white", **look)
    for name in rows.index.difference(there.index):
        ax.plot(0, lane[str(name)], marker="x", color=_GRAY, markersize=3.4, zorder=3)


def _draw_bins(ax: Axes, bins: pd.DataFrame, judges: list[str]) -> None:
    """Draw how often people prefer what a judge prefers, against what it says."""
    ax.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=0.6, zorder=1)
    ax.set_title("Calibration: people prefer what the judge prefers", fontsize=7)
    ax.set_xlabel("probability that the judge gives it", fontsize=7)
    ax.set_ylabel("share of votes, ties half", fontsize=7)
    there = [name for name in judges if bins["evaluator"].eq(name).any()]
    for number, name in enumerate(there):
        part = bins[bins["evaluator"] == name]
        marker, color = GROUPS[number % len(GROUPS)]
        line = _LINES[number // len(GROUPS) % len(_LINES)]
        look: dict[str, Any] = {"color": color, "markersize": 2.8, "linewidth": 0.9}
        label = in_legend(_short(name))
        ax.plot(part["said"], part["people"], marker + line, label=label, zorder=3, **look)
        draw_intervals(
            *(ax, part["said"], part["ci_low"], part["ci_high"]),
            upright=True,
            color=color,
            alpha=0.5,
        )
    if there:
        ax.legend(loc="upper left", ncols=1 + (len(there) > 4), handlelength=1.8, fontsize=6.5)
        ends = bins.loc[bins["evaluator"].isin(there), ["people", "ci_low", "ci_high"]]
        low, high = np.nanmin(ends.to_numpy(dtype=float)), np.nanmax(ends.to_numpy(dtype=float))
        ax.set_ylim(min(0.45, low - 0.02), max(1.0, high + 0.02))
    ax.set_xlim(0.49, 1.01)


def _legend(figure: Any, table: pd.DataFrame, annotators: bool) -> None:
    """Say below the panels what the marks that are drawn mean."""
    words = {
        "found": "bias beyond margin",
        "significant": "significant, not beyond",
        "acquitted": "acquitted",
        "not shown": "not shown",
        "": "not tested",
    }
    handles: list[Any] = []
    there = table[table["estimate"].notna()]
    for verdict, (color, marker, full) in _LOOKS.items():
        if not there["verdict"].eq(verdict).any():
            continue
        face = color if full else "white"
        look: dict[str, Any] = {"linestyle": "", "markersize": 4, "color": color, "mfc": face}
        handles.append(Line2D([], [], marker=marker, label=words[verdict], **look))
    if table["estimate"].isna().any():
        cross: dict[str, Any] = {"marker": "x", "linestyle": "", "color": _GRAY, "markersize": 4}
        handles.append(Line2D([], [], label="not known", **cross))
    if table["test"].isin(["position", "length", "own"]).any():
        handles.append(Patch(color="#e6e6e6", label="margin"))
    if annotators:
        handles.append(Line2D([], [], color=HUMAN, linewidth=1.6, label="an annotator's own"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=-(-len(handles) // 2), fontsize=6.5
    )
