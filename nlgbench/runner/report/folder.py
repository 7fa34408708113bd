"""What a folder of runs has to tell: read once, for the page, the LaTeX files and the sheets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.runner import runs
from nlgbench.runner.parameters import UsageError
from nlgbench.study import schema

#: Whose estimates are ranked, by the column that names it.
SUBJECTS = {"system": "Systems", "evaluator": "Evaluators"}
#: Columns that say how large something is.
_VALUES = ("estimate", "rating")
_NUMBER = r"-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?|inf)"


@dataclass(frozen=True)
class Figure:
    """A recorded figure: files beside one another, and what it shows in words."""

    run: str
    name: str
    path: Path  # of the PDF, whose ending may be replaced
    alt: str
    source: str


@dataclass(frozen=True)
class Table:
    """A recorded table."""

    run: str
    name: str
    path: Path
    source: str
    frame: pd.DataFrame

    @property
    def value(self) -> str:
        """The column that holds estimates; empty where it has none."""
        return next((name for name in _VALUES if name in self.frame.columns), "")

    @property
    def keys(self) -> list[str]:
        """What estimates are of: the columns before them."""
        columns = list(map(str, self.frame.columns))
        keys = columns[: columns.index(self.value)] if self.value else []
        return [name for name in keys if name not in ("label", "source")]


@dataclass(frozen=True)
class Run:
    """One finished run."""

    place: str  # the name of its folder
    title: str
    question: str  # the first paragraph below its title
    asked: list[str]  # headings of its sections
    manifest: dict[str, Any]
    figures: list[Figure]
    tables: list[Table]


@dataclass(frozen=True)
class Folder:
    """All that the report is made of: runs with default parameters, on whatever study."""

    path: Path
    runs: list[Run]
    others: list[str]  # runs with other parameters, and
    failed: list[str]  # those that failed: named only
    ledger: pd.DataFrame

    @property
    def tables(self) -> list[Table]:
        """Tables of all runs, in order."""
        return [table for run in self.runs for table in run.tables]

    @property
    def figures(self) -> list[Figure]:
        """Figures of all runs, in order."""
        return [figure for run in self.runs for figure in run.figures]


def read(path: Path) -> Folder:
    """Read a folder that `nlgbench run` wrote."""
    done = runs.finished(path) if path.is_dir() else []
    if not done or not (path / "ledger.csv").is_file():
        raise UsageError(
            f"{path} holds no finished run: make one with `nlgbench run --out {path}`, or name the "
            "folder that you gave as --out."
        )
    ledger = schema.read(path / "ledger.csv", "ledgers")
    default = [(place, about) for place, about in done if runs.is_default(runs.run_of(place))]
    return Folder(
        path,
        [_run(place, about) for place, about in default],
        [place.name for place, _ in done if not runs.is_default(runs.run_of(place))],
        sorted(one.name for one in path.glob("*.failed") if (one / runs.FAILED).is_file()),
        ledger[ledger["run"].map(runs.is_default).astype(bool)].reset_index(drop=True),
    )


def _run(place: Path, manifest: dict[str, Any]) -> Run:
    title, question, sections = _asked(place / "notebook.ipynb")
    figures, tables = [], []
    for made in manifest["made"]:
        path = place / made["path"]
        if not path.is_file():
            raise UsageError(
                f"{path} is missing from its run: make it again with `nlgbench run "
                f"{manifest['notebook']} --out {place.parent}`."
            )
        if made["kind"] == "figure":
            figures.append(Figure(place.name, made["name"], path, made["alt"], made["source"]))
        else:
            tables.append(Table(place.name, made["name"], path, made["source"], _frame(path)))
    title = title or manifest["notebook"]
    return Run(place.name, title, question, sections, manifest, figures, tables)


def _frame(path: Path) -> pd.DataFrame:
    """Read a table: columns of numbers as such, and all else as it is written, an id 001 too."""
    written = pd.read_csv(path, dtype="str", keep_default_na=False)
    filled = written != ""
    numeric = [
        name
        for name in written.columns
        if filled[name].any() and written.loc[filled[name], name].str.fullmatch(_NUMBER).all()
    ]
    return written.assign(**{name: pd.to_numeric(written[name]) for name in numeric})


def _asked(notebook: Path) -> tuple[str, str, list[str]]:
    """Give a notebook's title, the first paragraph below it, and the headings of its sections."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    blocks = [" ".join(block.split()) for text in prose for block in re.split(r"\n\s*\n", text)]
    blocks = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", block) for block in blocks]
    at = next((n for n, block in enumerate(blocks) if block.startswith("# ")), None)
    if at is None:
        return "", "", []
    below = next((block for block in blocks[at + 1 :] if not block.startswith("#")), "")
    sections = [block[3:] for block in blocks[at + 1 :] if block.startswith("## ")]
    return blocks[at][2:], below, sections


def rankings(table: Table) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Rank a table's systems or evaluators, within whatever else its estimates are of.

    Gives the column that names them, what the estimates are of in words, and the ranked rows.
    """
    needed = {"ci_low", "ci_high"}
    subject = next((name for name in SUBJECTS if name in table.keys), "")
    if not subject or not needed <= set(table.frame.columns):
        return
    frame = table.frame.assign(**{subject: table.frame[subject].astype(str)})
    others = [name for name in table.keys if name != subject]
    groups = frame.groupby(others, sort=False, dropna=False) if others else [((), frame)]
    for key, group in groups:
        if len(group) < 2 or group[subject].duplicated().any():
            continue
        said = zip(others, map(str, key), strict=True)
        words = [
            f"{name.replace('_', ' ')}: {value}" for name, value in said if value not in ("", "nan")
        ]
        ordered = group.sort_values(table.value, ascending=False, kind="stable")
        yield subject, ", ".join(words), ordered.reset_index(drop=True)
