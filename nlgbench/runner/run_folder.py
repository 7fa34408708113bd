"""Read a folder of finished runs, once: for the page, the LaTeX files and the datasheets."""

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

#: Columns whose values are ranked.
_SUBJECTS = ("system", "evaluator")
#: Columns that may hold estimates.
_VALUES = ("estimate", "rating")
_NUMBER = r"-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?|inf)"


@dataclass(frozen=True)
class Figure:
    """A recorded figure: its files, and its alternative text."""

    run: str
    name: str
    path: Path  # of the PDF; other files differ only in their extension
    alt: str
    source: str

    @property
    def caption(self) -> str:
        """The first sentence of the alternative text, and the source at its end."""
        source = f"Source: {self.source}."
        words = " ".join(self.alt.removesuffix(source).split())
        # A word with capital letters may be an abbreviation: Acme Inc.
        first = re.match(r".*?(?:\b[a-z]\w*|[)\]])\.(?= |$)", words)
        return f"{first[0] if first else words} {source}"

    @property
    def png(self) -> bytes:
        """The PNG, with 300 pixels per inch."""
        return self.path.with_suffix(".png").read_bytes()


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
        """The column with estimates; empty if there is none, or if they are other tables'."""
        if self.name == "findings":
            return ""
        return next((name for name in _VALUES if name in self.frame), "")

    @property
    def keys(self) -> list[str]:
        """The columns before the estimates, which identify them."""
        columns = list(map(str, self.frame.columns))
        keys = columns[: columns.index(self.value)] if self.value else []
        return [name for name in keys if name not in ("label", "source")]


@dataclass(frozen=True)
class Run:
    """One finished run."""

    place: str  # the name of its folder
    title: str
    question: str  # the first paragraph below its title
    manifest: dict[str, Any]
    figures: list[Figure]
    tables: list[Table]

    @property
    def source(self) -> str:
        """The origin of the data; runs without data use printed numbers."""
        return self.manifest["source"] or "published"


@dataclass(frozen=True)
class Folder:
    """The contents of a report: runs with default parameters, on any study."""

    path: Path
    runs: list[Run]
    others: list[str]  # names of runs with other parameters
    failed: list[str]  # names of failed runs
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
            f"{path} has no finished run: make one with `nlgbench run --out {path}`, or name the "
            "folder that you passed as --out."
        )
    ledger = schema.read(path / "ledger.csv", "ledgers")
    return Folder(
        path,
        [_run(place, about) for place, about in done if runs.is_default(runs.run_of(place))],
        [place.name for place, _ in done if not runs.is_default(runs.run_of(place))],
        sorted(one.name for one in path.glob("*.failed") if (one / runs.FAILED).is_file()),
        ledger[ledger["run"].map(runs.is_default).astype(bool)].reset_index(drop=True),
    )


def _run(place: Path, manifest: dict[str, Any]) -> Run:
    figures, tables = [], []
    for made in manifest["made"]:
        path = place / made["path"]
        if not path.is_file():
            raise UsageError(
                f"{path} is missing from its run: repeat the run with `nlgbench run "
                f"{manifest['notebook']} --out {place.parent}`."
            )
        if made["kind"] == "figure":
            figures.append(Figure(place.name, made["name"], path, made["alt"], made["source"]))
        else:
            tables.append(Table(place.name, made["name"], path, made["source"], frame(path)))
    title, question = _asked(place / "notebook.ipynb")
    return Run(place.name, title or place.name, question, manifest, figures, tables)


def frame(path: Path) -> pd.DataFrame:
    """Read a table: columns of numbers as numbers, all others as written, such as an id 001."""
    written = pd.read_csv(path, dtype="str", keep_default_na=False)
    for name in written:
        filled = written[name][written[name] != ""]
        is_number = bool(len(filled)) or name in (*_VALUES, "ci_low", "ci_high")
        if is_number and filled.str.fullmatch(_NUMBER).all():
            written[name] = pd.to_numeric(written[name])
    return written


def _asked(notebook: Path) -> tuple[str, str]:
    """Return a notebook's title, and the first paragraph below it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    blocks = [" ".join(block.split()) for text in prose for block in re.split(r"\n\s*\n", text)]
    blocks = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", block) for block in blocks]
    title = next((block[2:] for block in blocks if block.startswith("# ")), "")
    return title, next((block for block in blocks if not block.startswith("#")), "")


def legible(table: Table) -> pd.DataFrame:
    """Rename the comparator or evaluator `people` to annotators; omit undefined agreement."""
    names = {name: {"people": "annotators"} for name in ("comparator", "evaluator")}
    frame = table.frame.replace(names)
    return frame.dropna(subset=table.value) if table.name == "agreement" else frame


def rankings(table: Table) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rank a table's systems or evaluators, separately for each value of the other keys.

    Yields these values in words, and a table: system or evaluator, estimate, interval and, if
    known, the range of ranks and the reason.
    """
    subject = next((name for name in _SUBJECTS if name in table.keys), "")
    if not subject or not {"ci_low", "ci_high"} <= set(table.frame):
        return
    others = [name for name in table.keys if name != subject]
    frame = legible(table)
    groups = frame.groupby(others, sort=False) if others else [((), frame)]
    for key, group in groups:
        if len(group) < 2 or group[subject].duplicated().any():
            continue
        lower = "better" in group and bool((group["better"] == "lower").all())
        by, ascending = ("rank", True) if "rank" in group else (table.value, lower)
        rows = group.sort_values(by, ascending=ascending, kind="stable")
        shown = rows[[subject, table.value]].assign(
            interval=list(map(interval, rows["ci_low"], rows["ci_high"]))
        )
        if {"rank_low", "rank_high"} <= set(rows):
            ranks = zip(rows["rank_low"], rows["rank_high"], strict=True)
            shown["ranks"] = [
                (f"{low:g}" if low == high else f"{low:g} to {high:g}") if low > 0 else ""
                for low, high in ranks
            ]
        if "reason" in rows and (rows["reason"] != "").any():
            shown["reason"] = rows["reason"]
        said = zip(others, map(str, key), strict=True)
        words = [f"{name.replace('_', ' ')}: {one}" for name, one in said if one]
        yield ", ".join(words), shown.reset_index(drop=True)


def interval(low: float, high: float) -> str:
    """Write an interval; empty if an end is missing."""
    shown = f"[{low:#.4g}, {high:#.4g}]".replace(".,", ",").replace(".]", "]").replace("-", "−")
    return "" if pd.isna(low) or pd.isna(high) else shown
