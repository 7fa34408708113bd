"""Stability as outputs and annotators are added: Figure 5 of Hashimoto et al. (2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import norm

from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.style import ACCENT, ESTIMATE, ONE_COLUMN, SCORE_NAMES, TWO_COLUMN
from nlgbench.study.checks import read_table

_ENDS = ("ci_low", "ci_high")


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
        From `nlgbench.stability`; a row of panels per score, with a panel per system and ``over``.
    truth : DataFrame, optional
        True scores (lines): ``system, huse, huse_q, huse_d``, such as ``study.truth["systems"]``.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.

    Returns
    -------
    Drawing
        Rows of panels follow the order of scores in `curves`.

    Raises
    ------
    ValueError
        If a column is missing, or `truth` lacks a system.

    Examples
    --------
    >>> import nlgbench as nb
    >>> curves = nb.stability(nb.simulate("gaussian", seed=0), systems="t0.7", n_resamples=5)
    >>> [ax.get_xlabel() for ax in plot_stability(curves).axes]
    ['', '', '', '', 'Outputs', 'Annotators']
    """
    needed = "system over size:float score mean:float ci_low:float ci_high:float confidence:float?"
    curves = read_table(curves, needed, "curves have")
    if truth is not None:
        truth = read_table(truth, "system huse:float? huse_q:float? huse_d:float?", "truth has")
        if lost := sorted(set(curves["system"]) - set(truth["system"])):
            raise ValueError(f"truth has no row for system {lost[0]!r}: add one.")
    groups = curves.groupby(["system", "over"], sort=False)
    scores = curves["score"].unique().tolist()
    panels = [(score, *group) for score in scores for group in groups]
    width = ONE_COLUMN if len(groups) == 1 else TWO_COLUMN
    grid: dict[str, Any] = {"n": len(panels), "columns": len(groups), "sharex": "col"}
    axes = axes_for(ax, width, 0.7 + 1.05 * len(scores), sharey="row", **grid)
    for n, (panel, (score, (system, over), rows)) in enumerate(zip(axes, panels, strict=True)):
        curve = rows[rows["score"] == score].sort_values("size")
        band: dict[str, Any] = {"color": ESTIMATE, "alpha": 0.18, "linewidth": 0}
        confidence = curve.get("confidence", pd.Series(0.9, curve.index))
        for share in (1.0, norm.ppf(0.75) / norm.ppf(0.5 + confidence / 2)):
            ends = [curve["mean"] + share * (curve[end] - curve["mean"]) for end in _ENDS]
            panel.fill_between(curve["size"], *ends, **band)
        panel.plot(curve["size"], curve["mean"], color=ESTIMATE, marker="o", markersize=3)
        if truth is not None and score in truth:
            (true,) = truth.loc[truth["system"] == system, score]
            panel.axhline(true, color=ACCENT, linewidth=0.9, linestyle="--")
        if n % len(groups) == 0:
            panel.set_ylabel(SCORE_NAMES.get(score, score))
        if n < len(groups) and len(curves["system"].unique()) > 1:
            panel.set_title(str(system).replace("_", " "))
        if n >= len(panels) - len(groups):
            panel.set_xlabel(str(over).capitalize())
    share = f"{curves['confidence'].iloc[0]:.0%}" if "confidence" in curves else "most"
    notes = f"Bands contain {share} of this study's subsamples, the darker ones half. They are not "
    notes += "confidence intervals: large subsamples overlap, so bands narrow to nothing."
    notes += " Dots: means."
    notes += " Dashed lines: true values." if truth is not None else ""
    names = ", ".join(SCORE_NAMES.get(name, name) for name in scores)
    alt = f"{names} of subsamples by number of {' and of '.join(curves['over'].unique())}"
    alt += f" for {', '.join(curves['system'].unique())}."
    return as_drawing(axes, curves, alt, notes)
