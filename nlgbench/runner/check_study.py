"""What `nlgbench check` reports on a study: what to fix, what is doubtful, what can be run."""

from __future__ import annotations

import textwrap
from numbers import Integral
from pathlib import Path

import pandas as pd

from nlgbench.datasets.public import is_public, load
from nlgbench.runner import listing
from nlgbench.runner.new_study import unconfirmed
from nlgbench.study import TABLES, Study, near_names, read_folder, summary
from nlgbench.study.csv_files import TableError
from nlgbench.study.schema import Raw
from nlgbench.text import counted

#: The width of the text, for any terminal, and the most rows of a table to show.
_WIDTH, _ROWS = 80, 20


def check(place: Path) -> tuple[str, bool]:
    """Check a study's folder or a public study; return a report, and whether the study is valid."""
    problems: list[str] = []
    doubts: list[str] = []
    notes: list[str] = []
    study = None
    try:
        if is_public(str(place)):
            study = load(str(place))
            frames = {table: getattr(study, table) for table in TABLES}
            tables = {
                table: Raw(frame, table) for table, frame in frames.items() if frame is not None
            }
            near_names.settle(tables, dict(study.settings), doubts, doubts)
        else:
            study, notes = read_folder(place, problems, doubts)
    except TableError as error:
        problems += error.problems
    noted = [*_section("Guessed, to confirm", unconfirmed(place)), *_section("Noted", notes)]
    if study is None:
        shown = [_line(one, f"  {number}. ") for number, one in enumerate(problems, 1)]
        return "\n\n".join(["\n".join(["To fix", *shown]), *noted]), False
    can = study.check()
    can["analysis"] = can["analysis"].str.replace(r": (.*)", r" (\1)", regex=True)
    needed: dict[str, list[str]] = {}
    for row in can[~can["possible"]].itertuples():
        for one in str(row.missing).split("; "):
            needed.setdefault(one, []).append(str(row.analysis))
    ready = [", ".join(can.loc[can["possible"], "analysis"])]
    if not ready[0]:
        ready = ["None yet: add a table that is listed below."]
    elif place.is_dir():
        ready.append(f"Rank systems and evaluators: nlgbench run 08 -p study={place}")
    lacking = [f"{one}: {', '.join(names)}" for one, names in needed.items()]
    parts = [
        *_counts(study),
        *_section("What could change a conclusion", summary.doubts(study, doubts)),
        *noted,
        *_section("Analyses you can run", ready),
        *_section("Analyses that need more data, by what they need", lacking),
    ]
    return "\n\n".join(parts), True


def _counts(study: Study) -> list[str]:
    """Summarize the tables; what all dimensions or evaluators share is written once."""
    there = {table: getattr(study, table) for table in TABLES}
    sizes = [
        counted(len(frame), table.removesuffix("s").replace("_", " "))
        for table, frame in there.items()
        if frame is not None
    ]
    parts = [_line(f"{study.name}: {', '.join(sizes)}", "")]
    tables = {
        "Judgments": summary.by_dimension(study),
        "Votes": summary.by_votes(study),
        "Scores": summary.by_evaluator(study),
    }
    for title, table in tables.items():
        if table.empty:
            continue
        same = [name for name in table.columns[1:] if len(set(table[name])) == 1]
        what = str(table.columns[0])
        of = f"of {len(table)} {what}s, each:" if len(table) > 1 else f"({table[what].iloc[0]!s})"
        lines = [f"{title} {of}", *_cells(table[same].iloc[0])]
        rest = table.drop(columns=same).head(_ROWS)
        laid_out = listing.plain(rest).splitlines() if len(rest.columns) > 1 else []
        if max(map(len, laid_out), default=0) > _WIDTH - 2:
            laid_out = [line for _, row in rest.iterrows() for line in _cells(row)]
        if laid_out and len(table) > _ROWS:
            laid_out.append(f"and {len(table) - _ROWS} more")
        parts.append("\n".join([*lines, *(f"  {line.strip()}" for line in laid_out)]))
    return parts


def _cells(row: pd.Series) -> list[str]:
    """Write a row's names and cells as one line."""
    said = []
    for name, cell in zip(map(str, row.index), row, strict=True):
        if isinstance(cell, Integral):
            said.append(f"{cell:,} {name.removesuffix('s') if cell == 1 else name}")
        elif cell:
            said.append(f"{cell} {name}" if name.startswith(("per ", "tie")) else f"{name} {cell}")
    return [_line(", ".join(said))] if said else []


def _section(title: str, lines: list[str]) -> list[str]:
    return ["\n".join([title, *map(_line, lines)])] if lines else []


def _line(text: str, before: str = "  ") -> str:
    """Wrap a line without breaking words, because they may be paths."""
    return textwrap.fill(
        listing.visible(text),
        _WIDTH,
        initial_indent=before,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
