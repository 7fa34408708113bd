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
from nlgbench.study.column_names import argument, in_braces, matching, plain_name, recognized
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats import exports
from nlgbench.study.guessing import Guess, guess

#: Usual keys of the list of records, in a JSON document that also has metadata.
_ROWS = ("instances", "records", "rows", "data", "examples", "samples", "items", "outputs")


def open_files(paths: Sequence[Path], place: Path) -> list[Guess]:
    """Open files, or patterns of files; those with the same columns form one source."""
    found: list[Guess] = []
    for path in paths:
        there = _matching(path)
        if not there:
            raise FileNotFoundError(
                f"{csv_files.why_no_file(path)} Name a file, or a pattern of files in quotes."
            )
        kind = file_types.guess(path)
        if not kind:
            known = ", ".join(one for endings in file_types.ENDINGS.values() for one in endings)
            raise TableError(f"{path} has an unknown extension: use {known} (or these with .gz).")
        options = _options(there[0], kind)
        frames = []
        for one in there:
            problems: list[str] = []
            frame = file_types.read(one, kind, problems=problems, **options)[0]
            if problems and frame.empty:  # otherwise, the reader reports them
                raise TableError(*problems)
            frame = frame.rename(columns={"position": "{position}"} if "rows" in options else {})
            beside = {"{file}": file_types.stem(one), "{folder}": one.resolve().parent.name}
            frames.append(
                frame.assign(**beside, **{"{row}": [str(n + 1) for n in range(len(frame))]})
            )
        frame, named = pd.concat(frames).fillna(""), [relative(path, place)]
        alike = [one for one in found if set(one.frame) == set(frame) and one.options == options]
        for former in alike:
            found.remove(former)
            frame, named = pd.concat([former.frame, frame]), [*former.files, *named]
        found.append(Guess(frame.reset_index(drop=True), files=named, options=options))
    return found


def _matching(path: Path) -> list[Path]:
    """List the file, or the files that match a pattern."""
    if (name := str(path)) != os.fsencode(name).decode(errors="replace"):
        # The end of a path names the file.
        raise TableError(f"the name {name[-60:]!r} is not UTF-8: rename the file or its folder.")
    return file_types.matching(name, Path())


def find_logs(paths: Sequence[Path]) -> tuple[str, list[Path]]:
    """Find the files that are logs of a tool, whose records need no columns; name its format."""
    first_files = [(path, file) for path in paths for file in _matching(path)[:1]]
    logs = {path: name for path, file in first_files if (name := formats.recognize(file))}
    first, *others = dict.fromkeys(logs.values()) or [""]
    if others:
        shown = ", ".join(f"{path.name} is from {name}" for path, name in logs.items())
        raise UsageError(f"A study's logs must have one format, but {shown}: name fewer files.")
    return first, list(logs)


def relative(path: Path, place: Path) -> str:
    """Write a path relative to a folder, as study.yml does."""
    try:
        return Path(os.path.relpath(path, place)).as_posix()
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
    found = [one for _, one in itertools.islice(file_types.documents(path, kind), 50)]
    document: Any = found[0] if kind == "json" else found
    if rows := _path_to_rows(document):
        return {"rows": rows}
    levels = []
    level = document
    while isinstance(level, dict) and level:
        levels.append(level)
        level = next(iter(level.values()))
    if not isinstance(level, list | dict) and len(levels) > 1:
        same = {frozenset(one) for one in levels[-2].values() if isinstance(one, dict)}
        if len(same) <= 2:  # its keys are fields, some of which may be missing
            levels.pop()
    if not levels:
        return {}
    names = ["item_id", "system", "annotator_id"][: len(levels)]
    if len(levels) == 2:
        inner = [frozenset(one) for one in document.values() if isinstance(one, dict)]
        of_systems = len(set(inner)) == 1 and len(inner[0]) > 1
        names = ["item_id", "system" if of_systems else "annotator_id"]
        names = names[::-1] if len(levels[0]) < len(levels[1]) else names
    return {"keys": names}


def _path_to_rows(document: Any) -> str:
    """Find the only list of objects in a document, or in its first object if it is a list."""
    record = document[0] if isinstance(document, list) and document else document
    if not isinstance(record, dict):
        return ""
    inner = [
        name
        for name, one in record.items()
        # An object with one field only wraps a value.
        if isinstance(one, list) and one and isinstance(one[0], dict) and len(one[0]) > 1
    ]
    named = [name for name in inner if name in _ROWS]
    if len(inner) > 1 and isinstance(document, dict):  # records beside lists that describe them
        inner = named
    if len(inner) != 1:
        return ""
    further = _path_to_rows(record[inner[0]])
    return f"{inner[0]}.{further}" if further else inner[0]


def guess_layout(sources: Sequence[Guess], shape: Any, flags: Mapping[str, Sequence[str]]) -> None:
    """Guess the content of each source; flags that fit none are refused."""
    for made in sources:
        for name in [one for one in made.names if answers.has_decimal_commas(made.frame[one])]:
            made.frame[name] = answers.point_commas(made.frame[name])
            made.options["decimal"] = ","
        adapter = shape.specs if shape else None if flags else _adapter(made.names)
        if not adapter or adapter in (guessing.specs, formats.toloka):
            shared = _shared(made, sources)
            if any(name.startswith("OUTPUT:") for name in made.names):
                made.tool = "toloka"
            take = exports.guess_toloka if made.tool == "toloka" else guess
            take(made, {**flags, **{our: [one] for our, one in shared.items()}})
            made.why |= dict.fromkeys(shared, "in both files, and unique in the file with systems")
            continue
        made.tool = adapter.__name__
        made.tables = list(adapter(made.frame[made.names]).items())
        if not made.tables:
            raise TableError(
                f"{', '.join(made.files)} has no column `Answer.*`, although Mechanical Turk "
                "exports have such columns: remove --as, or name another file."
            )
        for _, spec in made.tables:
            why = f"as in exports of {adapter.__name__}"
            made.why |= dict.fromkeys(spec["columns"], why)
    who = {*flags.get("annotator_id", ())}
    if any(len(who & {*made.names}) > 1 for made in sources):
        raise UsageError(
            "--annotator takes only one column of a file. If each of several columns holds "
            "an annotator's judgments, use --value '{annotator}'."
        )
    _require_use(sources, flags, shape)


def _require_use(sources: Sequence[Guess], flags: Mapping[str, Sequence[str]], shape: Any) -> None:
    """Refuse flags that name no column, or that no table uses, with the reason."""
    columns = [one for made in sources for one in made.names]
    tables = [(table, made) for made in sources for table, _ in made.tables]
    used_by = {our for made in sources for _, spec in made.tables for our in spec["columns"]}
    used_by |= {
        our for made in sources for _, spec in made.tables for our in spec.get("constants", ())
    }
    used_by |= {our for _, made in tables for our in made.captured}
    used_by |= {"evaluator"} if "comparator" in used_by else set()
    used_by |= {"annotator_columns"} if "annotator_id" in used_by else set()
    for our, theirs in flags.items():
        lost = [
            name for name in theirs if not any(_names_column(our, name, made) for made in sources)
        ]
        lost = [name for name in lost if name not in _fixed(sources, our)]
        if lost:
            hint = did_you_mean(lost[0], columns)
            there = f"Columns: {reading.some(columns)}."
            raise UsageError(f"{argument(our)}: no file has a column {lost[0]!r}.{hint} {there}")
    for our, theirs in flags.items():
        flag = f"--{argument(our).replace('_', '-')} {','.join(theirs)}"
        if shape and shape.specs not in (guessing.specs, formats.toloka):
            raise UsageError(f"{flag} is not used, because --as maps the columns: remove one.")
        if our in used_by or (not tables and our != "choice"):
            continue
        pair = [f"--{side[-1]}" for side in ("system_a", "system_b") if side not in flags]
        reason = "no table that was recognized has such a column"
        if our == "choice" and pair:
            reason = f"votes need the two systems, too: add {' and '.join(pair)}"
        elif our[:-1] == "system_" and "choice" not in flags:
            reason = "pairs need a winner: add --choice"
        elif {"preferences", "comparisons"} & {table for table, _ in tables}:
            reason = (
                "the file is read as votes on pairs: remove this flag, or --a, --b and --choice"
            )
        elif our == "evaluator":
            reason = "no column holds scores: name it with --score"
        raise UsageError(f"{flag} is not used: {reason}.")


def _names_column(our: str, name: str, made: Guess) -> bool:
    """Check whether a flag names a column of a file, a template, or a pattern that fits some."""
    pattern = re.sub(r"\d+\.\.\d+", "{number}", name)
    braces = {*in_braces(name)}
    is_template = bool(braces) and braces <= {"row", "file", "folder", "position", *made.names}
    # Braces alone fit every column, which may all be answers, but not all be items.
    is_pattern = our in ("value", "score", "choice") or not re.fullmatch(r"\{[^{}]*\}", pattern)
    fits = is_pattern and bool(matching(pattern, made.names))
    return name in made.frame or is_template or fits


def _fixed(sources: Sequence[Guess], our: str) -> list[str]:
    """List what is the same in all rows of a table."""
    specs = [spec for made in sources for _, spec in made.tables]
    return [spec["constants"][our] for spec in specs if our in spec.get("constants", {})]


def _adapter(names: Sequence[str]) -> Any:
    """Recognize the tool that wrote a file by columns that only it writes."""
    if {"severity", "system"} <= set(map(plain_name, names)):
        return formats.mqm
    if any(name.startswith("label_annotations.") or ":::" in name for name in names):
        return formats.potato
    return formats.mturk if any(name.startswith("Answer.") for name in names) else None


def _shared(source: Guess, sources: Sequence[Guess]) -> dict[str, str]:
    """Find the column that links a file without systems to the outputs in another file."""
    for other in sources:
        with_system = [one for one in (source, other) if "system" in recognized(one.names)]
        if len(with_system) != 1 or other is source:
            continue
        of = with_system[0].frame
        rows = (other if with_system[0] is source else source).frame
        for name in of.columns.intersection(rows.columns):
            if name[0] != "{" and of[name].is_unique and rows[name].isin(of[name]).all():
                return {"output_id": name}
    return {}
