"""The style of all figures: sizes, fonts, and colors distinct in grayscale and to the color-blind.

The colors are from Okabe and Ito, Color Universal Design (2008), https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

#: Widths of figures in inches, just below ACL's column and text width to avoid overfull boxes.
ONE_COLUMN = 3.02
TWO_COLUMN = 6.28

#: A score's name in tables -> its name in figures.
SCORE_NAMES = {"huse": "HUSE", "huse_q": "HUSE-Q", "huse_d": "HUSE-D"}

#: One meaning per color: estimates are dark gray, what a figure singles out is magenta, humans are
#: blue and models' outputs vermillion. The blue is darker than Okabe and Ito's (#0072B2), which is
#: too close to the vermillion in grayscale.
ESTIMATE = "#333333"
ACCENT = "#A3195B"
HUMAN = "#004B7C"
SYSTEM = "#D55E00"

#: Marker and color of each group, in order.
GROUPS: tuple[tuple[str, str], ...] = (
    ("o", "#0072B2"),
    ("s", "#D55E00"),
    ("D", "#009E73"),
    ("^", "#000000"),
    ("v", "#CC79A7"),
    ("P", "#E69F00"),
    ("X", "#56B4E9"),
)

#: All combinations of marker and color, those of `GROUPS` first.
LOOKS: tuple[tuple[str, str], ...] = tuple(
    (marker, GROUPS[(n + shift) % len(GROUPS)][1])
    for shift in range(len(GROUPS))
    for n, (marker, _) in enumerate(GROUPS)
)

#: Line styles: they stay distinct in grayscale, where colors may not.
LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 3)))


def line_look(n: int) -> dict[str, Any]:
    """Return the n-th line's color, marker and dashes; beyond seven, only the dashes are new."""
    marker, color = GROUPS[n % len(GROUPS)]
    dashes = LINES[(n + n // len(GROUPS)) % len(LINES)]
    return {"color": color, "marker": marker, "linestyle": dashes}


#: Tasks of Hashimoto, Zhang and Liang (2019), Table 1, and kinds of simulated systems: each has the
#: same style in every figure.
TASKS = (
    *("summarization", "story generation", "chit-chat dialogue", "lm"),
    *("leaky", "trigram", "recurrent", "grammar", "memorizer 500", "corruption"),
)
_SAME = {"temperature": "grammar", "memorized texts": "memorizer 500"}


def task_looks(tasks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Choose each task's marker and color: fixed for `TASKS`, the unused ones for other tasks."""
    names = list(dict.fromkeys(tasks))
    tasks_of = {name: _SAME.get(name, name.lower()) for name in names}
    fixed = {name: LOOKS[TASKS.index(task)] for name, task in tasks_of.items() if task in TASKS}
    free_tasks = [name for name in names if name not in fixed]
    free = [style for style in LOOKS[len(TASKS) :] + LOOKS if style not in fixed.values()]
    free = list(dict.fromkeys(free))
    styles = fixed | dict(zip(free_tasks, cycle(free), strict=False))
    return {name: styles[name] for name in names}


def paper_style() -> dict[Any, Any]:
    """Return Matplotlib settings for a paper: small text at print size, thin lines."""
    return {
        "figure.dpi": 110,
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
