"""What `nlgbench new` writes: a study.yml from flags, from files' columns, or to fill in."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nlgbench import files
from nlgbench.names import UsageError
from nlgbench.runner import listing
from nlgbench.study import csv_files, file_types, formats, near_names, read_folder, reading
from nlgbench.study.column_names import argument, personal
from nlgbench.study.csv_files import TableError
from nlgbench.study.described import judged_dimensions, lower_is_better, missing_words
from nlgbench.study.guessing import Guess, used
from nlgbench.study.layouts import find_logs, guess_layout, open_files, relative
from nlgbench.study.reading import FILE
from nlgbench.text import as_yaml

#: The comment on a guess that you should confirm; `check` repeats it until you delete it.
CONFIRM = "# confirm: "
#: Key of a table -> why it is needed.
_WHY = {
    "delimiter": "separates the columns in the first line",
    "decimal": "numbers have decimal commas",
    "rows": "the objects in this list are the rows",
    "keys": "the keys of the objects are ids; which ids they are is guessed",
    "lists": "cells are lists, such as [3, 5]",
    "only": "which rows are read, or which columns match a pattern",
    "skip": "these rows are read as another table",
    "values": "what the file contains -> what it means",
    "sum": "a row is one error, and an output may have several",
}


def new(
    place: Path,
    sources: Sequence[Path],
    layout: str | None = None,
    flags: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write a study.yml into a folder, and show what it reads."""
    for name in (FILE, "study.py", "study.json"):
        if (place / name).exists():
            raise FileExistsError(
                f"{place / name} exists and is not replaced. To see how the study is read, run "
                f"`nlgbench check {place}`. To start again, move the file away."
            )
    text = EMPTY
    if (place / "outputs.csv").is_file():
        if sources and not flags and _reads_well(place):
            raise FileExistsError(
                f"{place} has outputs.csv and can be read as it is, so nothing is written. For its "
                f"settings, use `nlgbench new {place}` without --from; for other files, use "
                "another folder."
            )
        text = EMPTY.partition("\ntables:")[0] + "\n"  # tables are found by their names
    shape = formats.find(layout, "--as") if layout else None
    if layout and isinstance(shape, formats.Recorded):
        if flags:
            names = ", ".join(f"--{argument(our)}" for our in flags)
            raise UsageError(f"{names} is not used, because --as {layout} reads its own columns.")
        plain = layout.lower().replace("-", "_")
        text = formats.draft(plain, [relative(one, place) for one in sources])
    elif sources:
        tool, logs = ("", []) if shape or flags else find_logs(sources)
        opened = open_files([one for one in sources if one not in logs], place)
        guess_layout(opened, shape, flags or {})
        text = _recognized([tool] * bool(tool) + [made.tool for made in opened if made.tool])
        text += formats.draft(tool, [relative(one, place) for one in logs]) if logs else ""
        text += _written(opened) if opened else ""
    place.mkdir(parents=True, exist_ok=True)
    files.replace_bytes(place / FILE, text.encode())
    said = f"wrote {place / FILE}"
    if not sources:
        return f"{said}: fill it in, then run `nlgbench check {place}`."
    problems: list[str] = []
    tables, notes = reading.read(place, reading.about(place / FILE, problems), problems)
    if spellings := near_names.spellings(tables):
        line = f"  same: {as_yaml(spellings)}  {CONFIRM}they differ only in capitals or blanks\n"
        lead = re.search(r"^(?:# )?settings:\n|^(?=format:)", text, re.M)
        assert lead is not None
        text = f"{text[: lead.start()]}settings:\n{line}{text[lead.end() :]}"
        files.replace_bytes(place / FILE, text.encode())
        problems = []
        tables, notes = reading.read(place, reading.about(place / FILE, problems), problems)
    reading.rename_annotators(tables)
    parts = [said, *notes]
    for table, raw in tables.items():
        head = raw.frame.head(3).map(lambda cell: cell if len(cell) <= 30 else f"{cell[:29]}…")
        parts.append(f"{table}, {len(head)} of {len(raw.frame):,} rows:\n{listing.plain(head)}")
    unread = [line[2:] for line in text.split("\n") if ", columns not read: " in line]
    parts += ["\n".join(unread)] * bool(unread)
    if problems:
        parts.append("\n".join(["To fix:", *problems]))
    if doubts := unconfirmed(place):
        parts.append("\n".join(["To confirm:", *doubts]))
    return "\n\n".join([*parts, f"Read {place / FILE}, then run `nlgbench check {place}`."])


def place_of(
    paths: Sequence[str], sources: Sequence[str], out: Path | None
) -> tuple[Path, list[Path]]:
    """Return the folder of study.yml and the files of a study, from the arguments of `new`."""
    first = Path(paths[0])
    if sources:
        if out or len(paths) > 1:
            raise UsageError(
                "--from names the files, so name one folder before it: new DIR --from FILE."
            )
        return first, [Path(one) for one in sources]
    if len(paths) > 1 or first.is_file() or file_types.guess(first) or glob.has_magic(paths[0]):
        return out or first.parent, [Path(one) for one in paths]
    if first.is_dir() and not (first / "outputs.csv").is_file():
        there = sorted(
            one for one in first.iterdir() if one.suffix == ".eval" or file_types.guess(one)
        )
        patterns = [
            name for shape in formats.FORMATS.values() for name in shape.files if "/" in name
        ]
        logs = [first / name for name in patterns if any(first.glob(name))]
        return first, logs or find_logs(there)[1] or there
    return first, []


def unconfirmed(place: Path) -> list[str]:
    """List the guesses in a study.yml to confirm, because the data also fit other readings."""
    if not (place / FILE).is_file():
        return []
    lines = [*enumerate(csv_files.read_text(place / FILE).split("\n"), 1)]
    lines.sort(key=lambda line: not line[1].strip().startswith("choice:"))  # may reverse a result
    return [
        f"{place / FILE}, line {number}, `{line.partition(CONFIRM)[0].strip()}` is guessed: "
        f"{line.partition(CONFIRM)[2]}. Correct the line if it is wrong, then delete its comment."
        for number, line in lines
        if CONFIRM in line
    ]


def _reads_well(place: Path) -> bool:
    problems: list[str] = []
    try:
        return read_folder(place, problems)[0] is not None
    except TableError:
        return False


def _recognized(tools: Sequence[str]) -> str:
    """Say which tools wrote the files, in the first line of study.yml."""
    names = ", ".join(dict.fromkeys(tools))
    return f"# Recognized: {names}. To choose another format, use --as.\n" if tools else ""


def _written(sources: Sequence[Guess]) -> str:
    """Write the guesses as a study.yml."""
    tables: dict[str, list[tuple[Guess, dict[str, Any]]]] = {}
    others: list[str] = []
    for made in sources:
        named: list[Any] = []
        for table, spec in made.tables:
            tables.setdefault(table, []).append((made, spec))
            named += [*spec["columns"].values(), *spec.get("constants", {}).values()]
            named += spec.get("only", {})
        if not made.tables:
            others += _skeleton(made)
            continue
        assigned = used(made.names, named)
        rest = [one for one in made.names if one not in assigned]
        private = personal(rest)
        rest = [one for one in rest if one not in private]
        for what, names in (("that look personal and are never read", private), ("not read", rest)):
            others += [f"# {made.files[0]}, columns {what}: {_some(names)}"] if names else []
    lines = ["# How the columns of this study's files are read. Each guess states its reason.", ""]
    lines += [*_settings(sources), "", "tables:" if tables else "tables: {}"]
    for table, several in tables.items():
        lines.append(f"  {table}:")
        for made, spec in several:
            own = list(_lines(table, made, spec))
            if len(several) > 1:
                own = [f"    {' ' if number else '-'} {one[4:]}" for number, one in enumerate(own)]
            lines += own
    return "\n".join([*lines, *others, ""])


def _lines(table: str, made: Guess, spec: dict[str, Any]) -> Iterator[str]:
    """Write one source of a table, with the reason for each guess."""
    file = made.files if len(made.files) > 1 else made.files[0]
    for key, value in {"file": file, **made.options, **spec}.items():
        # Between other separators, commas may also separate the parts of an answer.
        is_doubt = key == "keys" or (key == "decimal" and made.options.get("delimiter") != ";")
        mark = CONFIRM if is_doubt else "# guessed: "
        comment = f"  {mark}{_WHY[key]}" if key in _WHY else ""
        if not isinstance(value, dict):
            yield f"    {key}: {as_yaml(value)}{comment}"
            continue
        yield f"    {key}:{comment}"
        for name, one in value.items():
            why = made.why.get(name, "") if key in ("columns", "constants") else ""
            mark = CONFIRM if name in made.doubts else "# guessed: "
            yield f"      {as_yaml(name)}: {as_yaml(one)}" + (f"  {mark}{why}" if why else "")
        if key == "columns":
            yield from _missing(table, made, spec)


def _missing(table: str, made: Guess, spec: dict[str, Any]) -> list[str]:
    """List our columns that were not found in the file, and the columns they could be."""
    known = {*spec["columns"], *spec.get("constants", {}), *made.captured}
    if table in ("system_scores", "preferences", "comparisons") or "output_id" in known:
        return []
    free = ", ".join(made.free("text", "id", "words", "number", "choice")[:8]) or "{row} or {file}"
    return [
        f"      # {our}: ...  # missing; unused columns: {free}"
        for our in ("item_id", "system")
        if our not in known
    ]


def _skeleton(made: Guess) -> list[str]:
    """Write a table to fill in, with the columns of a file in which none was recognized."""
    lines = [f"# {made.files[0]}: no table was recognized. Fill in this one, or use flags:"]
    lines += ["# judgments:", f"#   file: {made.files[0]}", "#   columns:"]
    for our in ("item_id", "system", "annotator_id", "value"):
        known = made.columns.get(our)
        lines.append(f"#     {our}: {as_yaml(known) if known in made.frame else '...'}")
    lines.append("# Its columns:")
    for name in made.names[:40]:
        cells = made.frame[name]
        cells = cells[cells != ""].drop_duplicates()
        shown = "" if personal([name]) else f": {', '.join(cells.head(3).str[:20])}"
        lines.append(f"#   {listing.visible(f'{name} ({len(cells):,} values{shown})')}")
    return lines


def _some(names: Sequence[str]) -> str:
    return listing.visible(reading.some(names))


def _settings(sources: Sequence[Guess]) -> list[str]:
    """Write the main dimension, dimensions in which lower is better, and a scale to fill in."""
    dimensions = judged_dimensions(sources)
    lines = []
    if len(dimensions) > 1:
        others = f"; others: {', '.join(dimensions[1:])}" if len(dimensions) < 9 else ""
        lines.append(f"  quality: {as_yaml(dimensions[0])}  # guessed: the first dimension{others}")
    if lower := lower_is_better(dimensions):
        lines.append(f"  lower_is_better: {as_yaml(lower)}  # guessed: from its name")
    if missing := missing_words(sources):
        lines.append(f"  missing: {as_yaml(missing)}  # guessed: words in columns of numbers")
    scaled = as_yaml(dimensions[0]) if dimensions else "quality"
    hint = f"  # scales: {{{scaled}: {{min: 1, max: 5}}}}  # values outside this scale are errors"
    return ["settings:", *lines, hint] if lines else ["# settings:", hint.replace("  #", "#  ", 1)]


EMPTY = """\
# How the columns of this study's files are read. Other columns are not read.
# The page docs/own-study.md of nlgbench explains each line, and the settings.
name: my-study  # the name in results and figures

tables:
  judgments:
    file: ratings.csv  # or .tsv, .jsonl, .json, .parquet
    columns: {item_id: item, system: system, annotator_id: annotator, value: [fluency, adequacy]}
  # outputs: {file: outputs.csv, columns: {item_id: item, system: system, text: text}}
  # scores: {file: metrics.csv, columns: {item_id: item, system: system, score: [bleu, chrf]}}
"""
