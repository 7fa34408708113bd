"""Sequential testing: e-values after each block, and a confidence sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nlgbench.analysis.betting import e_values
from nlgbench.analysis.planning import Sequential
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, legend_label
from nlgbench.plots.rows import legend_above
from nlgbench.plots.style import ACCENT, ONE_COLUMN


@in_paper_style
def plot_sequential(result: Sequential, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw e-values after each block, and the confidence sequence of one pair.

    Parameters
    ----------
    result : Sequential
        From `nlgbench.sequential`.
    ax : sequence of two Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Above: each pair's e-value, adjusted by e-Holm, and the threshold for a significant
        difference, 1 / (1 - confidence). Below: the running mean of the first significant pair (if
        none, of the pair with the lowest p), with its confidence sequence.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("votes", systems={"x": 1.5, "y": 0.0}, n_pairs=1, seed=0)
    >>> plot_sequential(nb.sequential(study, block="item")).alt.split(". ")[1]
    'x against y: better, after block 12'
    """
    stops, path = result.stops, result.path
    row = stops.sort_values(["stopped_at", "p_adjusted"], kind="stable").iloc[0]
    line = 1 / (1 - result.confidence)
    axes = axes_for(ax, ONE_COLUMN, 3.8, n=2, sharex=True, height_ratios=[3, 2])
    above, below = axes
    name = f"{row['system']} against {row['opponent']}".replace("_", " ")
    labels = {"found": "significant", "not": "undecided", "stop": "stopping time"}
    paths = path.groupby(["system", "opponent"], sort=False)
    for system, opponent, stopped_at in zip(
        stops["system"], stops["opponent"], stops["stopped_at"], strict=True
    ):
        steps = paths.get_group((system, opponent))
        e = np.concatenate([[1.0], e_values(steps["log_e_adjusted"].to_numpy())])
        n_blocks = np.arange(len(e))
        significant = np.isfinite(stopped_at)
        if (system, opponent) == (row["system"], row["opponent"]):
            style: dict[str, Any] = {"color": ACCENT, "linewidth": 1.6, "zorder": 4}
            style["label"] = legend_label(name)
        elif significant:
            style = {"color": "#777777", "linewidth": 0.5, "label": labels.pop("found", None)}
        else:
            style = {"color": "#BBBBBB", "linewidth": 0.5, "linestyle": ":", "zorder": 1}
            style["label"] = labels.pop("not", None)
        above.plot(n_blocks, e, **style)
        if significant:
            stop = {"label": labels.pop("stop", None), "color": style["color"], "zorder": 3}
            above.plot(stopped_at, line, "|", markersize=7, **stop)
    above.axhline(line, color="black", linewidth=0.7, linestyle="--", zorder=2)
    above.set_yscale("log")
    axes_width = above.get_yaxis_transform()
    above.text(1.01, line, f"{line:.3g}", transform=axes_width, va="center", fontsize=7)
    above.set_ylabel("e-value" if len(stops) == 1 else "e-value (e-Holm)")
    legend_above(above)
    rows = paths.get_group((row["system"], row["opponent"]))
    band: dict[str, Any] = {"color": ACCENT, "alpha": 0.2, "linewidth": 0, "step": "post"}
    is_consistent = rows["lower"] <= rows["upper"]
    below.fill_between(rows["block"], rows["lower"], rows["upper"], where=is_consistent, **band)
    below.plot(rows["block"], rows["estimate"], color=ACCENT, linewidth=1)
    below.axhline(0, color="black", linewidth=0.7, zorder=1)
    if np.isfinite(row["stopped_at"]):
        below.axvline(row["stopped_at"], color="black", linewidth=0.6, linestyle=":", zorder=1)
    below.set_ylabel("Mean difference,\nconfidence sequence")
    below.set_xlabel("Blocks")
    below.set_xlim(0, rows["block"].max())
    n_significant = int(stops["stopped_at"].notna().sum())
    verdict = str(row["verdict"])
    if np.isfinite(row["stopped_at"]):
        verdict += f", after block {row['stopped_at']:.0f}"
    alt = (
        f"E-values of {len(stops)} pair{'s' if len(stops) > 1 else ''} after each of "
        f"{rows['block'].max()} blocks; {n_significant} significant (e-Holm). {name}: {verdict}."
    )
    notes = f"Dashed: threshold of a significant e-value, {line:.3g}; ticks: where pairs reach it. "
    notes += f"Below: {name}, with its {result.confidence:.0%} confidence sequence (band)"
    notes += "; dotted: the verdict." if np.isfinite(row["stopped_at"]) else "."
    return as_drawing(axes, path, alt, notes)
