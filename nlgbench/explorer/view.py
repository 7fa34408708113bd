"""The base class of the explorer's views: controls, and parts that the browser draws.

A part is a dictionary for JSON: an image (a public function's figure, with clickable areas), a
table whose rows can be opened, an item, or a game. It contains the message
that each area or row sends when selected. Controls check all values that a message can set.
"""

from __future__ import annotations

import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = dict[str, Any]
#: Pixels per inch of a figure on the screen, and the highest device pixel ratio.
PIXELS = 110
_SHARPNESS = 1.8
#: Characters that change the direction of the text around them.
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class View(ABC):
    """One tab: a question about a study, with controls for the reader."""

    name: ClassVar[str]
    title: ClassVar[str]
    #: One sentence on how to use the view.
    hint: ClassVar[str]
    #: The analysis that the study must support.
    analysis: ClassVar[str] = ""
    #: Whether what it shows depends on more than the values of its controls.
    has_state: ClassVar[bool] = False
    #: Formats of files to download.
    formats: ClassVar[tuple[str, ...]] = ("pdf", "png")

    def __init__(self, study: Study, once: Callable[..., Any]) -> None:
        self.study = study
        #: Runs an analysis once per set of arguments, for all views.
        self.once = once

    def supported(self) -> bool:
        """Return whether the study contains the data for this view."""
        return not self.analysis or self.possible(self.analysis)

    @abstractmethod
    def controls(self, values: Values) -> list[dict[str, Any]]:
        """List the controls; their options may depend on the values of others."""

    @abstractmethod
    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Describe the parts that the browser draws: `main`, and `side` next to it."""

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figures for print."""
        return []

    def code(self, values: Values) -> str:
        """Return the call that draws the first figure from a `study`."""
        return ""

    def says(self, values: Values) -> str:
        """Describe the view in a sentence."""
        return ""

    def files(self, values: Values, form: str) -> list[bytes]:
        """Return the files to download."""
        return [drawing.image(form) for drawing in self.drawings(values)]

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Do what the reader asked for; a `jump` opens another view."""
        return None

    def possible(self, analysis: str) -> bool:
        """Return whether `Study.check` lists an analysis as possible."""
        return bool(self.once(Study.check).set_index("analysis").loc[analysis, "possible"])

    def settle(self, values: Mapping[str, Any]) -> Values:
        """Keep the values that the controls allow, and reset others to the defaults."""
        settled: Values = {}
        for _ in range(2):  # the options of one control may depend on one that was just reset
            for control in self.controls({**values, **settled}):
                value = settled.get(control["name"], values.get(control["name"]))
                settled[control["name"]] = value if _offered(control, value) else control["value"]
        return settled


def _offered(control: Mapping[str, Any], value: Any) -> bool:
    """Return whether a control allows a value; values from the browser are not trusted."""
    match control["kind"]:
        case "slider":
            is_integer = isinstance(value, int) and not isinstance(value, bool)
            return is_integer and control["low"] <= value <= control["high"]
        case "words":
            return isinstance(value, str) and len(value) <= 1000
        case "number":
            return isinstance(value, int | float) and math.isfinite(value)
    options = [option for option, _ in control["options"]]
    if control["kind"] == "choice":
        return isinstance(value, str) and value in options
    return isinstance(value, list) and all(element in options for element in value)


def control(kind: str, name: str, label: str, value: Any, **more: Any) -> dict[str, Any]:
    """Describe a control: a slider (with `low` and `high`), words, or a number."""
    return {"kind": kind, "name": name, "label": label, "value": value, **more}


def choice(
    name: str, label: str, options: Iterable[str] | Mapping[str, str], value: str | None = None
) -> dict[str, Any]:
    """Describe a choice of one option; an invalid value becomes the first option."""
    pairs = _option_pairs(options)
    is_option = value in [option for option, _ in pairs]
    return control("choice", name, label, value if is_option else pairs[0][0], options=pairs)


def several(
    name: str, label: str, options: Iterable[str] | Mapping[str, str], n: int | None = None
) -> dict[str, Any]:
    """Describe a choice of several options; the first n, or all, are selected initially."""
    pairs = _option_pairs(options)
    return control("several", name, label, [value for value, _ in pairs[:n]], options=pairs)


def _option_pairs(options: Iterable[str] | Mapping[str, str]) -> list[list[str]]:
    named = options if isinstance(options, Mapping) else {option: option for option in options}
    return [[value, label] for value, label in named.items()]


def jump(view: str, **values: Any) -> dict[str, Any]:
    """Return the message with which a selected row or area opens a view with some values."""
    return {"type": "jump", "view": view, "values": values}


def image(
    drawing: nb.Drawing, areas: Iterable[tuple[list[float], Any]] = (), scale: float = 1
) -> dict[str, Any]:
    """Describe a figure as an image with its alternative text.

    Areas may come from a generator, because a figure's layout is only final when it is saved.
    """
    buffer = io.BytesIO()
    drawing.figure.savefig(buffer, format="png", dpi=PIXELS * _SHARPNESS * scale)
    width, height = (PIXELS * scale * drawing.figure.get_size_inches()).round().tolist()
    content = {"type": "image", "width": width, "height": height, "alt": drawing.alt}
    content["png"] = buffer.getvalue()
    return content | {"areas": [{"box": box, "sends": sends} for box, sends in areas]}


def area(ax: Axes, y: float, x: float | None = None) -> list[float]:
    """Return the left, top, right and bottom of a row or cell, as fractions of the figure."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    corners = [[0.0 if x is None else x + side, y + side] for side in (-0.5, 0.5)]
    places = ax.transData.transform(corners) / figure.bbox.size
    (x_low, x_high), (top, bottom) = sorted(places[:, 0]), sorted(1 - places[:, 1])
    return [0.0 if x is None else x_low, top, 1.0 if x is None else x_high, bottom]


def keywords(options: Mapping[str, Any]) -> str:
    """Write arguments as code."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def interval_name(rows: pd.DataFrame) -> str:
    """Name the intervals of a table; see `nlgbench.plots.rows`."""
    from nlgbench.plots import rows as plotted  # here, because it imports Matplotlib

    return plotted.interval_name(rows)


def written(value: float, digits: int = 2) -> str:
    """Format a number; NaN becomes "undefined"."""
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "undefined"


def estimated(row: Any) -> list[str]:
    """Format an estimate, and its interval."""
    low, high = row["ci_low"], row["ci_high"]
    has_interval = np.isfinite(low) and np.isfinite(high)
    ends = f"{written(low)} to {written(high)}" if has_interval else "no interval"
    return [written(row["estimate"]), ends]


def clean(name: object) -> str:
    """Replace characters that would disturb the sentence around a name."""
    return _TURNS.sub("\ufffd", str(name))


def describe_table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    opens: Sequence[Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Describe a table; `opens` contains the message that each row sends when selected.

    By default, the columns after the first contain numbers.
    """
    content = {"type": "table", "caption": caption, "columns": list(columns)}
    content["kinds"] = ["", *["number"] * (len(columns) - 1)]
    return {**content, "rows": list(map(list, rows)), "opens": opens, **more}
