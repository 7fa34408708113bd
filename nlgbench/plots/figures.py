"""What every plot returns: a figure with its numbers and a sentence for those who cannot see it."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import ArrayLike

from nlgbench import files
from nlgbench.evaluators.names import kind
from nlgbench.plots.style import paper_style
from nlgbench.study.checks import checked

P = ParamSpec("P")

# A fixed resolution, no dates and no version strings: the same figure gives the same bytes.
_SAVE: dict[str, dict[str, Any]] = {
    "png": {"format": "png", "dpi": 300, "metadata": {"Software": None}},
    "pdf": {
        "format": "pdf",
        "metadata": {"CreationDate": None, "Producer": None, "Creator": None},
    },
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure at print size, the numbers in it, and what it shows in words.

    Parameters
    ----------
    figure : Figure
        Made without pyplot: nothing is left open, and Jupyter shows it once.
    axes : tuple of Axes
        Where it was drawn.
    data : DataFrame
        The numbers that are drawn.
    alt : str
        A sentence for readers who cannot see it.

    Examples
    --------
    >>> figure, (ax,) = canvas(3.25, 2)
    >>> _ = ax.plot([0, 1], [0, 1])
    >>> Drawing(figure, (ax,), pd.DataFrame({"x": [0, 1]}), "A line.").alt
    'A line.'
    """

    figure: Figure
    axes: tuple[Axes, ...]
    data: pd.DataFrame
    alt: str

    def save(self, path: str | os.PathLike) -> list[Path]:
        """Write the figure as PDF and PNG, its numbers as CSV and its words as text.

        Parameters
        ----------
        path : path
            Without ending, or with one that is then replaced: ``boundary`` gives
            ``boundary.pdf``, ``.png`` (300 dpi), ``.csv`` and ``.txt``.

        Returns
        -------
        list of Path
            The four files; each is written aside and renamed.

        Examples
        --------
        >>> import tempfile
        >>> figure, axes = canvas(3.25, 2)
        >>> drawn = Drawing(figure, axes, pd.DataFrame({"x": [1]}), "Empty axes.")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in drawn.save(Path(folder, "empty"))]
        ['empty.pdf', 'empty.png', 'empty.csv', 'empty.txt']
        """
        start = Path(path)
        if start.suffix in (".pdf", ".png", ".csv", ".txt"):
            start = start.with_suffix("")
        start.parent.mkdir(parents=True, exist_ok=True)
        named = any(label is not None for label in self.data.index.names)
        content = {
            "pdf": self.image("pdf"),
            "png": self.image("png"),
            "csv": self.data.to_csv(index=named, lineterminator="\n").encode(),
            "txt": f"{self.alt}\n".encode(),
        }
        written = []
        for ending, data in content.items():
            place = start.with_name(f"{start.name}.{ending}")
            files.replace_bytes(place, data)
            written.append(place)
        return written

    def image(self, kind: str) -> bytes:
        """Give the bytes of the figure as "png" or "pdf", the same from the same numbers."""
        held = io.BytesIO()
        # Fonts are chosen when a file is written, whatever the style was when it was drawn.
        with mpl.rc_context({"pdf.fonttype": 42}):
            self.figure.savefig(held, **_SAVE[kind])
        return held.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width = round(self.figure.get_size_inches()[0] * 110)
        shown = {"image/png": self.image("png"), "text/plain": self.alt}
        return shown, {"image/png": {"width": width, "alt": self.alt}}


#: Widths in inches that papers have and our figures do not, a hair less so that TeX finds room: a
#: column of ACL, the text blocks of ACL and NeurIPS. Columns of IEEE are wider than what we draw.
PAPER_WIDTHS = (6.28, 5.48, 3.02)
#: Height in inches of what a page of ACL holds.
_PAGE = 9.7
#: Up to this wide a figure stands in one column of two, inches.
COLUMN = 3.6


def redrawn(drawing: Drawing) -> dict[float, bytes]:
    """Draw a figure anew at the narrower widths of papers, as PDF; its text stays as large.

    A width at which text would collide that does not as drawn is left out, and so is a figure that
    is higher than a page: no paper holds it.
    """
    figure, made = drawing.figure, {}
    width, height = map(float, figure.get_size_inches())
    if height > _PAGE:
        return {}
    collided = _collisions(figure)
    for narrower in PAPER_WIDTHS:
        if narrower < width and (narrower > COLUMN) == (width > COLUMN):
            figure.set_size_inches(narrower, height)
            if _collisions(figure) <= collided:
                made[narrower] = drawing.image("pdf")
    figure.set_size_inches(width, height)
    return made


def _collisions(figure: Figure) -> int:
    """Count the texts that meet another or leave the page, once the figure is laid out."""
    figure.draw_without_rendering()
    unseen = {
        id(label)
        for ax in figure.findobj(Axes)
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        for label in (tick.label1, tick.label2)
    }
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in unseen
    ]
    boxes = [Text.get_window_extent(text).padded(-0.5).extents for text in shown]
    ends = np.asarray(boxes, dtype=float).reshape(-1, 4)
    shared = np.minimum(ends[:, None, 2:], ends[:, 2:]) - np.maximum(ends[:, None, :2], ends[:, :2])
    meeting = np.triu((shared > 0).all(axis=2), 1).sum()
    page = figure.bbox.padded(1).extents
    return int(meeting + ((ends[:, :2] < page[:2]) | (ends[:, 2:] > page[2:])).any(axis=1).sum())


def canvas(
    width: float, height: float, *, rows: int = 1, columns: int = 1, **subplots: Any
) -> tuple[Figure, tuple[Axes, ...]]:
    """Make a figure of a print size in inches, without pyplot, and its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **subplots)
    return figure, tuple(axes.ravel())


def axes_for(
    ax: Axes | Sequence[Axes] | None, width: float, height: float, **grid: Any
) -> tuple[Axes, ...]:
    """Take the axes that were handed over, or make a figure of a print size for them."""
    if ax is None:
        return canvas(width, height, **grid)[1]
    return (ax,) if isinstance(ax, Axes) else tuple(ax)


#: Figures of one study draw the highest so many evaluators; sentinels and length are always drawn.
MOST_EVALUATORS = 20


def draw_highest(
    plot: Callable[..., Drawing], table: pd.DataFrame, *, by: str = "estimate", **options: Any
) -> Drawing:
    """Draw the 20 evaluators with the highest mean of column `by`, and always the yardsticks.

    These are sentinels, length and people. `plot` is called with the rows of `table` to draw, and
    `options`. Where rows are left out, a line below the figure and its alternative text say so.
    """
    names = table["evaluator"].astype(str)
    always = names.map(kind).isin(["Sentinels", "People"]) | names.isin(["length", "text_length"])
    if "is_sentinel" in table:
        always |= table["is_sentinel"].astype(bool)
    means = table[by].groupby(names).mean().sort_values(ascending=False, kind="stable")
    others = means[~means.index.isin(names[always])]
    kept = others.index[:MOST_EVALUATORS]
    drawn = plot(table[always | names.isin(kept)], **options)
    if len(kept) == len(others):
        return drawn
    words = f"The {len(kept)} highest of {len(others)} evaluators"
    words += ", and sentinels, length and people." if always.any() else "."
    drawn.figure.supxlabel(words, fontsize=7, parse_math=False)
    return replace(drawn, alt=f"{drawn.alt} {words}")


def drawn_on(ax: Axes | Sequence[Axes], data: pd.DataFrame, alt: str) -> Drawing:
    """Make the drawing of what stands on one Axes, or on several of one figure."""
    axes = (ax,) if isinstance(ax, Axes) else tuple(ax)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    return Drawing(figure, axes, data, alt)


def draw_intervals(
    ax: Axes, at: ArrayLike, low: ArrayLike, high: ArrayLike, *, upright: bool, **line_kws: Any
) -> None:
    """Draw a line from each lower bound to its upper bound, where both are known.

    The estimate need not lie between the ends: a bootstrap's interval may miss it.
    """
    ends = np.column_stack([at, low, high]).astype(float)
    ends = ends[np.isfinite(ends).all(axis=1)]
    if len(ends):
        draw = ax.vlines if upright else ax.hlines
        draw(*ends.T, **{"linewidth": 0.8, "zorder": 2, **line_kws})


def name_lanes(ax: Axes, names: Sequence[str], *, ruled: bool = False) -> None:
    """Write names down the left, the first at the top; `ruled`: with a pale line through each."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    if ruled:
        ax.grid(axis="y", color="#dddddd", linewidth=0.5)
        ax.set_axisbelow(True)


def correlation(value: float) -> str:
    """Write a correlation as papers do, with a minus sign and no zero before the point."""
    return f"{value:z.2f}".replace("-", "−").replace("0.", ".", 1)


def in_legend(name: object) -> str:
    """Write a name so that a legend shows it: Matplotlib leaves out what is empty or begins "_"."""
    text = str(name)
    return f" {text}" if text[:1] in ("", "_") else text


def spearman(x: pd.Series, y: pd.Series) -> float:
    """Give Spearman's correlation, NaN without a warning where one of the two is constant."""
    both = pd.DataFrame({"x": x, "y": y}).dropna()
    varies = len(both) > 1 and (both.min() < both.max()).all()
    return float(both["x"].corr(both["y"], method="spearman")) if varies else float("nan")


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Give the area that boxes of one list share with those of another."""
    sides = np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2])
    return float(np.maximum(sides, 0).prod(axis=2).sum())


def outside(box: np.ndarray, frame: np.ndarray) -> float:
    """Say how far a box stands out of a frame."""
    return float(np.maximum([*(frame[:2] - box[:2]), *(box[2:] - frame[2:])], 0).sum())


def in_paper_style(plot: Callable[P, Drawing]) -> Callable[P, Drawing]:
    """Check what a plot is given; draw in paper style, or on given Axes in theirs.

    Names are data: a dollar sign in one starts no formula, whichever the style.
    """

    @functools.wraps(plot)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        ax: Any = kwargs.get("ax")
        for one in [] if ax is None else axes_for(ax, 0, 0):
            for text in one.findobj(Text):  # those that are empty are written by the plot
                text.set_parse_math(text.get_parse_math() and bool(text.get_text()))
            for tick in (*one.xaxis.get_major_ticks(), *one.yaxis.get_major_ticks()):
                tick.label1.set_parse_math(False)
                tick.label2.set_parse_math(False)
        style = paper_style() if ax is None else {}
        with mpl.rc_context({**style, "text.parse_math": False}):
            return plot(*args, **kwargs)

    return checked(styled)


@checked
def drawing(figure: Figure, parts: Sequence[Drawing], *, alt: str = "") -> Drawing:
    """Join panels that were drawn on the axes of one figure.

    Parameters
    ----------
    figure : Figure
        On whose axes the panels were drawn.
    parts : sequence of Drawing
        One per panel.
    alt : str, optional
        What the whole shows. Default: what the panels say, one after the other.

    Returns
    -------
    Drawing
        Its data are those of the panels, with a column ``panel`` that counts from 1 where they are
        several.

    Raises
    ------
    ValueError
        When there is no panel, or one was drawn on another figure.

    Examples
    --------
    >>> figure, axes = canvas(6.75, 2, columns=2)
    >>> halves = [Drawing(figure, (ax,), pd.DataFrame({"x": [1]}), "Empty.") for ax in axes]
    >>> drawing(figure, halves, alt="Two empty panels.").data["panel"].tolist()
    [1, 2]
    """
    if not parts:
        raise ValueError("drawing() joins panels: give at least one Drawing.")
    for part in parts:
        if part.figure is not figure:
            raise ValueError("a panel was drawn on another figure: draw it with ax= on this one.")
    data = parts[0].data
    if len(parts) > 1:
        data = pd.concat(
            [part.data.assign(panel=n) for n, part in enumerate(parts, 1)], ignore_index=True
        )
    axes = tuple(ax for part in parts for ax in part.axes)
    return Drawing(figure, axes, data, alt or " ".join(part.alt for part in parts))
