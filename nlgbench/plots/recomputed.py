"""How many published numbers can be recomputed, with one bar per paper."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.patches import Patch

from nlgbench.analysis.reproduction import OUTCOMES, number_outcomes
from nlgbench.papers.claim_rows import CITED
from nlgbench.plots.figures import Drawing, as_drawing, canvas, in_paper_style
from nlgbench.plots.rows import label_rows, write_beside
from nlgbench.plots.style import HUMAN, SYSTEM, TWO_COLUMN
from nlgbench.status import Unsupported

#: For each outcome, its color and the heading of its counts.
_LOOKS = [(HUMAN, "equal"), ("#56B4E9", "derived"), (SYSTEM, "differ"), ("#E3E3E3", "n/a")]


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
        A bar per paper; below, the most frequent reasons why numbers cannot be recomputed. Its data
        have a row per published number: claim_id, paper, outcome, reason.

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
    lines = [line for t in texts for line in textwrap.wrap(t, 128, subsequent_indent="    ")]
    figure, (panel,) = canvas(TWO_COLUMN, 1.0 + 0.22 * len(counts) + 0.13 * len(lines))
    starts = pd.Series(0.0, counts.index)
    for number, (outcome, (color, title)) in enumerate(zip(OUTCOMES, _LOOKS, strict=True)):
        share = 100 * counts[outcome] / sizes
        panel.barh(range(len(sizes)), share, left=starts, color=color, height=0.72)
        starts += share
        numbers = enumerate(counts[outcome].map("{:,}".format))
        write_beside(panel, title, numbers, x=1.06 + 0.1 * number)
    label_rows(panel, [f"{CITED.get(paper, paper)} ({sizes[paper]:,})" for paper in counts.index])
    panel.set(xlim=(0, 100), xlabel="Published numbers (%)")
    styles = zip(OUTCOMES, _LOOKS, strict=True)
    handles = [Patch(color=color, label=outcome) for outcome, (color, _) in styles]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    if lines:
        text = "\n".join(["Most frequent reasons why numbers are not recomputable:", *lines])
        text_style = {"x": 0.01, "ha": "left", "linespacing": 1.25}
        figure.supxlabel(text, fontsize=6.5, parse_math=False, **text_style)
    figure.draw_without_rendering()  # makes room for the counts
    totals = [f"{outcome} {count:,}" for outcome, count in counts.sum().items()]
    alt = f"Published numbers ({len(data):,}) by outcome: {', '.join(totals)}."
    if texts:
        alt += f" Most frequent reasons: {' '.join(texts)}"
    if left_out := data.attrs["left_out"]:
        alt += f" Numbers omitted because this run did not use their data: {left_out:,}."
    return as_drawing(panel, data, alt)
