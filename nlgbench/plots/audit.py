"""An audit of judges on one page: order, length, own systems, agreement, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator

from nlgbench.analysis.judges import Audit
from nlgbench.names import spaced
from nlgbench.plots.figures import Drawing, as_drawing, canvas, in_paper_style
from nlgbench.plots.rows import describe_nested, draw_estimates, draw_reference, mark, short_number
from nlgbench.plots.style import ACCENT, ESTIMATE, HUMAN, TWO_COLUMN
from nlgbench.status import Unsupported
from nlgbench.text import counted

#: Test -> title of its panel, and label of its axis.
_PANELS = {
    "consistency": ("Same verdict\nin both orders", "share of pairs"),
    "position": ("Gain when\nshown first", "share of verdicts"),
    "length": ("Gain when\ntwice as long", "share of verdicts"),
    "own": ("Gain of\nown system", "share of verdicts"),
    "agreement": ("Agreement\nwith majority", "share of votes"),
}
_GRAY = "#777777"
#: Verdict -> color, marker, whether it is filled (all distinct in grayscale), and legend.
_LOOKS = {
    "found": (ACCENT, "s", True, "bias beyond margin"),
    "significant": (ACCENT, "s", False, "significant, not beyond margin"),
    "ruled out": (ESTIMATE, "o", True, "ruled out: within margin"),
    "not shown": (_GRAY, "o", False, "inconclusive"),
    "": (ESTIMATE, "D", True, "not tested"),
}
_BIASES = ("position", "length", "own")
#: Longer names are shortened to leave room for the panels.
_LONGEST = 18


@in_paper_style
def plot_audit(audited: Audit) -> Drawing:
    """Draw the results of an audit of judges on one page.

    Parameters
    ----------
    audited : Audit
        From `nlgbench.audit`.

    Returns
    -------
    Drawing
        A row per judge, with sentinels below; each estimate has its interval and a marker for its
        verdict. Tests in which no judge has an estimate are omitted. For judges that report
        probabilities, a panel each shows how often annotators agree, by that probability.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judges", n_items=400, seed=1)
    >>> wrote = study.truth["judges"].set_index("judge")["system"].to_dict()
    >>> plot_audit(nb.audit(study, authors=wrote)).alt.split(". ")[1]
    'Biases found: wordy (length), vain (own); inconclusive: 5 of 15 tests'
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
    # A test without an estimate for any judge has no panel.
    estimated = table[table["evaluator"].isin(judged) & table["estimate"].notna()]["test"].unique()
    tests = [test for test in _PANELS if test in estimated]
    bins = audited.calibration[audited.calibration["evaluator"].isin(judged)]
    calibrated = list(bins["evaluator"].unique())
    if not tests:
        message = "no test has an estimate for any judge: there is nothing to draw."
        raise Unsupported("no_estimates", message)
    n_columns = max(4, len(tests))
    n_below = -(-len(calibrated) // n_columns)
    heights = [0.75 + 0.15 * len(names)] + [1.5] * n_below
    figure, (first,) = canvas(TWO_COLUMN, sum(heights) + 0.6)
    first.remove()
    grid = figure.add_gridspec(1 + n_below, n_columns, height_ratios=heights)
    axes = [figure.add_subplot(grid[0, n]) for n in range(len(tests))]
    gains = table.loc[table["test"].isin(_BIASES), ["estimate", "ci_low", "ci_high"]]
    limits = (np.nanmin(gains) - 0.03, np.nanmax(gains) + 0.03) if len(gains) else None
    for number, (ax, test) in enumerate(zip(axes, tests, strict=True)):
        title, unit = _PANELS[test]
        ax.set_yticks(list(lane.values()), short if number == 0 else [])
        ax.set_ylim(max(lane.values()) + 0.6, -0.6)
        ax.tick_params(axis="y", length=0)
        _draw_test(ax, table[table["test"] == test], lane, audited.margin, test)
        if test in _BIASES:
            ax.set_xlim(limits)
        ax.xaxis.set_major_locator(MultipleLocator(0.5))
        ax.xaxis.set_major_formatter(short_number)
        ax.set_title(title, fontsize=7)
        ax.set_xlabel(unit, fontsize=7)
        ax.axhline(len(judged) - 0.2, color="#bbbbbb", linewidth=0.5)
    people = table[(table["test"] == "agreement_of_annotators") & table["estimate"].notna()]
    if "agreement" in tests:
        positions = people["evaluator"].map(lane).astype(float)
        ax = axes[tests.index("agreement")]
        ax.vlines(people["estimate"], positions - 0.4, positions + 0.4, color=HUMAN, linewidth=1.6)
    titles = "; ".join(ax.get_title().replace("\n", " ") for ax in axes)
    for n, name in enumerate(calibrated):
        ax = figure.add_subplot(grid[1 + n // n_columns, n % n_columns])
        _draw_bins(ax, bins, name)
        ax.set_title(f"Calibration:\n{short[names.index(name)]}", fontsize=7)
        if n % n_columns == 0:
            ax.set_ylabel("share of votes that\nagree (ties: half)", fontsize=7)
        axes.append(ax)
    _legend(figure, table[table["test"].isin(tests)], len(people) > 0)
    biases = table[table["test"].isin(set(_BIASES) & set(tests)) & ~table["is_sentinel"]]
    biases = biases[biases["p_adjusted"].notna()]
    biased = biases[biases["verdict"].eq("found")]
    n_open = biases["verdict"].eq("not shown").sum()
    listed = ", ".join(biased["evaluator"] + " (" + biased["test"] + ")")
    alt = (
        f"Audit of {counted(len(judged), 'judge')} and {counted(len(sentinels), 'sentinel')}, with "
        f"panels: {titles}{'; calibration' * bool(calibrated)}. "
    )
    if len(biases):
        alt += f"Biases found: {listed or 'none'}; inconclusive: {n_open} of {len(biases)} tests. "
    notes = f"{describe_nested(table)} Vertical lines: no gain, or .5."
    notes += f" Gray band: the margin, {audited.margin:g} of verdicts." if len(biases) else ""
    return as_drawing(axes, table, alt.strip(), notes)


def _draw_test(
    ax: Axes, rows: pd.DataFrame, lane: dict[str, float], margin: float, test: str
) -> None:
    """Draw each evaluator's estimate and interval, with a marker for its verdict."""
    if test in _BIASES:
        ax.axvspan(-margin, margin, color="#e6e6e6", linewidth=0, zorder=0)
    draw_reference(ax, 0 if test in _BIASES else 0.5)
    if test not in _BIASES:
        ax.set_xlim(-0.03, 1.03)
    estimated = rows[rows["estimate"].notna()]
    for verdict, group in estimated.groupby("verdict", sort=False):
        color, marker, filled, _ = _LOOKS[str(verdict)]
        style: dict[str, Any] = {"color": color, "marker": marker}
        positions = group["evaluator"].map(lane).astype(float)
        draw_estimates(ax, positions, group, filled=filled, clip_on=False, **style)
    for name in rows.loc[rows["estimate"].isna(), "evaluator"]:
        ax.plot(0, lane[name], marker="x", color=_GRAY, markersize=3.4, zorder=3)


def _draw_bins(ax: Axes, bins: pd.DataFrame, name: str) -> None:
    """Draw how often annotators prefer a judge's choice, against the judge's probability."""
    ax.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=0.6, zorder=1)
    ax.set_xlabel("judge's probability", fontsize=7)
    curve = bins[bins["evaluator"] == name]
    draw_estimates(ax, curve["probability"], curve, upright=True)
    ends = bins[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=float)
    ax.set_ylim(min(0.45, np.nanmin(ends) - 0.02), max(1.0, np.nanmax(ends) + 0.02))
    ax.set_xlim(0.47, 1.03)


def _legend(figure: Figure, table: pd.DataFrame, annotators: bool) -> None:
    """Add a legend of the marks below the panels."""
    estimated = table[table["estimate"].notna()]
    handles: list[Any] = [
        mark(text, marker, color, face=color if filled else "white", markersize=4)
        for verdict, (color, marker, filled, text) in _LOOKS.items()
        if estimated["verdict"].eq(verdict).any()
    ]
    if len(estimated) < len(table):
        handles.append(mark("undefined", "x", _GRAY, markersize=4))
    if table["test"].isin(_BIASES).any():
        handles.append(Patch(color="#e6e6e6", label="margin"))
    if annotators:
        handles.append(mark("annotators", "", HUMAN, linestyle="-", linewidth=1.6))
    style: dict[str, Any] = {"ncols": -(-len(handles) // 2), "fontsize": 7}
    figure.legend(handles=handles, loc="outside lower center", **style)
