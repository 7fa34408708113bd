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
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from nlgbench import files
from nlgbench.evaluators.names import kind
from nlgbench.names import brief
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


def canvas(
    width: float, height: float, *, rows: int = 1, columns: int = 1, **subplots: Any
) -> tuple[Figure, tuple[Axes, ...]]:
    """Make a figure of a print size in inches, without pyplot, and its axes row by row."""
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
    """Take the axes that were handed over, or make a figure of `n` panels, row by row.

    Places of the grid that no panel needs stay empty; shared axes are named at its edges.
    """
    if ax is not None:
        given = (ax,) if isinstance(ax, Axes) else tuple(ax)
        if len(given) != n:
            panels = "one Axes" if n == 1 else f"{n} Axes, one for each panel"
            raise ValueError(f"ax must be {panels}. Got {len(given)}.")
        return given
    columns = min(columns, n)
    _, axes = canvas(width, height, rows=-(-n // columns), columns=columns, **grid)
    for spare in axes[n:]:
        spare.remove()
    for lowest in axes[max(0, n - columns) : n]:
        lowest.xaxis.set_tick_params(labelbottom=True)
    return axes[:n]


#: Figures of one study draw the highest so many evaluators; sentinels and length are always drawn.
MOST_EVALUATORS = 20


def draw_highest(plot: Callable[[pd.DataFrame], Drawing], table: pd.DataFrame) -> Drawing:
    """Draw the 20 evaluators with the highest mean estimate, and sentinels, length and people.

    Where rows are left out, a line below the figure and its alternative text say so.
    """
    names = table["evaluator"].astype(str)
    always = names.map(kind).isin(["Sentinels", "People"]) | names.isin(["length", "text_length"])
    if "is_sentinel" in table:
        always |= table["is_sentinel"].astype(bool)
    means = table["estimate"].groupby(names).mean().sort_values(ascending=False, kind="stable")
    others = means[~means.index.isin(names[always])]
    kept = others.index[:MOST_EVALUATORS]
    drawn = plot(table[always | names.isin(kept)])
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


def one_row_each(table: pd.DataFrame, keys: list[str], instead: str) -> None:
    """Refuse a table with two rows for what a figure has one place."""
    twice = table[table.duplicated(keys)]
    if len(twice):
        found = ", ".join(f"{name} {brief(twice[name].iloc[0])}" for name in keys)
        raise ValueError(f"the table has two rows for {found}: {instead}.")


def correlation(value: float) -> str:
    """Write a correlation as papers do, with a minus sign and no zero before the point."""
    return f"{value:z.2f}".replace("-", "−").replace("0.", ".", 1)


def in_legend(name: object) -> str:
    """Write a name so that a legend shows it: Matplotlib leaves out what is empty or begins "_"."""
    text = str(name)
    return f" {text}" if text[:1] in ("", "_") else text


def in_paper_style(plot: Callable[P, Drawing]) -> Callable[P, Drawing]:
    """Check what a plot is given; draw in paper style, or on given Axes in theirs.

    Names are data: a dollar sign in one starts no formula, whichever the style.
    """

    @functools.wraps(plot)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        ax: Any = kwargs.get("ax")
        for one in [] if ax is None else [ax] if isinstance(ax, Axes) else ax:
            for text in one.findobj(Text):  # those that are empty are written by the plot
                text.set_parse_math(text.get_parse_math() and bool(text.get_text()))
            for tick in (*one.xaxis.get_major_ticks(), *one.yaxis.get_major_ticks()):
                tick.label1.set_parse_math(False)
                tick.label2.set_parse_math(False)
        style = paper_style() if ax is None else {}
        with mpl.rc_context({**style, "text.parse_math": False}):
            return plot(*args, **kwargs)

    return checked(styled)
