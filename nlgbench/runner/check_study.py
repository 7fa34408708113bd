"""What `nlgbench check` says of a folder: what to repair, what there is, what can be asked."""

from __future__ import annotations

from pathlib import Path

from nlgbench.runner import listing
from nlgbench.runner.new_study import unconfirmed
from nlgbench.study import TABLES, read_folder, summary
from nlgbench.study.csv_files import TableError


def check(place: Path) -> tuple[str, bool]:
    """Check a study's folder; say in words what was found, and whether it can be read."""
    problems: list[str] = []
    try:
        study, notes = read_folder(place, problems)
    except TableError as error:
        study, notes = None, []
        problems += error.problems
    noted = _section("Guessed, to confirm", unconfirmed(place)) + _section("Noted", notes)
    if study is None:
        shown = [f"{number}. {one}" for number, one in enumerate(problems, 1)]
        return "\n\n".join([*_section("To be repaired", shown), *noted]), False
    there = {table: getattr(study, table) for table in TABLES}
    sizes = ", ".join(
        f"{table} {len(frame):,}" for table, frame in there.items() if frame is not None
    )
    tables = {
        "Judgments": summary.by_dimension(study),
        "Votes": summary.by_votes(study),
        "Scores": summary.by_evaluator(study),
    }
    parts = [f"{listing.visible(study.name)}: {sizes} (rows)"]
    parts += [f"{title}\n{listing.plain(table)}" for title, table in tables.items() if len(table)]
    parts += _section("What the design cannot tell", summary.doubts(study))
    parts += noted
    can = study.check()
    lines = [
        f"{row.analysis}: {'ready' if row.possible else f'lacks {row.missing}'}"
        for row in can.itertuples()
    ]
    return "\n\n".join([*parts, *_section("Analyses", lines)]), True


def _section(title: str, lines: list[str]) -> list[str]:
    shown = (f"  {listing.visible(line)}" for line in lines)
    return ["\n".join([title, *shown])] if lines else []
