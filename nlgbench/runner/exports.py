"""Tables in the paper's form: LaTeX with booktabs, and Markdown."""

from __future__ import annotations

from itertools import groupby
from typing import Any, TypedDict

import numpy as np
import pandas as pd

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        **{"τ": r"$\tau$", "ρ": r"$\rho$", "κ": r"$\kappa$", "α": r"$\alpha$"},
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{sign: f"\\{sign}" for sign in "&%$#_"},
    }
)

#: What pdflatex prints of Unicode without further packages, and ends of lines.
_PRINTABLE = frozenset("\n†‡–—‘’“”…•" + "".join(map(chr, range(0xA1, 0x100)))) - frozenset("\xad")


class Layout(TypedDict, total=False):
    """What `to_latex` and `to_markdown` take, in one piece; what is missing has their defaults."""

    table: pd.DataFrame
    caption: str
    label: str
    decimals: int
    marks: pd.DataFrame
    intervals: tuple[pd.DataFrame, pd.DataFrame]
    note: str


def to_latex(
    table: pd.DataFrame,
    *,
    caption: str,
    label: str,
    decimals: int = 2,
    marks: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    note: str = "",
) -> str:
    """Write a table of numbers as LaTeX."""
    _check(table, marks, intervals)
    lines = [r"\begin{table}", r"\centering", f"\\caption{{{escape(caption)}}}"]
    lines += [f"\\label{{{label}}}"]
    kinds = ["r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in table.dtypes]
    lines += [f"\\begin{{tabular}}{{{'l' * table.index.nlevels}{''.join(kinds)}}}", r"\toprule"]
    corner = " & ".join(escape(name or "") for name in table.index.names)
    if table.columns.nlevels == 2:
        heads, rules, start = [" & " * (table.index.nlevels - 1)], [], table.index.nlevels + 1
        for name, group in groupby(table.columns, key=lambda column: column[0]):
            size = len(list(group))
            heads.append(f"\\multicolumn{{{size}}}{{c}}{{{escape(name)}}}")
            rules.append(f"\\cmidrule(lr){{{start}-{start + size - 1}}}")
            start += size
        lines += [" & ".join(heads) + r" \\", " ".join(rules)]
    lower = table.columns.get_level_values(-1)
    lines += [
        " & ".join([corner, *(f"\\multicolumn{{1}}{{c}}{{{escape(name)}}}" for name in lower)])
        + r" \\",
        r"\midrule",
    ]
    numbers, raised, bounds = _cells(table, decimals, marks, intervals)
    for n, name in enumerate(table.index):
        names = [escape(part) for part in (name if isinstance(name, tuple) else [name])]
        if names[0].startswith(("[", "*")):  # which the line break before would take for its own
            names[0] = f"{{}}{names[0]}"
        cells = []
        for number, mark, kind in zip(numbers[n], raised[n], kinds, strict=True):
            cell = f"${number}$" if kind == "r" and number != "--" else escape(number)
            cells.append(cell + (f"\\rlap{{\\textsuperscript{{{escape(mark)}}}}}" if mark else ""))
        lines.append(" & ".join([*names, *cells]) + r" \\")
        if bounds is not None:
            below = [
                "" if "--" in ends else f"{{\\scriptsize$[{ends[0]}, {ends[1]}]$}}"
                for ends in zip(bounds[0][n], bounds[1][n], strict=True)
            ]
            lines.append(" & ".join(["" for _ in names] + below) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"\\par\\smallskip{{\\footnotesize {escape(note)}}}"] if note else []
    return "\n".join([*lines, r"\end{table}", ""])


def to_markdown(
    table: pd.DataFrame,
    *,
    caption: str = "",
    label: str = "",
    decimals: int = 2,
    marks: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    note: str = "",
) -> str:
    """Write a table of numbers as Markdown, as GitHub reads it."""
    _check(table, marks, intervals)
    heads = [
        " ".join(map(str, column)) if isinstance(column, tuple) else str(column)
        for column in table.columns
    ]
    names = [str(name or "") for name in table.index.names]
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    rows = [
        [*names, *heads],
        [*(":--" for _ in names), *("--:" if number else ":--" for number in numeric)],
    ]
    numbers, raised, bounds = _cells(table, decimals, marks, intervals)
    for n, name in enumerate(table.index):
        cells = []
        for c, (number, mark) in enumerate(zip(numbers[n], raised[n], strict=True)):
            cell = number.replace("-", "−") if numeric[c] and number != "--" else number
            ends = [] if bounds is None else [bound[n][c] for bound in bounds]
            if ends and "--" not in ends:
                mark += f" [{ends[0]}, {ends[1]}]".replace("-", "−")
            cells.append(cell + mark)
        rows.append([*map(str, name if isinstance(name, tuple) else [name]), *cells])
    lines = [
        "| " + " | ".join(cell if n == 1 else _escape_markdown(cell) for cell in row) + " |"
        for n, row in enumerate(rows)
    ]
    above = [f"**{_escape_markdown(caption)}**", ""] if caption else []
    below = ["", _escape_markdown(note)] if note else []
    return "\n".join([*above, *lines, *below, ""])


def _cells(
    table: pd.DataFrame,
    decimals: int,
    marks: pd.DataFrame | None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None,
) -> tuple[list[list[str]], list[list[str]], list[list[list[str]]] | None]:
    """Write the numbers, what is raised beside them, and the bounds below them."""
    raised = pd.DataFrame("", table.index, table.columns) if marks is None else marks
    bounds = None if intervals is None else [_write(bound, decimals) for bound in intervals]
    return _write(table, decimals), _write(raised.fillna(""), 0), bounds


def _write(table: pd.DataFrame, decimals: int) -> list[list[str]]:
    """Write each cell: a hyphen for minus, which what rounds to zero does not have."""

    def write(value: Any) -> str:
        if pd.isna(value):
            return "--"
        if isinstance(value, float | np.floating):
            return f"{value:z.{decimals}f}"
        return str(value)

    return [[write(value) for value in row] for row in table.astype(object).to_numpy()]


def escape(text: object) -> str:
    """Write a text so that LaTeX prints it as it stands."""
    return printable(str(text).translate(_LATEX))


def printable(text: str) -> str:
    """Write characters that pdflatex has no sign for by their number: it stops at such a one."""
    return "".join(
        one if "\x20" <= one < "\x7f" or one in _PRINTABLE else f"U+{ord(one):04X}" for one in text
    )


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\|*_`<" else sign for sign in text)


def _check(
    table: pd.DataFrame,
    marks: pd.DataFrame | None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None,
) -> None:
    if table.columns.nlevels > 2:
        raise ValueError(
            f"table's columns have {table.columns.nlevels} levels; two can be set. Join the upper "
            "ones into one."
        )
    beside = {"marks": marks}
    if intervals is not None:
        beside |= dict(zip(("the lower bounds", "the upper bounds"), intervals, strict=True))
    for name, other in beside.items():
        if other is None:
            continue
        for side, own, its in (
            ("rows", table.index, other.index),
            ("columns", table.columns, other.columns),
        ):
            if not own.equals(its):
                raise ValueError(
                    f"{name} must have the table's {side}, in its order: {list(own)}; got "
                    f"{list(its)}. Use reindex_like(table)."
                )
