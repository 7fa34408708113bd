"""One look for all figures: sizes, fonts that embed, colors that survive gray and color blindness.

Colors are those of Okabe and Ito, Color Universal Design (2008), https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Widths in inches: a column and the whole text block of a two-column paper.
ONE_COLUMN = 3.25
TWO_COLUMN = 6.75

#: Venue -> widths in inches of a column and of the text block, from their style files.
VENUES: dict[str, tuple[float, float]] = {
    "acl": (3.03, 6.30),
    "neurips": (5.50, 5.50),
    "two-column": (ONE_COLUMN, TWO_COLUMN),
}

#: Score, as tables name it -> as figures write it.
SCORE_NAMES = {"huse": "HUSE", "huse_q": "HUSE-Q", "huse_d": "HUSE-D"}

#: Human references are blue squares, a system's outputs vermillion circles. The blue is darker than
#: Okabe and Ito's (#0072B2), whose lightness is too near the vermillion's to part them in gray.
HUMAN = "#004B7C"
SYSTEM = "#D55E00"

#: Marker and color of groups, in order; the first four are those of TASKS.
GROUPS: tuple[tuple[str, str], ...] = (
    ("o", "#0072B2"),
    ("s", "#D55E00"),
    ("D", "#009E73"),
    ("^", "#000000"),
    ("v", "#CC79A7"),
    ("P", "#E69F00"),
    ("X", "#56B4E9"),
)

#: Tasks of Hashimoto, Zhang, Liang (2019), Table 1, which look the same in every figure.
TASKS = ("summarization", "story generation", "chit-chat dialogue", "lm")


def task_looks(tasks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give each task a marker and a color of its own.

    Parameters
    ----------
    tasks : iterable of str
        In any letter case. Those of `TASKS` always look the same; others take what is left, in
        order.

    Returns
    -------
    dict
        Marker and color of each task.

    Raises
    ------
    ValueError
        If there are more tasks than looks.

    Examples
    --------
    >>> task_looks(["LM", "captions"])
    {'LM': ('^', '#000000'), 'captions': ('v', '#CC79A7')}
    """
    names = list(dict.fromkeys(tasks))
    fixed = {name: GROUPS[TASKS.index(name.lower())] for name in names if name.lower() in TASKS}
    others = [name for name in names if name not in fixed]
    free = [look for look in (*GROUPS[len(TASKS) :], *GROUPS) if look not in fixed.values()]
    free = list(dict.fromkeys(free))
    if len(others) > len(free):
        raise ValueError(
            f"{len(names)} tasks, and only {len(fixed) + len(free)} can be told apart: "
            f"{', '.join(names)}. Draw them in several figures."
        )
    return {name: fixed[name] if name in fixed else free[others.index(name)] for name in names}


def paper_style() -> dict[Any, Any]:
    """Give the settings of a figure for a paper.

    Returns
    -------
    dict
        For `matplotlib.pyplot.rc_context`: 8-point text at print size, thin lines, fonts embedded
        as TrueType (type 42, never Type 3), and the same bytes from the same data.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> with plt.rc_context(paper_style()):
    ...     fig, ax = plt.subplots(figsize=(ONE_COLUMN, 2))
    >>> plt.close(fig)
    """
    return {
        "figure.dpi": 110,
        "savefig.dpi": 300,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.hashsalt": "nlgbench",
        "font.family": "DejaVu Sans",
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "legend.frameon": False,
        "legend.handletextpad": 0.4,
        "legend.columnspacing": 1.0,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
