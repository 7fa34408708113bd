"""Convert tools' logs to rows of our tables, record by record, with limits on their size."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from nlgbench import files
from nlgbench.names import brief
from nlgbench.study import csv_files, file_types, schema
from nlgbench.study.csv_files import TableError

#: A table's name and a row's cells by column. `extra` has further columns of outputs; `{repeat}`
#: numbers the outputs of a system on one item.
Row = tuple[str, dict[str, Any]]
#: Errors that a reader raises for records of another shape.
_OTHER_SHAPE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
#: The most bytes to unpack, from one member of an archive and from all.
MEMBER, ARCHIVE = 2**27, 2**31


@dataclass
class Log:
    """The current file, and what a format remembers across all files of a study."""

    path: Path = Path()
    head: Mapping[str, Any] = field(default_factory=dict)  # the document around the records
    notes: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, dict[Any, str]] = field(default_factory=lambda: defaultdict(dict))

    def number(self, kind: str, unnumbered: Any) -> str:
        """Assign a number to something without an id, the same in all files."""
        return self.numbers[kind].setdefault(unnumbered, str(len(self.numbers[kind]) + 1))


class Recorded(NamedTuple):
    """A format of records, which a function reads one by one."""

    read: Callable[[dict[str, Any], Log], Iterator[Row]]
    files: tuple[str, ...]
    steps: tuple[str, ...] = ()  # the path to the list of records in a JSON document
    settings: Mapping[str, Any] = MappingProxyType({})


def read_records(
    shape: Recorded, paths: Sequence[Path], problems: list[str], log: Log | None = None
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Read all records of files; return the tables, and notes.

    Besides our columns and further columns of outputs, each row has its location in `{line}`.
    With `log`, records without ids are numbered as in files that were read before.
    """
    log, n = log or Log(), 0
    rows: dict[str, list[dict[str, str]]] = {}
    for log.path in paths:
        files.note_read(log.path)
        wrong = []
        try:
            for head, location, record in _records(log.path, shape.steps, problems):
                log.head, n = head, n + 1
                try:
                    for table, row in shape.read(record, log):
                        texts = {**_as_texts(row), "{line}": f"{log.path.name}, {location}"}
                        rows.setdefault(table, []).append(texts)
                except _OTHER_SHAPE as error:
                    wrong.append(f"{log.path}, {location}: {_described(error, record)}")
        except (TableError, OSError) as error:
            problems += getattr(error, "problems", [str(error)])
        if wrong:
            more = f" Invalid records in all: {len(wrong):,}." if len(wrong) > 1 else ""
            problems.append(f"{wrong[0]}{more} Correct `files`, or choose another `format`.")
    frames = {table: pd.DataFrame(cells, dtype=object).fillna("") for table, cells in rows.items()}
    if "outputs" in frames:  # judgments and answers may each describe part of an output
        frames["outputs"] = completed(frames["outputs"], ["item_id", "system", "{repeat}"])
    notes = [f"{count:,} of {n:,} records: {note}." for note, count in log.notes.items()]
    return {table: frame.fillna("").astype("str") for table, frame in frames.items()}, notes


def completed(outputs: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Fill empty cells of an output with the first value in its other rows."""
    columns_of_keys = [outputs[name] for name in keys if name in outputs]
    first = outputs.mask(outputs == "").groupby(columns_of_keys).transform("first")
    cells = outputs[first.columns.difference([*keys, "{line}"])]
    return outputs.assign(**cells.where(cells != "", first[cells.columns]).fillna(""))


def _as_texts(row: dict[str, Any]) -> dict[str, str]:
    usual = {*schema.columns("outputs"), "{repeat}"}
    further = row.pop("extra", None) or {}
    row |= {key: x for key, x in further.items() if key not in usual and x is not None}
    texts = {name: file_types.as_text(value) for name, value in row.items()}
    "".join(texts.values()).encode()  # an unpaired surrogate would fail later
    return texts


def _described(error: Exception, record: Any) -> str:
    """Describe why a format cannot read a record."""
    if isinstance(error, UnicodeEncodeError):
        return f"a text contains {csv_files.HALF}."
    keys = ", ".join(list(record)[:12]) if isinstance(record, dict) else brief(record)
    defect = f"no key {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
    return f"{defect}. Found {keys}."


def _records(
    path: Path, steps: Sequence[str], problems: list[str]
) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Iterate over a file's records: the document around them, the location, and the record."""
    kind = file_types.guess(path)
    if path.suffix == ".eval":
        yield from _of_archive(path)
    elif kind == "jsonl":
        yield from (({}, *located) for located in file_types.documents(path, kind))
    elif kind == "json":
        head, (_, document) = {}, next(file_types.documents(path, kind))
        for step in steps:
            if isinstance(document, dict) and step in document:
                head, document = document, document[step]
        if not isinstance(document, list):
            way = f" in {'.'.join(steps)}" if steps else ""
            raise TableError(f"{path} has no list of records{way}: name other files with `files`.")
        yield from ((head, f"record {n}", record) for n, record in enumerate(document, 1))
    else:
        frame, places = file_types.read_rows(path, kind or "csv", problems=problems)
        records = frame.to_dict("records")
        yield from zip(repeat({}), places, records, strict=False)


def _of_archive(path: Path) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Iterate over the samples of an Inspect log that is an archive, unpacked in memory."""
    convert = f"run `inspect log convert {path} --to json --output-dir DIR`, and read its results."
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            heads = [name for name in ("header.json", "_journal/start.json") if name in members]
            names = [name for name in members if re.fullmatch(r"samples/.+\.json", name)]
            if not heads:
                raise TableError(f"{path} is not an Inspect log: it has no header.json.")
            # Sort 10 after 9.
            names.sort(key=lambda name: re.sub(r"\d+", lambda digits: digits[0].zfill(20), name))
            entries = [members[name] for name in (heads[0], *names)]
            types = {member.compress_type for member in entries}
            if types - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise TableError(f"{path} is compressed by Zstandard, or not by deflate: {convert}")
            sizes = [member.file_size for member in entries]
            if max(sizes) > MEMBER or sum(sizes) > ARCHIVE:
                raise TableError(
                    f"{path} unpacks to {sum(sizes):,} bytes, and one member to {max(sizes):,}; "
                    f"the limits are {ARCHIVE:,} and {MEMBER:,}. If the log is valid, {convert}"
                )

            def load(name: str) -> Any:
                with archive.open(members[name]) as member:
                    text = member.read(MEMBER).decode()  # its declared size may be wrong
                return file_types.load_json(text, f"{path}, {name}")

            head = load(heads[0])
            yield from ((head, name, load(name)) for name in names)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError) as error:
        raise TableError(f"{path} is not a complete archive ({error}): get it again.") from None


def plain_text(content: Any) -> str:
    """Return the text of a message, which may be a list with texts among its parts."""
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if content is None else str(content)


def number(value: Any) -> float | None:
    """Return a number or Boolean as a number; None for anything else."""
    return float(value) if isinstance(value, bool | int | float) else None
