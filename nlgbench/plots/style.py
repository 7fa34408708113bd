"""One look for all figures: sizes, fonts, colors that survive gray and color blindness.

Colors are those of Okabe and Ito, Color Universal Design (2008), https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

#: Widths in inches of all figures: ACL's column and text block, a hair less so that TeX has room.
ONE_COLUMN = 3.02
TWO_COLUMN = 6.28

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

#: Those of `GROUPS`, and every marker in the others' colors.
LOOKS: tuple[tuple[str, str], ...] = tuple(
    (marker, GROUPS[(n + turn) % len(GROUPS)][1])
    for turn in range(len(GROUPS))
    for n, (marker, _) in enumerate(GROUPS)
)

#: Dashes of lines, which differ in gray as colors may not.
LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 3)))


def line_look(n: int) -> dict[str, Any]:
    """Give the n-th line a color, marker and dashes; past seven, colors come with other dashes."""
    marker, color = GROUPS[n % len(GROUPS)]
    dashes = LINES[(n + n // len(GROUPS)) % len(LINES)]
    return {"color": color, "marker": marker, "linestyle": dashes}


#: Tasks of Hashimoto, Zhang, Liang (2019), Table 1, which look the same in every figure.
TASKS = ("summarization", "story generation", "chit-chat dialogue", "lm")


def task_looks(tasks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give each task a marker and a color: those of `TASKS` their own, others what is left."""
    names = list(dict.fromkeys(tasks))
    fixed = {name: GROUPS[TASKS.index(name.lower())] for name in names if name.lower() in TASKS}
    others = [name for name in names if name not in fixed]
    free = [look for look in (*GROUPS[len(TASKS) :], *LOOKS) if look not in fixed.values()]
    free = list(dict.fromkeys(free))
    looks = fixed | dict(zip(others, cycle(free), strict=False))
    return {name: looks[name] for name in names}


def paper_style() -> dict[Any, Any]:
    """Give Matplotlib's settings for a paper: small text at print size, thin lines."""
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
