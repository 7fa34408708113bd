"""Read study.yml: which files are which tables, and how their columns map to ours."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean, unknown
from nlgbench.study import (
    answers,
    column_names,
    csv_files,
    file_types,
    formats,
    near_names,
    raters,
    schema,
    settings,
    vote_words,
    workbooks,
)
from nlgbench.study.column_names import has_word
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats import records
from nlgbench.study.overview import PLACEHOLDER
from nlgbench.study.ranges import other_scale
from nlgbench.study.schema import TABLES, RawTable, RawTables
from nlgbench.study.settings import Rules, right_of

FILE = "study.yml"
#: Code that returns the study instead.
CODE = "study.py"
#: The description that `Study.write` saves with its tables, instead of a study.yml.
WRITTEN = "study.json"

#: Table -> the column that takes the names of several columns, in long form.
_NAMES = {table: [key for key in schema.KEYS[table] if key != "group_id"][-1] for table in TABLES}
_NAMES |= {"outputs": "system", "contexts": "name"}
_SYSTEM_OF = {"output_id": "system", "output_a": "system_a", "output_b": "system_b"}
#: Table -> columns that, together with the item, can replace an output's id.
_PAIRED = {
    table: {name: _SYSTEM_OF[name] for name in schema.columns(table) if name in _SYSTEM_OF}
    for table in TABLES
}
#: Columns in which an empty cell means no row, not an undefined value.
_MEASURES = {
    "judgments": "value",
    "preferences": "choice",
    "references": "text",
    "comparisons": "prob_a",
}
#: Our columns that hold answers, in which a word may mean a missing value.
_ANSWERS = {"value", "choice", "score", "logprob", "n_tokens", "prob_a", "prob_tie", "prob_b"}
#: How `values` writes a missing value.
_NULL = ("null", "~", "")


_MAY_BE_EMPTY = Mapping | Literal[""]
#: File -> its keys, and the types of their values.
_TOP: dict[str, Rules] = {
    FILE: {
        "name": str,
        "settings": _MAY_BE_EMPTY,
        "tables": _MAY_BE_EMPTY,
        "format": str,
        "files": str | list[str],
        "rename": Mapping[str, Mapping[str, str]],
    },
    WRITTEN: {
        "name": str,
        "origin": str,
        "settings": Mapping,
        "truth": Mapping[str, Mapping[str, str]],
        "related": list[str],
    },
}
_KEYS: Rules = {
    "file": str | list[str],
    "format": str,
    "delimiter": str,
    "decimal": Literal[",", "."],
    "keys": list[str],
    "rows": str,
    "only": Mapping[str, str | list[str]],
    "skip": Mapping[str, str | list[str]],
    "columns": Mapping[str, str | list[str] | Mapping[str, str]],
    "lists": list[str],
    "constants": Mapping[str, str],
    "values": Mapping[str, Mapping[str, str]],
    "sum": Literal["true", "false"],
}

#: Key of a table -> the types of files that it applies to.
_OF_KIND = {"rows": ("json", "jsonl"), "keys": ("json", "jsonl"), "delimiter": ("csv", "tsv")}

#: A name in braces within the name of a column.
_BRACED = re.compile(r"\{([^\W\d]\w*)\}")

#: Words in names of columns that may group items.
_GROUPS = "doc|document|article|passage|source|prompt|story|talk|topic|dialog|dialogue|conversation"


def about(path: Path, problems: list[str]) -> dict[str, Any]:
    """Read study.yml or study.json, and keep its valid entries."""
    written = load_yaml(path)  # JSON is YAML, too
    if not isinstance(written, dict):
        raise TableError(
            f"{path} must contain keys with values, such as `tables:`; got {brief(written)}. "
            "Run `nlgbench new` in an empty folder for a template to fill in."
        )
    description = right_of(written, _TOP[path.name], str(path), problems)
    entry = settings.from_texts(description.get("settings") or {})
    description["settings"] = settings.settled(entry, problems, f"{path}, settings")
    if "tables" in description:
        where = f"{path}, tables"
        rules = dict.fromkeys(TABLES, _MAY_BE_EMPTY | list[Mapping])
        tables = right_of(description["tables"] or {}, rules, where, problems)
        description["tables"] = {}
        for table, entry in tables.items():
            several = _sources(f"{where}: {table}", entry)
            sources = [right_of(spec, _KEYS, location, problems) for location, spec in several]
            description["tables"][table] = sources if isinstance(entry, list) else sources[0]
        if not description["tables"]:
            problems.append(f"{path}: `tables` is empty: add at least outputs or judgments.")
    if "files" in description and "format" not in description:
        problems.append(f"{path}: `files` needs a `format`: add it, or name files in `tables`.")
    return description


def load_yaml(path: Path) -> Any:
    """Read YAML with all values as strings, so that an id 007 or a system No stays unchanged."""
    import yaml  # type: ignore[import-untyped]

    class Loader(yaml.BaseLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(None, None, "aliases are not supported", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = set()
            for key, _ in node.value:
                name = key.value if isinstance(key.value, str) else None
                if name in names or name is None:
                    defect = "a key must be a name" if name is None else f"{name!r} is repeated"
                    raise yaml.constructor.ConstructorError(None, None, defect, key.start_mark)
                names.add(name)
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(csv_files.read_text(path), Loader=Loader)
    except RecursionError:
        raise TableError(f"{path} is nested too deeply: flatten it.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        defect = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise TableError(
            f"{path}{line} is not valid YAML: {defect}. Quote texts with a colon, braces, or `#`."
        ) from None


def read(
    folder: Path, description: dict[str, Any], problems: list[str], doubts: list[str] | None = None
) -> tuple[RawTables, list[str]]:
    """Read the tables that study.yml names; return them with notes, and list doubts."""
    chosen = description["settings"]
    raws, specs, notes = _of_format(folder, description, problems)
    declared = description.get("tables", {})
    twice = [table for table in declared if table in raws or table in specs]
    also = "also comes from `format`: remove one."
    problems += [f"{folder / FILE}, tables: {table} {also}" for table in twice]
    specs |= declared
    file = Path(description.get("where", folder / FILE))  # a DataFrame has no study.yml
    is_folder = "where" not in description
    sources: list[_Source] = []
    lacking: dict[str, list[str]] = {}
    latest: _Latest = {}
    for table, entry in specs.items():
        # Without a file of outputs, they are derived from the tables that refer to them.
        has_outputs = table == "outputs" or ("outputs" not in specs and _PAIRED[table])
        extra = chosen.get("extra", []) if has_outputs else []
        of_table = []
        missing = chosen.get("missing", [])
        for location, spec in _sources(f"{file}, tables: {table}", entry):
            source = _Source(folder, table, spec, extra, problems, lacking, location, missing)
            source.read(latest, by_file=isinstance(entry, list))
            if source.has_positions() and chosen.get("annotators") != "persons":
                chosen["annotators"] = "positions"
            of_table.append(source)
        sources += of_table
        read_tables = {source: source.raw for source in of_table if source.raw is not None}
        if read_tables:
            raws[table] = _stacked(table, list(read_tables.values()))
        if read_tables and doubts is not None and table == "judgments":
            paths = pd.concat([source.path_of_row for source in read_tables], ignore_index=True)
            doubts += _other_scales(raws[table], paths)
    for source in sources:
        notes += source.notes
        is_first = source is sources[0] and not chosen.get("clusters")
        (notes if doubts is None else doubts).extend(source.grouping * is_first + source.pooled)
    if isinstance(missing := chosen.get("missing"), dict) and not problems:
        in_files = (source.file_columns for source in sources)
        names = dict.fromkeys(itertools.chain(*in_files, _ANSWERS))
        lost = [name for name in missing if name not in names]
        problems += [f"settings: missing: {unknown(name, names)}" for name in lost]
    problems += [lack.replace("{tables}", ", ".join(tables)) for lack, tables in lacking.items()]
    notes += _unread_notes(folder, sources, is_folder=is_folder)
    if not problems:
        problems += _rename(folder / FILE, raws, description.get("rename", {}))
        if is_folder:
            near_names.settle(raws, chosen, problems, doubts)
        for table, (frame, where, lines, theirs, columns) in raws.items():
            # Rows may be equal only since their names are.
            rows = frame.assign(**{"{line}": lines})
            raws[table] = _raw_table(table, rows, where, theirs, columns)
        _identify(file, raws, chosen.get("extra", []), problems)
    return {table: raws[table] for table in TABLES if table in raws}, notes


def _unread_notes(folder: Path, sources: Sequence[_Source], *, is_folder: bool) -> list[str]:
    """Note personal columns that are not read, and files outside or left out."""
    notes = []
    for where in dict.fromkeys(source.where for source in sources):
        of_file = [source for source in sources if source.where == where]
        personal = set().union(*(source.personal for source in of_file))
        if unread := sorted(personal.difference(*(source.read_columns for source in of_file))):
            notes.append(f"{where}: columns that look personal are not read: {', '.join(unread)}.")
    if not is_folder:
        return notes
    paths = list(dict.fromkeys(path for source in sources for path in source.paths))
    inside = folder.resolve()
    outside = [str(path) for path in paths if not path.resolve().is_relative_to(inside)]
    if outside:
        names = f"{some(outside[:3])}{', ...' * (len(outside) > 3)}"
        notes.append(f"files outside the folder {folder} are read ({len(outside):,}): {names}.")
    if siblings := _unread(paths):
        notes.append(
            f"{folder}: files with columns of those that are read, but not in {FILE}: "
            f"{some(siblings)}. Add them to `file` if they belong to the study."
        )
    return notes


def _of_format(
    folder: Path, description: Mapping[str, Any], problems: list[str]
) -> tuple[RawTables, dict[str, Any], list[str]]:
    """Read the files of a format into tables, or into mappings of their columns."""
    if "format" not in description:
        return {}, {}, []
    shape = formats.find(description["format"], str(folder / FILE))
    named = description.get("files", shape.files)
    lost: list[str] = []
    paths = _matching(folder, named, lost)
    if lost and ("files" in description or not paths):
        problems += [f"{problem} `files`." for problem in lost]
        return {}, {}, []
    description["settings"].update({**shape.settings, **description["settings"]})
    if isinstance(shape, formats.Mapped):
        kinds = map(file_types.guess, paths)
        rows_of = [
            file_types.read_rows(path, kind, problems=[])[0]
            for path, kind in zip(paths, kinds, strict=True)
        ]
        specs = shape.specs(pd.concat(rows_of, ignore_index=True).fillna(""))
        if not specs:
            problems.append(
                f"{paths[0]} lacks the columns of format {description['format']}: correct `files`, "
                "or map its columns under `tables`. Found columns "
                f"{some(list(map(str, rows_of[0])))}."
            )
        file = [os.path.relpath(path, folder) for path in paths]
        return {}, {table: {"file": file, **spec} for table, spec in specs.items()}, []
    frames, notes = records.read_records(shape, paths, problems)
    raws, extra = {}, description["settings"].get("extra", [])
    for table, frame in frames.items():
        usual = {"item_id", "{repeat}", "{line}", *schema.columns(table), *_PAIRED[table].values()}
        further = list(frame.columns.difference([*usual, *extra], sort=False))
        if further:
            notes.append(f"columns not read: {some(further)}. `settings: extra` can keep them.")
        raws[table] = _raw_table(table, frame.drop(columns=further), str(folder))
    return raws, {}, notes


def _rename(path: Path, raws: RawTables, changed: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Rename systems, evaluators and so on; list names that occur in no table."""
    problems = []
    for kind, new in changed.items():
        names: set[str] = set()
        for table, raw in raws.items():
            columns = raw.frame.columns.intersection([kind, f"{kind}_a", f"{kind}_b"])
            names.update(*(raw.frame[name] for name in columns))
            renamed = {name: raw.frame[name].replace(dict(new)) for name in columns}
            raws[table] = raw._replace(frame=raw.frame.assign(**renamed))
        lost = [old for old in new if old not in names]
        problems += [f"{path}, rename: {kind}: {unknown(old, sorted(names))}" for old in lost]
    return problems


def _sources(location: str, entry: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """List a table's sources (usually one), each with its location in study.yml."""
    if not isinstance(entry, list):
        return [(location, entry or {})]
    return [(f"{location}, source {number}", spec) for number, spec in enumerate(entry, 1)]


def _stacked(table: str, sources: Sequence[RawTable]) -> RawTable:
    """Concatenate the sources of a table; where one lacks a column, its default is used."""
    if len(sources) == 1:
        return sources[0]
    frames = [source.frame.assign(**{"{line}": source.lines}) for source in sources]
    rows = pd.concat(frames, ignore_index=True).fillna(schema.DEFAULTS.get(table, {})).fillna("")
    if table == "outputs" and {"item_id", "system"} <= {*rows}:  # text and context in two files
        rows = records.completed(rows, ["item_id", "system", "output_id"])
    where = ", ".join(dict.fromkeys(source.where for source in sources))
    columns = list(dict.fromkeys(name for source in sources for name in source.file_columns))
    return _raw_table(table, rows, where, None, columns)


def _raw_table(
    table: str, rows: pd.DataFrame, where: str, theirs: Any = None, file_columns: Sequence[str] = ()
) -> RawTable:
    """Make a table of rows with a column {line}, without duplicates of rows that are not answers.

    Files with a row per judgment repeat outputs, references and contexts.
    """
    if table in ("outputs", "references", "contexts"):
        rows = rows.drop_duplicates(list(rows.columns.drop("{line}")), ignore_index=True)
    lines = list(rows["{line}"])
    return RawTable(rows.drop(columns="{line}"), where, lines, theirs, file_columns)


def _other_scales(judgments: RawTable, paths: pd.Series) -> list[str]:
    """Describe files whose judgments seem to be on another scale than those in other files."""
    rows = judgments.frame.reindex(columns=["dimension", "value"], fill_value="")
    rows = rows.assign(value=pd.to_numeric(rows["value"], errors="coerce"))
    rows = rows.assign(file=paths.map(lambda path: Path(path).name)).dropna()
    return [
        f"{judgments.where}: files seem to use different scales: {line}. If so, put the judgments "
        "on one scale."
        for _, judgments_of in rows.groupby("dimension", sort=False)
        for line in other_scale(judgments_of["value"], judgments_of["file"])
    ]


def grouped(items: pd.Series, groups: pd.Series) -> str:
    """Describe how a column groups items, such as documents; empty if it does not."""
    pairs = pd.DataFrame({"item": items.to_numpy(), "group": groups.to_numpy()}).drop_duplicates()
    n, n_items = pairs["group"].nunique(), pairs["item"].nunique()
    is_grouping = pairs["item"].is_unique and 1 < n <= n_items / 2
    return f"{n_items:,} items have {n:,} values of {groups.name}" if is_grouping else ""


def _matching(folder: Path, names: str | Sequence[str], lost: list[str]) -> list[Path]:
    """List the files of a folder that match names or patterns."""
    matched: list[Path] = []
    for name in [names] if isinstance(names, str) else names:
        matched += (paths := file_types.find_files(name, folder))
        if not paths:
            lost.append(f"{folder / FILE}: {csv_files.why_no_file(folder / name)} Correct")
    return [Path(os.path.normpath(path)) for path in matched]


def _unread(paths: Sequence[Path]) -> list[str]:
    """List files beside those that are read, with at least half of the columns of one of them."""

    def header(path: Path) -> set[bytes]:
        with path.open("rb") as file:
            return {*re.split(rb"[,;\t]", file.readline(10_000).strip())}

    paths = [path for path in paths if path.suffix in (".csv", ".tsv") and path.is_file()]
    heads = {frozenset(header(path)) for path in paths}
    folders = {(path.parent, path.suffix) for path in paths}
    siblings = {path for folder, ending in folders for path in folder.glob(f"*{ending}")}
    unread = [path for path in sorted(siblings.difference(paths)) if path.is_file()]
    header_of = {path: header(path) for path in unread}
    return [
        path.name
        for path, columns in header_of.items()
        if any(2 * len(head & columns) >= len(head) > 1 for head in heads)
    ]


def some(names: Sequence[str]) -> str:
    """List at most forty names."""
    text = ", ".join(names[:40]) or "none"
    return text + (f" and {len(names) - 40} more" if len(names) > 40 else "")


class _Opened(NamedTuple):
    """The rows of a file, or of files with the same columns, as they are."""

    name: str
    rows: pd.DataFrame
    places: list[str]
    context: pd.DataFrame  # what templates may use, and each row's path
    n_files: int


def _joined(opened: list[tuple[Path, pd.DataFrame, list[str]]]) -> _Opened:
    """Concatenate files with the same columns."""
    paths, frames, places = zip(*opened, strict=True)
    rows = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    sizes = [len(frame) for frame in frames]
    names = [(file_types.stem(path), path.resolve().parent.name, str(path)) for path in paths]
    of_rows = np.repeat(names, sizes, axis=0)
    numbers = [str(number) for size in sizes for number in range(1, size + 1)]
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    context = pd.DataFrame(of_rows, rows.index, ["file", "folder", "{path}"], "str")
    context.insert(0, "row", pd.Series(numbers, rows.index, dtype="str"))
    return _Opened(f"{paths[0]}{more}", rows, [*itertools.chain(*places)], context, len(paths))


#: The last opened files: how they were opened -> their rows.
_Latest = dict[str, list[_Opened]]


@dataclass(eq=False)
class _Source:
    """Read one source of a table: open its files, rename columns, make it long.

    Besides our columns, its frame has those that templates may use (row, file, folder, position,
    and what braces in names match) and `{at}`, the row's number in the file.
    """

    folder: Path
    table: str
    spec: Mapping[str, Any]
    extra: Sequence[str]
    problems: list[str]
    #: What files lack -> the tables that need it, so that a wrong name is reported once.
    lacking: dict[str, list[str]]
    location: str
    #: Words for a missing value, of all answers or of each column.
    missing: Sequence[str] | Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        folder, table, spec = self.folder, self.table, self.spec
        named = spec.get("file", f"{table}.csv")
        self.files = [named] if isinstance(named, str) else named
        self.where = str(folder / ", ".join(self.files))
        self.columns: Mapping[str, Any] = spec.get("columns", {})
        self.constants: Mapping[str, str] = spec.get("constants", {})
        instead = ["item_id", *_PAIRED[table].values()] if _PAIRED[table] else []
        instead += ["choice"] if table == "comparisons" else []  # a verdict, for probabilities
        self.ours = list(dict.fromkeys([*schema.columns(table), *self.extra, *instead]))
        #: Names in braces in the patterns of columns.
        plain = [their for their in self.columns.values() if isinstance(their, str)]
        self.captured = {name for their in plain for name in _BRACED.findall(their)}
        templates = itertools.chain(*map(column_names.in_braces, self.constants.values()))
        self.read_columns = {*spec.get("only", ()), *spec.get("skip", ()), *self.ours, *templates}
        self.theirs: dict[str, str] = {}
        self.notes: list[str] = []
        self.grouping: list[str] = []
        self.pooled: list[str] = []
        self.personal: list[str] = []
        self.paths: list[Path] = []
        self.path_of_row = pd.Series(dtype=object)
        self.raw: RawTable | None = None
        #: The current file, or files with the same columns; these columns; what messages call it.
        self.opened = _Opened("", pd.DataFrame(), [], pd.DataFrame(), 0)
        self.file_columns: list[str] = []
        self.source = ""

    def read(self, latest: _Latest, *, by_file: bool) -> None:
        """Read and concatenate all files; locations of rows name the file if `by_file`.

        `latest` are the last opened files, which may contain several tables.
        """
        wrong = self._entry_problems()
        self.problems += wrong
        self.paths = [] if wrong else self._paths()
        by_file |= len(self.paths) > 1
        n_files = 0
        frames = []
        for opened in self._open(latest):
            self.opened, self.source = opened, opened.name
            self.file_columns = list(map(str, opened.rows.columns))
            if self.table == "contexts":  # features, which differ between studies
                names = self.columns or self.file_columns
                self.ours = list(dict.fromkeys([*self.ours, *names]))
            try:
                frame = self._long()
            except TableError as error:
                self.problems += error.problems
                continue
            n_files += opened.n_files
            self.read_columns |= set(self.theirs.values())
            if self.table in raters.OF_MODELS:
                self._look_for_models(frame)
            self.personal += column_names.personal(self.file_columns)
            row_paths = opened.context["{path}"].loc[frame["{at}"]].to_list()
            lines = [opened.places[position] for position in frame["{at}"]]
            if by_file:
                names = [Path(path).name for path in row_paths]
                lines = [f"{name}, {line}" for name, line in zip(names, lines, strict=True)]
            ours = frame[[name for name in frame if name in self.ours]]
            frames.append(ours.assign(**{"{line}": lines, "{path}": row_paths}))
        if not frames or n_files < len(self.paths):
            return
        if len(self.paths) == 1:
            self._look_for_groups(frame)
        where = str(self.paths[0]) if len(self.paths) == 1 else self.where
        rows = pd.concat(frames, ignore_index=True)
        self.path_of_row = rows.pop("{path}")
        rows = rows.fillna("").astype("str")
        self.raw = _raw_table(self.table, rows, where, self.theirs, self.file_columns)

    def has_positions(self) -> bool:
        """Check whether annotators' ids are positions in a list, in a file or in columns' names."""
        if self.raw is None or self.raw.frame.empty or "annotator_id" not in self.raw.frame:
            return False
        ids = self.raw.frame["annotator_id"].drop_duplicates()
        if "annotator_id" in self.captured:
            has_one_stem = len(set(ids.str.rstrip("0123456789"))) == 1
            return has_one_stem and bool(ids.str.fullmatch(r"\D*\d+").all())
        names = {*column_names.in_braces(self.constants.get("annotator_id", ""))}
        is_numbered = bool(names & self.captured) and bool(ids.str.contains(r"\d$").all())
        return bool(names & {"position", "row"}) or is_numbered

    def _entry_problems(self) -> list[str]:
        """List problems of a table's entries in study.yml that can be found without a file."""
        problems = [
            f"{self.location}: {key}: {unknown(name, self.ours)}"
            for key, names in (("columns", self.columns), ("constants", self.constants))
            for name in names
            if name not in self.ours and self.table != "contexts"
        ]
        problems += [
            f"{self.location}: {name!r} is in columns and in {where}: keep one."
            for where, names in (("constants", self.constants), ("braces", self.captured))
            for name in self.columns
            if name in names
        ]
        problems += [
            f"{self.location}: constants: {our}: {text!r} has a brace without its pair, or nothing "
            "between braces: write the name of a column or of {file}, {folder}, {row} in braces."
            for our, text in self.constants.items()
            if re.search(r"[{}]", re.sub(r"\{[^{}]+\}", "", text))
        ]
        sources = {our: column_names.in_braces(text) for our, text in self.constants.items()}
        for our, their in self.columns.items():
            listed = [_BRACED.sub(" ", their)] if isinstance(their, str) else their
            sources[our] = list(listed.values() if isinstance(listed, dict) else listed)
        for our, theirs in sources.items():
            telling = [name for name in theirs if has_word(name, column_names.IDENTIFYING)]
            is_listed = bool(telling) and telling[0] in self.spec.get("only", {})
            if telling and our != "annotator_id" and telling[0] != our and not is_listed:
                problems.append(
                    f"{self.location}: {our} uses {telling[0]!r}, which looks personal: remove it. "
                    "Only annotator_id may use it; annotators are renamed w001, w002, ..."
                )
        return problems

    def _paths(self) -> list[Path]:
        if "frame" in self.spec:
            return [Path(self.where)]
        lost: list[str] = []
        paths = _matching(self.folder, self.files, lost)
        for problem in lost:
            self.lacking.setdefault(f"{problem} `file` in {{tables}}.", []).append(self.table)
        return paths

    def _open(self, latest: _Latest) -> list[_Opened]:
        """Open all files; those in sequence with the same columns are concatenated."""
        if "frame" in self.spec:
            frame = self.spec["frame"]
            places = [f"index {label}" for label in frame.index]
            return [_joined([(Path(self.where), frame.reset_index(drop=True), places)])]
        options = {key: self.spec[key] for key in ("format", *_OF_KIND) if key in self.spec}
        if (key := f"{self.paths} {options}") in latest:
            return latest[key]
        files_read = []
        for path in self.paths:
            try:
                files_read.append(self._open_file(path))
            except (TableError, OSError) as error:
                self.problems += getattr(error, "problems", [str(error)])
        groups = itertools.groupby(files_read, key=lambda file: list(file[1]))
        opened = [_joined(list(group)) for _, group in groups]
        if len(files_read) == len(self.paths):
            latest.clear()
            latest[key] = opened
        return opened

    def _open_file(self, path: Path) -> tuple[Path, pd.DataFrame, list[str]]:
        kind = self.spec.get("format") or file_types.guess(path)
        unused = [key for key, kinds in _OF_KIND.items() if key in self.spec and kind not in kinds]
        if unused and kind in file_types.ENDINGS:
            raise TableError(
                f"{self.location}: {unused[0]} applies to {' and '.join(_OF_KIND[unused[0]])}, but "
                f"{path.name} is {kind}: remove it, or set `format`."
            )
        if kind not in file_types.ENDINGS:
            defect = unknown(kind or path.suffix, file_types.ENDINGS)
            raise TableError(f"{self.location}: {path.name}: format {defect} Set `format`.")
        options = {key: self.spec[key] for key in _OF_KIND if key in self.spec}
        rows, places = file_types.read_rows(path, kind, problems=self.problems, **options)
        files.note_read(workbooks.split(path)[0])
        return path, rows, places

    def _look_for_models(self, frame: pd.DataFrame) -> None:
        """Note an unread column that separates people from models, of which both judged."""
        who = self.columns.get("annotator_id", "")
        rows = self.opened.rows.loc[frame["{at}"].unique()]
        read = {*self.read_columns, who}
        names = [name for name in self.file_columns if name not in read]
        separating = raters.separating(rows, names, who if who in self.file_columns else "")
        for name in separating.keys() - {who}:
            machines = ", ".join(map(repr, separating[name]))
            annotators = f"{self.source}: annotators with {name} {machines}"
            self.pooled.append(raters.advice(annotators, self.table))

    def _look_for_groups(self, frame: pd.DataFrame) -> None:
        """Note columns that group items, such as documents, but are not read."""
        for name in self.file_columns if "item_id" in frame else ():
            if name in self.read_columns or not has_word(name, _GROUPS):
                continue
            if grouping := grouped(frame["item_id"], self.opened.rows[name].loc[frame["{at}"]]):
                self.grouping.append(
                    f"{self.source}: {grouping}, which is not used. If items with the same {name} "
                    f"are similar, set `settings: {{extra: [{name}], clusters: {name}}}`."
                )

    def _long(self) -> pd.DataFrame:
        """Return our columns in long form, and those that templates may use."""
        only = self.spec.get("only", {})
        only = {name: [cells] if isinstance(cells, str) else cells for name, cells in only.items()}
        rows = self._selected(only)
        frame = self._exploded(self._renamed(rows, only).reset_index(drop=True))
        measure = _MEASURES.get(self.table, "")
        is_empty = frame.get(measure, pd.Series("-", frame.index)).str.strip() == ""
        for our, text in self.constants.items():
            frame[our] = self._filled(text, frame)
        votes = frame.filter(["choice", "system_a", "system_b"]).copy()
        for name, changed in self.spec.get("values", {}).items():
            self._require_columns("values", [name], frame)
            frame[name] = _replaced(frame[name], changed)
            if name in _ANSWERS:
                frame[name] = frame[name].where(~frame[name].isin(_NULL), "")
                is_empty |= (frame[name] == "") & (name == measure)
        if "choice" in frame and self.table in ("preferences", "comparisons"):
            frame = self._voted(frame, votes)
            is_empty |= frame["choice"] == ""
        if is_empty.any():
            self._note_empty(frame, is_empty)
            frame = frame[~is_empty].reset_index(drop=True)
        if "choice" in frame and self.table == "comparisons":
            is_unclear = ~frame["choice"].isin(("a", "b", "tie"))
            self._refuse_cells(frame, is_unclear, "choice", schema.CHOICE[1])
            for side in ("a", "tie", "b"):
                frame[f"prob_{side}"] = (frame["choice"] == side).astype(int).astype("str")
            frame = frame.drop(columns="choice")
        frame = self._summed(frame) if self.spec.get("sum") == "true" else frame
        optional = {*schema.DEFAULTS.get(self.table, ()), *_PAIRED[self.table], "is_human"}
        needed = [name for name in schema.columns(self.table) if name not in optional]
        self._require_columns("columns or constants", needed, frame)
        return frame

    def _selected(self, only: dict[str, list[str]]) -> pd.DataFrame:
        """Return the rows that `only` and `skip` keep; of `only`, keep what names no column."""
        rows = self.opened.rows
        for name in rows.columns.intersection(list(only)):
            rows = rows[rows[name].isin(only.pop(name))]
        skip = self.spec.get("skip", {})
        self._require_columns("skip", list(skip), self.file_columns)
        for name, cells in skip.items():
            rows = rows[~rows[name].isin([cells] if isinstance(cells, str) else cells)]
        paths = self.opened.context["{path}"]
        with_rows = {*paths[rows.index]}
        lost = [path for path in paths.unique() if path not in with_rows]
        defect = f"{self.location}: `{'skip' if skip else 'only'}` keeps no row of"
        self.problems += [f"{defect} {path}: correct its values." for path in lost]
        return rows

    def _renamed(self, rows: pd.DataFrame, only: Mapping[str, list[str]]) -> pd.DataFrame:
        """Return our columns of rows; each of several columns that match a pattern is a row."""
        single, several = self._resolved(only)
        columns = {our: self._answers(our, rows[their]) for our, their in single.items()}
        context = self.opened.context.loc[rows.index].drop(columns="{path}")
        ours = pd.DataFrame({"{at}": rows.index, **columns}, rows.index)
        frame = pd.concat([context, ours], axis=1)
        if several is None:
            return frame
        cells = {str(name): np.tile(several[name], len(frame)) for name in several}
        for our in several.columns.intersection(list(self.columns)):
            wide = [self._answers(our, rows[their]).to_numpy(object) for their in several[our]]
            cells[our] = np.array(wide, dtype=object).T.ravel()
        repeated = frame.loc[frame.index.repeat(len(several))]
        new = pd.DataFrame(cells, repeated.index, dtype="str")
        return pd.concat([repeated.drop(columns=[*new], errors="ignore"), new], axis=1)

    def _note_empty(self, frame: pd.DataFrame, is_empty: pd.Series) -> None:
        """Note how many cells are empty, and outputs that have no other."""
        note = f"empty cells of {self.table} skipped: {int(is_empty.sum()):,}"
        places = frame.filter(["output_id", "item_id", "system"])
        if len(places.columns) and self.table in ("judgments", "scores"):
            outputs = pd.MultiIndex.from_frame(places)
            lost = outputs[is_empty].difference(outputs[~is_empty], sort=False)
            if len(lost):
                first = "/".join(map(str, lost[0]))
                note += f". Outputs without others in this file: {len(lost):,}, such as {first}"
        self.notes.append(f"{self.source}: {note}.")

    def _answers(self, our: str, column: pd.Series) -> pd.Series:
        """Empty the words for missing values in a column, and read its decimal commas."""
        their = str(column.name)
        if isinstance(self.missing, Mapping):
            missing = [*self.missing.get(their, []), *self.missing.get(our, [])]
        else:
            missing = [*self.missing] if our in _ANSWERS else []
        column = answers.empty_missing(column, missing)
        is_decimal = our in _ANSWERS and self.spec.get("decimal") == ","
        return answers.point_commas(column) if is_decimal else column

    def _voted(self, frame: pd.DataFrame, written: pd.DataFrame) -> pd.DataFrame:
        """Read the words of votes, as given, as a, b and tie; failed verdicts are empty."""
        changed = self.spec.get("values", {}).get("choice", {})
        systems = written.reindex(columns=["system_a", "system_b"], fill_value="")
        cells = written["choice"]
        votes, bad, rule = vote_words.read_votes(cells, frame["choice"], changed, systems)
        self._refuse_cells(frame, bad, "choice", rule)
        by_name = vote_words.named(cells, systems)
        is_other = (by_name != "") & votes.isin(("a", "b")) & (by_name != votes)
        if is_other.any():
            examples = some([*map(repr, cells[is_other].unique())])
            self.notes.append(
                f"{self.source}: {examples} are read as sides, but also name systems. If votes "
                "are for names, write `values: "
                "{choice: {'{system_a}': a, '{system_b}': b}}`."
            )
        frame = frame.assign(choice=votes.where(votes != vote_words.FAILED, ""))
        winner = self.columns.get("choice")
        if winner and winner in (self.columns.get("system_a"), self.columns.get("system_b")):
            # Columns of winners and losers do not say which text was shown first.
            is_turned = frame["system_a"] > frame["system_b"]
            turned = frame[is_turned].replace({"choice": {"a": "b", "b": "a"}})
            names = {"system_a": "system_b", "system_b": "system_a"}
            frame = pd.concat([frame[~is_turned], turned.rename(columns=names)]).sort_index()
            self.notes.append(
                f"{self.source}: the order in which texts were shown is unknown, so pairs are "
                "stored in alphabetical order: tests of position bias cannot use them."
            )
        return frame

    def _resolved(
        self, only: Mapping[str, list[str]]
    ) -> tuple[dict[str, str], pd.DataFrame | None]:
        """Map our columns to those of the file, and list patterns that match several."""
        columns = self.file_columns
        single: dict[str, str] = {}
        grids, named = [], []
        for our, their in self.columns.items():
            if isinstance(their, str) and their in columns:
                single[our] = their
            elif isinstance(their, str) and _BRACED.search(their):
                fits = column_names.fit_pattern(their, columns)
                captures = [{**captured, our: name} for name, captured in fits.items()]
                grid = pd.DataFrame(captures, columns=[our, *dict.fromkeys(_BRACED.findall(their))])
                for name in grid.columns.intersection(list(only)):
                    is_kept = grid[name].isin(only[name])
                    left_out, names_read = grid.loc[~is_kept, our], list(grid.loc[is_kept, our])
                    self._note_left_out(their, left_out, names_read)
                    grid = grid[is_kept]
                named += [their] * grid.empty
                grids.append(grid)
            else:
                listed = [their] if isinstance(their, str) else their
                listed = listed if isinstance(listed, dict) else {name: name for name in listed}
                named += listed.values()
                names = {our: list(listed.values()), _NAMES[self.table]: list(listed)}
                grids.append(pd.DataFrame(names))
        self._require_columns("columns", named, columns)
        captured_names = {str(name) for grid in grids for name in grid} - set(self.columns)
        self._require_columns("only", list(only), [*captured_names, *columns])
        self.theirs |= single
        named_columns = itertools.chain(*(grid.to_numpy().ravel() for grid in grids))
        self.read_columns |= {*columns}.intersection(named_columns)
        assigned = {*self.columns, *self.constants, *captured_names}
        single |= {name: name for name in self.ours if name in columns and name not in assigned}
        if not grids:
            return single, None
        try:
            return single, functools.reduce(pd.merge, grids)
        except pd.errors.MergeError:
            raise TableError(
                f"{self.location}: patterns of several columns must share the name in braces, as "
                "in system: Input.system_{slot} and value: Answer.rating_{slot}."
            ) from None

    def _note_left_out(self, pattern: str, left_out: Iterable[str], read: list[str]) -> None:
        """Note columns that match a pattern and have usual answers, but are not in `only`."""
        rows = self.opened.rows
        usual = {"", *rows[read].to_numpy().ravel()}
        names = [repr(name) for name in left_out if {""} < {"", *rows[name]} <= usual]
        if names:
            self.notes.append(
                f"{self.source}: columns that match {pattern!r} are not read, because `only` does "
                f"not name them: {some(names)}. Add them, or correct their names."
            )

    def _require_columns(self, key: str, names: list[str], columns: Iterable[Any]) -> None:
        """Report columns that an entry of study.yml names, but the file or its table lacks."""
        lost = [name for name in names if name not in columns]
        if lost:
            hint = did_you_mean(lost[0], [*map(str, columns), *self.file_columns])
            if "constants" in key and not hint:
                hint = f" If it is the same in all rows, write `constants: {{{lost[0]}: ...}}`."
            problem = (
                f"{self.source} has no column{'s' * (len(lost) > 1)} {', '.join(map(repr, lost))}, "
                f"needed by {{tables}} ({key} in {FILE}).{hint} Found columns "
                f"{some(self.file_columns)}."
            )
            self.lacking.setdefault(problem, []).append(self.table)
            raise TableError

    def _refuse_cells(self, frame: pd.DataFrame, bad: pd.Series, name: str, rule: str) -> None:
        raw = RawTable(self.opened.rows, self.source, self.opened.places, self.theirs)
        rows = frame.set_index("{at}")
        if problems := schema.problem(raw, self.table, rows, bad.to_numpy(), name, rule):
            raise TableError(*problems)

    def _exploded(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a row for each element of cells that are lists."""
        names = self.spec.get("lists", [])
        if not names:
            return frame
        self._require_columns("lists", names, frame)
        exploded = frame.copy()
        for name in names:
            cells = [file_types.as_list(cell) if cell.strip() else [] for cell in frame[name]]
            exploded[name] = pd.Series(cells, dtype=object)
            rule = "must be a list, as in [4, 5]: fix the cell"
            self._refuse_cells(frame, exploded[name].isna(), name, rule)
        sizes = exploded[names].map(len)
        uneven = sizes.min(axis=1) < sizes.max(axis=1)
        rule = f"must be as long as the list in {', '.join(names[1:])}: fix the row"
        self._refuse_cells(frame, uneven, names[0], rule)
        exploded = exploded.explode(names).dropna(subset=names)
        exploded["position"] = (exploded.groupby(level=0).cumcount() + 1).astype("str")
        return exploded.reset_index(drop=True).astype(dict.fromkeys(names, "str"))

    def _filled(self, text: str, frame: pd.DataFrame) -> pd.Series:
        """Fill the braces of a template with the cells of each row."""
        names = [name for name in dict.fromkeys(column_names.in_braces(text)) if name not in frame]
        for name in names:
            self._require_columns("constants", [name], self.file_columns)
        cells = self.opened.rows.loc[frame["{at}"], names].set_axis(frame.index)
        return column_names.fill_braces(text, pd.concat([frame, cells], axis=1))

    def _summed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Sum the values of rows that are otherwise equal, such as the errors in one text."""
        self._require_columns("sum", ["value"], frame)
        numbers, bad, _ = csv_files.convert(frame["value"], "float")
        rule = "must be a number: fix it, or map it to one in `values`"
        self._refuse_cells(frame, bad | ~np.isfinite(numbers), "value", rule)
        same = [name for name in frame if name in self.ours and name != "value"]
        rule_of = {"value": "sum", "{at}": "first"}
        sums = frame.assign(value=numbers).groupby(same, sort=False, as_index=False).agg(rule_of)
        return sums.assign(value=[repr(float(number)) for number in sums["value"]])


def _replaced(cells: pd.Series, changed: Mapping[str, str]) -> pd.Series:
    """Replace cells by their exact entry in a map, or by the first entry whose stars match."""
    patterns = {old: ".*".join(map(re.escape, old.split("*"))) for old in changed if "*" in old}
    new_of = {}
    for cell in cells.unique():
        fits = (old for old in patterns if re.fullmatch(patterns[old], cell, re.DOTALL))
        new_of[cell] = next((changed[old] for old in fits), cell)
    return cells.map(new_of | dict(changed))


def _identify(path: Path, raws: RawTables, extra: Sequence[str], problems: list[str]) -> None:
    """Add ids where files have only items and systems, and outputs where no file has them."""
    places = ["item_id", "system"]
    for table in [table for table in raws if "{repeat}" in raws[table].frame]:
        frame = raws[table].frame
        repeats = frame.pop("{repeat}")
        ids = frame["item_id"] + "/" + frame["system"] + ("/" + repeats).where(repeats != "", "")
        raws[table] = raws[table]._replace(frame=frame.assign(output_id=ids))
    if "outputs" not in raws:
        pairs = [
            raw.frame.rename(columns={system: "system"}).filter([*places, *extra])
            for table, raw in raws.items()
            for new, system in _PAIRED[table].items()
            if new not in raw.frame and {"item_id", system} <= set(raw.frame)
        ]
        if not pairs:
            problems.append(
                f"{path} describes no outputs. Name the file that has output_id, item_id and "
                "system under `tables: outputs:`, or map item_id and system in another table."
            )
            return
        derived = records.completed(pd.concat(pairs, ignore_index=True).fillna(""), places)
        derived = derived.drop_duplicates(ignore_index=True)
        raws["outputs"] = RawTable(derived, f"{path}, outputs derived from other tables")
    outputs = raws["outputs"].frame
    if "output_id" not in outputs:
        outputs = outputs.assign(output_id=outputs["item_id"] + "/" + outputs["system"])
        raws["outputs"] = raws["outputs"]._replace(frame=outputs)
    several = outputs[outputs.duplicated(places)]
    if len(several):
        item, name = several.iloc[0][places]
        same = (outputs["item_id"] == item) & (outputs["system"] == name)
        texts = outputs[same].get("text", pd.Series(dtype="str")).unique()
        remedy = "If only extra columns differ, remove them from `settings: extra` instead."
        if len(texts) > 1:
            remedy = f"Their texts differ: {brief(texts[0])} and {brief(texts[1])}."
    ids = outputs.drop_duplicates(places).set_index(places)["output_id"]
    for table in [table for table in raws if _PAIRED[table] and table != "outputs"]:
        raw = raws[table]
        frame = raw.frame
        for new, system in _PAIRED[table].items():
            if new in frame:
                continue
            if not {"item_id", system} <= set(frame):
                problems.append(
                    f"{raw.where}: {table} needs {new}, or item_id and {system} instead: map "
                    f"their columns in {FILE}. Found {some(raw.file_columns)}."
                )
                continue
            if len(several):
                problems.append(
                    f"{raw.where}: {table} identifies outputs by item_id and {system}, but outputs "
                    f"has several rows for system {name!r} on item {item!r}. The second is row "
                    f"{raws['outputs'].locate(int(several.index[0]))}; repeated rows in all: "
                    f"{len(several):,}. Add output_id to both tables. {remedy}"
                )
            ids_found = ids.reindex(pd.MultiIndex.from_frame(frame[["item_id", system]]))
            named = frame["item_id"] + "/" + frame[system]
            frame = frame.assign(**{new: ids_found.set_axis(frame.index).fillna(named)})
        columns = [name for name in frame if name in schema.columns(table)]
        raws[table] = raw._replace(frame=frame[columns])


def rename_annotators(raws: RawTables) -> None:
    """Rename annotators to w001, w002, ... by first appearance, unless all have such names."""
    having = [table for table in ("judgments", "preferences") if table in raws]
    having = [table for table in having if "annotator_id" in raws[table].frame]
    if not having:
        return
    named = pd.concat([raws[table].frame["annotator_id"] for table in having]).unique()
    who = [name for name in named if name.strip()]
    if who == [PLACEHOLDER] or all(re.fullmatch(r"w\d{3,}", name) for name in who):
        return
    new = {name: f"w{number:03d}" for number, name in enumerate(who, 1)}
    for table in having:
        frame = raws[table].frame
        ids = frame["annotator_id"].map(lambda name: new.get(name, "")).astype("str")
        raws[table] = raws[table]._replace(frame=frame.assign(annotator_id=ids))


def declare_directions(raws: RawTables, settings: dict[str, Any]) -> None:
    """Record in the signatures of scores which evaluators `lower_is_better` names."""
    judged = [raws[name].frame for name in ("judgments", "preferences") if name in raws]
    dimensions = {name for frame in judged for name in frame.get("dimension", [])}
    lower = [name for name in settings.get("lower_is_better", ()) if name not in dimensions]
    for table in ("scores", "system_scores") if lower else ():
        if table not in raws or "evaluator" not in raws[table].frame:
            continue
        frame = raws[table].frame
        is_lower = frame["evaluator"].isin(lower)
        signature = frame.get("signature", pd.Series("", frame.index))
        declared = (signature + "|direction:lower").str.lstrip("|")
        frame = frame.assign(signature=declared.where(is_lower, signature).astype("str"))
        raws[table] = raws[table]._replace(frame=frame)
        moved = {*frame["evaluator"][is_lower]}
        lower = settings["lower_is_better"]
        settings["lower_is_better"] = [name for name in lower if name not in moved]
