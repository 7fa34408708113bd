"""Files of any format as one thing: a frame of texts, and where in the file each row stands."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.names import brief
from nlgbench.study import csv_files
from nlgbench.study.csv_files import TableError

#: Format -> how the names of its files end; .gz may follow, except for Parquet.
ENDINGS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "parquet": (".parquet",),
    "lines": (".txt",),
}


def guess(path: Path) -> str:
    """Tell a file's format by how its name ends; nothing where the name does not say."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), "")


def stem(path: Path) -> str:
    """Give a file's name without what tells its format."""
    return Path(path.name.removesuffix(".gz")).stem


def read(
    path: Path,
    kind: str,
    *,
    problems: list[str],
    delimiter: str = "",
    keys: Sequence[str] = (),
    rows: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Read a file as texts, each row with its place in it; what cannot be read is a problem.

    Lists within JSON stay JSON. `keys` names the levels of objects that are keyed by ids, `rows`
    is the path to the objects that are rows.
    """
    if kind == "parquet":
        return _parquet(path)
    if kind in ("csv", "tsv"):
        return _separated(path, delimiter or {"csv": ",", "tsv": "\t"}[kind], problems)
    if kind == "lines":
        rows_of = csv_files.read_text(path).removesuffix("\n").split("\n")
        frame = pd.DataFrame({"line": [one.removesuffix("\r") for one in rows_of]}, dtype="str")
        return frame, [f"line {number}" for number in range(1, len(frame) + 1)]
    records, places = [], []
    for line, document in documents(path, kind):
        where = f"{path}, {line}" if line else str(path)
        found = list(_records(document, keys, rows, where))
        several = not line or len(found) > 1 or keys
        records += [record for _, record in found]
        places += [", ".join(filter(None, [line, at if several else ""])) for at, _ in found]
    if not records:
        raise TableError(f"{path} holds no record: name the path to the rows with `rows`.")
    try:
        return _framed(records), places
    except RecursionError:
        raise TableError(f"{path} is nested too deep to be read: flatten it.") from None
    except UnicodeEncodeError:
        raise TableError(f"{path} holds {csv_files.HALF}.") from None


def documents(path: Path, kind: str) -> Iterator[tuple[str, Any]]:
    """Read the documents of JSON or JSON Lines, each with its place in the file."""
    text = csv_files.read_text(path)
    if kind == "json":
        yield "", load_json(text, str(path))
        return
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                document = load_json(line, f"{path}, line {number}")
            except TableError as error:
                wrong.append(str(error))
            else:
                yield f"line {number}", document
    if wrong:
        raise TableError(*wrong)


def _framed(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Lay records out as texts, nested fields by path; what one lacks is an empty cell.

    Texts first: in a frame of numbers, an id beside an empty cell would become 1.0.
    """
    frame = pd.DataFrame([dict(_flat(one)) for one in records], dtype=object)
    return frame.fillna("").astype("str")


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, one in record.items():
        if isinstance(one, Mapping):
            yield from _flat(one, f"{before}{name}.")
        else:
            yield f"{before}{name}", as_text(one)


def _separated(path: Path, delimiter: str, problems: list[str]) -> tuple[pd.DataFrame, list[str]]:
    if len(delimiter) != 1:
        raise TableError(f"{path}: delimiter must be one character. Got {delimiter!r}.")
    found: list[str] = []
    # Mechanical Turk names two columns for its requester to fill in, and writes no field for them.
    lacks = ("Approve", "Reject")
    frame, lines = csv_files.parse(path, may_lack=lacks, delimiter=delimiter, problems=found)
    if found and delimiter == "\t":
        # Tools differ in whether quotes in TSV enclose a field; where they cannot, they are text.
        again: list[str] = []
        plain = csv_files.parse(path, delimiter=delimiter, quotes=False, problems=again)
        if not again:
            (frame, lines), found = plain, again
    problems += found
    return frame, [f"line {number}" for number in lines]


def _parquet(path: Path) -> tuple[pd.DataFrame, list[str]]:
    if importlib.util.find_spec("pyarrow") is None:
        raise TableError(
            f"{path} is Parquet, which needs pyarrow: pip install pyarrow, or save it as CSV."
        )
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}.")
    import pyarrow.parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]

    try:
        # Not through a frame, whose integers beside an empty cell are floats: an id 1.0, not 1.
        table = pyarrow.parquet.ParquetFile(path).read()
        records = table.to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:
        raise TableError(f"{path} is no Parquet that can be read ({error}): get it anew.") from None
    for field in table.schema:
        if "binary" in str(field.type):
            raise TableError(f"{path}, column {field.name!r} holds bytes: save it as text.")
        if table.column_names.count(field.name) > 1:
            raise TableError(f"{path} has two columns {field.name!r}: keep one.")
    if not records:
        return pd.DataFrame(columns=table.column_names, dtype="str"), []
    return _framed(records), [f"record {n}" for n in range(1, len(records) + 1)]


def load_json(text: str, where: str) -> Any:
    """Read JSON, refusing what would lose a value."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(
                f"{where}: an object has the key {twice!r} twice, of which one would be lost: give "
                "them different names, or put them in a list."
            )
        return made

    try:
        return json.loads(text, object_pairs_hook=once)
    except TableError:
        raise
    except RecursionError:
        raise TableError(f"{where} is nested too deep to be read: mend it.") from None
    except json.JSONDecodeError as error:
        raise TableError(
            f"{where} is no JSON: {error.msg} in line {error.lineno}, column {error.colno}. Mend "
            "it, get it anew, or name it .jsonl if each line is a document."
        ) from None
    except ValueError as error:
        raise TableError(f"{where} is no JSON ({error}): mend it.") from None


def _records(
    document: Any, keys: Sequence[str], rows: str, where: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through the objects of a document that are rows, each with its place in words."""
    found: list[tuple[str, dict[str, Any], Any]] = [("", {}, document)]
    for step in rows.split(".") if rows else []:
        found = [
            (at, {**outer, **{key: one for key, one in inner.items() if key != step}}, inner[step])
            for at, outer, whole in found
            for at, inner in _each(at, whole, where, f"rows: {rows}")
            if inner.get(step) is not None
        ]
        if not found:
            raise TableError(f"{where} has no {step!r}, which `rows: {rows}` names: mend one.")
    for level, key in enumerate(keys, 1):
        lost = next((one for _, _, one in found if not isinstance(one, dict)), None)
        if lost is not None:
            raise TableError(
                f"{where}: level {level}, which `keys` calls {key!r}, is no object but "
                f"{brief(lost)}: name as many keys as there are levels of ids."
            )
        found = [
            (f"{at}/{name}" if at else f"record {name}", {**outer, key: name}, one)
            for at, outer, inner in found
            for name, one in inner.items()
        ]
    for at, outer, one in found:
        if keys and not isinstance(one, dict | list):
            yield at, {**outer, "value": one}
        else:
            for number, (place, inner) in enumerate(_each(at, one, where, "a row"), 1):
                yield place, {**outer, **({"position": number} if rows else {}), **inner}


def _each(at: str, whole: Any, where: str, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through an object, or a list of objects."""
    if isinstance(whole, dict):
        yield at or "record 1", whole
        return
    if not isinstance(whole, list):
        raise TableError(
            f"{where}: {what} must be an object or a list of them, not {brief(whole)}."
        )
    for number, one in enumerate(whole, 1):
        place = f"{at}, row {number}" if at else f"record {number}"
        if not isinstance(one, dict):
            raise TableError(f"{where}, {place}: must be an object, not {brief(one)}.")
        yield place, one


def as_text(cell: Any) -> str:
    """Write a cell as text: a number as it was, nothing for what is not there, lists as JSON."""
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
    """Read a cell that holds a JSON list, such as Label Studio's `[{"rating": 4}]`."""
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    ratings = ({"rating"}, {"number"})
    is_rating = [isinstance(one, dict) and {*one} in ratings for one in found]
    both = zip(found, is_rating, strict=True)
    return [as_text(next(iter(one.values())) if wrapped else one) for one, wrapped in both]
