"""What `nlgbench check` reports on a study: what to fix, what is doubtful, what can be run."""

from __future__ import annotations

import textwrap
from pathlib import Path

from nlgbench.datasets.public import is_public, load
from nlgbench.runner import listing
from nlgbench.runner.new_study import unconfirmed
from nlgbench.study import TABLES, Study, near_names, read_folder, summary
from nlgbench.study.csv_files import TableError
from nlgbench.study.schema import Raw

#: The width of the text, for any terminal.
_WIDTH = 80


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
    guessed = _section("Guessed, to confirm", unconfirmed(place))
    noted = _section("Noted", notes)
    if study is None:
        shown = [_line(one, f"  {number}. ") for number, one in enumerate(problems, 1)]
        return "\n\n".join(["\n".join(["To fix", *shown]), *guessed, *noted]), False
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
        _understood(study),
        *guessed,
        *_section("What could change a conclusion", summary.doubts(study, doubts)),
        *noted,
        *_section("Analyses you can run", ready),
        *_section("Analyses that need more data, by what they need", lacking),
    ]
    return "\n\n".join(parts), True


def _understood(study: Study) -> str:
    """Describe each table in one line."""
    lines = repr(study).splitlines()[1:]
    return "\n".join([_line(study.name, ""), *(_line(line.strip()) for line in lines)])


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
