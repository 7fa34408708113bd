"""What `nlgbench check` reports on a study: what to fix, what is doubtful, what can be run."""

from __future__ import annotations

from pathlib import Path

from nlgbench.datasets.public import is_public, load
from nlgbench.runner import listing
from nlgbench.runner.new_study import unconfirmed
from nlgbench.runner.next_steps import section, supported
from nlgbench.study import near_names, read_folder, summary
from nlgbench.study.csv_files import TableError
from nlgbench.study.schema import RawTable
from nlgbench.study.study import tables_of


def check(folder: Path) -> tuple[str, bool]:
    """Check a study's folder or a public study; return a report, and whether the study is valid."""
    problems: list[str] = []
    doubts: list[str] = []
    notes: list[str] = []
    study = None
    try:
        if is_public(str(folder)):
            study = load(str(folder))
            raws = {table: RawTable(frame, table) for table, frame in tables_of(study).items()}
            near_names.settle(raws, dict(study.settings), doubts, doubts)
        else:
            study, notes = read_folder(folder, problems, doubts)
    except TableError as error:
        problems += error.problems
    guessed = section("Guessed, to confirm", unconfirmed(folder))
    noted = section("Noted", notes)
    if study is None:
        numbered = [listing.wrapped(text, f"  {n}. ") for n, text in enumerate(problems, 1)]
        return "\n\n".join(["\n".join(["To fix", *numbered]), *guessed, *noted]), False
    tables = [listing.wrapped(line.strip()) for line in repr(study).splitlines()[1:]]
    blocks = [
        "\n".join([listing.wrapped(study.name, ""), *tables]),
        *guessed,
        *section("What could change a conclusion", summary.doubts(study, doubts)),
        *noted,
        *supported(study, folder),
    ]
    return "\n\n".join(blocks), True
