"""What a view of the explorer is: controls, a picture in numbers, and the code of its figure.

A picture is what the browser draws: axes and marks (raster, line, band, points, cells, margin) in
the units of the data, in lists that JSON can hold. The figure for print is made by the public
functions, in `View.drawing`, and `View.code` is the text that does the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from nlgbench.plots.figures import Drawing
from nlgbench.study import Study

Values = dict[str, Any]


class View(ABC):
    """One tab: a question that is asked of a study, with what the reader may choose."""

    name: str
    title: str
    #: What to do with the picture, in a sentence.
    hint: str
    #: Analyses of `Study.check` that it stands on.
    needs: tuple[str, ...]

    def __init__(self, study: Study) -> None:
        self.study = study

    def missing(self) -> str:
        """Say which tables the study lacks for it, and what to do; empty where it has all."""
        asked = self.study.check().set_index("analysis").loc[list(self.needs)]
        lacking = [one for one in asked["missing"] if one]
        if not lacking:
            return ""
        return (
            f"{self.study.name} cannot show this: {' needs '.join(self.needs)} needs "
            f"{'; '.join(lacking)}. Add what is missing to the study's tables."
        )

    @abstractmethod
    def controls(self, values: Values) -> list[dict[str, Any]]:
        """List the controls; what they offer may depend on what the others are set to."""

    @abstractmethod
    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out what the browser draws."""

    @abstractmethod
    def drawing(self, values: Values) -> Drawing:
        """Make the figure for print."""

    @abstractmethod
    def code(self, values: Values) -> list[str]:
        """Write the lines that make `drawing` of a `study`, and call it ``drawn``."""

    def says(self, values: Values) -> str:
        """Say in a sentence what stands beside the picture."""
        return ""

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """Tell about a point that was picked; None where there is no such point."""
        return None

    def settle(self, values: Mapping[str, Any]) -> Values:
        """Take what the controls allow; all else becomes the default."""
        settled: Values = {}
        for _ in range(2):  # what one control offers may hang on another that was just settled
            for control in self.controls({**values, **settled}):
                asked = settled.get(control["name"], values.get(control["name"]))
                settled[control["name"]] = asked if _offered(control, asked) else control["value"]
        return settled


def _offered(control: Mapping[str, Any], asked: object) -> bool:
    """Whether a control can be set so: the browser is not trusted with what becomes code."""
    if control["kind"] == "slider":
        whole = isinstance(asked, int) and not isinstance(asked, bool)
        return whole and control["low"] <= asked <= control["high"]
    options = [value for value, _ in control["options"]]
    if control["kind"] == "choice":
        return isinstance(asked, str) and asked in options
    some = isinstance(asked, list) and len(asked) > 0
    return some and all(one in options for one in asked)  # type: ignore[attr-defined]


def slider(name: str, label: str, value: int, low: int, high: int) -> dict[str, Any]:
    """Describe a whole number between two ends."""
    value = min(max(value, low), high)
    made = {"kind": "slider", "name": name, "label": label, "value": value}
    return {**made, "low": low, "high": high}


def choice(
    name: str, label: str, options: Iterable[str] | Mapping[str, str], value: str | None = None
) -> dict[str, Any]:
    """Describe a choice of one; without a value the first."""
    pairs = _pairs(options)
    made = {"kind": "choice", "name": name, "label": label, "options": pairs}
    return {**made, "value": pairs[0][0] if value is None else value}


def several(
    name: str, label: str, options: Iterable[str] | Mapping[str, str], n: int | None = None
) -> dict[str, Any]:
    """Describe a choice of one or more; at first the first n, or all."""
    pairs = _pairs(options)
    made = {"kind": "several", "name": name, "label": label, "options": pairs}
    return {**made, "value": [value for value, _ in pairs[:n]]}


def _pairs(options: Iterable[str] | Mapping[str, str]) -> list[list[str]]:
    if isinstance(options, Mapping):
        return [[value, label] for value, label in options.items()]
    return [[value, value] for value in options]


def chosen(controls: Iterable[Mapping[str, Any]], values: Values) -> list[dict[str, Any]]:
    """Set controls to values."""
    return [{**control, "value": values[control["name"]]} for control in controls]


def axis(low: float, high: float, label: str) -> dict[str, Any]:
    """Lay out an axis of numbers, with the ticks that Matplotlib would choose."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    inside = [float(tick) for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]
    labels = [f"{tick:,.6g}".replace("-", "−") for tick in np.round(inside, 9) + 0.0]
    return {"limits": [float(low), float(high)], "label": label, "ticks": inside, "labels": labels}


def names_axis(names: Sequence[str]) -> dict[str, Any]:
    """Lay out an axis of names: the first at the top, or at the left."""
    limits = [len(names) - 0.5, -0.5]
    return {"limits": limits, "label": "", "ticks": list(range(len(names))), "names": list(names)}


def segment(x: Sequence[float], y: Sequence[float], color: str, **look: Any) -> dict[str, Any]:
    """Lay out a line through places."""
    return {"type": "line", "x": list(map(float, x)), "y": list(map(float, y)), "color": color} | (
        look
    )


def written(value: float, digits: int = 2) -> str:
    """Write a number for people; what is undefined is said."""
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "undefined"


def between(low: float, high: float) -> str:
    """Write an interval, or that there is none."""
    known = np.isfinite(low) and np.isfinite(high)
    return f"{written(low)} to {written(high)}" if known else "no interval"


def told(
    picked: str,
    title: str,
    says: Iterable[str],
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
) -> dict[str, Any]:
    """Lay out what is told of a point that was picked: sentences, and a table below them."""
    table = {"caption": caption, "columns": list(columns), "rows": list(map(list, rows))}
    sentences = list(dict.fromkeys(filter(None, says)))
    return {"id": picked, "title": title, "says": sentences, "table": table}
