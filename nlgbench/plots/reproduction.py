"""Printed numbers against recomputed ones, a panel for each scale and source of evidence."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from nlgbench.analysis.reproduction import Reproduction
from nlgbench.names import did_you_mean
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_legend, in_paper_style
from nlgbench.plots.style import GROUPS, ONE_COLUMN, TWO_COLUMN

#: Differing values that are named in each panel.
_NAMED = 2
_OFFSETS = ((4, -8), (-8, 4))
#: Characters of a note in an inch.
_PER_INCH = 21
#: How the scales of these units are called together.
_SHARES = ("proportion", "score", "ratio", "share")
_SOURCES = {"published": "from print", "released": "from data", "study": "from data"}
#: A ratio of greatest to least above which a panel's axes are logarithmic.
_WIDE = 50
_OTHERS = "others"


@in_paper_style
def plot_reproduction(
    result: Reproduction, *, paper: str | None = None, ax: Sequence[Axes] | None = None
) -> Drawing:
    """Draw the recomputed numbers of a paper against the printed ones.

    Parameters
    ----------
    result : Reproduction
        From `nlgbench.reproduction`.
    paper : str, optional
        Which paper, as the result calls it. Default: the only one that has numbers.
    ax : sequence of Axes, optional
        Where to draw, as many as there are scales and sources; a figure of its own by default.

    Returns
    -------
    Drawing
        A panel for each scale (percent, correlations, counts, ...) and source (numbers recomputed
        from data are not mixed with those that follow from print). On the line both are equal.
        Marks are tables; open ones were recomputed under other conditions than the paper's; lines
        are intervals of the recomputed value. In each panel the two values that differ most, of
        those with the verdict ``differs``, are numbered and named below. Its data are the rows of
        ``result.claims`` that are drawn. Stars, bounds and sentences without a number are not.

    Raises
    ------
    ValueError
        When there is no such paper, it has no number that was recomputed, or `ax` has another
        number of Axes than there are panels.

    Examples
    --------
    >>> import nlgbench as nb
    >>> ids = [f"study/pilot/table1/{name}" for name in ("bleu", "chrf", "ter")]
    >>> ledger = pd.DataFrame({"claim_id": ids, "published": [0.4, 0.5, 0.6]})
    >>> ledger = ledger.assign(recomputed=[0.4, 0.52, 0.6], variant="", source="study")
    >>> ledger["verdict"] = ["matches", "differs", "matches"]
    >>> print(plot_reproduction(nb.reproduction(ledger)).alt)
    study/pilot, printed against recomputed: 3 values, of which 2 match, 1 differs.
    """
    claims = result.claims
    drawn = claims[claims["kind"].eq("number") & claims["recomputed"].notna()]
    name = _paper(claims, drawn, paper)
    data = drawn[drawn["paper"] == name].reset_index(drop=True)
    scale = [_scale(unit) for unit in data["unit"]]
    source = data["source"].map(_SOURCES).fillna(data["source"])
    panels = [f"{one}, {two}" for one, two in zip(scale, source, strict=True)]
    data = data.assign(panel=panels)
    titles = sorted(dict.fromkeys(panels), key=lambda one: -panels.count(one))
    worst = [_worst(data[data["panel"] == title]) for title in titles]
    notes = pd.concat(worst)
    columns = min(len(titles), 3)
    rows = math.ceil(len(titles) / columns)
    width = columns * TWO_COLUMN / 3 if columns > 1 else ONE_COLUMN
    lines = _notes(notes, data, width)
    height = rows * (width / columns + 0.1) + 0.12 * len(lines)
    axes = axes_for(ax, width, height, n=len(titles), columns=columns)
    number = 0
    for one, title, named in zip(axes, titles, worst, strict=True):
        _draw(one, data[data["panel"] == title], title)
        # Of two that are near each other one stands above, one below.
        for claim, offset in zip(named.itertuples(), _OFFSETS, strict=False):
            number += 1
            place = (claim.published, claim.recomputed)
            text = one.annotate(str(number), place, offset, textcoords="offset points")
            text.set(fontsize=7, fontweight="bold", zorder=5)
            text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    figure = axes[0].get_figure(root=True)
    if ax is None and lines and figure is not None:
        below = figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.2)
        below.set_linespacing(1.3)
    return drawn_on(axes, data, _alt(name, data))


def _paper(claims: pd.DataFrame, drawn: pd.DataFrame, paper: str | None) -> str:
    """Find the paper that is asked for, or the only one."""
    there = list(dict.fromkeys(drawn["paper"]))
    if paper is None and len(there) == 1:
        return there[0]
    if not there:
        raise ValueError("no number was recomputed: there is nothing to draw.")
    if paper is None:
        raise ValueError(f"several papers: name one by paper=. There are {', '.join(there)}.")
    if paper not in there:
        known = f" Recomputed are numbers of {', '.join(there)}."
        if paper in set(claims["paper"]):
            raise ValueError(f"no number of {paper!r} was recomputed.{known}")
        raise ValueError(f"no paper {paper!r}.{did_you_mean(paper, there)}{known}")
    return paper


def _scale(unit: str) -> str:
    """Name a scale that numbers of several units share."""
    first = unit.split(",")[0]
    if first.startswith(_SHARES):
        return "share or score"
    if first.startswith(("count", "mean count")):
        return "count"
    if unit.startswith("correlation, magnitude"):
        return "correlation (magnitude)"
    return first or "number"


def _worst(panel: pd.DataFrame) -> pd.DataFrame:
    """Find the values that differ most, in the unit of their panel."""
    differing = panel[panel["verdict"] == "differs"]
    off = (differing["recomputed"] - differing["published"]).abs()
    return differing.loc[off.sort_values(ascending=False, kind="stable").index[:_NAMED]]


def _draw(ax: Axes, panel: pd.DataFrame, title: str) -> None:
    """Draw one panel: the line of equality, intervals, and a mark for each value."""
    both = panel[["published", "recomputed"]]
    low, high = float(both.min().min()), float(both.max().max())
    wide = low > 0 and high / low > _WIDE
    if not wide:
        low, high = min(low, panel["ci_low"].min()), max(high, panel["ci_high"].max())
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    ends = (low / 1.5, high * 1.5) if wide else (low - room, high + room)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    if wide:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.plot(ends, ends, color="#777777", linewidth=0.6, zorder=1)
    group = panel["where"].map(_in_words)
    if len(set(group)) == 1 and len(set(panel["variant"])) > 1:
        group = panel["variant"].where(panel["variant"].ne(""), group)
    names = group.value_counts().index.tolist()
    if len(names) > len(GROUPS):  # the smallest are not told apart
        names = [*names[: len(GROUPS) - 1], _OTHERS]
        group = group.where(group.isin(names), _OTHERS)
    for name, (marker, color) in zip(sorted(names, key=_natural), GROUPS, strict=False):
        chosen = panel[group == name]
        known = chosen[chosen[["ci_low", "ci_high"]].notna().all(axis=1)]
        ends_of = known["published"], known["ci_low"], known["ci_high"]
        ax.vlines(*ends_of, color=color, linewidth=0.5, alpha=0.45, zorder=2)
        look: dict[str, Any] = {"linestyle": "", "marker": marker, "markeredgecolor": color}
        look |= {"markersize": 3.6, "markeredgewidth": 0.7, "zorder": 3}
        label = in_legend(textwrap.shorten(name, 34, placeholder=" ..."))
        for alike, face in ((True, color), (False, "white")):
            part = chosen[chosen["alike"] == alike]
            if len(part):
                points = part["published"], part["recomputed"]
                ax.plot(*points, markerfacecolor=face, label=label, **look)
                label = "_nolegend_"
    ax.set(xlim=ends, ylim=ends)
    ax.set_title(title[0].upper() + title[1:], fontsize=7.5)
    ax.set_xlabel("Printed")
    ax.set_ylabel("Recomputed")
    ax.tick_params(labelsize=6.5)
    look = {"frameon": True, "framealpha": 0.7, "edgecolor": "none", "borderpad": 0.1}
    look |= {"handlelength": 1.0, "labelspacing": 0.25, "borderaxespad": 0.2}
    ax.legend(loc="best", fontsize=5.8, **look)


def _natural(name: str) -> tuple[str, float]:
    """Sort Table 10 behind Table 9."""
    head = name.rstrip("0123456789.")
    digits = name[len(head) :].split(".")[0]
    return head, float(digits or 0)


def _in_words(where: str) -> str:
    """Write table10 as Table 10."""
    head = where.rstrip("0123456789.")
    return f"{head} {where[len(head) :]}".strip().capitalize() if where else "claims"


def _notes(notes: pd.DataFrame, data: pd.DataFrame, width: float) -> list[str]:
    """Say what the numbered values and the open marks are, in lines that fit."""
    said = [
        f"{n}  {_in_words(str(claim.where))}, {_called(claim)}: printed {claim.published:,.5g}, "
        f"recomputed {claim.recomputed:,.5g}"
        for n, claim in enumerate(notes.itertuples(), 1)
    ]
    if more := int((data["verdict"] == "differs").sum()) - len(notes):
        said.append(f"and {more} more that differ less")
    if not data["alike"].all():
        said.append("Open marks: recomputed under other conditions than the paper's")
    fits = int(width * _PER_INCH)
    return [line for one in said for line in textwrap.wrap(one, fits, subsequent_indent="    ")]


def _called(claim: Any) -> str:
    """Name a value within its table, and its variant."""
    text = claim.claim_id.split("/", 3 if claim.paper.startswith("study/") else 2)[-1]
    text = text.replace("/", ", ").replace("_", " ")
    text += f" ({claim.variant})" if claim.variant else ""
    return text


def _alt(name: str, data: pd.DataFrame) -> str:
    """Count what is drawn."""
    n_match, n_differ = (int((data["verdict"] == one).sum()) for one in ("matches", "differs"))
    parts = [f"{n_match} match", f"{n_differ} {'differs' if n_differ == 1 else 'differ'}"]
    if n_other := int((~data["alike"]).sum()):
        parts.append(f"{n_other} were recomputed under other conditions than the paper's")
    return f"{name}, printed against recomputed: {len(data)} values, of which {', '.join(parts)}."
