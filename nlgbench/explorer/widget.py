"""The widget: it sends content to the browser, and receives the reader's selections."""

from __future__ import annotations

import html
import json
import logging
import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from nlgbench.explorer.boundary import BoundaryView
from nlgbench.explorer.controls import make_control
from nlgbench.explorer.evaluators import EvaluatorsView
from nlgbench.explorer.game import GameView
from nlgbench.explorer.outputs import OutputsView
from nlgbench.explorer.stored import Tables, look_up
from nlgbench.explorer.systems import SystemsView
from nlgbench.explorer.tradeoff import TradeoffView
from nlgbench.explorer.view import Values, View, clean
from nlgbench.explorer.votes import VotesView
from nlgbench.names import known
from nlgbench.study import Study
from nlgbench.text import counted

VIEWS: tuple[type[View], ...] = (
    OutputsView,
    SystemsView,
    EvaluatorsView,
    VotesView,
    BoundaryView,
    TradeoffView,
    GameView,
)
_HALVES = re.compile("[\ud800-\udfff]")
_HERE = Path(__file__).parent
_MIME = {"pdf": "application/pdf", "png": "image/png", "csv": "text/csv"}


class Canvas(anywidget.AnyWidget):
    """Draws tables, pictures and texts, and sends what the reader selects."""

    _esm = _HERE / "explorer.js"
    _css = _HERE / "explorer.css"
    shown = traitlets.Dict().tag(sync=True)
    busy = traitlets.Bool().tag(sync=True)


class Explorer(ipywidgets.VBox):
    """Views of a study, one at a time."""

    def __init__(
        self, study: Study, view: str = "outputs", stored: Callable[[], Tables] = dict
    ) -> None:
        """Open a study at a view; `stored` reads the results of a run."""
        known(view, [kind.name for kind in VIEWS], "view")
        super().__init__()
        self.add_class("nlg-panel")
        tables = cache(stored)
        once = lru_cache(maxsize=256)(
            lambda analysis, **arguments: look_up(study, tables, analysis, **arguments)
        )
        tabs = [kind(study, once) for kind in VIEWS]
        self._views = {tab.name: tab for tab in tabs if tab.supported()}
        self._values: dict[str, Values] = {}
        self._view = view if view in self._views else OutputsView.name
        self._problem, self._about = "", about(study)
        #: View and values -> content.
        self._drawn: dict[str, dict[str, Any]] = {}
        #: View and description -> control, and the function that sets its value.
        self._made: dict[str, tuple[ipywidgets.Widget, Callable[[Any], None]]] = {}
        self._fill()
        self._show()

    def _fill(self) -> None:
        """Put tabs, controls, the canvas and buttons below each other."""
        tabs, self._canvas = list(self._views.values()), Canvas()
        self._canvas.on_msg(self._receive)
        self._tabs = ipywidgets.Tab([ipywidgets.Box() for _ in tabs], selected_index=None)
        self._tabs.titles = [tab.title for tab in tabs]
        self._tabs.observe(
            lambda change: self._ask(type="open", view=tabs[change["new"]].name), "selected_index"
        )
        self._controls, self._exports = ipywidgets.HBox(), ipywidgets.HBox()
        self._buttons = {}
        for form in _MIME:
            button = self._buttons[form] = ipywidgets.Button(description=f"Download {form.upper()}")
            button.on_click(lambda _, form=form: self._ask(type="export", format=form))
        title = ipywidgets.HTML(f"<b>{html.escape(self._about)}</b>")
        self.children = [title, self._tabs, self._controls, self._canvas, self._exports]

    def _ask(self, **content: Any) -> None:
        """Carry out what a control sends, unless the explorer itself has set the control."""
        is_open = content["type"] == "open" and content["view"] == self._view
        if not is_open:
            self._receive(None, content, None)

    def _receive(self, _: object, content: dict[str, Any], buffers: object) -> None:
        """Carry out the reader's request; errors are shown in the app."""
        self._canvas.busy, self._problem = True, ""
        try:
            self._do(content)
        except Exception as error:
            self._problem = _describe_error(error)
        self._show()
        self._canvas.busy = False

    def _do(self, content: dict[str, Any]) -> None:
        view = self._views[self._view]
        values = self._values[view.name]
        match content["type"]:
            case "export" if content["format"] in view.formats:
                return self._export(view, values, content["format"])
            case "open" | "jump":
                return self._jump(content)
            case "set":
                values = view.settle({**values, content["name"]: content["value"]})
                self._values[view.name] = values
        if jump := view.do(values, content):
            self._jump(jump)
        return None

    def _jump(self, jump: dict[str, Any]) -> None:
        """Open a view, with values that another view set."""
        if jump["view"] not in self._views:
            return
        self._view, view = jump["view"], self._views[jump["view"]]
        if "values" in jump:
            values = self._values[view.name] = view.settle(jump["values"])
            if isinstance(view, OutputsView):
                view.open_output(values, jump.get("output"))

    def _export(self, view: View, values: Values, form: str) -> None:
        """Send a table as CSV, or each figure at print size."""
        for n, content in enumerate(view.files(values, form)):
            name = f"{view.name}{f'-{n + 1}' if n else ''}.{form}"
            self._canvas.send({"name": name, "mime": _MIME[form]}, [content])

    def _show(self) -> None:
        """Send the browser everything that it shows."""
        view = self._views[self._view]
        content: dict[str, Any] = {
            "about": self._about,
            "views": [{"name": tab.name, "title": tab.title} for tab in self._views.values()],
            "view": view.name,
            "controls": [],
            "parts": {},
            "hint": view.hint,
            "says": "",
            "code": "",
            "exports": list(view.formats),
            "problem": self._problem,
        }
        try:
            values = self._values[view.name] = view.settle(self._values.get(view.name, {}))
            content["controls"] = [
                {**entry, "value": values[entry["name"]]} for entry in view.controls(values)
            ]
            key = json.dumps([view.name, values])
            if view.has_state or key not in self._drawn:
                says, code = view.says(values), view.code(values)
                self._drawn[key] = {"parts": view.parts(values), "says": says, "code": code}
            content |= self._drawn[key]
        except Exception as error:
            content["problem"] = self._problem or _describe_error(error)
        self.shown = _sendable(content)
        self._set_controls(view)
        names = ("parts", "hint", "says", "code", "problem")
        self._canvas.shown = {name: self.shown[name] for name in names}

    def _set(self, name: str, value: Any) -> None:
        self._ask(type="set", name=name, value=value)

    def _set_controls(self, view: View) -> None:
        """Show the controls of a view; unchanged ones stay, and keep their focus."""
        controls = []
        for entry in self.shown["controls"]:
            key = json.dumps([view.name, entry | {"value": None}])
            if key not in self._made:
                self._made[key] = make_control(entry, self._set)
            control, update = self._made[key]
            update(entry["value"])
            controls.append(control)
        is_item = any(part["type"] == "item" for part in self.shown["parts"].get("main", []))
        self._controls.children = () if is_item else controls
        self._exports.children = [self._buttons[form] for form in view.formats]
        self._tabs.selected_index = list(self._views).index(view.name)


def about(study: Study) -> str:
    """Describe a study by its name and the sizes of its tables."""
    outputs, judgments = study.outputs, study.judgments
    counts = {"output": len(outputs), "system": outputs["system"].nunique()}
    counts["item"] = outputs["item_id"].nunique()
    if judgments is not None:
        counts |= {"annotator": judgments["annotator_id"].nunique(), "judgment": len(judgments)}
    rows = {"vote": study.preferences, "comparison": study.comparisons}
    counts |= {name: len(table) for name, table in rows.items() if table is not None}
    if study.scores is not None:
        counts["evaluator"] = study.scores["evaluator"].nunique()
    listed = [counted(n, name) for name, n in counts.items()]
    return f"{clean(study.name)} ({study.source}): {', '.join(listed)}"


def _sendable(value: Any) -> Any:
    """Replace unpaired surrogates, which messages cannot contain."""
    if isinstance(value, dict):
        return {name: _sendable(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(element) for element in value]
    return _HALVES.sub("\ufffd", value) if isinstance(value, str) else value


def _describe_error(error: Exception) -> str:
    """Return the message of an error, to show in the app; log it unless it explains itself."""
    if isinstance(error, ValueError | ImportError):
        return str(error)
    logging.getLogger(__name__).exception("the explorer could not carry out a request")
    return repr(error)
