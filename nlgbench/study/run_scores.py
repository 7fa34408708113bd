"""Read the scores of several runs, each from its own log, table or folder, as one study."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nlgbench.names import UsageError
from nlgbench.study import answers, csv_files, file_types, formats
from nlgbench.study.column_names import has_word, personal, plain_name, recognized
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats.records import Log, Recorded, read_records
from nlgbench.study.guessing import Guess, scale_of
from nlgbench.study.layouts import find_logs, open_files
from nlgbench.study.reading import CODE, FILE, WRITTEN, some
from nlgbench.study.study import Study, from_rows, read_study, with_tables

#: Columns of outputs that are no properties of items.
_USUAL = ("output_id", "item_id", "system", "text", "context", "is_human", "{repeat}", "{line}")
#: Words in names of columns whose numbers are no scores.
_NO_SCORES = "epochs?|seed|repeat|trial|fold|index|row|line|id|tokens|timestamp"


#: Names of rows that sum up the others.
_TOTALS = re.compile("(?:grand )?totals?|average|avg|mean|overall|sum", re.IGNORECASE)
_PERCENT = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*%\s*")

#: Outputs and their scores.
Frames = tuple[pd.DataFrame, pd.DataFrame]


class _Table(NamedTuple):
    """A file with a row per output, or per output and metric, and what its columns are."""

    source: Guess
    file: Path
    item: str
    system: str
    metric: str
    #: Columns that may be scores or properties of items.
    free: list[str]
    #: Columns that may be scores.
    scored: list[str]


def read_runs(paths: Sequence[Path]) -> tuple[Study, list[str]]:
    """Read runs as the systems of one study; return it with notes on what was not read.

    A run is named after its system in the file; if two files name the same one, after the file.
    """
    log = Log()
    names = [file_types.stem(path) for path in paths]
    opened = [[*_open_run(path, log)] for path in paths]
    tables = [table for contents in opened for table in contents if isinstance(table, _Table)]
    numbers_of = _read_columns(tables)
    runs = [
        _read_run(path, contents, numbers_of) for path, contents in zip(paths, opened, strict=True)
    ]
    systems = [set(scores["system"]) for _, scores in runs]
    if len(set().union(*systems)) < sum(map(len, systems)):
        if doubled := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"two runs are named {doubled[0]!r}: rename one of the files.")
        for name, contained, frames in zip(names, systems, runs, strict=True):
            for frame in frames:
                frame["system"] = name if len(contained) == 1 else f"{name}: " + frame["system"]
    if sum(map(len, systems)) < 2:
        raise UsageError(f"{paths[0]} has one run: name the file or folder of another, too.")
    outputs, scores = (pd.concat(frames, ignore_index=True) for frames in zip(*runs, strict=True))
    for frame in (outputs, scores):
        frame["output_id"] = frame["system"] + "/" + frame["output_id"]
    outputs = outputs.drop_duplicates("output_id", ignore_index=True)
    scores = scores.drop(columns="system")
    extra = [name for name in outputs if name not in _USUAL]
    study = from_rows(outputs=outputs, scores=scores, name="runs", source="study")
    outputs = study.outputs.join(outputs[extra].fillna("").astype(str))
    study = with_tables(study, outputs=outputs, settings={"extra": extra})
    notes = [f"{note} (records: {count:,})." for note, count in log.notes.items()]
    columns = dict.fromkeys(name for table in tables for name in table.scored)
    unread = [name for name in columns if name not in numbers_of]
    if unread:
        notes.append(f"Columns without numbers are not compared: {some(unread)}.")
    return study, notes


def _read_run(
    path: Path,
    contents: Sequence[_Table | Frames],
    numbers_of: Mapping[str, Mapping[str, float | None]],
) -> Frames:
    """Read outputs and scores of the files of a run."""
    frames = [
        _of_table(content, numbers_of) if isinstance(content, _Table) else content
        for content in contents
    ]
    outputs, scores = (pd.concat(tables, ignore_index=True) for tables in zip(*frames, strict=True))
    if scores["score"].isna().all():
        raise UsageError(f"{path} has no scores: name a log, or a file with columns of scores.")
    return outputs.drop(columns=["text", "context"], errors="ignore"), scores


def _open_run(path: Path, log: Log) -> Iterator[_Table | Frames]:
    """Open the tables of a run, or read outputs and scores of its study or logs."""
    if path.is_dir() and any((path / name).is_file() for name in _DESCRIPTIONS):
        yield _of_study(read_study(path))
        return
    files = [path]
    if path.is_dir():
        patterns = [name for shape in formats.FORMATS.values() for name in shape.files]
        files = sorted({file for name in patterns for file in path.glob(name) if file.is_file()})
        if not files:
            raise UsageError(f"the folder {path} has no log of a known format, and no study.")
    tool, logs = find_logs(files)
    shape = formats.find(tool, str(path)) if tool else None
    if isinstance(shape, Recorded):
        yield _of_log(shape, logs, log)
        return
    for file in files:
        yield from (_open_table(source, file) for source in open_files([file], Path(), strict=True))


_DESCRIPTIONS = (FILE, CODE, WRITTEN, "outputs.csv")


def _of_study(study: Study) -> Frames:
    """Take the systems' outputs and scores of a study."""
    outputs = study.outputs[~study.outputs["is_human"]]
    if study.scores is None:
        raise UsageError(
            f"{study.name} has no scores: compute them with nb.score, or compare its systems by "
            "judgments and votes with `nlgbench run 08 -p study=DIR`."
        )
    scores = study.scores.merge(outputs[["output_id", "system"]], on="output_id", validate="m:1")
    return outputs, scores


def _of_log(shape: Recorded, files: Sequence[Path], log: Log) -> Frames:
    """Read logs; items without ids are numbered alike in all runs."""
    problems: list[str] = []
    tables, _ = read_records(shape, files, problems, log)
    if problems:
        raise TableError(*problems)
    if not {"outputs", "scores"} <= {*tables}:
        raise UsageError(f"{files[0]} has no scores of outputs: name a log with scores.")
    outputs, scores = tables["outputs"], tables["scores"]
    for frame in (outputs, scores):
        repeat = frame.get("{repeat}", pd.Series("", frame.index))
        frame["output_id"] = frame["item_id"] + "/" + repeat
    scores = scores.assign(score=pd.to_numeric(scores["score"]), signature="")
    columns_kept = ["output_id", "system", "evaluator", "score", "signature"]
    return outputs, scores[columns_kept]


def _open_table(source: Guess, file: Path) -> _Table:
    """Find the columns of items, systems and metrics."""
    names = recognized(source.names)
    item = _item_column(source, names)
    if not item:
        raise UsageError(
            f"{file} has no column that names items, so its rows cannot be matched with those of "
            f"other runs: name one `id`. Columns: {some(source.names)}."
        )
    items = source.frame[item]
    if totals := [name for name in items if _TOTALS.fullmatch(name.strip())]:
        raise TableError(
            f"{file}, row {items.tolist().index(totals[0]) + 1}: {totals[0]!r} looks like a sum of "
            "the items: remove the row or, if it is an item, rename it."
        )
    system, metric = names.get("system", "{file}"), names.get("evaluator", "")
    assigned = {item, system, metric, *personal(source.names)}
    free = [name for name in source.names if name not in assigned]
    value = names.get("value") if metric else None
    scored = [value] if value else [name for name in free if not has_word(name, _NO_SCORES)]
    return _Table(source, file, item, system, metric if value else "", free, scored)


def _read_columns(tables: Sequence[_Table]) -> dict[str, dict[str, float | None]]:
    """Map the cells of each column of scores to numbers, alike in all runs; None if wrong.

    Words of a scale are known only from the cells of all runs: one may lack some of them.
    """
    numbers_of: dict[str, dict[str, float | None]] = {}
    for name in dict.fromkeys(name for table in tables for name in table.scored):
        counts = [Counter(table.source.frame[name]) for table in tables if name in table.scored]
        cells = pd.Series([*sum(counts, Counter())], dtype="str")
        numbers = dict(zip(cells, _convert(cells), strict=True))
        filled = [
            {cell: n for cell, n in count.items() if not _is_nan(numbers[cell])} for count in counts
        ]
        # The few other cells of a column of numbers are errors, as are those of another run.
        if any(
            2 * sum(n for cell, n in count.items() if numbers[cell] is not None)
            > sum(count.values())
            for count in filled
        ):
            numbers_of[name] = numbers
    return numbers_of


def _is_nan(number: float | None) -> bool:
    return number is not None and math.isnan(number)


def _convert(cells: pd.Series) -> list[float | None]:
    """Convert distinct cells: numbers, percentages, or words of a scale; None if neither."""
    texts = answers.point_commas(cells) if answers.has_decimal_commas(cells) else cells
    missing = {*answers.missing_words(texts)}
    filled = [text for text in texts if text.strip() and text not in missing]
    if filled and all(map(_PERCENT.fullmatch, filled)):
        texts = texts.str.replace("%", "")
    number_of = {text: csv_files.number(text) for text in filled}
    plain = {number for number in number_of.values() if number is not None}
    wordy = [text for text in filled if number_of[text] is None]
    scale = scale_of(wordy)
    for partner in () if scale or len({*wordy}) > 1 else ("true", "false", "pass", "fail"):
        scale = scale or scale_of([*wordy, partner])  # all answers of all runs are one word
    if not (plain <= {*map(float, scale.values())} or re.search(r"\d", "".join(wordy))):
        scale = {}  # numbers beside it are of another scale
    numbers = [csv_files.number(scale.get(text, text)) for text in texts]
    return [
        math.nan if text in missing else number for text, number in zip(texts, numbers, strict=True)
    ]


def _of_table(table: _Table, numbers_of: Mapping[str, Mapping[str, float | None]]) -> Frames:
    """Read a table with a row per output, or per output and metric."""
    source, frame, metric = table.source, table.source.frame, table.metric
    columns = [name for name in table.scored if name in numbers_of]
    if not columns:
        raise UsageError(
            f"{table.file} has no column of scores: numbers, or words such as true and false. "
            f"Columns: {some(source.names)}."
        )
    places = pd.DataFrame({"item_id": frame[table.item], "system": frame[table.system]})
    keys = [places["item_id"], places["system"], *([frame[metric]] if metric else [])]
    number = places.groupby(keys, sort=False).cumcount().astype(str)
    places["output_id"] = places["item_id"] + "/" + number
    scores = []
    for name in columns:
        rows = places.assign(evaluator=frame[metric] if metric else name, signature="")
        where = f"{table.file}, column {name!r}"
        scores.append(rows.assign(score=_as_numbers(frame[name], numbers_of[name], where)))
    groups = [name for name in table.free if 2 * frame[name].nunique() <= len(frame)]
    return places.join(frame[groups]), pd.concat(scores).drop(columns="item_id")


def _item_column(source: Guess, names: Mapping[str, str]) -> str:
    """Find the column of items: by its name, else the first of ids or texts that do not repeat."""
    named = [name for name in source.names if plain_name(name.split(".")[-1]) == "id"]
    named += [names["item_id"]] if "item_id" in names else []
    distinct = [name for name in source.names if source.frame[name].is_unique]
    named += [name for name in distinct if source.kind(name) in ("id", "text")]
    return next((name for name in named if name not in personal([name])), "")


def _as_numbers(
    cells: pd.Series, numbers: Mapping[str, float | None], where: str
) -> pd.Series[float]:
    """Convert a column, in which each cell must be a finite number, or missing."""
    wrong = [cell for cell in cells if (number := numbers[cell]) is None or math.isinf(number)]
    if wrong:
        raise TableError(
            f"{where}, row {cells.tolist().index(wrong[0]) + 1} is {wrong[0]!r}: a score must be a "
            "finite number. Correct the cell, or leave it empty if it is missing."
        )
    return cells.map(numbers).astype("float64")
