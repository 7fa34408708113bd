"""Read the scores of several runs, each from its own log, table or folder, as one study."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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


def read_runs(paths: Sequence[Path]) -> tuple[Study, list[str]]:
    """Read runs as the systems of one study; return it with notes on what was not read.

    A run is named after its system in the file; if two files name the same one, after the file.
    """
    log = Log()
    names = [file_types.stem(path) for path in paths]
    runs = [_read_run(path, log) for path in paths]
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
    return study, [f"{note} (records: {count:,})." for note, count in log.notes.items()]


def _read_run(path: Path, log: Log) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read outputs and scores of the files of a run."""
    tables = zip(*_read_files(path, log), strict=True)
    outputs, scores = (pd.concat(frames, ignore_index=True) for frames in tables)
    if scores["score"].isna().all():
        raise UsageError(f"{path} has no scores: name a log, or a file with columns of scores.")
    return outputs.drop(columns=["text", "context"], errors="ignore"), scores


def _read_files(path: Path, log: Log) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read outputs and scores of each file of a run."""
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
        yield from (_of_table(source, file) for source in open_files([file], Path()))


_DESCRIPTIONS = (FILE, CODE, WRITTEN, "outputs.csv")


def _of_study(study: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the systems' outputs and scores of a study."""
    outputs = study.outputs[~study.outputs["is_human"]]
    if study.scores is None:
        raise UsageError(
            f"{study.name} has no scores: compute them with nb.score, or compare its systems by "
            "judgments and votes with `nlgbench run 08 -p study=DIR`."
        )
    scores = study.scores.merge(outputs[["output_id", "system"]], on="output_id", validate="m:1")
    return outputs, scores


def _of_log(shape: Recorded, files: Sequence[Path], log: Log) -> tuple[pd.DataFrame, pd.DataFrame]:
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


def _of_table(source: Guess, file: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a table with a row per output, or per output and metric."""
    frame, names = source.frame, recognized(source.names)
    item = _item_column(source, names)
    if not item:
        raise UsageError(
            f"{file} has no column that names items, so its rows cannot be matched with those of "
            f"other runs: name one `id`. Columns: {some(source.names)}."
        )
    places = pd.DataFrame({"item_id": frame[item], "system": frame[names.get("system", "{file}")]})
    metric = names.get("evaluator")
    values = names.get("value") if metric else None
    assigned = {item, names.get("system"), metric, *personal(source.names)}
    free = [name for name in source.names if name not in assigned]
    metrics = [name for name in free if not has_word(name, _NO_SCORES)]
    metrics = [name for name in metrics if _are_numbers(source, name)]
    columns = [values] if values in metrics else metrics
    if not columns:
        raise UsageError(
            f"{file} has no column of scores: numbers, or words such as true and false. "
            f"Columns: {some(source.names)}."
        )
    keys = [places["item_id"], places["system"], *([frame[metric]] if values else [])]
    number = places.groupby(keys, sort=False).cumcount().astype(str)
    places["output_id"] = places["item_id"] + "/" + number
    scores = []
    for name in columns:
        rows = places.assign(evaluator=frame[metric] if values else name, signature="")
        scores.append(rows.assign(score=_as_numbers(frame[name], f"{file}, column {name!r}")))
    groups = [name for name in free if source.kind(name) in ("words", "id", "number")]
    return places.join(frame[groups]), pd.concat(scores).drop(columns="item_id")


def _item_column(source: Guess, names: Mapping[str, str]) -> str:
    """Find the column of items: by its name, else the first of ids or texts that do not repeat."""
    named = [name for name in source.names if plain_name(name.split(".")[-1]) == "id"]
    named += [names["item_id"]] if "item_id" in names else []
    distinct = [name for name in source.names if source.frame[name].is_unique]
    named += [name for name in distinct if source.kind(name) in ("id", "text")]
    return next((name for name in named if name not in personal([name])), "")


def _are_numbers(source: Guess, name: str) -> bool:
    """Check whether a column has numbers, or words for them; the few other cells are errors."""
    if source.kind(name) == "number":
        return True
    filled = [cell for cell in _with_points(source.frame[name]) if cell.strip()]
    n_numbers = sum(csv_files.number(cell) is not None for cell in filled)
    return n_numbers > len(filled) / 2


def _with_points(cells: pd.Series) -> pd.Series:
    """Replace decimal commas by points."""
    return answers.point_commas(cells) if answers.has_decimal_commas(cells) else cells


def _as_numbers(cells: pd.Series, where: str) -> pd.Series[float]:
    """Convert a column of numbers, or of words such as true and false."""
    cells = _with_points(cells)
    distinct = list(dict.fromkeys(cells))
    scale = scale_of(distinct)
    missing = dict.fromkeys(answers.missing_words(distinct), math.nan)
    numbers = {cell: csv_files.number(scale.get(cell, cell)) for cell in distinct} | missing
    wrong = [cell for cell, value in numbers.items() if value is None or math.isinf(value)]
    if wrong:
        row = cells.tolist().index(wrong[0]) + 1
        raise TableError(
            f"{where}, row {row} is {wrong[0]!r}: a score must be a finite number. Correct "
            "the cell, or leave it empty if it is missing."
        )
    return cells.map(numbers).astype("float64")
