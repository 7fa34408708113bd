"""The widget: what the browser shows, and what it is told when the reader chooses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nlgbench.explorer.atlas import AtlasView
from nlgbench.explorer.boundary import BoundaryView
from nlgbench.explorer.game import GameView
from nlgbench.explorer.ratings import RatingsView
from nlgbench.explorer.systems import SystemsView
from nlgbench.explorer.tradeoff import TradeoffView
from nlgbench.explorer.view import Values, View, chosen
from nlgbench.study import Study

VIEWS: tuple[type[View], ...] = (
    BoundaryView,
    TradeoffView,
    SystemsView,
    AtlasView,
    RatingsView,
    GameView,
)
_HERE = Path(__file__).parent
_MIME = {"pdf": "application/pdf", "png": "image/png"}
# What was given in a notebook has a name there that nobody knows here.
_GIVEN = "# study: the one that nb.explore was given"


class Explorer(anywidget.AnyWidget):
    """Views of a study, one at a time."""

    _esm = _HERE / "explorer.js"
    _css = _HERE / "explorer.css"
    #: What the browser draws: views, controls, picture, detail, code.
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self, openings: Mapping[str, tuple[str, Callable[[], Study]]]) -> None:
        """Take studies by name, each with the call that makes it and what opens it."""
        super().__init__()
        self._openings = dict(openings)
        self._stamp = 0
        self._open(next(iter(self._openings)))
        self.on_msg(self._receive)

    def _open(self, name: str) -> None:
        """Open a study at the first view that it has tables for."""
        self._study_name = name
        call, made = self._openings[name]
        self._call, study = call, made()
        self._views = {view.name: view(study) for view in VIEWS}
        self._missing = {name: view.missing() for name, view in self._views.items()}
        able = [name for name, reason in self._missing.items() if not reason]
        self._values: dict[str, Values] = {}
        self._picked: dict[str, str] = {}
        self._view = able[0] if able else VIEWS[0].name
        self._problem = ""
        self._show()

    def _receive(self, _: object, content: dict[str, Any], buffers: object) -> None:
        """Do what the reader asked for; an error becomes words in the app."""
        self._stamp, self._problem = content.get("stamp", 0), ""
        try:
            self._do(content)
        except Exception as error:
            self._problem = _words(error)
        self._show()

    def _do(self, content: dict[str, Any]) -> None:
        view = self._views[self._view]
        match content["type"]:
            case "study" if content["study"] in self._openings:
                self._open(content["study"])
            case "open" if content["view"] in self._views:
                self._view = content["view"]
            case "set":
                now = {**self._values.get(view.name, {}), content["name"]: content["value"]}
                self._values[view.name] = view.settle(now)
            case "next":
                now = self._values[view.name]
                self._values[view.name] = view.settle({**now, "round": now["round"] + 1})
            case "pick" if isinstance(content["id"], str):
                self._picked[view.name] = content["id"]
                if isinstance(view, GameView):
                    view.answer(self._values[view.name], content["id"])
            case "export" if content["format"] in _MIME:
                drawn = view.drawing(self._values[view.name])
                file = {"type": "file", "name": f"{view.name}.{content['format']}"}
                file["mime"] = _MIME[content["format"]]
                self.send(file, [drawn.image(content["format"])])

    def code(self) -> str:
        """Write the lines that make the figure of the view that is shown."""
        view = self._views[self._view]
        opened = f"study = {self._call}" if self._call else _GIVEN
        lines = view.code(self._values[view.name])
        saved = f"drawn.save({view.name!r})"
        return "\n".join(["import nlgbench as nb", "", opened, *lines, saved])

    def _show(self) -> None:
        """Tell the browser all that it shows now."""
        view = self._views[self._view]
        reason = self._missing[view.name]
        shown: dict[str, Any] = {
            "stamp": self._stamp,
            "studies": list(self._openings),
            "study": self._study_name,
            "views": [{"name": view.name, "title": view.title} for view in VIEWS],
            "view": view.name,
            "controls": [],
            "picture": None,
            "game": None,
            "detail": None,
            "hint": reason or view.hint,
            "says": "",
            "code": "",
            "problem": self._problem,
        }
        if not reason:
            try:
                shown |= self._drawn(view)
            except Exception as error:
                shown["problem"] = self._problem or _words(error)
        self.shown = shown

    def _drawn(self, view: View) -> dict[str, Any]:
        values = self._values[view.name] = view.settle(self._values.get(view.name, {}))
        made: dict[str, Any] = {"controls": chosen(view.controls(values), values)}
        picture = view.picture(values)
        made["game" if isinstance(view, GameView) else "picture"] = picture
        picked = self._picked.get(view.name)
        if picked is not None:
            made["detail"] = view.detail(values, picked)
        made |= {"says": view.says(values), "code": self.code()}
        return made


def _words(error: Exception) -> str:
    """Say what went wrong: a comm has nobody to raise to, so the reader is told.

    What the study's numbers do not allow, or what is not installed, says the way out itself; all
    else goes to the kernel's log as well.
    """
    if isinstance(error, ValueError | ImportError):
        return str(error)
    logging.getLogger(__name__).exception("the explorer could not do what was asked")
    return repr(error)
