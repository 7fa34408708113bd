"""How many published numbers can be recomputed, with one bar per paper."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.patches import Patch

from nlgbench.analysis.reproduction import OUTCOMES, number_outcomes
from nlgbench.papers.claim_rows import CITED
from nlgbench.plots.figures import Drawing, as_drawing, canvas, in_paper_style
from nlgbench.plots.rows import label_rows, write_beside
from nlgbench.plots.style import ACCENT, ESTIMATE, TWO_COLUMN
from nlgbench.status import Unsupported

#: The color of each outcome.
_COLORS = (ESTIMATE, "#8C8C8C", ACCENT, "#E3E3E3")


@in_paper_style
def plot_recomputed(ledger: pd.DataFrame) -> Drawing:
    """Draw how many published numbers can be recomputed.

    Parameters
    ----------
    ledger : DataFrame
        A ledger written by `nlgbench run` (``ledger.csv``).

    Returns
    -------
    Drawing
        A bar per paper; the notes have the most frequent reasons why numbers cannot be recomputed.
        Its data have a row per published number: claim_id, paper, outcome, reason.

    Notes
    -----
    A number with several rows counts once, by its best row: recomputed from data and equal, derived
    from other published numbers and equal, or differing. Findings without a number are omitted.
    """
    data = number_outcomes(ledger)
    if data.empty:
        message = "the ledger has no published number that this run recomputes."
        raise Unsupported("no_numbers", message)
    counts = data.groupby("paper", sort=False)["outcome"].value_counts().unstack(fill_value=0)
    counts = counts.reindex(columns=list(OUTCOMES), fill_value=0)
    sizes = counts.sum(axis=1)
    missing = data[data["outcome"] == "not recomputable"].replace({"paper": CITED})
    reasons = missing.value_counts(["paper", "reason"]).head(3).reset_index()
    texts = [f"{row['count']:,} ({row['paper']}): {row['reason']}" for _, row in reasons.iterrows()]
    figure, (panel,) = canvas(TWO_COLUMN, 0.9 + 0.22 * len(counts))
    starts = pd.Series(0.0, counts.index)
    for number, (outcome, color) in enumerate(zip(OUTCOMES, _COLORS, strict=True)):
        share = 100 * counts[outcome] / sizes
        panel.barh(range(len(sizes)), share, left=starts, color=color, height=0.72)
        starts += share
        numbers = enumerate(counts[outcome].map("{:,}".format))
        x = 1.05 + 0.08 * number
        write_beside(panel, "", numbers, x=x)
        heading: dict[str, Any] = {"transform": panel.get_yaxis_transform(), "clip_on": False}
        panel.plot(x, -0.9, "s", color=color, **heading)
    label_rows(panel, [f"{CITED.get(paper, paper)} ({sizes[paper]:,})" for paper in counts.index])
    panel.set(xlim=(0, 100), xlabel="Published numbers (%)")
    styles = zip(OUTCOMES, _COLORS, strict=True)
    handles = [Patch(color=color, label=outcome) for outcome, color in styles]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    figure.draw_without_rendering()  # makes room for the counts
    totals = [f"{outcome} {count:,}" for outcome, count in counts.sum().items()]
    alt = f"Published numbers ({len(data):,}) by outcome: {', '.join(totals)}."
    notes = f"Not recomputable, most frequent reasons: {' '.join(texts)}" if texts else ""
    if left_out := data.attrs["left_out"]:
        notes += f" Numbers omitted because this run did not use their data: {left_out:,}."
    return as_drawing(panel, data, alt, notes.strip())
