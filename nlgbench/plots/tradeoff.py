"""HUSE-D against HUSE-Q, the quality-diversity plane: Figure 3 of Hashimoto et al. (2019)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator
from scipy.spatial import ConvexHull

from nlgbench.plots.figures import (
    Drawing,
    as_drawing,
    axes_for,
    in_paper_style,
    require_unique,
    two_decimals,
)
from nlgbench.plots.labels import place_labels
from nlgbench.plots.rows import draw_intervals, interval_name, legend_below, mark
from nlgbench.plots.style import ONE_COLUMN, SCORE_NAMES, TWO_COLUMN, task_looks
from nlgbench.status import Unsupported
from nlgbench.study.checks import read_table

#: Values of HUSE = HUSE-Q + HUSE-D - 1 whose diagonals are drawn.
LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_AXES = ("huse_q", "huse_d")
_SETTING = re.compile(r"^(?P<task>.+?)[ _](?P<what>[tp])(?P<value>\d[\d.]*)$")
_MANY = 8  # the largest number of points for one column
_NEAR = 0.08  # points of one system that are closer share a label


@in_paper_style
def plot_tradeoff(
    scores: pd.DataFrame, *, truth: pd.DataFrame | None = None, ax: Axes | None = None
) -> Drawing:
    """Draw systems by quality (HUSE-Q) and diversity (HUSE-D).

    Parameters
    ----------
    scores : DataFrame
        From `nlgbench.huse`, or several such tables. Points of source ``published`` are filled.
        Of several tie rules, the first is drawn. A label that ends in a setting ("lstm p0.95") is
        split into task and setting, unless the table has ``task`` and ``label``.
    truth : DataFrame, optional
        True values (small marks), as ``study.truth["systems"]``: system, huse, huse_q, huse_d.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Drawing
        With `truth`, a panel per task. HUSE is constant along each diagonal. A line joins a
        system's temperatures. A task's published points dominate its shaded region, where HUSE is
        lower at the same ratio of HUSE-D to HUSE-Q. Data: a row per point, with bounds of intervals
        (``huse_q_low``, ...) and true values (``huse_q_true``, ...).

    Raises
    ------
    ValueError
        If a column is missing, or a score is undefined.

    Examples
    --------
    >>> import nlgbench as nb
    >>> scores = nb.huse(nb.simulate("gaussian", seed=0), n_resamples=50)
    >>> drawn = plot_tradeoff(scores)
    >>> drawn.data["label"].tolist()
    ['t0.5', 't0.7', 't1.0']
    """
    points = _reshape_scores(scores)
    if truth is not None:
        names = {score: f"{score}_true" for score in SCORE_NAMES}
        truth = read_table(truth, "system huse:float huse_q:float huse_d:float", "truth has")
        require_unique(truth, ["system"], "keep one row per system")
        true = truth[["system", *names]].rename(columns=names)
        points = points.merge(true, on="system", how="left", validate="many_to_one")
    bad = points[points[list(_AXES)].isna().any(axis=1)]
    if len(bad):
        raise Unsupported(
            "no_estimates",
            f"a score of {bad['system'].iloc[0]!r} is undefined, so it cannot be drawn: "
            "remove such systems, and report how many you removed.",
        )
    small = truth is None and len(points) <= _MANY
    styles = task_looks(list(dict.fromkeys(points["task"])))
    limits = {name: _limits(points, name) for name in _AXES}
    groups: list[tuple[Any, pd.DataFrame]] = [(None, points)]
    if truth is not None and ax is None and len(styles) > 1:  # one panel would be crowded
        groups = list(points.groupby("task", sort=False))
    n_rows = -(-len(groups) // 2)
    size = (ONE_COLUMN, ONE_COLUMN * 1.1) if small else (TWO_COLUMN, max(5.0, 1.2 + 2.0 * n_rows))
    grid: dict[str, Any] = {"n": len(groups), "columns": 2, "sharex": True, "sharey": True}
    axes = axes_for(ax, *size, **grid)
    for panel, (task, rows) in zip(axes, groups, strict=True):
        panel.set(xlim=limits["huse_q"], ylim=limits["huse_d"], aspect="equal" if small else "auto")
        panel.set_title(task or "", loc="left")
        panel.set_xlabel("HUSE-Q (quality)")
        panel.set_ylabel("HUSE-D (diversity)")
        panel.label_outer()
        _draw_points(panel, rows, styles)
    has_intervals = "huse_q_low" in points and points["huse_q_low"].notna().any()
    interval = interval_name(scores) if has_intervals else ""
    _draw_legend(axes, points, styles, interval)
    for panel, (_, rows) in zip(axes, groups, strict=True):
        _write_labels(panel, rows, styles)
    ties = scores.get("ties", pd.Series(dtype=str)).dropna()
    notes = f"Recomputed with ties={ties.iloc[0]!r}." if len(ties) else ""
    if points["label"].str.startswith("t = ").any():
        notes += " Lines join the temperatures t of a task."
    if points["source"].eq("published").any():
        notes += " Shaded, or dashed for a single point: lower HUSE-Q and HUSE-D at the same ratio."
    return as_drawing(
        axes, points, _describe_points(points, truth is not None, interval), notes.strip()
    )


def _draw_points(ax: Axes, points: pd.DataFrame, styles: dict[str, tuple[str, str]]) -> None:
    """Draw systems with their intervals and true values, joined by temperature."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MultipleLocator(0.2))
    _draw_diagonals(ax, points[list(_AXES)].to_numpy())
    for task, (_, color) in styles.items():
        published = points[(points["task"] == task) & (points["source"] == "published")]
        _draw_dominated(ax, published, color)
    if "huse_q_true" in points:
        for row in points.to_dict("records"):
            ends = [(row[f"{score}_true"], row[score]) for score in _AXES]
            marker, color = styles[row["task"]]
            (line,) = ax.plot(*ends, color=color, linewidth=0.8, linestyle=":")
            line.set(marker=marker, markersize=3.5, markevery=[0], zorder=5)
    _join_temperatures(ax, points, styles)
    for n, row in enumerate(points.to_dict("records")):
        marker, color = styles[row["task"]]
        if "huse_q_low" in points:
            pale: dict[str, Any] = {"rows": points.iloc[[n]], "color": color, "alpha": 0.4}
            draw_intervals(ax, [row["huse_d"]], prefix="huse_q", upright=False, **pale)
            draw_intervals(ax, [row["huse_q"]], prefix="huse_d", upright=True, **pale)
        filled = row["source"] == "published"
        style: dict[str, Any] = {"facecolor": color if filled else "white", "edgecolor": color}
        style |= {"s": 16 if filled else 60, "linewidth": 1.1, "zorder": 4 if filled else 3}
        ax.scatter(row["huse_q"], row["huse_d"], marker=marker, **style)


def _reshape_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Make a row per point, with its task and setting."""
    needed = "system score estimate:float source:text"
    optional = "task? label? ties? ci_low:float? ci_high:float?"
    scores = read_table(scores, f"{needed} {optional}", "scores have")
    if "ties" in scores:
        first = scores["ties"].dropna().unique()[:1]
        scores = scores[scores["ties"].isna() | scores["ties"].isin(first)]
    keys = ["source", "system"]
    require_unique(scores, [*keys, "score"], "keep one row per system and score")
    systems = scores.drop_duplicates(keys).reset_index(drop=True)
    order = pd.MultiIndex.from_frame(systems[keys])
    wide: Any = scores.pivot(index=keys, columns="score").reindex(order)
    points = wide["estimate"].reindex(columns=dict.fromkeys([*scores["score"], *_AXES]))
    for end in ("low", "high") if "ci_low" in scores else ():
        ends = wide[f"ci_{end}"].reindex(columns=list(_AXES))
        points = points.join(ends.add_suffix(f"_{end}"))
    points = points.reset_index().rename_axis(columns=None)
    systems = systems.assign(task=systems.get("task"), label=systems.get("label"))
    label = systems["label"].fillna(points["system"].str.replace("_", " "))
    setting = label.str.extract(_SETTING)
    named = systems["task"].isna() & setting["task"].notna()
    label = label.mask(named, setting["what"] + " = " + setting["value"])
    # Beside systems with settings, one without is named in the legend alone.
    plain = systems["task"].isna() & ~named & bool(named.any())
    task = systems["task"].fillna(setting["task"]).mask(plain, label).fillna("system")
    label = label.mask(plain, "")
    points = points.assign(task=task, label=label, source=points.pop("source"))
    printed = points["source"] == "published"
    # Sorted by name, so that styles of tasks don't depend on the order of systems.
    return pd.concat([points[printed], points[~printed].sort_values("system")], ignore_index=True)


def _describe_points(points: pd.DataFrame, has_truth: bool, interval: str) -> str:
    described = []
    for row in points.to_dict("records"):
        scores = [
            f"{SCORE_NAMES[score]} {row[score]:.2f}"
            + (f" (true {two_decimals(row[f'{score}_true'])})" if has_truth else "")
            for score in _AXES
        ]
        described.append(f"{row['task']} {row['label']}: {', '.join(scores)} ({row['source']})")
    more = f", with {interval}s" if interval else ""
    more += "; small filled marks are the true values" if has_truth else ""
    return (
        f"HUSE-D against HUSE-Q with diagonals of equal HUSE, colored by task{more}. "
        f"{'; '.join(described)}."
    )


def _limits(points: pd.DataFrame, score: str) -> tuple[float, float]:
    """Return the limits of an axis: around the points, and from 0 to 1 for shaded regions."""
    values = points.filter(regex=rf"^{score}(_low|_high|_true)?$").to_numpy(dtype=float)
    low, high = np.nanmin(values) - 0.05, np.nanmax(values) + 0.05
    if points["source"].eq("published").any():
        low, high = min(0.0, low), max(1.05, high)
    return float(low), float(high)


def _draw_diagonals(ax: Axes, points: np.ndarray) -> None:
    text_style: dict[str, Any] = {"fontsize": 7, "color": "#666666", "zorder": 1}
    text_style["textcoords"] = "offset points"
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # the layout sets the angle of diagonals
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    levels = [level for level in LEVELS if left + bottom < 1 + level < right + top]
    outside = [level for level in levels if 1 + level - right > bottom]
    for level in levels:
        ends = [max(left, 1 + level - top), min(right, 1 + level - bottom)]
        ax.plot(ends, [1 + level - end for end in ends], color="#B8B8B8", linewidth=0.6, zorder=1)
        end = (ends[1], 1 + level - ends[1])
        name = f"HUSE = {level:g}" if level in (levels[0], *outside[-1:]) else f"{level:g}"
        if level in outside:  # outside the axes, where there are no points or labels
            offset: dict[str, Any] = {"xytext": (3, 0), "ha": "left", "va": "center"}
        else:
            # Labels run along the diagonal; move them away from points.
            positions = [(x, 1 + level - x) for x in np.linspace(ends[1], ends[0], 15)]
            gaps = [np.hypot(*(points - (x - 0.06, y + 0.06)).T).min() for x, y in positions]
            end = positions[np.argmax(np.array(gaps) > 0.15)]
            angle = ax.transData.transform_angles([-45], [end])[0]
            rotation: dict[str, Any] = {"rotation": angle, "rotation_mode": "anchor"}
            offset = {"xytext": (-2, 4), "ha": "right", "va": "bottom", **rotation}
        ax.annotate(name, end, annotation_clip=False, **offset, **text_style)


def _join_temperatures(ax: Axes, points: pd.DataFrame, styles: dict[str, tuple[str, str]]) -> None:
    """Join the points of each task and source that differ in temperature, in its order."""
    temperature = points["label"].str.extract(r"^t ?=? ?([\d.]+)$")[0].astype(float)
    heated = points.assign(temperature=temperature).dropna(subset="temperature")
    for (task, _), rows in heated.groupby(["task", "source"]):
        line = rows.sort_values("temperature")
        color = styles[str(task)][1]
        ax.plot(line["huse_q"], line["huse_d"], color=color, linewidth=0.8, zorder=2)


def _draw_dominated(ax: Axes, published: pd.DataFrame, color: str) -> None:
    """Shade the region that published points dominate: between them and the origin."""
    points = published[list(_AXES)].to_numpy()
    if len(points) > 1 and np.linalg.matrix_rank(points) == 2:
        corners = np.vstack([[0, 0], points])
        corners = corners[ConvexHull(corners).vertices]
        ax.fill(*corners.T, facecolor=color, alpha=0.13, edgecolor="none", zorder=0)
    elif len(points):  # on one ray
        x, y = points[np.argmax(np.hypot(*points.T))]
        line: dict[str, Any] = {"color": color, "alpha": 0.5, "linewidth": 0.6}
        ax.plot([0, x], [0, y], linestyle=(0, (4, 2)), zorder=1, **line)


def _write_labels(ax: Axes, points: pd.DataFrame, styles: dict[str, tuple[str, str]]) -> None:
    """Label each point; nearby points of one system share a label."""
    rows: list[dict[Hashable, Any]] = []
    for row in points[points["label"] != ""].to_dict("records"):
        same_label = [a for a in rows if (a["task"], a["label"]) == (row["task"], row["label"])]
        distances = [np.hypot(*(a[axis] - row[axis] for axis in _AXES)) for a in same_label]
        if min(distances, default=np.inf) >= _NEAR:
            rows.append(row)
    # A path effect would turn the text into outlines in a PDF.
    white = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.3}
    colors = [np.array(to_rgb(styles[row["task"]][1])) * 0.7 for row in rows]
    true = [f"{name}_true" for name in _AXES]
    place_labels(
        ax,
        np.array([[row[name] for name in _AXES] for row in rows]),
        [str(row["label"]) for row in rows],
        avoid=points[list(_AXES) + true * (true[0] in points)].to_numpy().reshape(-1, 2),
        styles=[{"fontsize": 7, "color": color, "bbox": white} for color in colors],
    )


def _draw_legend(
    axes: Sequence[Axes],
    scores: pd.DataFrame,
    styles: dict[str, tuple[str, str]],
    interval: str,
) -> None:
    published = scores["source"] == "published"
    filled = set(scores.loc[published, "task"])
    handles: list[Any] = [
        mark(task, marker, color, face=color if task in filled else "white")
        for task, (marker, color) in styles.items()
        if len(axes) == 1  # otherwise, tasks are titles
    ]
    if published.any():
        handles.append(Patch(facecolor="#555555", alpha=0.13, label="dominated by published"))
    if interval:
        handles.append(mark(interval, "", "#555555", linestyle="-", linewidth=0.8))
    if "huse_q_true" in scores.columns:
        handles.append(mark("true value", "o", "#555555", markersize=3.5, linestyle=":"))
    other_sources = [
        source if source == "simulated" else f"recomputed, {source}"
        for source in scores.loc[~published, "source"].unique()
    ]
    if filled and other_sources:
        handles.append(mark("published", "o", "#AAAAAA"))
        handles.append(mark(", ".join(other_sources), "o", "#AAAAAA", face="white"))
    if len(axes) > 1:
        axes[0].figure.legend(handles=handles, loc="outside upper right", ncols=len(handles))
    else:
        legend_below(axes[0], handles)
