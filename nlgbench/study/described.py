"""Describe a DataFrame or a file as a study.yml would, by named columns and guesses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.study import file_types, formats, guessing, reading, vote_words
from nlgbench.study.column_names import argument, plain_name
from nlgbench.study.csv_files import TableError
from nlgbench.study.guessing import Guess, with_context
from nlgbench.study.layouts import find_logs, guess_layout, open_files

#: What messages call a DataFrame.
FRAME = "DataFrame"


def describe(source: Path | pd.DataFrame, flags: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return what study.yml would say of a DataFrame or file; `doubts` are guesses to confirm."""
    frame = None
    if isinstance(source, pd.DataFrame):
        frame = as_texts(source)
        sources = [Guess(with_context(frame.reset_index(drop=True), FRAME), files=[FRAME])]
    else:
        tool, logs = ("", []) if flags else find_logs([source])
        if logs:
            return {"format": tool, "files": [str(source)], "settings": {}, "doubts": []}
        sources = open_files([source], Path())
    guess_layout(sources, None, flags)
    tables: dict[str, list[dict[str, Any]]] = {}
    doubts: list[str] = []
    for guessed in sources:
        for table, spec in guessed.tables:
            _require_places(guessed, table, spec)
            opened = guessed.options | ({} if frame is None else {"frame": frame})
            tables.setdefault(table, []).append({"file": guessed.files, **opened, **spec})
            named = {*spec["columns"], *spec.get("constants", {})}
            for our in sorted(guessed.uncertain & named):
                name = argument(our)
                doubts.append(f"{name} is a guess ({guessed.why[our]}): pass {name}=")
    if not tables:
        raise _unrecognized(sources)
    single = {table: specs[0] if len(specs) == 1 else specs for table, specs in tables.items()}
    settings = guess_settings(sources, judged_dimensions(sources))
    for name in settings.get("lower_is_better", ()):
        doubts.append(f"lower counts as better in {name}, by its name or labels")
    return {"tables": single, "settings": settings, "doubts": list(dict.fromkeys(doubts))}


def _unrecognized(guesses: Sequence[Guess]) -> TableError:
    """Say which columns a file has, and how to name them."""
    first, names = guesses[0], [name for guess in guesses for name in guess.names]
    suggested = vote_words.pair_flags(first.frame[first.names])
    votes = ", ".join(f"{flag}={argument!r}" for flag, argument in suggested.items())
    hint = f"; if these are votes, {votes}" if votes else ""
    tool = "" if first.files == [FRAME] else formats.resembling(names)
    return TableError(
        f"{', '.join(first.files)}: neither judgments nor votes, scores or texts were "
        "recognized: name the columns, as in nb.read_study(..., item='id', system='model', "
        f"annotator='rater', value='fluency'){hint}. Found columns {reading.some(names)}. {tool}"
    )


def judged_dimensions(sources: Sequence[Guess]) -> list[str]:
    """List the dimensions that columns of judgments name."""
    names: list[str] = []
    for guessed in sources:
        for spec in (spec for table, spec in guessed.tables if table == "judgments"):
            value = spec["columns"].get("value")
            fixed = spec.get("constants", {}).get("dimension", "")
            names += value if isinstance(value, list) else [fixed] * ("{" not in fixed)
            names += guessed.captured.get("dimension", [])
    return [name for name in dict.fromkeys(names) if name]


def guess_settings(sources: Sequence[Guess], dimensions: Sequence[str]) -> dict[str, Any]:
    """Guess the main dimension, those in which lower is better, and words for a missing value."""
    lower = r"(?:^|_)(?:rank|errors?(?!_free)|mqm|hallucinat|toxic|disfluen|edits)"
    falling = {*_list_falling(sources)}
    missing = {name: cells for guessed in sources for name, cells in guessed.missing.items()}
    # With votes, by column: "none" may be a tie.
    is_voted = any(table == "preferences" for guessed in sources for table, _ in guessed.tables)
    guesses = {
        "quality": dimensions[0] if len(dimensions) > 1 else "",
        "lower_is_better": [
            name for name in dimensions if re.search(lower, plain_name(name)) or name in falling
        ],
        "missing": missing if is_voted else [*dict.fromkeys(itertools.chain(*missing.values()))],
    }
    return {key: value for key, value in guesses.items() if value}


def _list_falling(sources: Sequence[Guess]) -> Iterator[str]:
    """List the dimensions whose labels, such as `1 = very good`, say that lower is better."""
    for guessed in sources:
        for spec in (spec for table, spec in guessed.tables if table == "judgments"):
            value = spec["columns"].get("value")
            names = value if isinstance(value, list) else [value]
            for name in names:
                cells: Any = guessed.frame.get(name, ())
                if guessing.falls(cells):
                    yield name if isinstance(value, list) else spec["constants"]["dimension"]


def as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Write a DataFrame's cells as the texts of a file; named levels of its index are columns."""
    if frame.columns.nlevels > 1:
        raise TableError(f"{FRAME} has several levels of columns: keep one with droplevel().")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame = frame.set_axis(frame.columns.map(str), axis=1)
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise TableError(f"{FRAME} has two columns named {doubled[0]!r}: keep one.")
    if frame.empty:
        raise TableError(f"{FRAME} has no rows: pass one with a row for each judgment or output.")
    texts = {}
    for name, column in frame.items():
        if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")  # an id 1 beside a missing cell became 1.0
        texts[name] = column.astype(object).map(file_types.as_text).astype("str")
    return pd.DataFrame(texts, index=frame.index)


def _require_places(guessed: Guess, table: str, spec: Mapping[str, Any]) -> None:
    """Refuse a table whose items or systems are unknown."""
    if lacks := [argument(our) for our in guessed.lacks(table, spec)]:
        names = " and ".join(f"{name}=" for name in lacks)
        free = reading.some(guessed.free("text", "id", "words", "number", "choice"))
        raise TableError(
            f"{', '.join(guessed.files)}: {table} need {' and '.join(lacks)}, which no column's "
            f"name reveals: pass {names}. Unused columns: {free}."
        )
