"""Systems by human judgments, and severity of annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nlgbench.analysis.people import SystemComparison
from nlgbench.clustering import write_scope
from nlgbench.evaluators.names import label
from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    in_paper_style,
    require_unique,
    two_decimals,
)
from nlgbench.plots.rows import (
    describe_intervals,
    describe_nested,
    draw_estimates,
    draw_reference,
    has_interval,
    interval_name,
    is_doubtful,
    label_rows,
    legend_above,
    name_source,
    row_names,
    write_beside,
)
from nlgbench.plots.style import ESTIMATE, ONE_COLUMN, TWO_COLUMN
from nlgbench.status import Unsupported
from nlgbench.study.checks import read_table
from nlgbench.text import counted

#: The largest number of names that fits below an axis.
_MOST_NAMES = 40


@in_paper_style
def plot_systems(compared: pd.DataFrame | SystemComparison, *, ax: Axes | None = None) -> Drawing:
    """Draw systems' adjusted mean judgments with intervals and ranges of ranks.

    Parameters
    ----------
    compared : SystemComparison or DataFrame
        From `nlgbench.compare_systems`, or its ``systems``: ``system``, ``estimate``, ``ci_low``,
        ``ci_high``; optional ``label``, ``rank_low``, ``rank_high``, ``status``, ``reason``, and,
        for axis and legend, ``dimension``, ``scale``, ``better``, ``covers``, ``confidence``. If
        there is an ``evaluator``, the title names it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        The best system is at the top; the right column is each system's range of ranks. Systems
        with a status other than ``ok`` have an open mark.

    Raises
    ------
    ValueError
        If a column is missing, or a system has two rows, for example for two dimensions.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["a", "b"], "estimate": [3.5, 4.0]})
    >>> plot_systems(table.assign(ci_low=[3.0, 3.8], ci_high=[4.0, 4.2])).alt.split(". ")[1]
    'Best first: b 4.00, a 3.50'
    """
    table = with_details(compared) if isinstance(compared, SystemComparison) else compared
    needed = "system estimate:float ci_low:float ci_high:float label? rank_low:float? "
    needed += "rank_high:float? reason:text? dimension? scale:text? better? covers? evaluator? "
    table = read_table(table, needed + "confidence:float? status:text?", "table has")
    require_unique(table, ["system"], "select one dimension")
    lower = "better" in table and bool((table["better"] == "lower").all())
    rows = table.sort_values("estimate", ascending=lower, kind="stable").reset_index(drop=True)
    (ax,) = axes_for(ax, TWO_COLUMN, 0.75 + 0.17 * max(3, len(rows)))
    with_interval = rows[has_interval(rows)]
    notes = []
    if "covers" in rows and len(with_interval):
        scope = write_scope(with_interval["covers"][:1])
        notes.append(f"{interval_name(rows).capitalize()}s generalize to {scope}.")
    notes.append(describe_nested(rows))
    draw_estimates(ax, rows.index, rows)
    doubtful = rows[is_doubtful(rows)]
    if len(doubtful):
        draw_estimates(ax, doubtful.index, doubtful, linewidth=0, filled=False, zorder=4)
        reasons = doubtful["reason" if "reason" in rows else "status"]
        counts = reasons.value_counts(sort=False).items()
        listed = "; ".join(f"{reason} ({n} of {len(rows)})" for reason, n in counts)
        notes.append(f"Open marks: {listed}.")
    names = row_names(rows)
    label_rows(ax, names, ruled=True)
    xlabel = describe_measure(rows)
    ax.set_xlabel(xlabel)
    if {"rank_low", "rank_high"} <= set(rows) and rows["rank_low"].notna().any():
        ranks = rows.dropna(subset=["rank_low", "rank_high"]).astype({"rank_low": int})
        ranges = zip(ranks.index, ranks["rank_low"], ranks["rank_high"].astype(int), strict=True)
        written = [(lane, f"{a}" if a == b else f"{a}\u2013{b}") for lane, a, b in ranges]
        write_beside(ax, "ranks", written, x=1.07)
        notes.append("Ranks: simultaneous ranges.")
    values = map(two_decimals, rows["estimate"])
    means = ", ".join(map(" ".join, zip(names, values, strict=True)))
    alt = f"{xlabel} of {counted(len(rows), 'system')}{describe_intervals(rows)}. "
    alt += f"Best first: {means}."
    if source := name_source(rows):
        ax.set_title(source, loc="left")
        alt = f"{source}: {alt}"
    return as_drawing(ax, table, alt, " ".join(filter(None, notes)))


def with_details(compared: SystemComparison) -> pd.DataFrame:
    """Merge systems' details into their estimates."""
    systems = compared.systems
    if "evaluator" in systems:
        systems = systems.assign(dimension=systems["evaluator"])
    keys = [name for name in ("dimension", "system") if name in systems]
    return systems.merge(compared.details, on=keys, validate="one_to_one")


def describe_measure(rows: pd.DataFrame) -> str:
    """Describe dimension, scale and direction."""
    if "dimension" not in rows:
        return "Mean judgment"
    scale = str(rows["scale"].iloc[0]) if "scale" in rows else ""
    better = f"{rows['better'].iloc[0]} is better" if "better" in rows else ""
    more = ", ".join(filter(None, [scale, better]))
    measure = rows["dimension"].iloc[0]
    measure = label(measure) if "evaluator" in rows else measure
    return f"Mean {measure}" + (f" ({more})" if more else "")


@in_paper_style
def plot_severity(compared: pd.DataFrame | SystemComparison, *, ax: Axes | None = None) -> Drawing:
    """Draw each annotator's severity, relative to the mean annotator.

    Parameters
    ----------
    compared : SystemComparison or DataFrame
        From `nlgbench.compare_systems`, or its ``annotators``: ``annotator_id``, ``estimate``,
        ``ci_low``, ``ci_high``; optional ``n_judgments``, ``confidence``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        The most severe annotator comes first. Crosses have no interval. Arrows mark intervals that
        extend beyond the axis.

    Raises
    ------
    ValueError
        If a column is missing, an annotator has two rows, or fewer than two have a severity.

    Examples
    --------
    >>> table = pd.DataFrame({"annotator_id": ["w1", "w2"], "estimate": [0.5, -0.5]})
    >>> plot_severity(table.assign(ci_low=[0.2, -0.8], ci_high=[0.8, -0.2])).alt.split(". ")[1]
    'Intervals that exclude 0: 2'
    """
    table = compared.annotators if isinstance(compared, SystemComparison) else compared
    needed = "annotator_id estimate:float ci_low:float ci_high:float n_judgments:int? status:text?"
    needed += " confidence:float?"
    table = read_table(table, needed, "the table of annotators has")
    require_unique(table, ["annotator_id"], "select one dimension")
    rows = table.dropna(subset="estimate").sort_values("estimate", ascending=False, kind="stable")
    if len(rows) < 2:
        message = "fewer than two annotators have a severity, so there is nothing to compare."
        raise Unsupported("no_estimates", message)
    (ax,) = axes_for(ax, TWO_COLUMN if len(rows) > 20 else ONE_COLUMN, 2.4)
    rows = rows.reset_index(drop=True)
    off = (rows["ci_low"] > 0) | (rows["ci_high"] < 0)
    unknown = ~has_interval(rows)
    draw_reference(ax, 0, upright=True)
    draw_estimates(ax, rows.index[~unknown], rows[~unknown], upright=True)
    if unknown.any():
        style: dict[str, Any] = {"label": "no interval", "marker": "x", "markersize": 3.2}
        draw_estimates(ax, rows.index[unknown], rows[unknown], upright=True, **style)
    # With two items an interval can be so wide that all others would look like dots.
    ends = rows[["ci_low", "ci_high"]].to_numpy(dtype=float)
    known_ends = ends[np.isfinite(ends).all(axis=1)]
    if len(known_ends):
        low, high = np.quantile(known_ends[:, 0], 0.05), np.quantile(known_ends[:, 1], 0.95)
        low, high = min(low, rows["estimate"].min()), max(high, rows["estimate"].max())
        if known_ends.max() - known_ends.min() < 2 * (high - low):
            low, high = known_ends.min(), known_ends.max()
        low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
        ax.set_ylim(low, high)
        arrow: dict[str, Any] = {"color": ESTIMATE, "ls": "", "markersize": 3.2, "clip_on": False}
        n_beyond = ((ends[:, 0] < low) | (ends[:, 1] > high)).sum()
        arrow["label"] = f"interval exceeds the axis ({n_beyond} of {len(rows)})"
        for beyond, edge, marker in ((ends[:, 0] < low, low, "v"), (ends[:, 1] > high, high, "^")):
            if beyond.any():
                ax.plot(rows.index[beyond], np.full(beyond.sum(), edge), marker=marker, **arrow)
                arrow["label"] = None
    named = len(rows) <= _MOST_NAMES
    ax.set_xticks(rows.index if named else [], rows["annotator_id"].tolist() if named else [])
    ax.tick_params(axis="x", rotation=90, length=0)
    ax.set_xlim(-0.8, len(rows) - 0.2)
    ax.set_ylabel("Severity (above 0: stricter)")
    omitted = f"{len(table) - len(rows)} of {len(table)} omitted: severity undefined."
    ax.set_xlabel("Annotators" if named else f"{len(rows)} annotators")
    if ax.get_legend_handles_labels()[0]:
        legend_above(ax)
    unreliable = (off & rows["status"].ne("ok")).sum() if "status" in rows else 0
    alt = (
        f"Severity of {counted(len(rows), 'annotator')} relative to their mean, from "
        f"{rows['estimate'].min():.2f} to {rows['estimate'].max():.2f},{describe_intervals(rows)}. "
        f"Intervals that exclude 0: {off.sum()}{f' ({unreliable} unreliable)' * bool(unreliable)}."
    )
    notes = f"{describe_nested(rows)} {omitted * (len(rows) < len(table))}"
    return as_drawing(ax, table, alt, notes.strip())
