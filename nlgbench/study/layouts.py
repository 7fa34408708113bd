"""Open a study's files, and determine their layout from flags, known formats and guesses."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.names import UsageError, did_you_mean
from nlgbench.study import answers, csv_files, file_types, formats, guessing, reading
from nlgbench.study.column_names import argument, fit_pattern, in_braces, plain_name, recognized
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats import exports
from nlgbench.study.guessing import Guess, guess, with_context

#: Usual keys of the list of records, in a JSON document that also has metadata.
_ROWS = ("instances", "records", "rows", "data", "examples", "samples", "items", "outputs")

#: Formats of tables whose columns are guessed.
_GUESSED = (guessing.specs, formats.toloka)


def open_files(paths: Sequence[Path], folder: Path, *, strict: bool = False) -> list[Guess]:
    """Open files, or patterns of files; those with the same columns form one source.

    `strict` refuses rows that cannot be read, which otherwise the reader reports later.
    """
    sources: list[Guess] = []
    for path in paths:
        matched = _find_layout_files(path)
        if not matched:
            raise FileNotFoundError(
                f"{csv_files.why_no_file(path)} Name a file, or a pattern of files in quotes."
            )
        kind = file_types.guess(path)
        if not kind:
            endings = ", ".join(itertools.chain(*file_types.ENDINGS.values()))
            raise TableError(f"{path} has an unknown extension: use {endings} (or these with .gz).")
        options = _options(matched[0], kind)
        frame = pd.concat([_open(file, kind, options, strict) for file in matched]).fillna("")
        names = [relative(path, folder)]
        for former in [source for source in sources if source.options == options]:
            if set(former.frame) == set(frame):
                sources.remove(former)
                frame, names = pd.concat([former.frame, frame]), [*former.files, *names]
        sources.append(Guess(frame.reset_index(drop=True), files=names, options=options))
    return sources


def _open(path: Path, kind: str, options: Mapping[str, Any], strict: bool) -> pd.DataFrame:
    """Read a file, with the columns that templates use."""
    problems: list[str] = []
    frame = file_types.read_rows(path, kind, problems=problems, **options)[0]
    if problems and (strict or frame.empty):
        raise TableError(*problems)
    frame = frame.rename(columns={"position": "{position}"} if "rows" in options else {})
    return with_context(frame, file_types.stem(path), path.resolve().parent.name)


def _find_layout_files(path: Path) -> list[Path]:
    """List the file, or the files that match a pattern."""
    if (name := str(path)) != os.fsencode(name).decode(errors="replace"):
        # The end of a path names the file.
        raise TableError(f"the name {name[-60:]!r} is not UTF-8: rename the file or its folder.")
    return file_types.find_files(name, Path())


def find_logs(paths: Sequence[Path]) -> tuple[str, list[Path]]:
    """Find the files that are logs of a tool, whose records need no columns; name its format."""
    first_files = [(path, file) for path in paths for file in _find_layout_files(path)[:1]]
    logs = {path: name for path, file in first_files if (name := formats.recognize(file))}
    first, *more_formats = dict.fromkeys(logs.values()) or [""]
    if more_formats:
        formats_of_files = ", ".join(f"{path.name} is from {name}" for path, name in logs.items())
        raise UsageError(
            f"A study's logs must have one format, but {formats_of_files}: name fewer files."
        )
    return first, list(logs)


def relative(path: Path, folder: Path) -> str:
    """Write a path relative to a folder, as study.yml does."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


def _options(path: Path, kind: str) -> dict[str, Any]:
    """Guess how to open a file: what separates columns, and what the levels of JSON are."""
    if kind in ("csv", "tsv"):
        first = csv_files.read_text(path).split("\n", 1)[0]
        usual = {"csv": ",", "tsv": "\t"}[kind]
        likeliest = max([usual, *"\t;,|"], key=first.count)
        return {"delimiter": likeliest} if likeliest != usual else {}
    if kind not in ("json", "jsonl"):
        return {}
    documents = [document for _, document in itertools.islice(file_types.documents(path, kind), 50)]
    document: Any = documents[0] if kind == "json" else documents
    if rows := _path_to_rows(document):
        return {"rows": rows}
    levels = []
    level = document
    while isinstance(level, dict) and level:
        levels.append(level)
        level = next(iter(level.values()))
    if not isinstance(level, list | dict) and len(levels) > 1:
        keys = {frozenset(record) for record in levels[-2].values() if isinstance(record, dict)}
        if len(keys) <= 2:  # its keys are fields, some of which may be missing
            levels.pop()
    if not levels:
        return {}
    names = ["item_id", "system", "annotator_id"][: len(levels)]
    if len(levels) == 2:
        inner = [frozenset(record) for record in document.values() if isinstance(record, dict)]
        of_systems = len(set(inner)) == 1 and len(inner[0]) > 1
        names = ["item_id", "system" if of_systems else "annotator_id"]
        names = names[::-1] if len(levels[0]) < len(levels[1]) else names
    return {"keys": names}


def _path_to_rows(document: Any) -> str:
    """Find the only list of objects in a document, or in its first object if it is a list."""
    record = document[0] if isinstance(document, list) and document else document
    if not isinstance(record, dict):
        return ""
    first = {name: field[0] for name, field in record.items() if isinstance(field, list) and field}
    # An object with one field only wraps a value.
    names = [name for name, row in first.items() if isinstance(row, dict) and len(row) > 1]
    if len(names) > 1 and isinstance(document, dict):  # records beside lists that describe them
        names = [name for name in names if name in _ROWS]
    if len(names) != 1:
        return ""
    further = _path_to_rows(record[names[0]])
    return f"{names[0]}.{further}" if further else names[0]


def guess_layout(sources: Sequence[Guess], shape: Any, flags: Mapping[str, Sequence[str]]) -> None:
    """Guess the content of each source; flags that fit none are refused."""
    for source in sources:
        for name in source.names:
            if answers.has_decimal_commas(source.frame[name]):
                source.frame[name] = answers.point_commas(source.frame[name])
                source.options["decimal"] = ","
        adapter = shape.specs if shape else None if flags else _adapter(source.names)
        if not adapter or adapter in _GUESSED:
            shared = _shared(source, sources)
            if any(name.startswith("OUTPUT:") for name in source.names):
                source.tool = "toloka"
            take = exports.guess_toloka if source.tool == "toloka" else guess
            take(source, {**flags, **{our: [name] for our, name in shared.items()}})
            why = "in both files, and unique in the file with systems"
            source.why |= dict.fromkeys(shared, why)
            continue
        source.tool = adapter.__name__
        source.tables = list(adapter(source.frame[source.names]).items())
        if not source.tables:
            raise TableError(
                f"{', '.join(source.files)} has no column `Answer.*`, although Mechanical Turk "
                "exports have such columns: remove --as, or name another file."
            )
        for _, spec in source.tables:
            source.why |= dict.fromkeys(spec["columns"], f"as in exports of {source.tool}")
    who = {*flags.get("annotator_id", ())}
    if any(len(who & {*source.names}) > 1 for source in sources):
        raise UsageError(
            "--annotator takes only one column of a file. If each of several columns holds "
            "an annotator's judgments, use --value '{annotator}'."
        )
    _require_use(sources, flags, shape)


def _require_use(sources: Sequence[Guess], flags: Mapping[str, Sequence[str]], shape: Any) -> None:
    """Refuse flags that name no column, or that no table uses, with the reason."""
    names = [name for source in sources for name in source.names]
    tables = [(table, spec) for source in sources for table, spec in source.tables]
    entries = [{**spec["columns"], **spec.get("constants", {})} for _, spec in tables]
    used_by = {our for ours in entries for our in ours}
    used_by |= {key for source in sources if source.tables for key in source.captured}
    used_by |= {"evaluator"} if "comparator" in used_by else set()
    used_by |= {"annotator_columns"} if "annotator_id" in used_by else set()
    for our, theirs in flags.items():
        fixed = [spec.get("constants", {}).get(our) for _, spec in tables]
        for name in theirs:
            if not (name in fixed or any(_names_column(our, name, source) for source in sources)):
                hint = did_you_mean(name, names)
                raise UsageError(
                    f"{argument(our)}: no file has a column {name!r}.{hint} Columns: "
                    f"{reading.some(names)}."
                )
    for our, theirs in flags.items():
        flag = f"--{argument(our).replace('_', '-')} {','.join(theirs)}"
        if shape and shape.specs not in _GUESSED:
            raise UsageError(f"{flag} is not used, because --as maps the columns: remove one.")
        if our in used_by or (not tables and our != "choice"):
            continue
        sides = [f"--{side[-1]}" for side in ("system_a", "system_b") if side not in flags]
        reason = "no table that was recognized has such a column"
        if our == "choice" and sides:
            reason = f"votes need the two systems, too: add {' and '.join(sides)}"
        elif our[:-1] == "system_" and "choice" not in flags:
            reason = "pairs need a winner: add --choice"
        elif {"preferences", "comparisons"} & {table for table, _ in tables}:
            way = "remove this flag, or --a, --b and --choice"
            reason = f"the file is read as votes on pairs: {way}"
        elif our == "evaluator":
            reason = "no column holds scores: name it with --score"
        raise UsageError(f"{flag} is not used: {reason}.")


def _names_column(our: str, name: str, source: Guess) -> bool:
    """Check whether a flag names a column of a file, a template, or a pattern that fits some."""
    pattern = re.sub(r"\d+\.\.\d+", "{number}", name)
    braces = {*in_braces(name)}
    is_template = bool(braces) and braces <= {"row", "file", "folder", "position", *source.names}
    # Braces alone fit every column, which may all be answers, but not all be items.
    is_pattern = our in ("value", "score", "choice") or not re.fullmatch(r"\{[^{}]*\}", pattern)
    fits = is_pattern and bool(fit_pattern(pattern, source.names))
    return name in source.frame or is_template or fits


def _adapter(names: Sequence[str]) -> Any:
    """Recognize the tool that wrote a file by columns that only it writes."""
    if {"severity", "system"} <= set(map(plain_name, names)):
        return formats.mqm
    if any(name.startswith("label_annotations.") or ":::" in name for name in names):
        return formats.potato
    return formats.mturk if any(name.startswith("Answer.") for name in names) else None


def _shared(source: Guess, sources: Sequence[Guess]) -> dict[str, str]:
    """Find the column that links a file without systems to the outputs in another file."""
    for second in sources:
        pair = sorted((source, second), key=lambda file: "system" not in recognized(file.names))
        has_system = ["system" in recognized(file.names) for file in pair]
        if second is source or has_system != [True, False]:
            continue
        outputs, rows = (file.frame for file in pair)
        for name in outputs.columns.intersection(rows.columns):
            is_key = outputs[name].is_unique and rows[name].isin(outputs[name]).all()
            if name[0] != "{" and is_key:
                return {"output_id": name}
    return {}
