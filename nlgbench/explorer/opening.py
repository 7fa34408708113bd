"""Open the explorer on a study, in a notebook."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import nlgbench as nb
from nlgbench.datasets.public import open_named
from nlgbench.explorer.stored import stored_tables
from nlgbench.study import Study
from nlgbench.study.checks import checked

if TYPE_CHECKING:
    from nlgbench.explorer.widget import Explorer


@checked
def explore(
    study: Study | str | os.PathLike | None = None,
    *,
    view: str = "outputs",
    runs: str | os.PathLike = "figures/latest",
) -> Explorer:
    """Open a study in a widget, to read its texts and explore its figures.

    Parameters
    ----------
    study : Study or path, optional
        A study, the path of its folder (see `read_study`), or the name of a public study (see
        `studies`). By default, the explorer opens a simulated study, so that you can try it.
    view : {"outputs", "systems", "evaluators", "votes", "boundary", "tradeoff", "game"}
        The tab to open first; outputs if the study lacks the data for it.
    runs : path
        The folder of ``nlgbench run``. A run of notebook 08 on an unchanged `study`, given by path
        or name, is used instead of computing its results again.

    Returns
    -------
    Explorer
        A widget with the table of outputs. Further tabs appear if the study has the data for
        them: systems, evaluators, votes, HUSE's decision boundary, quality and diversity, and a
        color game.

    Raises
    ------
    FileNotFoundError, TableError
        If `read_study` cannot read the folder.

    Notes
    -----
    The line of code below a figure reproduces it. ``nlgbench explore`` serves the widget as an app.

    Examples
    --------
    >>> import nlgbench as nb
    >>> widget = nb.explore(nb.simulate("gaussian", n_outputs=20, seed=0))
    >>> [view["title"] for view in widget.shown["views"]]
    ['Outputs', 'Systems', 'Decision boundary', 'Quality and diversity']
    """
    from nlgbench.explorer.widget import Explorer  # imports anywidget, which takes a while

    if study is None or isinstance(study, Study):
        return Explorer(study or nb.simulate("judges"), view)
    return Explorer(open_named(study), view, partial(stored_tables, os.fspath(study), Path(runs)))
