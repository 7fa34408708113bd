"""What every plot returns: a figure with its numbers and an alternative text."""

from __future__ import annotations

import functools
import io
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from nlgbench import files
from nlgbench.evaluators.names import kind
from nlgbench.names import brief
from nlgbench.plots.style import paper_style
from nlgbench.study.checks import checked

P = ParamSpec("P")

# With a fixed resolution and no dates or versions, equal figures have equal bytes.
_SAVE: dict[str, dict[str, Any]] = {
    "png": {"format": "png", "dpi": 300, "metadata": {"Software": None}},
    "pdf": {"format": "pdf", "metadata": {"CreationDate": None, "Producer": None, "Creator": None}},
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure at print size, with its numbers and an alternative text.

    Parameters
    ----------
    figure : Figure
        The figure, made without pyplot: it need not be closed, and Jupyter shows it once.
    axes : tuple of Axes
        The axes that contain the plot.
    data : DataFrame
        The plotted numbers.
    alt : str
        Alternative text, for readers who cannot see the figure; it ends with `notes`.
    notes : str
        What readers of the figure must know, for its caption: what intervals and marks mean.
    """

    figure: Figure
    axes: tuple[Axes, ...]
    data: pd.DataFrame
    alt: str
    notes: str = ""

    def save(self, path: str | os.PathLike) -> list[Path]:
        """Save the figure as PDF and PNG (300 dpi), numbers as CSV, alternative text as TXT.

        `path` is a file name, with or without one of the four suffixes. The four files are
        returned; each replaces an earlier version only when it is complete.
        """
        base = Path(path)
        if base.suffix in (".pdf", ".png", ".csv", ".txt"):
            base = base.with_suffix("")
        base.parent.mkdir(parents=True, exist_ok=True)
        named = any(label is not None for label in self.data.index.names)
        content = {
            "pdf": self.image("pdf"),
            "png": self.image("png"),
            "csv": self.data.to_csv(index=named, lineterminator="\n").encode(),
            "txt": f"{self.alt}\n".encode(),
        }
        written = []
        for ending, data in content.items():
            target = base.with_name(f"{base.name}.{ending}")
            files.replace_bytes(target, data)
            written.append(target)
        return written

    def image(self, kind: str) -> bytes:
        """Return the figure as bytes of a "png" or "pdf" file; equal figures have equal bytes."""
        buffer = io.BytesIO()
        # Matplotlib embeds fonts when it saves, so the style of the drawing has no effect here.
        with mpl.rc_context({"pdf.fonttype": 42}):
            self.figure.savefig(buffer, **_SAVE[kind])
        return buffer.getvalue()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        formats, metadata = self._repr_mimebundle_()
        display(formats, metadata=metadata, raw=True)
        if self.notes:
            paragraph = f"<p><small>{escape(self.notes)}</small></p>"
            display({"text/html": paragraph, "text/plain": self.notes}, raw=True)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width = round(self.figure.get_size_inches()[0] * 110)
        formats = {"image/png": self.image("png"), "text/plain": self.alt}
        return formats, {"image/png": {"width": width, "alt": self.alt}}


def canvas(
    width: float, height: float, *, rows: int = 1, columns: int = 1, **subplots: Any
) -> tuple[Figure, tuple[Axes, ...]]:
    """Make a figure of this size in inches, without pyplot, and return its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **subplots)
    return figure, tuple(axes.ravel())


def axes_for(
    ax: Axes | Sequence[Axes] | None,
    width: float,
    height: float,
    *,
    n: int = 1,
    columns: int = 1,
    **grid: Any,
) -> tuple[Axes, ...]:
    """Return the axes in `ax`, or make a figure of `n` panels and return its axes row by row."""
    if ax is not None:
        axes = (ax,) if isinstance(ax, Axes) else tuple(ax)
        if len(axes) != n:
            panels = "one Axes" if n == 1 else f"{n} Axes, one per panel"
            raise ValueError(f"ax must be {panels}. Got {len(axes)}.")
        return axes
    columns = min(columns, n)
    _, axes = canvas(width, height, rows=-(-n // columns), columns=columns, **grid)
    for spare in axes[n:]:
        spare.remove()
    for lowest in axes[max(0, n - columns) : n]:
        lowest.xaxis.set_tick_params(labelbottom=True)
    return axes[:n]


#: Figures of one study show at most this many evaluators, plus sentinels, length and humans.
MOST_EVALUATORS = 20


def draw_highest(plot: Callable[[pd.DataFrame], Drawing], table: pd.DataFrame) -> Drawing:
    """Draw the 20 evaluators with the highest mean estimate, and sentinels, length and humans.

    If evaluators are omitted, the figure's notes say so.
    """
    names = table["evaluator"].astype(str)
    always = names.map(kind).isin(["Sentinels", "People"]) | names.isin(["length", "text_length"])
    if "is_sentinel" in table:
        always |= table["is_sentinel"].astype(bool)
    means = table["estimate"].groupby(names).mean().sort_values(ascending=False, kind="stable")
    candidates = means[~means.index.isin(names[always])]
    highest = candidates.index[:MOST_EVALUATORS]
    drawing = plot(table[always | names.isin(highest)])
    if len(highest) == len(candidates):
        return drawing
    note = f"The {len(highest)} highest of {len(candidates)} evaluators"
    note += ", plus sentinels, length and humans." if always.any() else "."
    return add_notes(drawing, note)


def add_notes(drawing: Drawing, notes: str) -> Drawing:
    """Add sentences to the notes of a figure, and to its alternative text."""
    alt, notes = (f"{text} {notes}".strip() for text in (drawing.alt, drawing.notes))
    return replace(drawing, alt=alt, notes=notes)


def as_drawing(ax: Axes | Sequence[Axes], data: pd.DataFrame, alt: str, notes: str = "") -> Drawing:
    """Make a Drawing of one or several Axes of a figure, with its notes after the other words."""
    axes = (ax,) if isinstance(ax, Axes) else tuple(ax)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    return add_notes(Drawing(figure, axes, data, alt), notes)


def mark_simulated(drawing: Drawing, source: str) -> Drawing:
    """Write "simulated" into a free corner of a figure whose data are simulated, or a part of them.

    `source` is the source of rows that name none. The alternative text states if only a part is;
    a record adds the source.
    """
    sources = {source, *drawing.data.get("source", pd.Series(dtype=str)).dropna()}
    if "simulated" not in sources:
        return drawing
    statement = "Partly simulated." if len(sources) > 1 else ""
    figure = drawing.figure
    pixels = io.BytesIO()
    figure.savefig(pixels, format="png")
    pixels.seek(0)
    inked = imread(pixels).min(axis=2) < 0.98
    height, width = inked.shape
    style: dict[str, Any] = {"fontsize": 7, "color": "#6E6E6E", "gid": "simulated"}
    text = figure.text(0, 0, statement.lower().rstrip(".") or "simulated", in_layout=False, **style)
    x, y = (math.ceil(size) + 4 for size in text.get_window_extent().size)
    for va, ha in product(("bottom", "top"), ("right", "left")):
        rows = inked[-y:] if va == "bottom" else inked[:y]
        if not (rows[:, -x:] if ha == "right" else rows[:, :x]).any():
            break
    else:  # all corners are taken: leave a strip above everything
        figure.set_layout_engine("constrained", rect=(0, 0, 1, 1 - y / height))
    text.set(x=1 - 2 / width if ha == "right" else 2 / width, ha=ha)
    text.set(y=1 - 2 / height if va == "top" else 2 / height, va=va)
    return replace(drawing, alt=f"{drawing.alt} {statement}".strip())


def require_unique(table: pd.DataFrame, keys: list[str], instead: str) -> None:
    """Raise an error if two rows of a table belong in the same place of a figure."""
    twice = table[table.duplicated(keys)]
    if len(twice):
        keys_of_row = ", ".join(f"{name} {brief(twice[name].iloc[0])}" for name in keys)
        raise ValueError(f"the table has two rows for {keys_of_row}: {instead}.")


def format_correlation(value: float) -> str:
    """Format a correlation as papers do: with a minus sign, without a leading zero."""
    return f"{value:z.2f}".replace("-", "−").replace("0.", ".", 1)


def two_decimals(value: float) -> str:
    """Write a number with two decimals in a figure's alternative text."""
    return f"{value:.2f}" if math.isfinite(value) else "undefined"


def legend_label(name: object) -> str:
    """Prepare a name for a legend: Matplotlib hides names that are empty or start with "_"."""
    text = str(name)
    return f" {text}" if text[:1] in ("", "_") else text


def in_paper_style(plot: Callable[P, Drawing]) -> Callable[P, Drawing]:
    """Check a plot's arguments, and draw in paper style, or in the style of existing Axes."""

    @functools.wraps(plot)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        ax: Any = kwargs.get("ax")
        for axes in [] if ax is None else [ax] if isinstance(ax, Axes) else ax:
            for text in axes.findobj(Text):  # the plot writes the empty ones
                text.set_parse_math(text.get_parse_math() and bool(text.get_text()))
            for tick in (*axes.xaxis.get_major_ticks(), *axes.yaxis.get_major_ticks()):
                tick.label1.set_parse_math(False)
                tick.label2.set_parse_math(False)
        style = paper_style() if ax is None else {}
        with mpl.rc_context({**style, "text.parse_math": False}):
            return plot(*args, **kwargs)

    return checked(styled)
