"""Many studies, an evaluator a panel: each study's effect, their mean, and where a further lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Polygon

from nlgbench.analysis.correlation.pooling import PooledCorrelations
from nlgbench.evaluators.names import kind, label, order
from nlgbench.names import known
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    correlation,
    draw_intervals,
    drawn_on,
    in_paper_style,
)
from nlgbench.plots.style import GROUPS, TWO_COLUMN

#: Panels side by side: narrower ones have no room for a name and its interval.
_ACROSS = 5
_SENTINELS = "Sentinels"
_GRAY = "#EEEEEE"
_MEAN, _FURTHER = "Mean", "prediction interval"


@in_paper_style
def plot_pooled(
    pooled: PooledCorrelations,
    *,
    evaluators: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> Drawing:
    """Draw evaluators' correlations in many studies, and what these say together.

    Parameters
    ----------
    pooled : PooledCorrelations
        From `nlgbench.pool_correlations`, of one statistic at one granularity: correlations, or
        differences from one and the same evaluator.
    evaluators : sequence of str, optional
        Which. Default: those that have a mean over studies, or else those of several studies.
    ax : sequence of Axes, optional
        Where to draw, one for each evaluator; a figure of its own by default.

    Returns
    -------
    Drawing
        A panel for each evaluator, sentinels last and on gray; a line for each study, in groups by
        task where tasks are known: a mark and its interval, nothing where there is no effect. Below
        them the mean over studies (a diamond as wide as its interval) and the prediction interval,
        where the correlation of a further study would lie (a bar). Names of panels have the mean
        and its interval, or say why there is none. Its data are the effects and, as studies
        ``Mean`` and ``prediction interval``, the means.

    Raises
    ------
    ValueError
        When there is more than one statistic, granularity or group of studies, an evaluator is
        unknown, differences are from several evaluators, or none has effects in several studies.

    Examples
    --------
    >>> table = pd.DataFrame({"study": list("abcde"), "estimate": [0.3, 0.4, 0.5, 0.4, 0.3]})
    >>> table = table.assign(evaluator="chrf", dimension="quality", statistic="spearman")
    >>> table = table.assign(granularity="output", confidence=0.95, ci_low=0.2, ci_high=0.6)
    >>> from nlgbench.analysis.correlation.pooling import pool_correlations
    >>> plot_pooled(pool_correlations(table)).alt
    'Spearman with people in 5 studies, and the mean over studies: chrF 0.38 [0.24, 0.51].'
    """
    summary, studies = _chosen(pooled, evaluators)
    what = _what(summary)
    names = list(summary.index)
    lines = _lines(studies)
    wide = min(_ACROSS, len(names))
    deep = -(-len(names) // wide)
    height = deep * (0.72 + 0.135 * (len(lines) + 2.9)) + 0.35
    width = TWO_COLUMN if wide > 2 else 1.7 + 1.4 * wide
    grid = {"rows": deep, "columns": wide, "sharex": True, "sharey": True}
    panels = axes_for(ax, width, height, **grid)
    if len(panels) < len(names):
        raise ValueError(f"ax must hold an Axes for each of {len(names)} evaluators.")
    at = {line: float(lane) for lane, (line, _) in enumerate(lines)}
    tasks = list(dict.fromkeys(studies["task"])) if "task" in studies else [""]
    looks = {one: GROUPS[n % len(GROUPS)] for n, one in enumerate(tasks)}
    low = len(lines) + 0.3
    # Differences of correlations go to 2.
    reach = max(1.0, *studies[["ci_low", "ci_high"]].abs().max())
    for panel, name in zip(panels, names, strict=False):
        own = studies[studies["evaluator"] == name]
        _draw_panel(panel, own, summary.loc[name], at, looks, low)
        panel.set_title(f"{label(name)}\n{_said(summary.loc[name])}", fontsize=7, pad=3)
        if kind(name) == _SENTINELS:
            panel.set_facecolor(_GRAY)
    ticks = [*at.values(), low, low + 1.2]
    level = f"{pooled.confidence:.0%}"
    words = [line for line, _ in lines] + [_MEAN, f"{level} prediction\ninterval"]
    heads = {number for number, (_, head) in enumerate(lines) if head}
    heads |= {len(lines), len(lines) + 1}
    for number, panel in enumerate(panels[: len(names)]):
        panel.set_yticks(ticks, words, fontsize=6.5)
        panel.tick_params(axis="y", length=0, labelleft=number % wide == 0)
        for place, tick in enumerate(panel.get_yticklabels()):
            tick.set_fontweight("bold" if place in heads else "normal")
        panel.set_ylim(low + 1.9, -0.7)
        panel.set_xlim(-reach, reach)
        panel.set_xticks([-0.5, 0, 0.5], ["−.5", "0", ".5"])
        panel.tick_params(axis="x", labelbottom=number + wide >= len(names), labelsize=6.5)
    for panel in panels[len(names) :] if ax is None else ():
        panel.set_visible(False)
    panels[(deep - 1) * wide].set_xlabel(what, loc="left")
    figure = panels[0].get_figure(root=True)
    if ax is None and figure is not None and _SENTINELS in map(kind, names):
        gray = [Patch(color=_GRAY, label="sentinels, which know next to nothing of a text")]
        figure.legend(handles=gray, loc="outside lower right")
    return drawn_on(panels[: len(names)], _data(summary, studies), _alt(summary, studies, what))


def _chosen(
    pooled: PooledCorrelations, evaluators: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the evaluators to draw, in the order of figures; sentinels last."""
    first = {"evaluator_a": "evaluator"}
    summary, studies = pooled.summary.rename(columns=first), pooled.studies.rename(columns=first)
    if "evaluator_b" in summary and len(summary["evaluator_b"].unique()) > 1:
        raise ValueError("pooled has differences from several evaluators_b: draw those from one.")
    if evaluators is not None:
        for name in evaluators:
            known(name, list(dict.fromkeys(summary["evaluator"])), "evaluators")
        summary = summary[summary["evaluator"].isin(evaluators)]
    else:
        with_mean = summary["estimate"].notna()
        summary = summary[with_mean if with_mean.any() else summary["n_studies"] > 1]
    if summary.empty:
        raise ValueError("no evaluator has effects in several studies: there is nothing to draw.")
    twice = summary[summary["evaluator"].duplicated()]
    if len(twice):
        raise ValueError(
            f"pooled has two rows of {twice['evaluator'].iloc[0]!r}: draw one statistic at one "
            "granularity, pooled over all studies (without by=)."
        )
    names = order(summary["evaluator"])
    names.sort(key=lambda name: kind(name) == _SENTINELS)
    studies = studies[studies["evaluator"].isin(names)]
    some = studies.groupby("study")["z"].transform(lambda z: z.notna().any())
    return summary.set_index("evaluator").loc[names], studies[some.astype(bool)]


def _what(summary: pd.DataFrame) -> str:
    """Name what is drawn."""
    words = f"{str(summary['statistic'].iloc[0]).replace('_', ' ').capitalize()} with people"
    if "evaluator_b" not in summary:
        return words
    return f"{words}, less that of: {label(summary['evaluator_b'].iloc[0]).lower()}"


def _lines(studies: pd.DataFrame) -> list[tuple[str, bool]]:
    """List the lines of a panel, from the top: studies, below their task where it is known."""
    if "task" not in studies:
        return [(name, False) for name in dict.fromkeys(studies["study"])]
    lines: list[tuple[str, bool]] = []
    for task, part in studies.groupby("task", sort=False):
        lines += [(str(task), True), *((one, False) for one in dict.fromkeys(part["study"]))]
    return lines


def _draw_panel(
    ax: Axes,
    own: pd.DataFrame,
    mean: pd.Series,
    at: dict[str, float],
    looks: dict[str, tuple[str, str]],
    low: float,
) -> None:
    ax.axvline(0, color="#555555", linewidth=0.6, zorder=1)
    ax.axhline(low - 0.65, color="#555555", linewidth=0.4)
    own = own[own["z"].notna()]
    tasks = own["task"] if "task" in own else pd.Series("", own.index)
    for task, (marker, color) in looks.items():
        part = own[(tasks == task).to_numpy()]
        lanes = part["study"].map(at)
        draw_intervals(ax, lanes, part["ci_low"], part["ci_high"], upright=False, color=color)
        look: dict[str, Any] = {"linestyle": "none", "marker": marker, "color": color}
        ax.plot(part["estimate"], lanes, markersize=2.6, zorder=3, **look)
    if np.isfinite(mean["estimate"]):
        ends = mean["ci_low"], mean["ci_high"]
        corners = [(ends[0], low), (mean["estimate"], low - 0.38), (ends[1], low)]
        ax.add_patch(
            Polygon([*corners, (mean["estimate"], low + 0.38)], color="black", linewidth=0)
        )
    if np.isfinite(mean["prediction_low"]):
        ends = mean["prediction_low"], mean["prediction_high"]
        ax.hlines(low + 1.2, *ends, color="black", linewidth=2.2)


def _said(mean: pd.Series) -> str:
    """Write a panel's mean and interval, or why there is none."""
    if not np.isfinite(mean["estimate"]):
        return f"no mean: {mean['n_studies']} studies"
    return "{} [{}, {}]".format(*map(correlation, mean[["estimate", "ci_low", "ci_high"]]))


def _data(summary: pd.DataFrame, studies: pd.DataFrame) -> pd.DataFrame:
    columns = {"ci_low": "prediction_low", "ci_high": "prediction_high"}
    mean = summary.reset_index()[["evaluator", "estimate", "ci_low", "ci_high"]]
    further = summary.reset_index()[["evaluator", *columns.values()]]
    further = further.rename(columns={old: new for new, old in columns.items()})
    effects = studies[["study", *mean.columns]]
    rows = [effects, mean.assign(study=_MEAN), further.assign(study=_FURTHER)]
    return pd.concat(rows, ignore_index=True)


def _alt(summary: pd.DataFrame, studies: pd.DataFrame, what: str) -> str:
    said = []
    for name, mean in summary.iterrows():
        ends = [mean[end] for end in ("estimate", "ci_low", "ci_high")]
        words = "{:.2f} [{:.2f}, {:.2f}]".format(*ends)
        if not np.isfinite(mean["estimate"]):
            words = f"in {mean['n_studies']} studies, no mean"
        said.append(f"{label(str(name))} {words}")
    n = studies["study"].nunique()
    return f"{what} in {n} studies, and the mean over studies: {'; '.join(said)}."
