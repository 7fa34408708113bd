"""What `nlgbench new` writes: a study.yml from flags, from files' columns, or to fill in."""

from __future__ import annotations

import glob
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nlgbench import files
from nlgbench.names import UsageError
from nlgbench.runner import listing
from nlgbench.runner.next_steps import supported
from nlgbench.study import (
    csv_files,
    file_types,
    formats,
    near_names,
    read_folder,
    reading,
    vote_words,
)
from nlgbench.study.column_names import Flags, argument, personal
from nlgbench.study.csv_files import TableError
from nlgbench.study.described import guess_settings, judged_dimensions
from nlgbench.study.guessing import Guess, used
from nlgbench.study.layouts import find_logs, guess_layout, open_files, relative
from nlgbench.study.reading import FILE
from nlgbench.text import as_yaml

#: The comment on a guess that you should confirm; `check` repeats it until you delete it.
CONFIRM = "# confirm: "
#: What a draft's comment says of a file without tables; `new` repeats it.
UNRECOGNIZED = ": no table was recognized"
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
    folder: Path, sources: Sequence[Path], layout: str | None = None, flags: Flags | None = None
) -> str:
    """Write a study.yml into a folder, and show what it reads."""
    for name in (FILE, "study.py", "study.json"):
        if (folder / name).exists():
            if folder / name in sources:
                raise FileExistsError(
                    f"{folder / name} has the name of a study's description: rename the file, or "
                    "write study.yml into another folder with --out."
                )
            raise FileExistsError(
                f"{folder / name} exists and is not replaced. To see how the study is read, run "
                f"`nlgbench check {folder}`. To start again, move the file away."
            )
    text = EMPTY
    if (folder / "outputs.csv").is_file():
        if sources and not flags and _reads_well(folder):
            raise FileExistsError(
                f"{folder} has outputs.csv and can be read as it is, so nothing is written. For "
                f"its settings, use `nlgbench new {folder}` without --from; for other files, use "
                "another folder."
            )
        text = EMPTY.partition("\ntables:")[0] + "\n"  # tables are found by their names
    shape = formats.find(layout, "--as") if layout else None
    if layout and isinstance(shape, formats.Recorded):
        if flags:
            names = ", ".join(f"--{argument(our)}" for our in flags)
            raise UsageError(f"{names} is not used, because --as {layout} reads its own columns.")
        plain = layout.lower().replace("-", "_")
        text = formats.draft(plain, [relative(path, folder) for path in sources])
    elif sources:
        tool, logs = ("", []) if shape or flags else find_logs(sources)
        opened = open_files([path for path in sources if path not in logs], folder)
        guess_layout(opened, shape, flags or {})
        tools = ", ".join(dict.fromkeys(filter(None, [tool, *(file.tool for file in opened)])))
        text = f"# Recognized: {tools}. To choose another format, use --as.\n" * bool(tools)
        text += formats.draft(tool, [relative(path, folder) for path in logs]) if logs else ""
        text += _written(opened) if opened else ""
    folder.mkdir(parents=True, exist_ok=True)
    files.replace_bytes(folder / FILE, text.encode())
    written = f"wrote {folder / FILE}"
    if not sources:
        return f"{written}: fill it in, then run `nlgbench check {folder}`."
    problems: list[str] = []
    tables, notes = reading.read(folder, reading.about(folder / FILE, problems), problems)
    if spellings := near_names.spellings(tables):
        line = f"  same: {as_yaml(spellings)}  {CONFIRM}they differ only in capitals or blanks\n"
        lead = re.search(r"^(?:# )?settings:\n|^(?=format:)", text, re.M)
        assert lead is not None
        text = f"{text[: lead.start()]}settings:\n{line}{text[lead.end() :]}"
        files.replace_bytes(folder / FILE, text.encode())
        problems = []
        tables, notes = reading.read(folder, reading.about(folder / FILE, problems), problems)
    reading.rename_annotators(tables)
    blocks = [written, *notes]
    for table, raw in tables.items():
        head = raw.frame.head(3).map(lambda cell: cell if len(cell) <= 30 else f"{cell[:29]}…")
        blocks.append(f"{table}, {len(head)} of {len(raw.frame):,} rows:\n{listing.plain(head)}")
    unread = re.findall(rf"^# (.*(?:, columns not read: |{UNRECOGNIZED}).*)", text, re.M)
    blocks += ["\n".join(unread)] * bool(unread)
    if problems:
        blocks.append("\n".join(["To fix:", *problems]))
    if doubts := unconfirmed(folder):
        blocks.append("\n".join(["To confirm:", *doubts]))
    study = None if problems else read_folder(folder, problems)[0]
    if study is not None:
        blocks.append(supported(study, folder)[0])
    return "\n\n".join([*blocks, f"Read {folder / FILE}, then run `nlgbench check {folder}`."])


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
        return first, [Path(path) for path in sources]
    if len(paths) > 1 or first.is_file() or file_types.guess(first) or glob.has_magic(paths[0]):
        return out or first.parent, [Path(path) for path in paths]
    if first.is_dir() and not (first / "outputs.csv").is_file():
        contained = sorted(first.iterdir())
        paths_in = [path for path in contained if path.suffix == ".eval" or file_types.guess(path)]
        patterns = itertools.chain(*(shape.files for shape in formats.FORMATS.values()))
        logs = [first / name for name in patterns if "/" in name and any(first.glob(name))]
        return first, logs or find_logs(paths_in)[1] or paths_in
    return first, []


def unconfirmed(folder: Path) -> list[str]:
    """List the guesses in a study.yml to confirm, because the data also fit other readings."""
    if not (folder / FILE).is_file():
        return []
    lines = [*enumerate(csv_files.read_text(folder / FILE).split("\n"), 1)]
    lines.sort(key=lambda line: not line[1].strip().startswith("choice:"))  # may reverse a result
    return [
        f"{folder / FILE}, line {number}, `{line.partition(CONFIRM)[0].strip()}` is guessed: "
        f"{line.partition(CONFIRM)[2]}. Correct the line if it is wrong, then delete its comment."
        for number, line in lines
        if CONFIRM in line
    ]


def _reads_well(folder: Path) -> bool:
    problems: list[str] = []
    try:
        return read_folder(folder, problems)[0] is not None
    except TableError:
        return False


def _written(sources: Sequence[Guess]) -> str:
    """Write the guesses as a study.yml."""
    tables: dict[str, list[tuple[Guess, dict[str, Any]]]] = {}
    comments: list[str] = []
    for source in sources:
        entries: list[Any] = []
        for table, spec in source.tables:
            tables.setdefault(table, []).append((source, spec))
            entries += [*spec["columns"].values(), *spec.get("constants", {}).values()]
            entries += spec.get("only", {})
        if not source.tables:
            comments += _skeleton(source)
            continue
        assigned = used(source.names, entries)
        unread = [name for name in source.names if name not in assigned]
        private = personal(unread)
        unread = [name for name in unread if name not in private]
        for kind, names in {"that look personal and are never": private, "not": unread}.items():
            shown = listing.visible(reading.some(names))
            comments += [f"# {source.files[0]}, columns {kind} read: {shown}"] * bool(names)
    lines = ["# How the columns of this study's files are read. Each guess states its reason.", ""]
    lines += [*_settings(sources), "", "tables:" if tables else "tables: {}"]
    for table, several in tables.items():
        lines.append(f"  {table}:")
        for source, spec in several:
            source_lines = list(_lines(table, source, spec))
            if len(several) > 1:
                source_lines = [f"      {line[4:]}" for line in source_lines]
                source_lines[0] = f"    -{source_lines[0][5:]}"
            lines += source_lines
    return "\n".join([*lines, *comments, ""])


def _lines(table: str, source: Guess, spec: dict[str, Any]) -> Iterator[str]:
    """Write one source of a table, with the reason for each guess."""
    file = source.files if len(source.files) > 1 else source.files[0]
    for key, value in {"file": file, **source.options, **spec}.items():
        # Between other separators, commas may also separate the parts of an answer.
        is_doubt = key == "keys" or (key == "decimal" and source.options.get("delimiter") != ";")
        mark = CONFIRM if is_doubt else "# guessed: "
        comment = f"  {mark}{_WHY[key]}" if key in _WHY else ""
        if not isinstance(value, dict):
            yield f"    {key}: {as_yaml(value)}{comment}"
            continue
        yield f"    {key}:{comment}"
        for name, column in value.items():
            why = source.why.get(name, "") if key in ("columns", "constants") else ""
            mark = CONFIRM if name in source.uncertain else "# guessed: "
            yield f"      {as_yaml(name)}: {as_yaml(column)}" + (f"  {mark}{why}" if why else "")
        if key == "columns":
            free = source.free("text", "id", "words", "number", "choice")[:8]
            templates = {"item_id": "{row}", "system": "{file}"}
            for our in source.lacks(table, spec):
                names = ", ".join([*free, templates[our]])
                yield f"      # {our}: ...  # missing; unused columns: {names}"


def _skeleton(source: Guess) -> list[str]:
    """Write a table to fill in, with the columns of a file in which none was recognized."""
    advice = formats.resembling(source.names)
    if suggested := vote_words.pair_flags(source.frame[source.names]):
        arguments = (f"--{flag} {shlex.quote(text)}" for flag, text in suggested.items())
        command = " ".join(arguments)
        votes = f"If {suggested['choice']} contains votes on pairs, name both systems"
        advice = f"{votes} (their names, or columns with them): {command}. {advice}"
    lines = [f"# {source.files[0]}{UNRECOGNIZED}. {advice}", "# Fill in this table, or use flags:"]
    lines += ["# judgments:", f"#   file: {source.files[0]}", "#   columns:"]
    for our in ("item_id", "system", "annotator_id", "value"):
        column = source.columns.get(our)
        lines.append(f"#     {our}: {as_yaml(column) if column in source.frame else '...'}")
    lines.append("# Its columns:")
    for name in source.names[:40]:
        cells = source.frame[name]
        cells = cells[cells != ""].drop_duplicates()
        examples = "" if personal([name]) else f": {', '.join(cells.head(3).str[:20])}"
        lines.append(f"#   {listing.visible(f'{name} ({len(cells):,} values{examples})')}")
    return lines


def _settings(sources: Sequence[Guess]) -> list[str]:
    """Write the main dimension, dimensions in which lower is better, and a scale to fill in."""
    dimensions = judged_dimensions(sources)
    others = f"; others: {', '.join(dimensions[1:])}" if len(dimensions) < 9 else ""
    why = {
        "quality": f"the first dimension{others}",
        "lower_is_better": "lower is better, by its name or labels",
        "missing": "words in columns of numbers",
    }
    guesses = guess_settings(sources, dimensions)
    marks = {"lower_is_better": CONFIRM}  # it could reverse a result
    lines = [
        f"  {key}: {as_yaml(guesses[key])}  {marks.get(key, '# guessed: ')}{why[key]}"
        for key in guesses
    ]
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
