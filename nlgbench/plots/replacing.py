"""Alternative annotator test: annotators replaced (omega) and advantage probability (rho)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.analysis.judges import Replacement
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import draw_estimates, draw_reference, label_rows
from nlgbench.plots.style import TWO_COLUMN, line_look
from nlgbench.status import Unsupported


@in_paper_style
def plot_replacement(result: Replacement, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw the share of annotators that evaluators can replace, by cost advantage epsilon.

    Parameters
    ----------
    result : Replacement
        From `nlgbench.replaces_annotators`.
    ax : sequence of two Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Left: omega, the share replaced; marks are the smallest epsilons at which evaluators pass.
        Right: rho, the chance of agreeing at least as well as an annotator. Data: the curves.

    Raises
    ------
    ValueError
        If `ax` is not two Axes, or no evaluator could be tested.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_annotators=4, seed=1)
    >>> found = nb.replaces_annotators(study, epsilon=0.1, agreement="rmse")
    >>> plot_replacement(found).alt.split(". ")[0]
    'Share of annotators replaced at epsilon 0.1: close 1.00, coarse 0.00, blind 0.00'
    """
    table = result.evaluators.merge(result.details, on="evaluator")
    results = table[table["omega"].notna()]
    if results.empty:
        note = f"no evaluator could be tested: {table['reason'].iloc[0]}."
        raise Unsupported(table["status"].iloc[0], note)
    height = max(2.2, 0.9 + 0.19 * len(table))
    shares, advantages = axes_for(ax, TWO_COLUMN, height, n=2, columns=2, width_ratios=[1.25, 1])
    epsilon = float(table["epsilon"].iloc[0])
    draw_reference(shares, 0.5, upright=True)
    shares.axvline(epsilon, color="#555555", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    curves = dict(list(result.curve.groupby("evaluator", sort=False)))
    for lane, (_, row) in enumerate(table.iterrows()):
        style = line_look(lane)
        if pd.isna(row["estimate"]):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            note = f"untested: {row['status'].replace('_', ' ')}"
            advantages.text(0.02, lane, note, fontsize=6.5, va="center", bbox=box)
            continue
        curve = curves[row["evaluator"]]
        dashes = {"linestyle": style.pop("linestyle"), "color": style["color"]}
        shares.step(curve["epsilon"], curve["omega"], where="post", **dashes)
        shares.plot(row["least_epsilon"], 0.5, markersize=4, clip_on=False, zorder=3, **style)
        draw_estimates(advantages, [lane], row.to_frame().T, linewidth=1.2, **style)
    reach = np.nanmax([0.5, epsilon, *table["least_epsilon"]])
    shares.set(xlim=(0, reach), ylim=(-0.03, 1.03))
    shares.set_xlabel(f"\u03b5 (dashed: {epsilon:g})")
    shares.set_ylabel("Annotators replaced (\u03c9)")
    label_rows(advantages, table["label"].tolist(), ruled=True)
    advantages.set_xlim(0, 1)
    advantages.set_xlabel("Advantage probability (\u03c1)")
    texts = ", ".join(results["label"] + " " + results["omega"].map("{:.2f}".format))
    alt = f"Share of annotators replaced at epsilon {epsilon:g}: {texts}. Passing requires 0.5"
    passed = results["verdict"].eq("replaces").sum()
    alt += f" in tests adjusted over evaluators: {passed} of {len(results)} pass."
    alt += f" Not tested: {len(table) - len(results)}." if len(results) < len(table) else ""
    return as_drawing((shares, advantages), result.curve, alt)
