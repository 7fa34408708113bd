"""The tidy tables: checked, read and written. What each holds is in `table_rules`.

One long DataFrame per kind, one number per cell. Texts are ``str`` columns and never missing (an
empty optional text is ``""``); numbers are ``float64`` or ``int64``.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench import csv_files
from nlgbench.csv_files import TableError
from nlgbench.names import did_you_mean
from nlgbench.table_rules import COLUMNS, KEYS, PAPERS, SOURCES, VERDICTS, broken_rows, schema

__all__ = [
    "PAPERS",
    "SOURCES",
    "VERDICTS",
    "Study",
    "TableError",
    "check",
    "columns",
    "keys",
    "read",
    "write",
]

_SHOWN = 5
_WIDEST = 80


@dataclass(frozen=True)
class Study:
    """The tables of one study.

    Attributes
    ----------
    outputs, judgments : DataFrame
        Texts with their systems, and what annotators said of them.
    logprobs, references, contexts : DataFrame or None
        Where the study has them.

    Examples
    --------
    >>> Study(outputs=pd.DataFrame(), judgments=pd.DataFrame()).logprobs is None
    True
    """

    outputs: pd.DataFrame
    judgments: pd.DataFrame
    logprobs: pd.DataFrame | None = None
    references: pd.DataFrame | None = None
    contexts: pd.DataFrame | None = None


def columns(table: str) -> list[str]:
    """List a table's columns in order.

    Parameters
    ----------
    table : str
        Name of the table. ``contexts`` may have further columns, one per feature.

    Returns
    -------
    list of str
        Column names.

    Raises
    ------
    ValueError
        For an unknown table, with the nearest.

    Examples
    --------
    >>> columns("logprobs")
    ['dataset', 'output_id', 'model', 'logprob', 'n_tokens']
    """
    return list(COLUMNS[_known(table)])


def keys(table: str) -> list[str]:
    """List the columns that identify a row.

    Parameters
    ----------
    table : str
        Name of the table.

    Returns
    -------
    list of str
        Key columns; no two rows agree on all of them.

    Raises
    ------
    ValueError
        For an unknown table, with the nearest.

    Examples
    --------
    >>> keys("outputs")
    ['dataset', 'output_id']
    """
    return list(KEYS[_known(table)])


def _known(table: str) -> str:
    if table not in COLUMNS:
        hint = did_you_mean(table, COLUMNS)
        raise ValueError(f"no table {table!r}.{hint} There are: {', '.join(COLUMNS)}.")
    return table


def check(
    frame: pd.DataFrame,
    table: str,
    *,
    source: str | os.PathLike | None = None,
    lines: list[int] | None = None,
) -> pd.DataFrame:
    """Check a frame against a table's columns, types, keys and rules.

    Parameters
    ----------
    frame : DataFrame
        What somebody made or read. Numbers and truth values may be texts, as from a CSV file.
    table : str
        Name of the table it should be.
    source : path, optional
        Where the frame came from, for messages.
    lines : list of int, optional
        On which line of that file each row starts.

    Returns
    -------
    DataFrame
        A copy with the columns in order, exact types (``str``, ``float64``, ``int64``, ``bool``)
        and a fresh index.

    Raises
    ------
    TableError
        Naming source, row (counted from 1 below the header), key, column, value, rule and way out.

    Examples
    --------
    >>> frame = pd.DataFrame({"dataset": ["d"], "output_id": ["007"], "model": ["m"]})
    >>> check(frame.assign(logprob="-1.5", n_tokens="3"), "logprobs").dtypes.astype(str).tolist()
    ['str', 'str', 'str', 'float64', 'int64']
    """
    return _check(
        frame, table, "the frame passed in" if source is None else os.fspath(source), lines
    )


def _check(
    frame: pd.DataFrame, table: str, where: str, lines: list[int] | None = None
) -> pd.DataFrame:
    wanted = COLUMNS[_known(table)]
    raw = frame.reset_index(drop=True).set_axis([str(name) for name in frame.columns], axis=1)
    _check_names(list(raw.columns), table, where)
    kinds = {**wanted, **{name: "float" for name in raw.columns if name not in wanted}}
    typed = {}
    for name, kind in kinds.items():
        typed[name], bad, rule = csv_files.convert(raw[name], "text" if kind == "id" else kind)
        _refuse(raw, bad, name, table, where, lines, rule)
    checked = pd.DataFrame(typed, columns=list(kinds))
    _check_keys(checked, table, where, lines)
    _check_rules(checked, table, where, lines)
    return checked


def _check_names(found: list[str], table: str, where: str) -> None:
    wanted = columns(table)
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        raise TableError(f"{where}: {table} has two columns {doubled[0]!r}: keep one.")
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        near = difflib.get_close_matches(missing[0], extra, n=1)
        way = f"rename {near[0]!r} to it" if near else "add it (an optional text may be '')"
        raise TableError(
            f"{where}: {table} has no column {missing[0]!r}: {way}. It needs "
            f"{', '.join(wanted)}; found {', '.join(found) or 'none'}."
        )
    if extra and (table != "contexts" or "" in extra):
        raise TableError(
            f"{where}: {table} has a column {extra[0]!r} that it does not know: drop it, or keep "
            f"it in a table of your own.{did_you_mean(extra[0], wanted)} Known are "
            f"{', '.join(wanted)}."
        )


def _row(position: int, lines: list[int] | None) -> str:
    return f"{position + 1}" + (f" (line {lines[position]})" if lines else "")


def _refuse(
    frame: pd.DataFrame,
    bad: np.ndarray,
    name: str,
    table: str,
    where: str,
    lines: list[int] | None,
    rule: str,
) -> None:
    rows = np.flatnonzero(bad)
    if not len(rows):
        return
    shown = []
    for row in rows[:_SHOWN]:
        cells = {column: _brief(frame[column].iloc[row]) for column in {*keys(table), name}}
        key = ", ".join(f"{column}={cells[column]}" for column in keys(table))
        shown.append(f"row {_row(row, lines)}, {key}: {cells[name]}")
    more = f"; and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    raise TableError(f"{where}: {table}, column {name!r} {rule}. Found {'; '.join(shown)}{more}.")


def _brief(value: object) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}..."


def _check_keys(frame: pd.DataFrame, table: str, where: str, lines: list[int] | None) -> None:
    names = keys(table)
    doubled = frame.duplicated(names)
    if not doubled.any():
        return
    second = int(np.flatnonzero(doubled)[0])
    key = frame.loc[second, names]
    first = int(np.flatnonzero((frame[names] == key).all(axis=1))[0])
    named = ", ".join(f"{name}={_brief(value)}" for name, value in key.items())
    n_repeated = int(doubled.sum())
    raise TableError(
        f"{where}: {table}, rows {_row(first, lines)} and {_row(second, lines)} have the same key "
        f"({named}); rows that repeat an earlier one's: {n_repeated:,}. Each "
        f"{' + '.join(names)} may stand once: drop the repetition, or give it an id of its own."
    )


def _check_rules(frame: pd.DataFrame, table: str, where: str, lines: list[int] | None) -> None:
    from pandera.errors import SchemaErrors

    try:
        schema(table).validate(frame, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
        column, rule = cases["column"].iloc[0], str(cases["check"].iloc[0])
        bad = np.zeros(len(frame), dtype=bool)
        same = (cases["column"] == column) & (cases["check"] == rule)
        bad[cases.loc[same, "index"].astype(int)] = True
        if rule == "not_nullable":
            rule = "must not be missing: leave the row out, or mend it"
        _refuse(frame, bad, column, table, where, lines, rule)
    broken = broken_rows(frame, table) if len(frame) else None
    if broken is not None:
        column, bad, rule = broken
        _refuse(frame, bad, column, table, where, lines, rule)


def read(path: str | os.PathLike, table: str) -> pd.DataFrame:
    r"""Read a table from a CSV file.

    Parameters
    ----------
    path : path
        UTF-8, comma-separated, with a header. An id ``001`` stays ``001``, a text ``NA`` a text.
    table : str
        Name of the table it should be.

    Returns
    -------
    DataFrame
        The checked table.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the nearest name in its folder is given.
    TableError
        If the file is empty, no UTF-8, cut off, or breaks a rule of the table.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "references.csv")
    ...     _ = path.write_text("dataset,item_id,reference_id,text\nd,001,r1,NA\n")
    ...     read(path, "references").iloc[0].tolist()
    ['d', '001', 'r1', 'NA']
    """
    _known(table)
    frame, lines = csv_files.parse(Path(path))
    return _check(frame, table, os.fspath(path), lines)


def write(frame: pd.DataFrame, table: str, path: str | os.PathLike) -> None:
    r"""Check a table and write it as CSV, aside first and then renamed into place.

    Parameters
    ----------
    frame : DataFrame
        The table.
    table : str
        Its name.
    path : path
        The file; a former one is replaced only when the new one is whole. Numbers are written in
        full precision, lines end in ``\n``.

    Raises
    ------
    TableError
        If the table breaks a rule, or holds half of a surrogate pair, which UTF-8 cannot; then
        nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> row = {"dataset": "d", "item_id": "001", "reference_id": "r1", "text": 'a "b", c'}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(pd.DataFrame([row]), "references", Path(folder, "references.csv"))
    ...     read(Path(folder, "references.csv"), "references")["text"].tolist()
    ['a "b", c']
    """
    checked = check(frame, table)
    texts = [name for name in checked if checked[name].dtype == "str"]
    quoting = csv_files.quoting(checked)
    try:
        csv_files.replace(
            Path(path),
            lambda aside: checked.to_csv(aside, index=False, lineterminator="\n", quoting=quoting),
        )
    except UnicodeEncodeError:
        rule = "must be text that UTF-8 can hold, without half surrogate pairs: mend its decoding"
        for name in texts:
            bad = checked[name].str.contains("[\ud800-\udfff]").to_numpy(dtype=bool)
            _refuse(checked, bad, str(name), table, "the frame passed in", None, rule)
        raise
