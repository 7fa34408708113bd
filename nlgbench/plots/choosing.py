"""What evaluators choose: their curves over training, and the regret of their choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.evaluators.names import kind, label, order
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    canvas,
    draw_intervals,
    drawn_on,
    in_paper_style,
    name_lanes,
)
from nlgbench.plots.style import HUMAN, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Titles of panels, which have less room than a line's label, in their order.
_PANELS = {
    "quality": "True quality (nats/token)",
    "perplexity": "Log perplexity (nats/word)",
    "bleu": "BLEU",
    "adversarial": "Adversarial",
    "regressor": "Regressor",
    "comparator": "Comp., all pairs",
    "comparator_human": "Comp., human pairs",
    "comparator_self": "Comp., no human pairs",
}
_EXPERIMENTS = {
    "hyperparameter_search": "Search",
    "early_stopping": "Early stopping",
    "stopping_backwards": "In reverse",
}


@in_paper_style
def plot_training(
    curves: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    truth: str | None = None,
    ax: Sequence[Axes] | None = None,
) -> Drawing:
    """Draw what each evaluator says over the course of one training, a panel each.

    Parameters
    ----------
    curves : DataFrame
        A row per evaluator and checkpoint: ``evaluator``, ``progress`` (0 to 1), ``value``,
        ``ci_low``, ``ci_high`` (NaN bounds draw none).
    chosen : DataFrame
        A row per evaluator: ``evaluator``, ``progress`` of the checkpoint that it keeps; NaN, or no
        row, for none.
    truth : str, optional
        The "evaluator" that is the truth: its chosen checkpoint is a broken line in every panel.
    ax : sequence of Axes, optional
        One per panel; a figure of its own by default.

    Returns
    -------
    Drawing
        Panels in the order of evaluators. What is chosen is a large open circle on the curve; a
        line at 0 stands where comparators say win minus loss. Its data are `curves` with ``panel``.

    Raises
    ------
    ValueError
        If a column is missing, a checkpoint or choice stands twice for an evaluator, there are too
        few axes, or `truth` is none of the curves.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": "bleu", "progress": [0.5, 1], "value": [0.1, 0.2]})
    >>> picked = pd.DataFrame({"evaluator": ["bleu"], "progress": [1.0]})
    >>> plot_training(table.assign(ci_low=None, ci_high=None), picked).alt
    'What each evaluator says over the checkpoints of one training, and which it keeps: BLEU 1.'
    """
    needed = "evaluator progress:float value:float ci_low:float ci_high:float"
    curves = read_table(curves, needed, "curves have")
    if len(chosen) or "evaluator" not in chosen:
        chosen = read_table(chosen, "evaluator progress:float", "chosen has")
    for table, keys in ((curves, ["evaluator", "progress"]), (chosen, ["evaluator"])):
        twice = table[table.duplicated(keys)]
        if len(twice):
            raise ValueError(
                f"{twice.iloc[0]['evaluator']!r} has two rows for progress "
                f"{twice.iloc[0]['progress']}: keep one."
            )
    there = list(dict.fromkeys(curves["evaluator"]))
    names = [name for name in _PANELS if name in there]
    names += [name for name in there if name not in _PANELS]
    if truth is not None and truth not in there:
        raise ValueError(f"truth={truth!r} is no evaluator of curves: {', '.join(there)}.")
    if ax is None:
        rows = -(-len(names) // 4)
        figure, axes = canvas(TWO_COLUMN, 1.55 * rows, rows=rows, columns=min(4, len(names)))
        words = "circle: checkpoint kept"
        words += "" if truth is None else "; broken line: the best in truth"
        figure.supxlabel(f"Share of training done ({words})", fontsize=8)
        for one in axes[len(names) :]:
            one.remove()
    else:
        axes = tuple(ax)
    if len(names) > len(axes):
        raise ValueError(f"there are {len(names)} panels, and {len(axes)} axes for them.")
    picked = chosen.set_index("evaluator")["progress"]
    for one, name in zip(axes, names, strict=False):
        _draw_curve(one, curves[curves["evaluator"] == name], picked.get(name, np.nan))
        best = np.nan if truth is None else picked.get(truth, np.nan)
        if np.isfinite(best):
            one.axvline(best, color="black", linewidth=0.7, linestyle=(0, (3, 2)), zorder=1)
        one.set_title(_PANELS.get(name, label(name)), loc="left", fontsize=7)
        if name.startswith("comparator"):
            one.axhline(0, color="#555555", linewidth=0.6, zorder=1)
    data = curves.assign(panel=curves["evaluator"].map(lambda name: _PANELS.get(name, label(name))))
    data = data.sort_values("evaluator", key=lambda at: at.map(names.index), kind="stable")
    said = "; ".join(
        f"{_PANELS.get(name, label(name))} {picked[name]:g}" for name in names if name in picked
    )
    alt = "What each evaluator says over the checkpoints of one training, and which it keeps: "
    return drawn_on(axes[: len(names)], data, f"{alt}{said}.")


def _draw_curve(ax: Axes, rows: pd.DataFrame, picked: float) -> None:
    rows = rows.sort_values("progress")
    draw_intervals(
        ax, rows["progress"], rows["ci_low"], rows["ci_high"], upright=True, color="#777777"
    )
    look: dict[str, Any] = {"color": HUMAN, "marker": ".", "markersize": 3, "zorder": 3}
    ax.plot(rows["progress"], rows["value"], **look)
    at = rows[np.isclose(rows["progress"], picked)]
    ring: dict[str, Any] = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "zorder": 4}
    ring |= {"color": SYSTEM, "clip_on": False}  # the last checkpoint stands near the frame
    ax.plot(at["progress"], at["value"], linestyle="none", **ring)
    ax.set_xlim(0, 1.04)
    ax.margins(y=0.12)
    ax.locator_params(axis="y", nbins=4)
    ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])


@in_paper_style
def plot_choices(table: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw the regret of each evaluator's choices, with how often it chose the best at the right.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.analysis.trials.choices`: ``evaluator``, ``measure``, ``estimate``,
        ``ci_low``, ``ci_high``, ``n``; measures ``regret`` and ``win_times`` are drawn. Each
        ``experiment``, where there are several, has a panel; they share their lines.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each experiment; a figure of its own by default.

    Returns
    -------
    Drawing
        A line per evaluator, with an open mark for baselines; an undefined regret is said in words.

    Raises
    ------
    ValueError
        If a column is missing, or an evaluator stands twice for a measure in a panel.

    Examples
    --------
    >>> rows = pd.DataFrame({"evaluator": "bleu", "measure": ["regret", "win_times"], "n": 10})
    >>> plot_choices(rows.assign(estimate=[0.1, 4], ci_low=None, ci_high=None)).alt
    'Regret of choices, and how often the best was chosen: BLEU 0.10, 4 of 10.'
    """
    needed = "evaluator measure estimate:float ci_low:float ci_high:float n:float experiment?"
    table = read_table(table, needed, "table has")
    experiments = list(dict.fromkeys(table["experiment"])) if "experiment" in table else [""]
    names = [name for name in _ORDER if name in set(table["evaluator"])]
    names += [name for name in order(table["evaluator"]) if name not in names]
    columns = len(experiments)
    axes = axes_for(ax, TWO_COLUMN if columns > 1 else 4.5, 2.5, columns=columns)
    if ax is None:
        open_ = any(kind(name) == "Baselines" for name in names)
        about = "; open: a baseline, no evaluator" if open_ else ""
        axes[0].figure.supxlabel(f"Regret (nats per token{about})", fontsize=8)
    said = []
    for number, (one, experiment) in enumerate(zip(axes, experiments, strict=True)):
        rows = table[table["experiment"] == experiment] if experiment else table
        if len(experiments) > 1:
            one.set_title(_EXPERIMENTS.get(experiment, experiment.replace("_", " ")), loc="left")
        words = _draw_choices(one, rows, names)
        if number:
            one.set_yticklabels([])
        title = f"{_EXPERIMENTS.get(experiment, experiment)}: " if experiment else ""
        said.append(title + "; ".join(words))
    data = table.assign(evaluator=table["evaluator"].map(label))
    alt = f"Regret of choices, and how often the best was chosen: {'. '.join(said)}."
    return drawn_on(axes, data, alt)


#: From the top: what learned from most, then what stands beside it.
_ORDER = (
    *("comparator", "comparator_human", "comparator_self", "regressor", "adversarial", "bleu"),
    *("perplexity", "last_checkpoint", "random choice"),
)


def _draw_choices(ax: Axes, table: pd.DataFrame, names: list[str]) -> list[str]:
    twice = table[table.duplicated(["evaluator", "measure"])]
    if len(twice):
        raise ValueError(
            f"table has two rows of {twice.iloc[0]['evaluator']!r} for "
            f"{twice.iloc[0]['measure']!r}: select one variant."
        )
    rows = table[table["measure"] == "regret"].set_index("evaluator")
    wins = table[table["measure"] == "win_times"].set_index("evaluator").reindex(names)
    scored = [name in rows.index for name in names]
    rows = rows.reindex(names)
    lanes = np.arange(len(rows))
    draw_intervals(ax, lanes, rows["ci_low"], rows["ci_high"], upright=False, color=HUMAN)
    beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False}
    beside |= {"fontsize": 6.5, "va": "center"}
    words = []
    for lane, name in enumerate(names):
        face = "white" if kind(name) == "Baselines" else HUMAN
        look: dict[str, Any] = {"marker": "o", "markersize": 4.5, "color": HUMAN, "zorder": 3}
        regret, won = rows["estimate"].iloc[lane], wins["estimate"].iloc[lane]
        ax.plot(regret, lane, **look, linestyle="none", markerfacecolor=face)
        if scored[lane] and not np.isfinite(regret):
            ax.text(0.5, lane, "undefined", ha="center", **beside)
        if np.isfinite(won):
            ax.text(1.02, lane, f"{won:.2g} of {wins['n'].iloc[lane]:g}", **beside)
        if scored[lane]:
            words.append(f"{label(name)} {regret:.2f}, {won:.2g} of {wins['n'].iloc[lane]:g}")
    ax.text(1.02, -0.75, "best", **{**beside, "va": "bottom"})
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    name_lanes(ax, [label(name) for name in names], ruled=True)
    return words
