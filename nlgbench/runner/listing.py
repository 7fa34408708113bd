"""Tables to read in a terminal or paste into a paper."""

from __future__ import annotations

import json
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.datasets.published import load_claims
from nlgbench.names import UsageError, did_you_mean
from nlgbench.runner import runs
from nlgbench.runner.claims import summary
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.study import schema

#: The width of sentences, for any terminal.
_NARROW = 80


def width() -> int:
    """Return the width for text: that of the terminal, or 100 if there is none."""
    return min(100, max(80, shutil.get_terminal_size((100, 24)).columns))


def notebooks() -> str:
    """Describe every notebook: title, data, claims, parameters."""
    claims, paths = load_claims(), find_notebooks()
    lines = [f"{len(paths)} notebooks; {len(claims):,} claims from papers"]
    for path in paths:
        notebook = read_notebook(path)
        n_claims = int((claims["notebook"] == notebook.name).sum())
        data = f"released data: {', '.join(notebook.datasets) or 'none'}"
        lines += ["", f"{notebook.name}: {notebook.title}", f"    {data}; claims: {n_claims}"]
        lines += [f"    {x}" for name, x in notebook.parameters.items() if name != "output_dir"]
    return "\n".join(map(_filled, lines))


def _filled(text: str) -> str:
    """Wrap a line that is too long."""
    return textwrap.fill(text, width(), subsequent_indent=" " * 8, break_on_hyphens=False)


def outcomes(ended: Sequence[runs.Outcome], out: Path) -> str:
    """Report as JSON how each run ended, and where its result is."""
    rows = [
        {
            "notebook": outcome.plan.name,
            "status": outcome.status,
            "folder": str(out / outcome.plan.folder) + ".failed" * (outcome.status == "failed"),
            "source": outcome.plan.source,
            "parameters": outcome.plan.parameters,
            "seconds": round(outcome.seconds, 2),
            "message": outcome.message,
        }
        for outcome in ended
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False)


def ledger(directory: Path, *, verdict: str | None = None) -> str:
    """Render the gathered ledger of a folder, of runs with default parameters on any study."""
    if verdict is not None and verdict not in schema.VERDICTS:
        hint = did_you_mean(verdict, schema.VERDICTS)
        raise UsageError(
            f"{verdict!r} is not a verdict.{hint} Available: {', '.join(schema.VERDICTS)}."
        )
    rows = _ledgers(directory)
    rows = rows[rows["run"].map(runs.is_default).astype(bool)]
    if verdict is not None:
        rows = rows[rows["verdict"] == verdict]
    total = f"{len(rows)} rows, {rows['claim_id'].nunique()} claims and results"
    counted = summary(rows, load_claims())
    counted = counted.loc[:, counted.ne(0).any()]
    return "\n\n".join([total, *([fitted(counted)] if len(rows) else []), for_reading(rows)])


def _ledgers(directory: Path) -> pd.DataFrame:
    """Read the gathered ledger of a folder of runs."""
    path = directory / "ledger.csv"
    if not path.is_file():
        raise UsageError(
            f"{directory} has no ledger.csv: run `nlgbench run --out {directory}` first, or name "
            "the folder that you passed as --out."
        )
    return schema.read(path, "ledgers")


def for_reading(rows: pd.DataFrame) -> str:
    """Lay out a ledger, with shared reasons as numbered notes."""
    notes = {reason: str(n) for n, reason in enumerate(filter(None, rows["reason"].unique()), 1)}
    table = rows[["claim_id", "source", "run", "published", "recomputed", "verdict"]].assign(
        claim_id=(rows["claim_id"] + " (" + rows["variant"] + ")").str.removesuffix(" ()"),
        recomputed=with_interval(rows),
        note=rows["reason"].map(notes).fillna(""),
    )
    foot = [_filled(visible(f"{number}. {reason}")) for reason, number in notes.items()]
    return "\n".join([fitted(table), "", *foot, ""])


def with_interval(rows: pd.DataFrame) -> list[str]:
    """Write recomputed values so precisely that they can be compared with printed ones."""
    return [
        short(value) if pd.isna(low) else f"{value:.4g} [{low:.3g},{high:.3g}]"
        for value, low, high in rows[["recomputed", "ci_low", "ci_high"]].to_numpy()
    ]


def degrees(directory: Path) -> str:
    """Render by paper how close recomputed numbers are to printed ones."""
    from nlgbench.analysis.reproduction import by_paper
    from nlgbench.runner.gathering import degrees

    papers = by_paper(degrees(_ledgers(directory)))
    papers = papers.loc[:, papers.ne(0).any()]
    note = "CV* is in percent, and 0 for equal values. See reproduction.csv for each number.\n"
    return "\n\n".join(["Printed and recomputed numbers, by paper:", fitted(papers), note])


def short(value: object) -> str:
    """Write a cell for reading: numbers with four significant digits, empty if undefined."""
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return visible(str(value))


def fitted(frame: pd.DataFrame) -> str:
    """Lay out a table as wide as the terminal, without empty columns."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    texts = {str(name): [short(cell) for cell in frame[name]] for name in frame}
    texts = {name: column for name, column in texts.items() if any(column)}
    for name, column in texts.items():
        table.add_column(name, overflow="fold", no_wrap=max(map(len, column)) < 18)
    for row in zip(*texts.values(), strict=True):
        table.add_row(*map(Text, row))
    with (console := Console(width=width(), color_system=None)).capture() as laid_out:
        console.print(table)
    return "\n".join(line.rstrip() for line in laid_out.get().splitlines())


def wrapped(text: str, before: str = "  ", after: str = "    ") -> str:
    """Wrap a line for any terminal without breaking words, because they may be paths."""
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    options |= {"initial_indent": before, "subsequent_indent": after}
    return textwrap.fill(visible(text), _NARROW, **options)


def visible(text: str) -> str:
    r"""Escape characters that control a terminal or break lines, as Python does: `\x1b`."""
    steers = {"Cc", "Cf", "Zl", "Zp"}  # Unicode categories: controls, formats, line separators
    signs = [sign for sign in {*text} if unicodedata.category(sign) in steers]
    return text.translate({ord(sign): sign.encode("unicode_escape").decode() for sign in signs})


def plain(frame: pd.DataFrame) -> str:
    """Lay out a table for a terminal, with one line per row."""
    cells = [list(map(str, frame.columns)), *frame.astype("str").to_numpy().tolist()]
    cells = [[visible(cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
