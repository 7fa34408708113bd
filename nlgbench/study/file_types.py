"""Read files of any type into a frame of strings, with the location of each row."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.names import brief
from nlgbench.study import csv_files, workbooks
from nlgbench.study.csv_files import TableError

#: Type -> file extensions; .gz may follow, except for Parquet and Excel.
ENDINGS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "parquet": (".parquet",),
    "xlsx": (".xlsx",),
    "lines": (".txt",),
}
#: Keys of an object that only wraps a number.
_RATINGS = ({"rating"}, {"number"})


def guess(path: Path) -> str:
    """Guess a file's type from its extension; empty if the extension is unknown."""
    name = workbooks.split(path)[0].name
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), "")


def find_files(name: str, folder: Path) -> list[Path]:
    """List the files that match a name or pattern in a folder."""
    book = str(workbooks.split(Path(name))[0]) if ".xlsx#" in name else name
    if os.path.isfile(folder / book):  # noqa: PTH113, names may be too long
        return [folder / name]
    start = (folder / f"{re.split('[*?[]', name)[0]}x").parent.resolve()
    if glob.has_magic(name) and start == Path(start.anchor):
        raise TableError(f"the pattern {name} searches the whole disk: begin it with a folder.")
    paths = glob.glob(name, root_dir=folder, recursive=True)  # noqa: PTH207, absolute too
    return [folder / path for path in sorted(paths) if (folder / path).is_file()]


def stem(path: Path) -> str:
    """Return a file's name without the extensions that name its type, or a sheet's name."""
    return workbooks.split(path)[1] or Path(path.name.removesuffix(".gz")).stem


def read_rows(
    path: Path,
    kind: str,
    *,
    problems: list[str],
    delimiter: str = "",
    keys: Sequence[str] = (),
    rows: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Read a file as strings, each row with its location; list what cannot be read.

    Lists within JSON stay JSON. `keys` names the levels of objects that are keyed by ids; `rows`
    is the path to the objects that are rows.
    """
    if kind in ("parquet", "xlsx"):
        return (_parquet if kind == "parquet" else workbooks.read_workbook)(path)
    if kind in ("csv", "tsv"):
        return _separated(path, delimiter or {"csv": ",", "tsv": "\t"}[kind], problems)
    if kind == "lines":
        texts = csv_files.read_text(path).removesuffix("\n").split("\n")
        frame = pd.DataFrame({"line": [text.removesuffix("\r") for text in texts]}, dtype="str")
        return frame, [f"line {number}" for number in range(1, len(frame) + 1)]
    records, places = [], []
    for line, document in documents(path, kind):
        where = f"{path}, {line}" if line else str(path)
        located = list(_records(document, keys, rows, where))
        several = bool(not line or len(located) > 1 or keys)
        records += [record for _, record in located]
        places += [", ".join(filter(None, [line, place * several])) for place, _ in located]
    if not records:
        raise TableError(f"{path} has no records: set `rows` to the path of the rows.")
    try:
        return _framed(records), places
    except RecursionError:
        raise TableError(f"{path} is nested too deeply: flatten it.") from None
    except UnicodeEncodeError:
        raise TableError(f"{path} contains {csv_files.HALF}.") from None


def documents(path: Path, kind: str) -> Iterator[tuple[str, Any]]:
    """Read the documents of JSON or JSON Lines, each with its location in the file."""
    text = csv_files.read_text(path)
    if kind == "json":
        yield "", load_json(text, str(path))
        return
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            if len(line) > csv_files.LONGEST_TEXT:
                wrong.append(
                    f"{path}, line {number} has more than {csv_files.LONGEST_TEXT:,} characters: "
                    "split it into records, or shorten its texts."
                )
                continue
            try:
                document = load_json(line, f"{path}, line {number}")
            except TableError as error:
                wrong.append(str(error))
            else:
                yield f"line {number}", document
    if wrong:
        raise TableError(*wrong)


def _framed(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Convert records to a frame of strings, with nested fields in columns named by their paths."""
    # Cells are converted before: an id 1 in a column with empty cells would become 1.0.
    frame = pd.DataFrame([dict(_flat(record)) for record in records], dtype=object)
    frame = frame.fillna("").astype("str")
    for name in frame:
        "".join(frame[name]).encode()  # an unpaired surrogate would fail later
    return frame


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, field in record.items():
        if isinstance(field, Mapping):
            yield from _flat(field, f"{before}{name}.")
        else:
            yield f"{before}{name}", as_text(field)


def _separated(path: Path, delimiter: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    if len(delimiter) != 1:
        raise TableError(f"{path}: delimiter must be one character. Got {delimiter!r}.")
    wrong: list[str] = []
    # Mechanical Turk adds two columns for the requester to fill in, and writes no fields for them.
    lacks = ("Approve", "Reject")
    frame, lines = csv_files.parse(path, may_lack=lacks, delimiter=delimiter, problems=wrong)
    if wrong and delimiter == "\t":
        # Tools differ in whether quotes enclose a TSV field. If parsing them fails, they are text.
        again: list[str] = []
        plain = csv_files.parse(path, delimiter=delimiter, quotes=False, problems=again)
        if not again:
            (frame, lines), wrong = plain, again
    problems += wrong
    return _with_fields(frame), [f"line {number}" for number in lines]


def _with_fields(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the fields of columns whose cells are objects, such as `Answer.taskAnswers`."""
    fields = [frame]
    heads = frame.iloc[0].str.strip() if len(frame) else pd.Series(dtype="str")
    # The first cell rules out most columns, of which there may be thousands.
    for name in heads.index[(heads == "") | heads.str.startswith(("{", "["))]:
        cells = frame[name].tolist()
        if not next(filter(str.strip, cells), "").lstrip().startswith(("{", "[")):
            continue
        try:
            objects = [json.loads(cell.strip()) if cell.strip() else {} for cell in cells]
        except (ValueError, RecursionError):
            continue
        objects = [cell[0] if type(cell) is list and len(cell) == 1 else cell for cell in objects]
        if all(isinstance(cell, dict) and {*cell} not in _RATINGS for cell in objects):
            answers = [{key: _chosen(answer) for key, answer in cell.items()} for cell in objects]
            columns = _framed(answers).set_axis(frame.index).add_prefix(f"{name}.")
            fields.append(columns[columns.columns.difference(frame.columns, sort=False)])
    return pd.concat(fields, axis=1) if fields[1:] else frame


def _chosen(answer: Any) -> Any:
    """Return the true key of an answer by radio buttons, such as {"1": false, "2": true}."""
    is_choice = isinstance(answer, dict) and {*map(type, answer.values())} == {bool}
    chosen = [key for key, mark in answer.items() if mark] if is_choice else []
    return chosen[0] if len(chosen) == 1 else answer


def _parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    if importlib.util.find_spec("pyarrow") is None:
        raise TableError(f"{path} is a Parquet file: pip install pyarrow, or save it as CSV.")
    if not path.is_file():
        raise FileNotFoundError(csv_files.why_no_file(path))
    import pyarrow.parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

    try:
        # A frame would turn integers next to an empty cell into floats: an id 1 into 1.0.
        table = pyarrow.parquet.ParquetFile(path).read()
        records = table.to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:
        raise TableError(f"{path} is not valid Parquet ({error}): get it again.") from None
    for field in table.schema:
        if "binary" in str(field.type):
            raise TableError(f"{path}, column {field.name!r} contains bytes: save it as text.")
        if table.column_names.count(field.name) > 1:
            raise TableError(f"{path} has two columns named {field.name!r}: keep one.")
    if not records:
        return pd.DataFrame(columns=table.column_names, dtype="str"), []
    return _framed(records), [f"record {n}" for n in range(1, len(records) + 1)]


def load_json(text: str, where: str) -> Any:
    """Read JSON, and reject repeated keys, because one value would be lost."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(
                f"{where}: an object has the key {twice!r} twice, so one value would be lost: "
                "rename one of the keys, or put both values in a list."
            )
        return mapping

    try:
        return json.loads(text, object_pairs_hook=once)
    except TableError:
        raise
    except RecursionError:
        raise TableError(f"{where} is nested too deeply: flatten it.") from None
    except json.JSONDecodeError as error:
        line = "" if ", line " in where else f"line {error.lineno}, "  # for JSON Lines, in `where`
        way = ", or rename it to .jsonl if each line is a document" if line else ""
        raise TableError(
            f"{where} is not valid JSON: {error.msg} in {line}column {error.colno}. Fix it, or get "
            f"it again{way}."
        ) from None
    except ValueError as error:
        raise TableError(f"{where} is not valid JSON ({error}): fix it.") from None


def _records(
    document: Any, keys: Sequence[str], rows: str, where: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the objects of a document that are rows, each with its location."""
    # Location, the fields of the objects around, and what they contain.
    levels: list[tuple[str, dict[str, Any], Any]] = [("", {}, document)]
    for step in rows.split(".") if rows else []:
        levels = [
            (inside, outer | {key: inner[key] for key in inner if key != step}, inner[step])
            for location, outer, content in levels
            for inside, inner in _objects(location, content, where, f"rows: {rows}")
            if inner.get(step) is not None
        ]
        if not levels:
            raise TableError(f"{where} has no {step!r}: correct the path `rows: {rows}`.")
    for level, key in enumerate(keys, 1):
        contents = [content for _, _, content in levels]
        if odd := [content for content in contents if not isinstance(content, dict)]:
            raise TableError(
                f"{where}: level {level} ({key!r} in `keys`) must be an object, not "
                f"{brief(odd[0])}: name one key for each level of ids."
            )
        levels = [
            (f"{location}/{name}" if location else f"record {name}", {**outer, key: name}, inner)
            for location, outer, content in levels
            for name, inner in content.items()
        ]
    for location, outer, content in levels:
        if keys and not isinstance(content, dict | list):
            yield location, {**outer, "value": content}
            continue
        for number, (row, inner) in enumerate(_objects(location, content, where, "a row"), 1):
            yield row, {**outer, **({"position": number} if rows else {}), **inner}


def _objects(
    location: str, content: Any, where: str, subject: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over a list of objects, or over a single object, each with its location."""
    if isinstance(content, dict):
        yield location or "record 1", content
        return
    if not isinstance(content, list):
        raise TableError(
            f"{where}: {subject} must be an object or a list of them, not {brief(content)}."
        )
    for number, record in enumerate(content, 1):
        row = f"{location}, row {number}" if location else f"record {number}"
        if not isinstance(record, dict):
            raise TableError(f"{where}, {row} must be an object, not {brief(record)}.")
        yield row, record


def as_text(cell: Any) -> str:
    """Write a cell as text: a number unchanged, a missing value as empty, a list as JSON."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, list | Mapping):
        return json.dumps(cell, ensure_ascii=False, default=str)
    if isinstance(cell, bool) or cell is None:
        return "" if cell is None else str(cell).lower()
    if pd.isna(cell):
        return ""
    return repr(cell) if isinstance(cell, int | float) else str(cell)


def as_list(cell: str) -> list[str] | None:
    """Parse a cell that is a JSON list, such as Label Studio's `[{"rating": 4}]`."""
    if not cell.lstrip().startswith("["):  # much faster than a parser's error
        return None
    try:
        elements = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    for n, element in enumerate(elements):
        if isinstance(element, dict) and {*element} in _RATINGS:
            (elements[n],) = element.values()
    return [*map(as_text, elements)]
