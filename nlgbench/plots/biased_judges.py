"""Planted biases of judges: whether the alternative annotator test and the audit detect them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench.plots.figures import Drawing, as_drawing, canvas, in_paper_style
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    mark,
)
from nlgbench.plots.style import ACCENT, ESTIMATE, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Bias -> its name in titles, and the label of its axis.
_BIASES = {
    "length": ("Length bias", "Planted bias (nats for a text twice as long)"),
    "own": ("Own-system bias", "Planted bias (nats for its own system)"),
}
_METHODS = {
    "test": ("alternative annotator test", "Share of annotators\nreplaced"),
    "audit": ("audit", "Estimated bias\n(share of verdicts)"),
}
_CONFIDENCE = 0.95
_LOOKS = {
    True: (ACCENT, "s", True, "detected in at least half of the studies"),
    False: (ESTIMATE, "o", False, "detected in fewer studies"),
}


@in_paper_style
def plot_biased_judges(swept: pd.DataFrame) -> Drawing:
    """Draw which planted biases the alternative annotator test and the audit detect.

    Parameters
    ----------
    swept : DataFrame
        From `nlgbench.analysis.judges.sweep_biases`, which simulates judges.

    Returns
    -------
    Drawing
        The upper panels show the share of annotators that a judge can replace; the lower panels
        show the bias that the audit estimates in the same studies. Marks are means over studies
        with 95% intervals, filled if at least half the studies detect the bias. Data: the means.
    """
    needed = "study bias planted:float method estimate:float noticed:bool"
    swept = read_table(swept, needed, "a sweep of biases has")
    data = _average_studies(swept)
    figure, panels = canvas(TWO_COLUMN, 3.2, rows=2, columns=2, sharex=True, sharey="row")
    levels = sorted(set(data["planted"]))
    for panel, (method, bias) in zip(panels, product(_METHODS, _BIASES), strict=True):
        rows = data[data["method"].eq(method) & data["bias"].eq(bias)]
        draw_reference(panel, 0.5 if method == "test" else 0, upright=True)
        for noticed, points in rows.groupby(rows["noticed"] >= 0.5):
            color, marker, filled, _ = _LOOKS[bool(noticed)]
            positions = points["planted"].map(levels.index)
            style: dict[str, Any] = {"color": color, "marker": marker}
            draw_estimates(panel, positions, points, upright=True, filled=filled, **style)
        panel.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
        panel.set_title(f"{_BIASES[bias][0]}: {_METHODS[method][0]}")
    for number, (_, ylabel) in enumerate(_METHODS.values()):
        panels[2 * number].set_ylabel(ylabel)
        panels[2 + number].set_xlabel([*_BIASES.values()][number][1])
    panels[0].set_ylim(-0.05, 1.08)
    n = swept["study"].nunique()
    notes = f"Simulated judges, annotators and votes: means over {n} studies"
    notes += f"{describe_intervals(data)}. {describe_nested(data)} Horizontal lines: half "
    notes += "of the annotators, and no bias."
    handles = [
        mark(text, marker, color, face=color if filled else "white")
        for color, marker, filled, text in _LOOKS.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    texts = ". ".join(_describe_detection(data[data["bias"] == bias], bias) for bias in _BIASES)
    alt = "Results of the alternative annotator test and the audit, by planted bias. A "
    alt += f"bias counts as detected if it is detected in at least half of the studies. {texts}."
    return as_drawing(panels, data, alt, notes)


def _average_studies(swept: pd.DataFrame) -> pd.DataFrame:
    """Average over studies, with intervals; shares of annotators are clipped to 0 to 1."""
    groups = swept.groupby(["method", "bias", "planted"])
    table = groups[["estimate", "noticed"]].mean().assign(n_studies=groups.size()).reset_index()
    n, sd = table["n_studies"], groups["estimate"].std().to_numpy()
    half = student.ppf(0.5 + _CONFIDENCE / 2, n - 1) * sd / np.sqrt(n)
    low, high = table["estimate"] - half, table["estimate"] + half
    low = low.mask(table["method"].eq("test") & (low < 0), 0)
    return table.assign(ci_low=low, ci_high=high.clip(upper=1), confidence=_CONFIDENCE)


def _describe_detection(data: pd.DataFrame, bias: str) -> str:
    """Report, for each method, from which planted bias upward it always detects the bias."""
    texts = []
    for method in _METHODS:
        rows = data[data["method"].eq(method) & data["planted"].gt(0)]
        missed = rows.loc[rows["noticed"] < 0.5, "planted"].max()
        noticed = rows.loc[~(rows["planted"] <= missed), "planted"]
        result = f"detects it from {noticed.min():g} nats upward"
        if noticed.empty:
            result = f"does not detect it at {missed:g} nats"
        texts.append(f"the {method} {result}")
    return f"{_BIASES[bias][0]}: {', and '.join(texts)}"
