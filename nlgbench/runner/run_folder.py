"""Read a folder of finished runs, once: for the page, the LaTeX files and the datasheets."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.names import UsageError
from nlgbench.reported import readable
from nlgbench.runner import runs
from nlgbench.study import schema

#: The characters from which on a caption ends before its first colon.
_LONG = 160
#: Columns of numbers, even if all of them are undefined.
_NUMBERS = ("estimate", "ci_low", "ci_high", "rank", "rank_low", "rank_high")
#: Titles of tables, by name, or by notebook and name if a name has several meanings.
_TITLES = Path(__file__).parent.joinpath("templates", "table_titles.csv").read_text("utf-8")
_TITLE_OF = dict(csv.reader(_TITLES.splitlines()))
_NUMBER = r"-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?|inf)"


@dataclass(frozen=True)
class Figure:
    """A recorded figure: its files, its alternative text, and its notes."""

    run: str
    name: str
    path: Path  # of the PDF; other files differ only in their extension
    alt: str
    source: str
    notes: str = ""

    @property
    def caption(self) -> str:
        """The first sentence of the alternative text, without a long list, notes and source."""
        source = f"Source: {self.source}."
        text = " ".join(self.alt.removesuffix(source).split())
        # A word with capital letters may be an abbreviation: Acme Inc.
        first = re.match(r".*?(?:\b[a-z]\w*|[)\]])\.(?= |$)", text)
        sentence = first[0] if first else text
        if len(sentence) > _LONG:
            # Up to a colon that is not within parentheses.
            sentence = re.split(r": (?![^(]*\))", sentence)[0].removesuffix(".") + "."
        return " ".join(filter(None, [sentence, self.notes, source]))

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
    def title(self) -> str:
        """What the table shows."""
        title = _TITLE_OF.get(self.name, self.name.replace("_", " ").capitalize())
        return _TITLE_OF.get(f"{self.run.partition('@')[0]}/{self.name}", title)

    @property
    def has_estimates(self) -> bool:
        """Whether the table has estimates of its own."""
        return "estimate" in self.frame and self.name != "findings"

    @property
    def keys(self) -> list[str]:
        """The columns before the estimates, which identify them."""
        columns = list(map(str, self.frame.columns))
        keys = columns[: columns.index("estimate")] if self.has_estimates else []
        return [name for name in keys if name not in ("label", "source")]

    @property
    def is_keyed(self) -> bool:
        """Whether the table has estimates that its keys identify."""
        return bool(self.keys) and not self.frame.duplicated(self.keys).any()


@dataclass(frozen=True)
class Run:
    """One finished run."""

    folder: str  # the name of its folder
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
    """The contents of a report: runs of chosen studies if there are any, or else default runs."""

    path: Path
    runs: list[Run]
    others: list[str]  # names of runs that are not shown
    failed: list[str]  # names of failed runs
    ledger: pd.DataFrame
    unreadable: dict[str, str] = field(default_factory=dict)  # name of a run -> the error

    @property
    def tables(self) -> list[Table]:
        """Tables of all runs, in order."""
        return [table for run in self.runs for table in run.tables]

    @property
    def figures(self) -> list[Figure]:
        """Figures of all runs, in order."""
        return [figure for run in self.runs for figure in run.figures]


def read_runs(path: Path) -> Folder:
    """Read a folder that `nlgbench run` wrote."""
    done = runs.finished(path) if path.is_dir() else []
    if not done or not (path / "ledger.csv").is_file():
        raise UsageError(
            f"{path} has no finished run: make one with `nlgbench run --out {path}`, or name the "
            "folder that you passed as --out."
        )
    ledger = schema.read(path / "ledger.csv", "ledgers")
    # Of each notebook: the newest run on each study that was named, or else the default run.
    in_order = sorted(done, key=lambda run: run[1]["started"])
    of_studies = [run for run in in_order if run[1]["parameters"].get("study")]
    in_order.sort(key=lambda run: runs.is_default(runs.run_of(run[0])))
    newest = {
        (folder.name.partition("@")[0], manifest["parameters"].get("study")): folder
        for folder, manifest in of_studies or in_order
    }
    chosen = [(folder, manifest) for folder, manifest in done if folder in newest.values()]
    recorded, unreadable = [], {}
    for folder, manifest in chosen:
        try:
            recorded.append(_run(folder, manifest))
        except Exception as error:  # whatever is wrong with one run, the others are shown
            kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
            unreadable[folder.name] = f"{kind}{error}"
    if not recorded:
        raise UsageError("\n".join(f"{name}: {error}" for name, error in unreadable.items()))
    return Folder(
        path,
        recorded,
        [folder.name for folder, _ in done if folder not in newest.values()],
        sorted(folder.name for folder in path.glob("*.failed") if (folder / runs.FAILED).is_file()),
        ledger[ledger["run"].isin([runs.run_of(run) for run, _ in chosen])].reset_index(drop=True),
        unreadable,
    )


def _run(folder: Path, manifest: dict[str, Any]) -> Run:
    figures, tables = [], []
    for entry in manifest["made"]:
        path = folder / entry["path"]
        siblings = [path.with_suffix(end) for end in (".png", ".csv") if entry["kind"] == "figure"]
        if missing := [file for file in (path, *siblings) if not file.is_file()]:
            raise UsageError(
                f"{missing[0]} is missing from its run: repeat the run with `nlgbench run "
                f"{manifest['notebook']} --out {folder.parent}`."
            )
        if entry["kind"] == "figure":
            texts = entry["alt"], entry["source"], entry.get("notes", "")
            figures.append(Figure(folder.name, entry["name"], path, *texts))
        else:
            table = Table(folder.name, entry["name"], path, entry["source"], frame(path))
            readable(table.frame)  # raises an error here if it cannot be shown
            tables.append(table)
    saved = [(entry["kind"], entry["name"]) for entry in manifest["made"]]
    first = next((t.frame["table"].iloc[0] for t in tables if t.name == "findings"), "")
    if ("table", first) in saved:
        # The figure of the first finding comes first: it has the name of its table, or follows it.
        after = {name for kind, name in saved[saved.index(("table", first)) :] if kind == "figure"}
        figures.sort(key=lambda figure: (figure.name != first, figure.name not in after))
    title, question = _read_question(folder / "notebook.ipynb")
    return Run(folder.name, title or folder.name, question, manifest, figures, tables)


def frame(path: Path) -> pd.DataFrame:
    """Read a table: columns of numbers as numbers, all others as written, such as an id 001."""
    written = pd.read_csv(path, dtype="str", keep_default_na=False)
    for name in written:
        filled = written[name][written[name] != ""]
        is_number = bool(len(filled)) or name in _NUMBERS
        if is_number and filled.str.fullmatch(_NUMBER).all():
            written[name] = pd.to_numeric(written[name])
    return written


def _read_question(notebook: Path) -> tuple[str, str]:
    """Return a notebook's title, and the first paragraph below it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    blocks = [" ".join(block.split()) for text in prose for block in re.split(r"\n\s*\n", text)]
    blocks = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", block) for block in blocks]
    title = next((block[2:] for block in blocks if block.startswith("# ")), "")
    return title, next((block for block in blocks if not block.startswith("#")), "")
