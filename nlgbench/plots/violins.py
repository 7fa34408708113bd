"""How the scores of each evaluator are spread over qualities (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from nlgbench.plots.columns import require_columns
from nlgbench.plots.style import HUMAN

# A spread that rounding alone makes, as part of the axis, has no density to estimate.
_CONSTANT = 1e-9


def plot_violins(
    scores: pd.DataFrame,
    *,
    axes: Sequence[Axes] | np.ndarray | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    bandwidth: float = 0.2,
    ylabel: str = "Score",
    **violin_kws: Any,
) -> list[Axes]:
    """Draw a panel for each evaluator, with a violin for each quality.

    Parameters
    ----------
    scores : DataFrame
        One row per scored output: ``evaluator``, ``quality``, ``score``. Panels are in order of
        appearance, and so are qualities within them; undefined scores are left out and counted.
    axes : sequence of Axes, optional
        One for each evaluator; without them, a row of panels in the current figure, which must be
        empty.
    bounds : mapping of str to (float, float), optional
        Range of an evaluator's scores, 0 and 1 by default. No density is drawn outside it.
    bandwidth : float
        Of the Gaussian kernel, as a factor of the scores' standard deviation.
    ylabel : str
        Of the first panel.
    **violin_kws
        Handed to `matplotlib.axes.Axes.violinplot`.

    Returns
    -------
    list of Axes
        The panels. Bars show the mean and the range.

    Raises
    ------
    ValueError
        If a column is missing, there is no score, panels are too few, or a score is out of bounds.

    Notes
    -----
    The density is a Gaussian kernel's, as in Figure 2 of Newman, Cohn-Gordon and Potts (2020,
    arXiv:1909.07290), cut at the least and the greatest score; all violins are equally wide.
    Scores that are all the same have no density: their violin is a line, marked "constant".
    """
    require_columns(scores, ("evaluator", "quality", "score"), "scores have")
    if scores["score"].notna().sum() == 0:
        raise ValueError("scores have no number to draw: every score is undefined, or no row.")
    evaluators = list(dict.fromkeys(scores["evaluator"]))
    qualities = list(dict.fromkeys(scores["quality"]))
    if axes is None:
        axes = plt.gcf().subplots(1, len(evaluators), squeeze=False)
    panels: list[Axes] = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(panels) != len(evaluators):
        raise ValueError(
            f"{len(evaluators)} evaluators need as many axes, not {len(panels)}: "
            f"{', '.join(map(str, evaluators))}."
        )
    for n, (panel, evaluator) in enumerate(zip(panels, evaluators, strict=True)):
        low, high = (bounds or {}).get(str(evaluator), (0.0, 1.0))
        own = scores[scores["evaluator"] == evaluator]
        values = own["score"].dropna()
        outside = values[(values < low) | (values > high)]
        if len(outside):
            raise ValueError(
                f"{evaluator} has a score of {outside.iloc[0]:g} outside its range, {low:g} to "
                f"{high:g}: hand over bounds={{{str(evaluator)!r}: (least, greatest)}}."
            )
        margin = (high - low) * 0.04
        panel.set_ylim(low - margin, high + margin)
        for place, quality in enumerate(qualities):
            part = own.loc[own["quality"] == quality, "score"].dropna().to_numpy(dtype=float)
            if len(part):
                _draw(panel, place, part, bandwidth, violin_kws)
        n_undefined = len(own) - len(values)
        note = f"\n{n_undefined:,} undefined" if n_undefined else ""
        panel.set_title(f"{evaluator}{note}")
        panel.set_xlim(-0.6, len(qualities) - 0.4)
        panel.set_xticks(range(len(qualities)), [str(quality) for quality in qualities])
        panel.tick_params(axis="x", rotation=35, length=0)
        for label in panel.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
        if n == 0:
            panel.set_ylabel(ylabel)
    return panels


def _draw(
    ax: Axes, place: int, values: np.ndarray, bandwidth: float, violin_kws: dict[str, Any]
) -> None:
    """Draw one violin with its mean and range; or a line and a word."""
    bottom, top = ax.get_ylim()
    if np.ptp(values) > _CONSTANT * (top - bottom):
        look: dict[str, Any] = {"bw_method": bandwidth, "points": 200, "widths": 0.8}
        look |= {"showmeans": True, "showextrema": True, **violin_kws}
        drawn: dict[str, Any] = ax.violinplot([values], [place], **look)
        for body in drawn["bodies"]:
            body.set(facecolor=HUMAN, alpha=0.35, edgecolor="none")
        for part, width in (("cbars", 0.5), ("cmins", 0.8), ("cmaxes", 0.8), ("cmeans", 1.6)):
            if part in drawn:
                drawn[part].set(color="black", linewidth=width)
        ax.set_ylim(bottom, top)
        return
    mean = values.mean()
    ax.hlines(mean, place - 0.4, place + 0.4, color="black", linewidth=1.6)
    side = 1 if mean <= (bottom + top) / 2 else -1
    ax.annotate(
        "constant",
        (place, mean),
        xytext=(0, 3 * side),
        textcoords="offset points",
        fontsize=6.5,
        ha="center",
        va="bottom" if side > 0 else "top",
    )
