"""Stability as outputs and annotators are added: Figure 5 of Hashimoto et al. (2019)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import legend_above
from nlgbench.plots.style import ONE_COLUMN, SCORE_NAMES, TWO_COLUMN, line_look
from nlgbench.study.checks import read_table


@in_paper_style
def plot_stability(
    curves: pd.DataFrame,
    *,
    truth: pd.DataFrame | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Drawing:
    """Draw mean scores of subsamples against their size, with bands that contain most subsamples.

    Parameters
    ----------
    curves : DataFrame
        From `nlgbench.stability`; a row of panels per system, with a panel per value of ``over``.
    truth : DataFrame, optional
        True scores (lines): ``system, huse, huse_q, huse_d``, such as ``study.truth["systems"]``.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.

    Returns
    -------
    Drawing
        Each panel has a line and a band per score, in the order of `curves`.

    Raises
    ------
    ValueError
        If a column is missing, or `truth` lacks a system.

    Examples
    --------
    >>> import nlgbench as nb
    >>> curves = nb.stability(nb.simulate("gaussian", seed=0), systems="t0.7", n_resamples=5)
    >>> [ax.get_xlabel() for ax in plot_stability(curves).axes]
    ['Outputs', 'Annotators']
    """
    needed = "system over size:float score mean:float ci_low:float ci_high:float confidence:float?"
    curves = read_table(curves, needed, "curves have")
    if truth is not None:
        truth = read_table(truth, "system huse:float? huse_q:float? huse_d:float?", "truth has")
        if lost := sorted(set(curves["system"]) - set(truth["system"])):
            raise ValueError(f"truth has no row for system {lost[0]!r}: add one.")
    panels = list(curves.groupby(["system", "over"], sort=False))
    n_systems = curves["system"].nunique()
    columns = len(panels) // n_systems
    width = ONE_COLUMN if columns == 1 else TWO_COLUMN
    grid = {"n": len(panels), "columns": columns, "sharey": True}
    axes = axes_for(ax, width, 2.6 * n_systems, **grid)
    for n, (panel, ((system, kind), rows)) in enumerate(zip(axes, panels, strict=True)):
        true = {} if truth is None else truth[truth["system"] == system].iloc[0].to_dict()
        _draw_curves(panel, rows, true)
        panel.set_xlabel(str(kind).capitalize())
        first = n == 0 or panels[n - 1][0][0] != system
        score = "Score" if n_systems == 1 else f"Score of {system}"
        panel.set_ylabel(score if first else "")
    legend_above(axes[0], ncols=3)
    share = f"{curves['confidence'].iloc[0]:.0%}" if "confidence" in curves else "most"
    footnote = f"Bands contain {share} of this study's subsamples. They are not confidence "
    footnote += "intervals: large subsamples overlap, so bands narrow to nothing at the full study."
    if ax is None:
        axes[0].figure.supxlabel(textwrap.fill(footnote, 110 if columns > 1 else 55), fontsize=7)
    over = list(curves["over"].unique())
    kinds = " (left) and of ".join(over) + (" (right)" if len(over) > 1 else "")
    names = ", ".join(SCORE_NAMES.get(str(name), str(name)) for name in curves["score"].unique())
    alt = f"{names} of subsamples by number of {kinds}, with bands that contain {share} "
    alt += "of the subsamples" + ("; thin lines are the true values" if truth is not None else "")
    alt += ". Large subsamples overlap, so bands narrow to nothing at the full study."
    return as_drawing(axes, curves, alt)


def _draw_curves(ax: Axes, rows: pd.DataFrame, truth: dict) -> None:
    for n, (score, curve) in enumerate(rows.groupby("score", sort=False)):
        curve = curve.sort_values("size")
        style = line_look(n)
        label = legend_label(SCORE_NAMES.get(str(score), score))
        band = {"color": style["color"], "alpha": 0.16, "linewidth": 0}
        ax.fill_between(curve["size"], curve["ci_low"], curve["ci_high"], **band)
        ax.plot(curve["size"], curve["mean"], label=label, markersize=3, **style)
        if score in truth:
            ax.axhline(truth[score], color=style["color"], linewidth=0.6, alpha=0.7)
