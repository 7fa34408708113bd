"""Planted biases of judges: whether the alternative annotator test and the audit notice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.crossed import t_interval
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style
from nlgbench.plots.rows import draw_estimates, draw_reference, mark
from nlgbench.plots.style import HUMAN, SYSTEM, TWO_COLUMN
from nlgbench.study.checks import read_table

#: Bias -> how panels name it, and what its axis shows.
_BIASES = {
    "length": ("Length bias", "Planted bias (nats for a text twice as long)"),
    "own": ("Own-system bias", "Planted bias (nats for its own system)"),
}
_METHODS = {
    "test": ("alternative annotator test", "Annotators\nreplaced (ω)"),
    "audit": ("audit", "Estimated bias\n(share of verdicts)"),
}
_LOOKS = {True: (SYSTEM, "s", True), False: (HUMAN, "o", False)}


@in_paper_style
def plot_biased_judges(swept: pd.DataFrame, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw what the alternative annotator test and the audit notice of planted biases.

    Parameters
    ----------
    swept : DataFrame
        From `nlgbench.analysis.judges.sweep_biases`, which simulates judges.
    ax : sequence of four Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        Above, the share of annotators that a judge replaces; below, the bias that the audit
        estimates from the same verdicts; by planted bias, as means over studies with 95% intervals.
        Filled marks: noticed in at least half of the studies. Its data are the means.

    Examples
    --------
    >>> from nlgbench.analysis.judges import sweep_biases
    >>> plot_biased_judges(sweep_biases(n_studies=2, n_items=100, seed=1)).alt[:16]
    'Simulated judges'
    """
    needed = "study bias planted:float omega:float test estimate:float verdict"
    swept = read_table(swept, needed, "a sweep of biases has")
    data = pd.concat([_means(swept, method) for method in _METHODS], ignore_index=True)
    panels = axes_for(ax, TWO_COLUMN, 3.2, n=4, columns=2, sharex=True, sharey="row")
    levels = sorted(set(data["planted"]))
    for number, panel in enumerate(panels):
        method, bias = list(_METHODS)[number // 2], list(_BIASES)[number % 2]
        rows = data[data["method"].eq(method) & data["bias"].eq(bias)]
        draw_reference(panel, 0.5 if method == "test" else 0, upright=True)
        for noticed, part in rows.groupby(rows["noticed"] >= 0.5):
            color, marker, filled = _LOOKS[bool(noticed)]
            at = part["planted"].map(levels.index)
            look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 3.6}
            draw_estimates(panel, at, part, upright=True, filled=filled, **look)
        panel.set_xticks(range(len(levels)), [f"{one:g}" for one in levels])
        if number % 2 == 0:
            panel.set_ylabel(_METHODS[method][1])
        panel.set_title(f"{_BIASES[bias][0]}: {_METHODS[method][0]}", fontsize=7.5)
        if method == "test":
            panel.set_ylim(-0.05, 1.08)
        else:
            panel.set_xlabel(_BIASES[bias][1])
    n = swept["study"].nunique()
    words = f"Simulated judges, annotators and votes: means over {n} studies, 95% intervals"
    if ax is None:
        words_of = {True: "noticed in at least half of the studies", False: "noticed in fewer"}
        handles = [
            mark(words_of[one], marker, color, face=color if filled else "white")
            for one, (color, marker, filled) in _LOOKS.items()
        ]
        look = {
            "handles": handles,
            "loc": "outside lower center",
            "ncols": 2,
            "title": words,
            "title_fontsize": 7,
        }
        panels[0].figure.legend(**look)
    said = ". ".join(_said(data[data["bias"] == bias], bias) for bias in _BIASES)
    alt = (
        f"{words}. The alternative annotator test and the audit of the same verdicts, against the "
    )
    alt += f"planted bias; noticed means in at least half of the studies. {said}."
    return drawn_on(panels, data, alt)


def _means(swept: pd.DataFrame, method: str) -> pd.DataFrame:
    """Average a method's value over studies, and count how often it notices the bias."""
    value = "omega" if method == "test" else "estimate"
    if method == "test":
        noticed = swept["test"] != "replaces"
    else:
        noticed = swept["verdict"].isin(["found", "significant"])
    rows = []
    for (bias, planted), part in swept.assign(noticed=noticed).groupby(["bias", "planted"]):
        n = len(part)
        error = float(part[value].std() / np.sqrt(n)) if n > 1 else np.nan
        mean = t_interval(float(part[value].mean()), error, n, units="studies")
        about = {"method": method, "bias": bias, "planted": planted, "n_studies": n}
        rows.append(about | mean | {"noticed": part["noticed"].mean()})
    ends = ["ci_low", "ci_high"]
    table = pd.DataFrame(rows)
    return table.assign(**table[ends].clip(0 if method == "test" else -1, 1))


def _said(data: pd.DataFrame, bias: str) -> str:
    """Say from which planted bias on each method notices it."""
    said = []
    for method, name in (("test", "the test"), ("audit", "the audit")):
        rows = data[data["method"].eq(method) & data["planted"].gt(0)].sort_values("planted")
        # From here on at every greater bias, too.
        misses = rows.loc[rows["noticed"] < 0.5, "planted"]
        from_here = rows.loc[rows["planted"] > misses.max()] if len(misses) else rows
        if from_here.empty:
            said.append(f"{name} does not notice it, up to {rows['planted'].max():g} nats")
        else:
            said.append(f"{name} notices it from {from_here['planted'].iloc[0]:g} nats on")
    return f"{_BIASES[bias][0]}: {', and '.join(said)}"
