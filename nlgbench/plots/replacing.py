"""Evaluators in annotators' place: from which advantage on, and how often they agree as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from nlgbench.analysis.judges import Replacement
from nlgbench.evaluators.names import kind
from nlgbench.plots.figures import (
    Drawing,
    axes_for,
    draw_intervals,
    drawn_on,
    in_paper_style,
    name_lanes,
)
from nlgbench.plots.style import GROUPS, TWO_COLUMN

_LINES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))
#: More evaluators cannot be told apart; of more the highest are drawn, and always sentinels.
_MOST = 20


@in_paper_style
def plot_replacement(result: Replacement, *, ax: Sequence[Axes] | None = None) -> Drawing:
    """Draw for how many annotators evaluators pass, over epsilon, and how often they do as well.

    Parameters
    ----------
    result : Replacement
        From `nlgbench.replaces_annotators`.
    ax : sequence of two Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Drawing
        At the left omega over epsilon: an evaluator replaces annotators from the mark on, where its
        line reaches one half; the epsilon that was declared is the upright line. At the right the
        chance that it agrees at least as well as an annotator, with its interval; the greatest at
        the top. Evaluators that cannot be tested are said in words. Of more than 20 evaluators the
        20 with the highest rho are drawn, and always sentinels (length among them), as a line below
        says. Its data are the curves of those drawn.

    Raises
    ------
    ValueError
        When there are no two Axes, or no evaluator could be tested.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_annotators=4, seed=1)
    >>> plot_replacement(nb.replaces_annotators(study, epsilon=0.1, agreement="rmse")).alt
    'At epsilon 0.1 omega is close 1.00, coarse 0.00, blind 0.00; one half counts as replacing.'
    """
    whole = result.evaluators.merge(result.details, on="evaluator")
    looks = [(marker, color, line) for line in _LINES for marker, color in GROUPS]
    table = _highest(whole)
    tested = table[table["omega"].notna()]
    if tested.empty:
        raise ValueError(f"no evaluator could be tested: {table['reason'].iloc[0]}.")
    height = max(2.2, 0.9 + 0.19 * len(table))
    panels = axes_for(ax, TWO_COLUMN, height, columns=2, width_ratios=[1.25, 1])
    if len(panels) != 2:
        raise ValueError(f"ax must be two Axes, one for omega and one for rho. Got {len(panels)}.")
    left, right = panels
    epsilon = float(table["epsilon"].iloc[0])
    lanes = [*range(len(table))]
    left.axhline(0.5, color="#777777", linewidth=0.6, zorder=1)
    left.axvline(epsilon, color="#777777", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    curves = dict(list(result.curve.groupby("evaluator", sort=False)))
    rows = table[["evaluator", "rho", "ci_low", "ci_high", "least_epsilon", "reason"]]
    for lane, (name, rho, low, high, least, reason) in zip(
        lanes, rows.itertuples(index=False), strict=True
    ):
        marker, color, line = looks[lane % len(looks)]
        if rho != rho:
            place: dict[str, Any] = {"transform": right.get_yaxis_transform(), "va": "center"}
            place |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1.5}}
            right.text(0.02, lane, reason.split(": ")[-1], fontsize=6.5, **place)
            continue
        own = curves[name]
        look: dict[str, Any] = {"color": color, "zorder": 3}
        left.step(own["epsilon"], own["omega"], where="post", linestyle=line, **look)
        look |= {"marker": marker, "markersize": 4}
        if least <= 0.5:
            left.plot([least], [0.5], linestyle="", clip_on=False, **look)
        draw_intervals(right, [lane], [low], [high], upright=False, color=color, linewidth=1.2)
        right.plot([rho], [lane], linestyle="", **look)
    left.set(xlim=(0, 0.5), ylim=(-0.03, 1.03))
    left.set_xlabel(f"\u03b5 (declared: {epsilon:g})")
    left.set_ylabel("Annotators replaced (\u03c9)")
    name_lanes(right, table["label"].tolist(), ruled=True)
    right.set_xlim(0, 1)
    right.set_xlabel("As good as an annotator (\u03c1)")
    said = ", ".join(f"{a} {b:.2f}" for a, b in tested[["label", "omega"]].itertuples(index=False))
    alt = f"At epsilon {epsilon:g} omega is {said}; one half counts as replacing."
    if len(table) < len(whole):
        words = (
            f"The {len(table)} of {len(whole)} evaluators with the highest \u03c1, and sentinels"
        )
        left.set_title(words, fontsize=7, loc="left")
        alt += f" Drawn are {words[0].lower()}{words[1:].replace(chr(0x3C1), 'rho')}."
    curve = result.curve[result.curve["evaluator"].isin(table["evaluator"])]
    return drawn_on(panels, curve.reset_index(drop=True), alt)


def _highest(table: pd.DataFrame) -> pd.DataFrame:
    """Take the evaluators with the highest rho, and sentinels; the table is in order of rho."""
    if len(table) <= _MOST:
        return table
    known = table["evaluator"].map(kind) == "Sentinels"
    highest = table[~known].head(_MOST - int(known.sum()))
    return table[known | table.index.isin(highest.index)]
