"""Alternative annotator test: annotators replaced (omega) and advantage probability (rho)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nlgbench.analysis.judges import Replacement
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.rows import describe_intervals, describe_nested, draw_estimates, label_rows
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN
from nlgbench.status import Unsupported


@in_paper_style
def plot_replacement(result: Replacement, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw the least cost advantage epsilon at which evaluators can replace annotators.

    Parameters
    ----------
    result : Replacement
        From `nlgbench.replaces_annotators`.
    ax : sequence of two Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        Left: the least epsilon, filled if the evaluator passes at the epsilon of `result` (dashed).
        Right: rho, the chance of agreeing at least as well as an annotator. Data: a row each.

    Raises
    ------
    ValueError
        If `ax` is not two Axes, or no evaluator could be tested.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_annotators=4, seed=1)
    >>> found = nb.replaces_annotators(study, epsilon=0.1, agreement="rmse")
    >>> plot_replacement(found).alt.split(". ")[0].split(": ")[1]
    'close 0.00, coarse 0.25, blind 0.83'
    """
    table = result.evaluators.merge(result.details, on="evaluator")
    results = table[table["omega"].notna()]
    if results.empty:
        note = f"no evaluator could be tested: {table['reason'].iloc[0]}."
        raise Unsupported(table["status"].iloc[0], note)
    grid: dict[str, Any] = {"n": 2, "columns": 2, "sharey": True}
    least, advantages = axes_for(ax, TWO_COLUMN, 0.7 + 0.19 * max(3, len(table)), **grid)
    epsilon = float(table["epsilon"].iloc[0])
    least.axvline(epsilon, color=ESTIMATE, linewidth=0.8, linestyle="--", zorder=1)
    rows = table.reset_index(drop=True)
    for passes, group in rows.groupby(rows["verdict"] == "replaces"):
        style: dict[str, Any] = {"filled": passes, "clip_on": False}
        draw_estimates(advantages, group.index, group, **style)
        epsilons = group.assign(estimate=group["least_epsilon"], ci_low=np.nan, ci_high=np.nan)
        draw_estimates(least, group.index, epsilons, **style)
    for lane in map(int, np.flatnonzero(rows["estimate"].isna())):
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        note = f"untested: {rows['status'][lane].replace('_', ' ')}"
        advantages.text(0.51, lane, note, fontsize=7, va="center", bbox=box)
    for panel in (least, advantages):
        label_rows(panel, table["label"].tolist(), ruled=True)
    least.set_xlim(0, 1.1 * np.nanmax([epsilon, *table["least_epsilon"]]))
    least.set_xlabel("Least epsilon (cost advantage)\nto replace half of the annotators")
    advantages.set_xlim(float(np.nanmin([0.5, *(rows[["estimate", "ci_low"]] - 0.02).min()])), 1)
    advantages.set_xlabel("Probability of agreeing at least as well\nas an annotator does (rho)")
    texts = ", ".join(results["label"] + " " + results["least_epsilon"].map("{:.2f}".format))
    alt = f"Least epsilon at which evaluators replace half of the annotators: {texts}. Right: rho, "
    alt += "the probability of agreeing with the other annotators at least as well as an annotator "
    alt += f"does{describe_intervals(results)}."
    passed = results["verdict"].eq("replaces").sum()
    notes = f"Filled: replaces at least half of the annotators at epsilon {epsilon:g} (dashed), in "
    notes += f"tests adjusted over evaluators: {passed} of {len(results)}."
    notes += f" Not tested: {len(table) - len(results)}." if len(results) < len(table) else ""
    notes += f" {describe_nested(results)}"
    return as_drawing((least, advantages), table, alt, notes)
