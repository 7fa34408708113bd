"""What evaluators choose: their curves over training, and the regret of their choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.intervals import draw_intervals
from nlgbench.plots.style import HUMAN, SYSTEM


def plot_training(
    curves: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    axes: Sequence[Axes],
    truth: str | None = None,
    **plot_kws: Any,
) -> list[Axes]:
    """Draw what each evaluator says over the course of training, a panel each.

    Parameters
    ----------
    curves : DataFrame
        A row per panel and checkpoint: ``panel`` (its title), ``progress`` (0 to 1), ``value``,
        ``ci_low``, ``ci_high`` (NaN bounds draw none).
    chosen : DataFrame
        A row per panel: ``panel``, ``progress`` of the checkpoint that is kept; NaN, or no row, for
        none.
    axes : sequence of Axes
        One per panel, in the order of `curves`; those left over are taken away.
    truth : str, optional
        The panel whose chosen checkpoint is the best in truth: a broken line in every panel.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for each curve.

    Returns
    -------
    list of Axes
        The panels. What is chosen is a large open circle on the curve.

    Raises
    ------
    ValueError
        If a column is missing, a checkpoint or choice stands twice in a panel, there are too few
        axes, or `truth` is no panel.
    """
    require_columns(curves, ("panel", "progress", "value", "ci_low", "ci_high"), "curves have")
    require_columns(chosen, ("panel", "progress"), "chosen has")
    for table, keys in ((curves, ["panel", "progress"]), (chosen, ["panel"])):
        twice = table[table.duplicated(keys)]
        if len(twice):
            raise ValueError(
                f"panel {twice.iloc[0]['panel']!r} has two rows for progress "
                f"{twice.iloc[0]['progress']}: keep one."
            )
    panels = list(dict.fromkeys(curves["panel"]))
    if len(panels) > len(axes):
        raise ValueError(f"there are {len(panels)} panels, and {len(axes)} axes for them.")
    if truth is not None and truth not in panels:
        raise ValueError(f"truth={truth!r} is no panel. There are: {', '.join(panels)}.")
    kept = chosen.set_index("panel")["progress"]
    for ax, panel in zip(axes, panels, strict=False):
        rows = curves[curves["panel"] == panel].sort_values("progress")
        draw_intervals(
            ax, rows["progress"], rows["ci_low"], rows["ci_high"], upright=True, color="#777777"
        )
        look: dict[str, Any] = {"color": HUMAN, "marker": ".", "markersize": 3, "zorder": 3}
        ax.plot(rows["progress"], rows["value"], **{**look, **plot_kws})
        if truth is not None and np.isfinite(kept.get(truth, np.nan)):
            ax.axvline(kept[truth], color="black", linewidth=0.7, linestyle=(0, (3, 2)), zorder=1)
        at = rows[np.isclose(rows["progress"], kept.get(panel, np.nan))]
        ring: dict[str, Any] = {
            "marker": "o",
            "markersize": 7,
            "markerfacecolor": "none",
            "zorder": 4,
            "clip_on": False,  # the last checkpoint stands near the frame
        }
        ax.plot(at["progress"], at["value"], linestyle="none", color=SYSTEM, **ring)
        ax.set_title(panel, loc="left", fontsize=7)
        ax.set_xlim(0, 1.04)
        ax.margins(y=0.12)
        ax.locator_params(axis="y", nbins=4)
        ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    for ax in axes[len(panels) :]:
        ax.remove()
    return list(axes[: len(panels)])


def plot_choices(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    order: Sequence[str] | None = None,
    baselines: Sequence[str] = (),
    xlabel: str = "Regret (nats per token)",
    **plot_kws: Any,
) -> Axes:
    """Draw the regret of each evaluator's choices, with how often it chose the best at the right.

    Parameters
    ----------
    table : DataFrame
        ``evaluator``, ``measure``, ``estimate``, ``ci_low``, ``ci_high``, ``n``, as
        `analysis.choosing.choices` gives it; measures ``regret`` and ``win_times`` are drawn.
    ax : Axes, optional
        Where to draw; the current axes by default.
    order : sequence of str, optional
        Evaluators from the top; the line of one that is not in the table stays empty, so that
        several figures can share their lines. Default: the least regret first.
    baselines : sequence of str
        Evaluators that are drawn as open marks.
    xlabel : str
        Of the regret.
    **plot_kws
        Handed to `matplotlib.axes.Axes.plot` for the marks.

    Returns
    -------
    Axes
        A line per evaluator; an undefined regret is said in words.

    Raises
    ------
    ValueError
        If a column is missing, or an evaluator stands twice for a measure.
    """
    needed = ("evaluator", "measure", "estimate", "ci_low", "ci_high", "n")
    require_columns(table, needed, "table has")
    twice = table[table.duplicated(["evaluator", "measure"])]
    if len(twice):
        raise ValueError(
            f"table has two rows of {twice.iloc[0]['evaluator']!r} for "
            f"{twice.iloc[0]['measure']!r}: select one experiment."
        )
    rows = table[table["measure"] == "regret"].set_index("evaluator")
    wins = table[table["measure"] == "win_times"].set_index("evaluator")
    names = rows["estimate"].sort_values(kind="stable").index if order is None else list(order)
    scored = [name in rows.index for name in names]
    rows = rows.reindex(names)
    wins = wins.reindex(names)
    ax = plt.gca() if ax is None else ax
    lanes = np.arange(len(rows))
    draw_intervals(ax, lanes, rows["ci_low"], rows["ci_high"], upright=False, color=HUMAN)
    beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False}
    beside |= {"fontsize": 6.5, "va": "center"}
    for lane, name in enumerate(names):
        face = "white" if name in baselines else HUMAN
        look: dict[str, Any] = {"marker": "o", "markersize": 4.5, "color": HUMAN, "zorder": 3}
        look |= {"linestyle": "none", "markerfacecolor": face}
        regret, won = rows["estimate"].iloc[lane], wins["estimate"].iloc[lane]
        ax.plot(regret, lane, **{**look, **plot_kws})
        if scored[lane] and not np.isfinite(regret):
            ax.text(0.5, lane, "undefined", ha="center", **beside)
        if np.isfinite(won):
            ax.text(1.02, lane, f"{won:.2g} of {wins['n'].iloc[lane]:g}", **beside)
    ax.text(1.02, -0.75, "best", **{**beside, "va": "bottom"})
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    ax.set_yticks(lanes, [str(name) for name in rows.index])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color="#dddddd", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel(xlabel)
    return ax
