"""CSV files: strict parsing into strings, exact conversion, and lossless writing."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from nlgbench.names import brief, did_you_mean

#: The largest absolute value in a table, so that squares and sums stay finite.
GREATEST = 1e100

#: An unpaired surrogate, which no UTF-8 file can contain.
_HALF_PAIR = re.compile("[\ud800-\udfff]")
HALF = "an unpaired surrogate, which UTF-8 cannot encode: fix how the text was decoded"

#: How many problems one error lists; the rest are counted.
_LISTED = 20

#: The first bytes of files that are not text -> what to do with such a file.
_MAGIC = {
    b"\x1f\x8b": "is gzipped: unpack it (gunzip), or add .gz to its name and name it in study.yml",
    b"PK\x03\x04": "is a ZIP archive or an Excel workbook: unpack it, or save the sheet as CSV",
    b"PAR1": "is a Parquet file: rename it to .parquet and name it in study.yml",
}


#: The longest name or id, in characters; a damaged file can have one of several megabytes.
LONGEST = 100_000
#: The longest text, and the longest line of JSON Lines.
LONGEST_TEXT = 20_000_000
#: A .gz file unpacks to at most this many bytes, or this many times its own size.
_UNPACKED = 2**28, 200


class TableError(ValueError):
    """Report invalid tables or files: where, what is wrong, and how to fix it."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        lines = [f"{number}. {problem}" for number, problem in enumerate(problems[:_LISTED], 1)]
        more = [f"and {len(problems) - _LISTED:,} more"] * (len(problems) > _LISTED)
        several = [f"{len(problems):,} problems:", *lines, *more]
        super().__init__(problems[0] if len(problems) == 1 else "\n".join(several))


class Column(NamedTuple):
    """A column as tables declare it."""

    name: str
    kind: str  # empty for the table's usual type
    is_key: bool
    is_optional: bool


def declared(line: str) -> list[Column]:
    """Read columns such as "system* estimate:float task:text?": * marks keys, ? optional ones."""
    columns = []
    for text in line.split():
        name, _, kind = text.rstrip("*?").partition(":")
        columns.append(Column(name, kind, text.endswith("*"), text.endswith("?")))
    return columns


def why_no_file(path: Path) -> str:
    """Explain why a path is not a file that can be read."""
    # Unlike those of Path, these functions accept a name that is too long for a file.
    if os.path.isdir(path):  # noqa: PTH112
        return f"{path} is a folder: name a file in it, or a pattern of its files."
    if os.path.exists(path):  # noqa: PTH110
        return f"{path} is a pipe or a device, not a file: save its content as a file."
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    return f"there is no file {path}.{did_you_mean(path.name, siblings)}"


def read_text(path: Path) -> str:
    """Read a UTF-8 file, unpacked if its name ends in .gz; explain why other files are rejected."""
    if not os.path.isfile(path):  # noqa: PTH113
        raise FileNotFoundError(why_no_file(path))
    if path.suffix == ".gz":
        limit = max(_UNPACKED[0], _UNPACKED[1] * path.stat().st_size)
        try:
            with gzip.open(path) as stream:
                content = stream.read(limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise TableError(
                f"{path} is not valid gzip ({error}): get it again, or remove .gz from its name."
            ) from None
        if len(content) > limit:
            raise TableError(
                f"{path} unpacks to more than {limit:,} bytes, {_UNPACKED[1]} times its size, as "
                "only a damaged file does: unpack it yourself (gunzip) if it is right."
            )
    else:
        content = path.read_bytes()
    if not content.strip():
        raise TableError(f"{path} is empty: add at least the header line.")
    for magic, is_what in _MAGIC.items():
        if content.startswith(magic):
            raise TableError(f"{path} {is_what}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # error.object excludes a byte order mark, so offsets start after it.
        start = len(content) - len(error.object) + error.start
        line = content[:start].count(b"\n") + 1
        raise TableError(
            f"{path} is not UTF-8: byte {content[start]:#04x} at offset {start}, line {line}. "
            "Save it as UTF-8."
        ) from None


def parse(
    path: Path,
    *,
    may_lack: Sequence[str] = (),
    delimiter: str = ",",
    quotes: bool = True,
    problems: list[str] | None = None,
) -> tuple[pd.DataFrame, list[int]]:
    """Read a CSV file as strings, and reject whatever a lenient reader would guess.

    If a list of problems is given, rows with too few or too many fields and columns with duplicate
    names are left out and reported there.
    """
    text = read_text(path)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    stream = io.StringIO(text, newline="")
    reader = csv.reader(stream, strict=True, delimiter=delimiter, quoting=quoting)
    wrong: list[str] = []
    header: list[str] = []
    body: list[tuple[str, ...]] = []  # tuples, which the garbage collector skips
    lines: list[int] = []
    start, number = 1, 0  # the current row's line, and its number below the header
    limit = csv.field_size_limit(LONGEST_TEXT)  # the default refuses texts of 128 kB
    try:
        for row in reader:
            left_out = header[len(row) :]
            if row and not header:
                header = row
                if max(map(len, row)) > LONGEST:
                    raise TableError(
                        f"{path} has a column whose name has more than {LONGEST:,} characters: "
                        "shorten it, or add the header line if it is missing."
                    )
                if row[0].startswith(("{", "[")):
                    raise TableError(
                        f"{path} begins with {row[0][0]!r}, as JSON does: rename it to .json or "
                        ".jsonl, or set `format` in study.yml. In a CSV file, rename its first "
                        f"column, {brief(row[0])}."
                    )
                if len(row) == 1 and re.search("[\t;]", row[0]):
                    raise TableError(
                        f"{path} has no columns separated by {delimiter!r}: save it as CSV, or "
                        "name it in study.yml with its format (tsv) or delimiter. Its "
                        f"first line is {brief(delimiter.join(row))}."
                    )
            elif row:
                number += 1
                reason = ""
                if row == header and len(header) > 1:
                    reason = "repeats the header: remove that line."
                elif len(row) > len(header) or (left_out and not set(left_out) <= set(may_lack)):
                    reason = f"has {len(row)} fields, but the header has {len(header)}: the file "
                    reason += "is truncated, or a text with a comma is not quoted."
                    reason += " If the first line is a title, remove it." * (len(header) == 1)
                if reason:
                    wrong.append(f"{path}, row {number} (line {start}) {reason}")
                else:
                    body.append((*row, *[""] * len(left_out)))
                    lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        wrong.append(
            f"{path}, row {number + 1} (line {start}): {error}. The file ends within quotes, a "
            "quote inside a text is not doubled, or a text is too long: fix that row, or get the "
            "file again."
        )
    finally:
        csv.field_size_limit(limit)
    frame = pd.DataFrame(body, columns=header, dtype="str")
    doubled = frame.columns.duplicated()
    if doubled.any():
        names = ", ".join(map(repr, frame.columns[doubled].unique()))
        wrong.append(f"{path} has repeated columns ({names}): keep one of each.")
    if problems is not None:
        problems += wrong
    elif wrong:
        raise TableError(*wrong)
    return frame.loc[:, ~doubled], lines


def convert(column: pd.Series, kind: str) -> tuple[pd.Series, np.ndarray, str]:
    """Convert a column exactly, without rounding, guessing or filling in missing values."""
    kinds = {"float": _numbers, "int": _counts, "bool": _truths}
    return kinds.get(kind, _texts)(column)


def _texts(column: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    rule = "must be a text and not missing: use astype(str) for ids, and '' for an empty text"
    cells = column.to_numpy(dtype=object)  # much faster to iterate over than the column
    bad = np.array([not isinstance(value, str) for value in cells], dtype=bool)
    if not bad.any() and _HALF_PAIR.search("".join(cells)):
        bad = np.array([_HALF_PAIR.search(value) is not None for value in cells], dtype=bool)
        rule = f"must not contain {HALF}"
    return (column if bad.any() else column.astype("str")), bad, rule


def _truths(column: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    rule = "must be true or false: write True, False, 1 or 0"
    if column.dtype == bool:
        return column, np.zeros(len(column), dtype=bool), rule
    meanings = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
    truths = [meanings.get(str(value).strip().lower()) for value in column]
    bad = np.array([value is None for value in truths], dtype=bool)
    return pd.Series([bool(truth) for truth in truths], index=column.index, dtype=bool), bad, rule


def _numbers(column: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    rule = "must be a number: fix it, or leave the cell empty if the value is undefined"
    if pd.api.types.is_any_real_numeric_dtype(column):
        numbers = column.astype("float64")
        bad = np.zeros(len(column), dtype=bool)
    else:
        # float() returns exactly the number that was written; pandas' parser sometimes does not.
        parsed = [number(value) for value in column.to_numpy(dtype=object)]
        bad = np.array([value is None for value in parsed], dtype=bool)
        numbers = pd.Series(parsed, index=column.index, dtype="float64")
    size = numbers.abs().to_numpy()
    huge = (size > GREATEST) & (size < np.inf)
    if huge.any() and not bad.any():
        bad, rule = huge, f"must be at most {GREATEST:g} in absolute value: check its unit"
    return numbers, bad, rule


def number(value: object) -> float | None:
    """Read a number exactly as written; NaN if it is missing, None if it is not a number."""
    if value is None or value is pd.NA:
        return float("nan")
    text = str(value).strip()
    if "_" in text:  # float() accepts 1_000, which is not a number in any table
        return None
    try:
        value_read = float(text or "nan")
    except ValueError:
        return None
    if math.isinf(value_read) and re.search(r"\d", text):  # 1e309 is too large, not infinite
        return math.copysign(sys.float_info.max, value_read)
    return value_read


def _counts(column: pd.Series) -> tuple[pd.Series, np.ndarray, str]:
    rule = "must be a whole number (below 2**53): fix it, or drop the row"
    numbers, bad, _ = _numbers(column)
    bad = bad | ~np.isfinite(numbers) | (numbers % 1 != 0) | (numbers.abs() > 2**53)
    return (numbers if bad.any() else numbers.astype("int64")), np.asarray(bad), rule


def save(frame: pd.DataFrame, path: Path) -> None:
    """Write a table so that reading it returns the same table."""
    # Python before 3.13 does not quote a carriage return, which then reads as the end of a line.
    texts = [name for name in frame if frame[name].dtype == "str"]
    bare = any(frame[name].str.contains("\r", regex=False).any() for name in texts)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL
    frame.to_csv(path, index=False, lineterminator="\n", quoting=quoting)


def harmless(texts: pd.Series) -> pd.Series:
    """Quote cells that a spreadsheet would run as formulas; numbers are unchanged."""
    formula = r"^(?![+-]?(?:[\d.]+(?:e[+-]?\d+)?|inf)$)(?=[=+\-@\t\r])"
    return texts.astype("str").str.replace(formula, "'", regex=True)
