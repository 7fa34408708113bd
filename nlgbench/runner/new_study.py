"""What `nlgbench new` writes: a study.yml, guessed from files' columns, or to be filled in."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.runner import listing
from nlgbench.study import csv_files, file_types, formats, read_folder, reading
from nlgbench.study.column_names import (
    CALLED,
    OTHER,
    Specs,
    measured_columns,
    outputs_spec,
    personal,
    plain_name,
    ratings_spec,
    recognized,
    with_lists,
)
from nlgbench.study.csv_files import TableError
from nlgbench.study.reading import FILE

#: How a column that people filled in, and a system of human texts, is called.
_WHO = {"human", "annotator", "rater", "worker", "judge", "expert", "participant", "crowd"}
_HUMAN = {"human", "humans", "reference", "references", "gold"}
#: What people are asked, and few metrics are called.
_ASKED = {
    *("fluency", "adequacy", "coherence", "consistency", "relevance", "naturalness", "quality"),
    *("informativeness", "overall", "understandability", "engagingness", "grammaticality"),
    *("correctness", "groundedness", "faithfulness", "helpfulness", "empathy", "surprise"),
}


def new(place: Path, sources: Sequence[Path], layout: str | None) -> str:
    """Write a study.yml into a folder, and say in words what it reads so."""
    for name in (FILE, "study.json"):
        if (place / name).exists():
            raise FileExistsError(
                f"{place / name} is there, and is not replaced: `nlgbench check {place}` says what "
                "it reads; move it away to begin anew."
            )
    text = EMPTY
    if (place / "outputs.csv").is_file():
        if sources and _reads_well(place):
            raise FileExistsError(
                f"{place} has outputs.csv and is read as it is, so nothing is written. For its "
                f"settings, use `nlgbench new {place}` without --from; for a study of other files, "
                "another folder."
            )
        text = EMPTY.partition("\ntables:")[0] + "\n"  # its tables are found by their names
    found = [_guess(path, place, layout) for path in sources]
    text = _written(found) if sources else text
    place.mkdir(parents=True, exist_ok=True)
    files.replace_bytes(place / FILE, text.encode())
    said = f"wrote {place / FILE}"
    if not sources:
        return f"{said}: fill it in, then `nlgbench check {place}`."
    problems: list[str] = []
    tables, notes = reading.read(place, reading.about(place / FILE, problems), problems)
    reading.rename_annotators(tables)
    parts = [said, *notes]
    for table, raw in tables.items():
        head = raw.frame.head(3).map(lambda cell: cell if len(cell) <= 30 else f"{cell[:29]}…")
        parts.append(
            f"{table}, {len(raw.frame):,} rows, of which the first are\n{listing.plain(head)}"
        )
    if problems:
        parts.append("\n".join(["To be mended:", *problems]))
    check = f"Read {place / FILE} through, as it is guessed; then `nlgbench check {place}`."
    return "\n\n".join([*parts, check])


def _reads_well(place: Path) -> bool:
    problems: list[str] = []
    try:
        return read_folder(place, problems)[0] is not None
    except TableError:
        return False


class _Guess:
    """What a file, or all files of a pattern, seem to hold."""

    def __init__(self, path: Path, place: Path, options: dict[str, Any], frame: pd.DataFrame):
        self.file = _relative(path, place)
        self.options = options  # how the file is opened
        self.columns = list(map(str, frame.columns))
        self.tables: Specs = {}
        self.stems: list[str] = []


def _relative(path: Path, place: Path) -> str:
    try:
        return Path(os.path.relpath(path, place)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


def _guess(path: Path, place: Path, layout: str | None) -> _Guess:
    kind = file_types.guess(path)
    there = [path]
    if not path.exists() and glob.has_magic(str(path)):
        there = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
    there = [one for one in there if one.is_file()]
    if not there:
        raise FileNotFoundError(f"no file {path}: name one with --from.")
    if not kind:
        known = ", ".join(ending for endings in file_types.ENDINGS.values() for ending in endings)
        raise TableError(f"{path} is of no known format: name it as {known} (or these with .gz).")
    options = _levels(there[0]) if kind == "json" else {}
    frames = [file_types.read(one, kind, problems=[], **options)[0] for one in there]
    frame = pd.concat(frames, ignore_index=True).fillna("")
    made = _Guess(path, place, options, frame)
    made.stems = [file_types.stem(one) for one in there]
    if layout == "mturk" and not any(str(name).startswith("Answer.") for name in frame):
        raise TableError(
            f"{path} has no column `Answer.*`, which an export of Mechanical Turk has: leave --as "
            "out, or name another file."
        )
    shape = formats.find(layout, "--as") if layout else None
    made.tables = shape.specs(frame) if shape and shape.kind == "mapping" else guess(frame)
    return made


def _levels(path: Path) -> dict[str, Any]:
    """Guess what the levels of a JSON document are."""
    document = file_types.load_json(csv_files.read_text(path), str(path))
    if isinstance(document, dict):
        inner = [name for name, one in document.items() if _is_table(one)]
        if len(inner) == 1:
            return {"rows": inner[0]}
        levels = []
        level: Any = document
        while isinstance(level, dict) and level:
            levels.append(level)
            level = next(iter(level.values()))
        if not isinstance(level, list | dict) and len(levels) > 1:
            same = {frozenset(one) for one in levels[-2].values() if isinstance(one, dict)}
            if len(same) <= 2:  # its names are fields, of which some may lack
                levels.pop()
        names = ["item_id", "annotator_id", "dimension"][: len(levels)]
        if len(levels) == 2 and len(levels[0]) < len(levels[1]):
            names = ["annotator_id", "item_id"]
        return {"keys": names}
    if isinstance(document, list) and document and isinstance(document[0], dict):
        inner = [name for name, one in document[0].items() if _is_table(one)]
        if len(inner) == 1:
            return {"rows": inner[0]}
    return {}


def _is_table(one: Any) -> bool:
    # An object with one field is a value in a wrapping.
    return isinstance(one, list) and bool(one) and isinstance(one[0], dict) and len(one[0]) > 1


def guess(frame: pd.DataFrame) -> Specs:
    """Guess what tables a file holds from its columns."""
    known = recognized(list(frame.columns))
    there = set(known)
    if {"system_a", "system_b", "choice"} <= there:
        return formats.pairwise(frame)
    if {"severity", "system"} <= there:
        return formats.mqm(frame)
    if any(re.match(r"(Input|Answer)\.", name) for name in frame.columns):
        return formats.mturk(frame)
    if (
        there & {"system"}
        and not there & {"item_id", "output_id"}
        and (item := _item(frame, known))
    ):
        known["item_id"] = item
    tables = _slotted(frame, known) or ratings_spec(frame, known) or _scores(frame, known)
    tables = tables or outputs_spec(known)
    if "system" in known and (human := _human(list(frame[known["system"]].unique()))):
        for spec in tables.values():
            if "system" in spec["columns"]:
                spec["values"] = {"system": human}
    return tables


def _item(frame: pd.DataFrame, known: dict[str, str]) -> str:
    """Find the column whose values each system, and annotator, meets once, and several systems."""
    by = [known[one] for one in ("system", "annotator_id", "dimension") if one in known]
    of_values = {*known.values(), *measured_columns(frame, known)}
    fits = {
        name: frame[name].nunique()
        for name in frame.columns
        if name not in of_values and not personal([name]) and plain_name(name) not in OTHER
        if not frame.duplicated([*by, name]).any() and frame[name].str.strip().ne("").all()
    }
    n_systems = {name: frame.groupby(name)[known["system"]].nunique().mean() for name in fits}
    fits = {name: n for name, n in fits.items() if n > 1 and n_systems[name] > 1.5}
    return max(fits, key=lambda name: fits[name], default="")


def _human(systems: Sequence[str]) -> dict[str, str]:
    """Name as `human` the one system that seems to be people's texts."""
    found = [
        one
        for one in systems
        if (words := set(plain_name(one).split("_"))) & _HUMAN or {"ground", "truth"} <= words
    ]
    return {found[0]: "human"} if len(found) == 1 and found[0] != "human" else {}


def _slotted(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    """Map columns such as `Human 1 fluency`: a number tells who judged, the rest what."""
    measured = measured_columns(frame, known)
    by_people = [name for name in measured if set(re.findall("[a-z]+", plain_name(name))) & _WHO]
    grids: dict[str, dict[str, dict[str, str]]] = {}  # what is before the number, number, rest
    for name in by_people:
        if fit := re.fullmatch(r"(\D+)(\d+)(\D*)", name):
            grids.setdefault(fit[1], {}).setdefault(fit[2], {})[fit[3]] = name
    whole = [
        before
        for before, slots in grids.items()
        if len(slots) > 1 and len({frozenset(rests) for rests in slots.values()}) == 1
    ]
    if "annotator_id" in known or not {"system", "output_id"} & set(known) or not whole:
        return {}
    before = min(whole, key=len)
    slots = grids[before]
    rests = list(next(iter(slots.values())))
    before_words = {re.sub(r"[^\W_].*", "", rest) for rest in rests}
    between = before_words.pop() if len(before_words) == 1 else ""
    names = [one for one in ("output_id", "item_id", "system") if one in known]
    columns: dict[str, Any] = {one: known[one] for one in names}
    columns["value"] = f"{before}{{slot}}" + (f"{between}{{dimension}}" if any(rests) else "")
    spec: dict[str, Any] = {"columns": columns, "only": {"slot": list(slots)}}
    spec = with_lists(frame, spec, slots[next(iter(slots))][rests[0]])
    of = "{output_id}" if "output_id" in columns else "{item_id}/{system}"
    spec["constants"] = spec.get("constants", {}) | {"annotator_id": f"{of}/{{slot}}"}
    means = [
        np.mean([_numbers(frame[own[rest]]) for own in slots.values()], axis=0) for rest in rests
    ]
    said = [
        name
        for name in measured
        if name in by_people or any(_same(_numbers(frame[name]), mean) for mean in means)
    ]
    texts = outputs_spec(known) if "text" in known else {}
    return {**texts, "judgments": spec, **_scores(frame.drop(columns=said), known)}


def _numbers(cells: pd.Series) -> np.ndarray:
    """Give the numbers of a column, of all its lists in turn."""
    flat = [one for cell in cells for one in file_types.as_list(cell) or [cell]]
    return pd.to_numeric(pd.Series(flat), errors="coerce").to_numpy(dtype=np.float64)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.allclose(one, other, atol=1e-6, equal_nan=True)


def _scores(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    if "system" not in known and "output_id" not in known:
        return {}
    names = [one for one in ("output_id", "item_id", "system") if one in known]
    columns: dict[str, Any] = {one: known[one] for one in names}
    if "evaluator" in known and "value" in known:
        columns |= {"evaluator": known["evaluator"], "score": known["value"]}
        whole = names == ["system"]
    else:
        measured = measured_columns(frame, {**known, "value": ""})
        if not measured:
            return {}
        columns["score"] = measured
        whole = names == ["system"] and frame[known["system"]].is_unique
    spec = with_lists(frame, {"columns": columns}, columns["score"])
    table = "system_scores" if whole and "lists" not in spec else "scores"
    return {**(outputs_spec(known) if "text" in known else {}), table: spec}


def _written(found: Sequence[_Guess]) -> str:
    """Write the guesses as a study.yml."""
    tables: dict[str, tuple[_Guess, dict[str, Any], list[str]]] = {}
    others = []
    for one in found:
        for table, spec in one.tables.items():
            if table not in tables:
                tables[table] = (one, spec, [one.file])
            elif tables[table][0].columns == one.columns or tables[table][1] == spec:
                tables[table][2].append(one.file)
                tables[table][0].stems.extend(one.stems)
            else:
                others.append(f"# {one.file} seems to hold {table}, too: which of the two is it?")
        if not one.tables:
            shown = ", ".join(one.columns[:30])
            others.append(f"# {one.file} is not read: no table was recognized in {shown}")
    lines = ["# What the columns of this study's files are, as `nlgbench new` guessed it.", ""]
    lines += _settings(tables)
    lines += ["", "tables:"] if tables else ["", "tables: {}"]
    for table, (one, spec, names) in tables.items():
        several = len(names) > 1
        needs = {"judgments", "scores"} & {table} and "outputs" not in tables
        if needs and not {"system", "output_id"} & {*spec["columns"], *spec.get("constants", {})}:
            spec = {**spec, "constants": {**spec.get("constants", {}), "system": "{file}"}}
            if human := _human(one.stems):
                spec["values"] = {"system": human}
        spec = {"file": names if several else names[0], **one.options, **spec}
        lines.append(f"  {table}:")
        for key, value in spec.items():
            lines.append(
                f"    {key}: {_yaml(value)}" if not isinstance(value, dict) else f"    {key}:"
            )
            if isinstance(value, dict):
                lines += [f"      {_yaml(name)}: {_yaml(inner)}" for name, inner in value.items()]
        lines += [f"    # {line}" for line in _hints(table, spec)]
        used = _used(one)
        rest = [name for name in one.columns if name not in used]
        private = [name for name in rest if personal([name])]
        rest = [name for name in rest if name not in private]
        if private:
            lines.append(f"    # looks personal, is never read: {_commented(private)}")
        if rest:
            lines.append(f"    # not read: {_commented(rest)}")
    return "\n".join([*lines, *others, ""])


def _hints(table: str, spec: dict[str, Any]) -> list[str]:
    """Say what only the study's own people know, and which line to change for it."""
    lines = []
    columns, constants = spec["columns"], spec.get("constants", {})
    if constants.get("annotator_id", "").endswith("/{slot}"):
        value = columns["value"].replace("{slot}", "{annotator_id}")
        lines += [
            "Each rating is an annotator of its own, as nothing tells who gave it. If a number is",
            f"the same person everywhere: value: {_yaml(value)}, annotator_id for slot in `only`,",
            "no line annotator_id, and settings: annotators: persons.",
        ]
    if table == "scores" and len(columns["score"]) > 30 and isinstance(columns["score"], list):
        lines.append(f"score: {len(columns['score'])} evaluators: keep those that you ask about.")
    asked = [name for name in columns.get("score", ()) if plain_name(name).split("_")[-1] in _ASKED]
    if asked and isinstance(columns["score"], list):
        lines.append(f"Do people say {', '.join(asked)}? Then these are `value` of `judgments`,")
        lines.append("under constants: {annotator_id: all} where no column tells who.")
    if plain_name(columns.get("item_id", "item_id")) not in CALLED["item_id"].split():
        lines.append("item_id: guessed, as each system has one row of each of its values.")
    ids = {"item_id", "output_id"} & {*columns, *constants}
    if "system" in columns and not ids and table != "system_scores":
        lines.append("No column was seen to be the item, the input that systems share: name it")
        lines.append('as item_id; or, if each row has its own, constants: {item_id: "{row}"}.')
    return lines


def _used(one: _Guess) -> set[str]:
    """List the columns of a file that its tables read."""
    found: set[str] = set()
    for spec in one.tables.values():
        named = [
            *spec["columns"].values(),
            *spec.get("only", {}),
            *spec.get("constants", {}).values(),
        ]
        for their in named:
            for name in [their] if isinstance(their, str) else their:
                found.add(name)
                found |= set(re.findall(r"\{([^{}]+)\}", name))
                if "{" in name:
                    pattern = re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(name))
                    found |= {column for column in one.columns if re.fullmatch(pattern, column)}
    return found


def _commented(names: Sequence[str]) -> str:
    shown = ", ".join(listing.visible(name) for name in names[:40])
    return shown + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def _settings(tables: dict[str, Any]) -> list[str]:
    lines = ["settings:"]
    constants: dict[str, str] = {}
    dimensions: list[str] = []
    if "judgments" in tables:
        one, spec, _ = tables["judgments"]
        constants, value = spec.get("constants", {}), spec["columns"].get("value", "")
        dimensions = value if isinstance(value, list) else []
        if "{slot}" in value and "{dimension}" in value:
            pattern = (
                re.escape(value).replace(r"\{slot\}", r"\d+").replace(r"\{dimension\}", "(.+)")
            )
            fits = [re.fullmatch(pattern, name) for name in one.columns]
            dimensions = list(dict.fromkeys(fit[1] for fit in fits if fit))
    if constants.get("dimension") == "mqm":
        lines += ["  quality: mqm", "  lower_is_better: [mqm]  # errors"]
    elif len(dimensions) > 1:
        others = f"; else one of {', '.join(dimensions[1:])}" if len(dimensions) < 9 else ""
        lines.append(f"  quality: {_yaml(dimensions[0])}  # the dimension meant by quality{others}")
        lines.append(
            f"  # scales: {{{_yaml(dimensions[0])}: {{min: 1, max: 5}}}}  # no value may leave it"
        )
    else:
        lines.append("  # quality: fluency  # of several dimensions, the one meant by quality")
        lines.append("  # scales: {fluency: {min: 1, max: 5}}  # which no value may leave")
        lines[0] = "# settings:"
    return lines


def _yaml(value: Any) -> str:
    """Write a value so that it reads back as the same texts."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_yaml(name)}: {_yaml(one)}" for name, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    plain = re.fullmatch(r"[A-Za-z0-9_./][\w ./()+-]*", value) and value == value.strip()
    return value if plain else json.dumps(value, ensure_ascii=False)


EMPTY = """\
# What the columns of this study's files are. Nothing else in the files is read.
# docs/own-study.md of nlgbench shows each line by an example.

name: my-study  # how results and figures call it

# settings:
#   quality: fluency  # of several dimensions, the one meant by quality
#   lower_is_better: [errors]  # dimensions, or evaluators
#   clusters: topic  # a column of outputs: which of them go together
#   extra: [topic]  # columns of outputs that are kept beside the known ones
#   labels: {sys1: Our system}
#   scales: {fluency: {min: 1, max: 5}}  # which no value may leave
#   valid: {fluency: {max: 100}}  # judgments outside are excluded, and counted
#   annotators: persons  # where numbered columns or positions are one person each

tables:
  judgments:
    file: ratings.csv  # or .tsv, .jsonl, .json, .parquet; the first four also with .gz
    columns:  # ours: theirs
      item_id: item
      system: system
      annotator_id: annotator
      value: [fluency, adequacy]  # a column for each dimension
  # outputs:
  #   file: outputs.csv
  #   columns: {item_id: item, system: system, text: text}
  # scores:
  #   file: metrics.csv
  #   columns: {item_id: item, system: system, score: [bleu, chrf]}
"""
