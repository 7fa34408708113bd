"""Open the explorer on a study, in a notebook."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nlgbench.study import Study, read_study
from nlgbench.study.checks import checked
from nlgbench.worlds.simulated import simulate

if TYPE_CHECKING:
    from nlgbench.explorer.widget import Explorer

#: Worlds that together have all that the views show, and what `simulate` is given for them.
_WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "reviews": (
        "reviews",
        {"systems": ["leaky_t1.0", "leaky_t0.7", "leaky_t0.5"], "n_truth": 0},
    ),
    "judgments and votes": ("own", {}),
    "colors": ("colors", {}),
}


@checked
def explore(study: Study | str | os.PathLike | None = None) -> Explorer:
    """Open a study in a widget: its figures, with controls, and the code that makes each.

    Parameters
    ----------
    study : Study or path, optional
        A study, or a folder of one's own tables (as `read_study` takes it). Default: three
        simulated worlds to choose from, which together have all that is shown.

    Returns
    -------
    Explorer
        A widget with six tabs: HUSE's decision boundary, the quality-diversity plane, systems by
        people, the atlas of evaluators and people, ratings game by game, and a color game. What a
        study has no tables for says which. What is computed on the way is kept while it lives.

    Raises
    ------
    ValueError, TableError
        As `read_study`.

    Notes
    -----
    Nothing is estimated here: numbers, intervals and figures are those of the public functions, and
    the code under each figure makes the same. ``nlgbench explore`` serves the widget as an app.

    Examples
    --------
    >>> import nlgbench as nb
    >>> widget = nb.explore(nb.simulate("gaussian", n_outputs=20, seed=0))
    >>> widget.shown["picture"]["title"]
    'HUSE = 0.60 (t1.0)'
    """
    from nlgbench.explorer.widget import Explorer  # with all of anywidget, which takes a while

    openings: dict[str, tuple[str, Callable[[], Study]]]
    if study is None:
        openings = {name: _of_world(*world) for name, world in _WORLDS.items()}
    elif isinstance(study, Study):
        given = study
        loaded = given.pristine and given.origin == f"released:{given.name}"
        call = f"nb.load({given.name!r})" if loaded else ""
        openings = {given.name: (call, lambda: given)}
    else:
        opened = read_study(study)
        call = f"nb.read_study({os.fspath(study)!r})"
        openings = {opened.name: (call, lambda: opened)}
    return Explorer(openings)


def _of_world(world: str, options: dict[str, Any]) -> tuple[str, Callable[[], Study]]:
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"nb.simulate({world!r}{given})", lambda: simulate(world, **options)
