"""Distribution of each evaluator's scores by system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from nlgbench.evaluators import names
from nlgbench.names import known
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style, two_decimals
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN
from nlgbench.status import Unsupported
from nlgbench.study import Study

# A smaller spread, as a share of the axis, is rounding error, so no density is estimated.
_CONSTANT = 1e-9
#: The largest number of panels in one row.
_ONE_ROW = 6
_SCALE = re.compile(r"scale:(-?[\d.]+)-([\d.]+)")


@in_paper_style
def plot_violins(
    study: Study,
    *,
    evaluators: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Drawing:
    """Draw violins of each evaluator's scores, one per system.

    Parameters
    ----------
    study : Study
        A study with scores (see `nlgbench.score`).
    evaluators : sequence of str, optional
        Evaluators to draw, in this order. Default: all, in order of appearance.
    systems : sequence of str, optional
        Systems to draw, in this order. Default: all, in order of appearance.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per evaluator; a new figure by default.

    Returns
    -------
    Drawing
        Bars show mean and range. Axes span the ``scale`` in an evaluator's signature (default: 0 to
        1); a scale beyond 1 is cut at the highest score. Data: evaluator, system, output_id, score.

    Raises
    ------
    ValueError
        If there are no scores, a name is unknown, or a score is outside its scale.

    Notes
    -----
    The bandwidth of the Gaussian kernel is .2 standard deviations, as in Figure 2 of Newman,
    Cohn-Gordon and Potts (2020, arXiv:1909.07290). Violins end at the extreme scores.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": list("abc"), "item_id": "i", "system": list("sst")})
    >>> scores = outputs[["output_id"]].assign(evaluator="chrf", score=[0.1, 0.3, 0.5])
    >>> plot_violins(Study(outputs, scores=scores)).alt.split(". ")[1]
    'Means: chrF, s 0.20; chrF, t 0.50'
    """
    if study.scores is None or study.scores["score"].notna().sum() == 0:
        message = f"{study.name} has no scores to draw: compute them with nlgbench.score."
        raise Unsupported("no_scores", message)
    scored = study.scores.merge(
        study.outputs[["output_id", "system"]], on="output_id", validate="many_to_one"
    )
    evaluators = _select_names(scored["evaluator"], evaluators, "evaluators")
    systems = _select_names(study.outputs["system"], systems, "systems")
    labels = {name: study.labels.get(name, names.label(name)) for name in evaluators}
    data = scored[scored["evaluator"].isin(evaluators) & scored["system"].isin(systems)]
    ranks = [data["system"].map(systems.index), data["evaluator"].map(evaluators.index)]
    data = data.iloc[np.lexsort(ranks)]
    n_rows = 1 if len(evaluators) <= _ONE_ROW else 2
    n_columns = -(-len(evaluators) // n_rows)
    panels = axes_for(
        ax, TWO_COLUMN, 2.2 * n_rows, n=len(evaluators), columns=n_columns, sharex=True
    )
    for panel, evaluator in zip(panels, evaluators, strict=True):
        rows = data[data["evaluator"] == evaluator]
        _draw_evaluator(panel, rows, systems, labels[evaluator])
    for panel in panels[::n_columns]:
        panel.set_ylabel("Score")
    data = data.assign(evaluator=data["evaluator"].map(labels).str.partition("\n")[0])
    means = data.groupby(["evaluator", "system"], sort=False)["score"].mean().map(two_decimals)
    texts = "; ".join(
        f"{row.evaluator}, {row.system} {row.score}" for row in means.reset_index().itertuples()
    )
    n_undefined = data.groupby("evaluator", sort=False)["score"].agg(lambda x: x.isna().sum())
    counts = [f"{name} {n:,}" for name, n in n_undefined.items() if n]
    return as_drawing(
        panels,
        data[["evaluator", "system", "output_id", "score"]].reset_index(drop=True),
        f"Violins of each evaluator's scores, with means. Means: {texts}.",
        "Bars: means."
        + " r: Pearson's correlation with quality." * any(" = " in text for text in labels.values())
        + f" Undefined scores: {', '.join(counts)}." * bool(counts),
    )


def _select_names(column: pd.Series, names: Sequence[str] | None, argument: str) -> list[str]:
    """Return the given names, all of which the column must contain, or by default all of its."""
    available = column.unique().tolist()
    return available if names is None else [known(name, available, argument) for name in names]


def _draw_evaluator(panel: Axes, scores: pd.DataFrame, systems: list[str], title: str) -> None:
    scale = _SCALE.search(str(scores["signature"].iloc[0]))
    low, high = (float(scale[1]), float(scale[2])) if scale else (0.0, 1.0)
    values = scores["score"].dropna()
    outside = values[(values < low) | (values > high)]
    if len(outside):
        name = scores["evaluator"].iloc[0]
        raise ValueError(
            f"{name} has a score of {outside.iloc[0]:g} outside its range, {low:g} to {high:g}: "
            f"add its scale to the signature, such as 'scale:0-100'."
        )
    style: dict[str, Any] = {"x": "system", "y": "score", "order": systems, "ax": panel}
    density = {"bw_method": 0.2, "cut": 0, "gridsize": 200, "density_norm": "width", "inner": None}
    body = {"color": ESTIMATE, "saturation": 1, "alpha": 0.35, "linewidth": 0}
    sns.violinplot(scores, **style, **density, **body)
    bars = {"color": "black", "marker": "_", "markersize": 8, "linestyle": "none"}
    sns.pointplot(scores, **style, **bars, errorbar=None)
    margin = (high - low) * 0.04
    panel.set_ylim(low - margin, high + margin)
    if high > 1 and len(values):
        panel.set_ylim(top=1.05 * values.max())
    panel.set_title(title)
    panel.set(xlabel="", ylabel="")
    panel.tick_params(axis="x", rotation=35, length=0)
    for label in panel.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    for system, rows in values.groupby(scores["system"]):
        if np.ptp(rows) <= _CONSTANT * (high - low):
            text: dict[str, Any] = {"s": "constant", "ha": "center", "fontsize": 7}
            text["va"] = "bottom" if rows.mean() <= (low + high) / 2 else "top"
            panel.text(systems.index(str(system)), rows.mean(), **text)
