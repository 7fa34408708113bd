"""Evaluators as model selectors: scores during training, and the regret of their choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nlgbench.evaluators.names import kind, label, order
from nlgbench.names import known
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    in_paper_style,
    require_unique,
    two_decimals,
)
from nlgbench.plots.rows import (
    describe_nested,
    draw_estimates,
    draw_reference,
    label_rows,
    mark,
    write_beside,
)
from nlgbench.plots.style import ACCENT, ESTIMATE, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Panel titles, in order; they must be shorter than labels in a list.
_PANELS = {
    "quality": "True quality (nats/token)",
    "perplexity": "Log perplexity (nats/word)",
    "bleu": "BLEU",
    "adversarial": "Adversarial",
    "regressor": "Regressor",
    "comparator": "Comparator: all pairs",
    "comparator_human": "Comparator: human pairs",
    "comparator_self": "Comparator: no human",
}
_EXPERIMENTS = {
    "hyperparameter_search": "Search",
    "early_stopping": "Early stopping",
    "overfitting": "Overfitting",
}
_BEST: dict[str, Any] = {"color": "black", "linewidth": 0.7, "linestyle": (0, (3, 2))}


@in_paper_style
def plot_training(
    curves: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    truth: str | None = None,
    ax: Sequence[Axes] | None = None,
) -> Drawing:
    """Draw each evaluator's values during one training run, one panel per evaluator.

    Parameters
    ----------
    curves : DataFrame
        A row per evaluator and checkpoint: ``evaluator``, ``progress`` (0 to 1),
        ``estimate``, ``ci_low``, ``ci_high`` (NaN: no interval).
    chosen : DataFrame
        ``evaluator``, and the ``progress`` of the checkpoint that it selects (NaN or no row: none).
    truth : str, optional
        The ``evaluator`` whose values are true quality; a dashed line marks its best checkpoint.
    ax : sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.

    Returns
    -------
    Drawing
        A circle marks the selected checkpoint. Its data are `curves` with a column ``panel``.

    Raises
    ------
    ValueError
        If a column is missing, rows are duplicated, or `truth` has no curve.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": "bleu", "progress": [0.5, 1], "estimate": [0.1, 0.2]})
    >>> picked = pd.DataFrame({"evaluator": ["bleu"], "progress": [1.0]})
    >>> plot_training(table.assign(ci_low=None, ci_high=None), picked).alt.split(". ")[1]
    'Checkpoints selected, by progress: BLEU at 1.'
    """
    needed = "evaluator progress:float estimate:float ci_low:float ci_high:float confidence:float?"
    curves = read_table(curves, needed, "curves have")
    if len(chosen) or "evaluator" not in chosen:
        chosen = read_table(chosen, "evaluator progress:float", "chosen has")
    require_unique(curves, ["evaluator", "progress"], "keep one row")
    require_unique(chosen, ["evaluator"], "keep one row")
    evaluators = list(dict.fromkeys(curves["evaluator"]))
    if truth is not None:
        known(truth, evaluators, "truth")
    names = [*(name for name in _PANELS if name in evaluators), *evaluators]
    titles = {name: _PANELS.get(name, label(name)) for name in names}
    height = 1.55 * -(-len(titles) // 4)
    axes = axes_for(ax, TWO_COLUMN, height, n=len(titles), columns=4)
    if ax is None:
        axes[0].figure.supxlabel("Share of training", fontsize=8)
    picked = chosen.set_index("evaluator")["progress"]
    handles = [mark("selected checkpoint", "o", ACCENT, face="none", markersize=7)]
    if truth is not None:
        handles.append(Line2D([], [], label="best checkpoint by true quality", **_BEST))
    axes[0].figure.legend(handles=handles, loc="outside upper right", ncols=2)
    for panel, (name, title) in zip(axes, titles.items(), strict=True):
        _draw_curve(panel, curves[curves["evaluator"] == name], picked.get(name, np.nan))
        best = np.nan if truth is None else picked.get(truth, np.nan)
        if np.isfinite(best):
            panel.axvline(best, zorder=1, **_BEST)
        panel.set_title(title, loc="left", fontsize=7)
        if name.startswith("comparator"):
            draw_reference(panel, 0, upright=True)
    data = curves.assign(panel=curves["evaluator"].map(titles))
    data = data.iloc[np.argsort(data["evaluator"].map(list(titles).index), kind="stable")]
    picked = picked.dropna()
    texts = "; ".join(f"{titles[name]} at {picked[name]:g}" for name in titles if name in picked)
    alt = "Each evaluator's values in one training run. Checkpoints selected, by progress: "
    return as_drawing(axes, data, f"{alt}{texts or 'none'}.", describe_nested(curves))


def _draw_curve(ax: Axes, rows: pd.DataFrame, picked: float) -> None:
    rows = rows.sort_values("progress")
    draw_estimates(ax, rows["progress"], rows, upright=True, color="#777777", marker="")
    style: dict[str, Any] = {"color": ESTIMATE, "marker": ".", "markersize": 3, "zorder": 3}
    ax.plot(rows["progress"], rows["estimate"], **style)
    selected = rows[np.isclose(rows["progress"], picked)]
    ring: dict[str, Any] = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "zorder": 4}
    ring |= {"color": ACCENT, "clip_on": False}  # the last checkpoint is near the frame
    ax.plot(selected["progress"], selected["estimate"], linestyle="none", **ring)
    ax.set_xlim(0, 1.04)
    ax.margins(y=0.12)
    ax.locator_params(axis="y", nbins=4)
    ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])


@in_paper_style
def plot_choices(table: pd.DataFrame, *, ax: Axes | Sequence[Axes] | None = None) -> Drawing:
    """Draw the regret of each evaluator's choices, and how often it chose the best candidate.

    Parameters
    ----------
    table : DataFrame
        From `nlgbench.analysis.trials.judge_choices`: ``evaluator``, ``measure``, ``estimate``,
        ``ci_low``, ``ci_high``, ``n``. The measures ``regret`` and ``win_times`` are drawn.
        Optional: ``experiment``, with a panel for each value; panels share their rows.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per experiment; a new figure by default.

    Returns
    -------
    Drawing
        A row per evaluator (open marks: baselines); at the right, how often it chose the best.

    Raises
    ------
    ValueError
        If a column is missing, or an evaluator has two rows for one measure in a panel.

    Examples
    --------
    >>> rows = pd.DataFrame({"evaluator": "bleu", "measure": ["regret", "win_times"], "n": 10})
    >>> plot_choices(rows.assign(estimate=[0.1, 4], ci_low=None, ci_high=None)).alt
    'Regret of choices, and how often they are best. BLEU 0.10, 4 of 10.'
    """
    needed = "evaluator measure estimate:float ci_low:float ci_high:float n:float experiment?"
    table = read_table(table, f"{needed} confidence:float?", "table has")
    experiment = table.get("experiment", pd.Series("", table.index))
    require_unique(
        table.assign(experiment=experiment),
        ["experiment", "evaluator", "measure"],
        "select one variant",
    )
    panels = dict(list(table.groupby(experiment, sort=False)))
    evaluators = order(table["evaluator"])
    names = list(dict.fromkeys([*(name for name in _ORDER if name in evaluators), *evaluators]))
    grid: dict[str, Any] = {"columns": len(panels), "sharex": True, "sharey": True}
    axes = axes_for(ax, TWO_COLUMN, 2.5, n=len(panels), **grid)
    if ax is None:
        axes[0].figure.supxlabel("Regret (nats per token)", fontsize=8)
    texts = []
    for panel, (name, rows) in zip(axes, panels.items(), strict=True):
        title = _EXPERIMENTS.get(str(name), str(name).replace("_", " "))
        if len(panels) > 1:
            panel.set_title(title, loc="left")
        choices = "; ".join(_draw_choices(panel, rows, names))
        texts.append(f"{title}: {choices}" if title else choices)
    data = table.assign(evaluator=table["evaluator"].map(label))
    alt = f"Regret of choices, and how often they are best. {'. '.join(texts)}."
    if any(kind(name) == "Baselines" for name in names):
        handles = [mark("evaluator", "o", ESTIMATE), mark("baseline", "o", ESTIMATE, face="white")]
        axes[0].figure.legend(handles=handles, loc="outside upper right", ncols=2)
    return as_drawing(axes, data, alt, describe_nested(table))


#: Rows from the top: learned evaluators by training data, then the others.
_ORDER = (
    *("comparator", "comparator_human", "comparator_self", "regressor", "adversarial", "bleu"),
    *("perplexity", "last_checkpoint", "random choice", "oracle"),
)


def _draw_choices(ax: Axes, table: pd.DataFrame, names: list[str]) -> list[str]:
    """Draw one experiment, and describe each evaluator's regret and wins."""
    rows = table.pivot(index="evaluator", columns="measure").reindex(names)
    regret = rows.xs("regret", axis=1, level="measure").reset_index()
    n_best = rows["estimate"].get("win_times", pd.Series(np.nan, rows.index))
    draw_reference(ax, 0)
    is_baseline = regret["evaluator"].map(kind) == "Baselines"
    for baseline, group in regret.dropna(subset="estimate").groupby(is_baseline):
        draw_estimates(ax, group.index, group, filled=not baseline)
    wins = {
        name: f"{round(n_best[name], 1):g} of {rows['n']['win_times'][name]:g}"
        for name in names
        if np.isfinite(n_best[name])
    }
    ends = {text.partition(" of ")[2] for text in wins.values()}
    title = f"best\nof {ends.pop()}" if len(ends) == 1 else "best"
    cells = {
        name: text.partition(" of ")[0] if "of" in title else text for name, text in wins.items()
    }
    write_beside(ax, title, [(names.index(name), text) for name, text in cells.items()], x=1.1)
    with_regret = set(table.loc[table["measure"] == "regret", "evaluator"])
    for name in regret.loc[regret["estimate"].isna(), "evaluator"]:
        style: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "center"}
        ax.text(0.5, names.index(name), "undefined", va="center", fontsize=7, **style)
    label_rows(ax, [label(name) for name in names], ruled=True)
    return [
        f"{label(name)} {two_decimals(value)}, {wins.get(name, 'not counted')}"
        for name, value in regret[["evaluator", "estimate"]].itertuples(index=False)
        if name in with_regret
    ]
