"""study.yml: which files of a folder are which tables, and what their columns are called there."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean
from nlgbench.study import csv_files, formats, schema, settings
from nlgbench.study.csv_files import TableError
from nlgbench.study.schema import Raw

FILE = "study.yml"

TABLES = (
    *("outputs", "judgments", "preferences", "logprobs", "references", "contexts", "scores"),
    *("system_scores", "comparisons"),
)

#: The column that the names of several columns go to, in long form.
_NAMES = {
    "outputs": "system",
    "judgments": "dimension",
    "preferences": "dimension",
    "logprobs": "model",
    "references": "reference_id",
    "scores": "evaluator",
    "system_scores": "evaluator",
    "comparisons": "comparator",
}
#: What may stand for an output's id: its item and its system.
_PAIRED = {
    "outputs": {"output_id": "system"},
    "judgments": {"output_id": "system"},
    "logprobs": {"output_id": "system"},
    "scores": {"output_id": "system"},
    "preferences": {"output_a": "system_a", "output_b": "system_b"},
    "comparisons": {"output_a": "system_a", "output_b": "system_b"},
}
#: Where an empty cell of a wide table is nothing, not something undefined.
_MEASURES = {"judgments": "value", "preferences": "choice", "references": "text"}

_KEYS = {
    "file": "a text or a list of texts",
    "format": "a text",
    "delimiter": "a text",
    "keys": "a list of texts",
    "rows": "a text",
    "only": "names, each with a text or a list of texts",
    "columns": "names, each with a column, a list of columns, or names with columns",
    "lists": "a list of texts",
    "separator": "a text",
    "constants": "names, each with a text",
    "values": "names, each with texts and what these become",
    "sum": "true or false",
}
_TOP = {"name": "a text", "settings": "a mapping", "tables": "a mapping"}

#: Words of a column's name that tell who somebody is; of these, the first two rows identify a
#: person, so that only an annotator's id may come from it.
_IDENTIFYING = {
    *("ip", "email", "mail", "phone", "latitude", "longitude", "lat", "lon", "lng"),
    *("telephone", "mobile", "ipaddress", "useragent", "fingerprint", "geolocation"),
}
_PERSONAL = {
    *_IDENTIFYING,
    *("browser", "city", "zip", "zipcode", "postcode", "age", "gender", "sex", "nationality"),
    *("ethnicity", "birthday", "birthdate", "birthyear", "dob", "country", "address", "timezone"),
}
_PEOPLE = {"worker", "participant", "prolific", "assignment", "annotator", "turker"}
_NAMED = {"first", "last", "full", "user"}


#: Words of a column's name whose equal values several items may share.
_GROUPS = {
    *("doc", "document", "article", "passage", "source", "prompt", "story", "talk", "topic"),
    *("dialog", "dialogue", "conversation"),
}


def personal(columns: Iterable[str]) -> list[str]:
    """Name the columns that look as if they told who somebody is."""
    return [name for name in columns if _identifies(name) or _words(name) & _PERSONAL]


def _identifies(name: str) -> bool:
    words = _words(name)
    names = {f"{one}name" for one in _NAMED}
    who = {f"{one}{last}" for one in _PEOPLE for last in ("id", "pid", "name")}
    return (
        bool(words & (_IDENTIFYING | names | who))
        or ("name" in words and bool(words & _NAMED))
        or (bool(words & {"id", "pid", "name"}) and bool(words & _PEOPLE))
    )


def _words(name: str) -> set[str]:
    """List the words of a name in lower case, and each two that follow one another as one."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    words = [one for one in re.split(r"[^a-z0-9]+", parted.lower()) if one]
    return {*words, *map("".join, itertools.pairwise(words))}


def about(place: Path, problems: list[str]) -> dict[str, Any]:
    """Read a folder's study.yml, keeping of it what is right: name, settings and tables."""
    path = place / FILE
    written = load_yaml(path)
    if not isinstance(written, dict):
        raise TableError(
            f"{path} must hold names with values, such as `tables:`; got {brief(written)}. "
            "`nlgbench new` in an empty folder writes one to fill in."
        )
    said = _right(written, _TOP, str(path), problems)
    where = f"{path}, settings"
    said["settings"], found = settings.settled(
        settings.from_texts(said.get("settings") or {}), where
    )
    problems += found
    if "tables" in said:
        where = f"{path}, tables"
        known = dict.fromkeys(TABLES, "a mapping")
        tables = _right(said["tables"] or {}, known, where, problems)
        said["tables"] = {
            table: _right(spec or {}, _KEYS, f"{where}: {table}", problems)
            for table, spec in tables.items()
        }
        if not said["tables"]:
            problems.append(f"{path}: `tables` names none; name at least outputs or judgments.")
    return said


def read(
    place: Path, said: Mapping[str, Any], problems: list[str]
) -> tuple[dict[str, Raw], list[str]]:
    """Read the tables that study.yml names, and say what is to be noted."""
    declared = said["tables"]
    raws: dict[str, Raw] = {}
    notes: list[str] = []
    private: dict[Path, dict[str, bool]] = {}  # file -> personal column -> is it read?
    for table, spec in declared.items():
        extra = said["settings"].get("extra", []) if table == "outputs" else []
        of_table: list[str] = []
        found = _table(place, table, spec, extra, problems, notes, private, of_table)
        if not said["settings"].get("clusters") and table == next(iter(declared)):
            notes += of_table
        if found is not None:
            raws[table] = found
    for path, columns in private.items():
        if unread := [name for name, is_read in columns.items() if not is_read]:
            notes.append(f"{path}: looks personal, is not read: {', '.join(unread)}.")
    numbered = [table for table, raw in raws.items() if _are_positions(declared[table], raw.frame)]
    if numbered and said["settings"].setdefault("annotators", "positions") == "positions":
        notes.append(
            f"annotators of {', '.join(numbered)} are made from positions, which need not be "
            "persons: intervals are for these annotators only. If each position is one person, set "
            "settings: annotators: persons."
        )
    whole = set(raws) >= set(declared)
    if whole and declared:  # else what lacks is said already, and this would follow from it
        _identify(place / FILE, raws, problems)
    for table, raw in raws.items():
        if table in _PAIRED and table != "outputs":
            known = set(schema.columns(table))
            frame = raw.frame[[name for name in raw.frame if name in known]]
            unknown = set() if whole else set(_PAIRED[table]) - set(frame)
            raws[table] = raw._replace(frame=frame, lost=raw.lost | unknown)
    return {one: raws[one] for one in TABLES if one in raws}, notes


def _are_positions(spec: Mapping[str, Any], frame: pd.DataFrame) -> bool:
    """Say whether annotators' ids are positions: in a list, in a file, or in columns' names."""
    if "annotator_id" not in frame or frame.empty:
        return False
    ids = frame["annotator_id"].drop_duplicates()
    made_of = set(re.findall(r"\{(\w+)\}", spec.get("constants", {}).get("annotator_id", "")))
    if made_of & {"position", "row"}:
        return True
    theirs = [their for their in spec.get("columns", {}).values() if isinstance(their, str)]
    captured = {name for their in theirs for name in re.findall(r"\{(\w+)\}", their)}
    if "annotator_id" in captured:
        parts = [re.fullmatch(r"(\D*)\d+", one) for one in ids]
        return all(parts) and len({part[1] for part in parts if part}) == 1
    return bool(made_of & captured) and bool(ids.str.contains(r"\d$").all())


def _right(
    written: Mapping[str, Any], known: Mapping[str, str], where: str, problems: list[str]
) -> dict[str, Any]:
    right = {}
    for key, value in written.items():
        if key not in known:
            problems.append(
                f"{where}: {brief(key)} is unknown.{did_you_mean(key, known)} There are: "
                f"{', '.join(known)}."
            )
        elif not _SHAPES[known[key]](value):
            problems.append(f"{where}: {key} must be {known[key]}. Got {brief(value)}.")
        else:
            right[key] = value
    return right


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _named(inner: Any) -> Any:
    return lambda value: isinstance(value, dict) and all(map(inner, value.values()))


_SHAPES = {
    "a text": _is_text,
    "a mapping": lambda value: value == "" or isinstance(value, dict),
    "a list of texts": _are_texts,
    "a text or a list of texts": lambda value: _is_text(value) or _are_texts(value),
    "true or false": lambda value: value in ("true", "false"),
    "names, each with a text": _named(lambda one: isinstance(one, str)),
    _KEYS["only"]: _named(lambda one: isinstance(one, str) or _are_texts(one)),
    _KEYS["columns"]: _named(
        lambda one: _is_text(one) or _are_texts(one) or (bool(one) and _named(_is_text)(one))
    ),
    _KEYS["values"]: _named(_named(lambda one: isinstance(one, str))),
}


def load_yaml(path: Path) -> Any:
    """Read YAML whose values are all texts: an id 007, or a system No, is what was written."""
    import yaml  # type: ignore[import-untyped]

    class Loader(yaml.BaseLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(None, None, "aliases are not read", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if key.value in seen if isinstance(key.value, str) else True:
                    shown = key.value if isinstance(key.value, str) else "a list or mapping"
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{shown!r} stands twice, or is no name", key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(csv_files.read_text(path), Loader=Loader)
    except RecursionError:
        raise TableError(f"{path} is nested too deep to be read: mend it.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise TableError(
            f"{path}{line} is no YAML: {what}. Texts with a colon, braces, or `#` go in quotes."
        ) from None


def _table(
    place: Path,
    table: str,
    spec: Mapping[str, Any],
    extra: Sequence[str],
    problems: list[str],
    notes: list[str],
    private: dict[Path, dict[str, bool]],
    grouping: list[str],
) -> Raw | None:
    about = f"{place / FILE}, tables: {table}"
    ours = [*schema.columns(table), *extra]
    for replaced, system in _PAIRED.get(table, {}).items():
        ours += [name for name in ("item_id", system) if name not in ours and replaced in ours]
    if not _declared_rightly(table, spec, ours, about, problems):
        return None
    paths = _paths(place, table, spec, about, problems)
    parts: list[pd.DataFrame] = []
    lines: list[str] = []
    called: dict[str, str] = {}
    lost: set[str] = set()
    of_constants = {
        name
        for one in spec.get("constants", {}).values()
        for name in re.findall(r"\{([^{}]+)\}", one)
    }
    for path in paths:
        kind = spec.get("format") or formats.guess(path)
        if kind not in formats.ENDINGS:
            known = ", ".join(formats.ENDINGS)
            problems.append(f"{about}: {path.name} is of no known format: set format: {known}.")
            continue
        asked = {name: spec[name] for name in ("delimiter", "keys", "rows") if name in spec}
        try:
            theirs, places = formats.read(path, kind, problems=problems, **asked)
        except (TableError, OSError) as error:
            problems += getattr(error, "problems", [str(error)])
            continue
        files.note_read(path)
        if table == "contexts":  # whose features are whatever a study has
            features = spec.get("columns", {**dict.fromkeys(theirs.columns)})
            ours += [name for name in features if name not in ours]
        one = _OneFile(path, table, theirs, places, spec, ours, about, problems, notes)
        frame = one.long()
        called |= one.called
        lost |= one.lost
        said = private.setdefault(place / _shown(spec, table), {})
        is_read = {*one.called.values(), *of_constants, *spec.get("only", {}), *ours}
        for name in personal(theirs.columns):
            said[name] = said.get(name, False) or name in is_read
        if len(paths) == 1:
            grouping += _grouping(path, one.theirs, frame, is_read)
        before = f"{path.name}, " if len(paths) > 1 else ""
        lines += [f"{before}{places[at]}" for at in frame["{at}"]]
        parts.append(frame[[name for name in frame if name in ours]])
    if not parts:
        return None
    whole = pd.concat(parts, ignore_index=True).fillna("").astype("str")
    if table in ("outputs", "references", "contexts"):
        # Files with a row per judgment say the same of an output many times.
        again = whole.duplicated().to_numpy()
        if again.any():
            whole = whole[~again].reset_index(drop=True)
            lines = [line for line, left_out in zip(lines, again, strict=True) if not left_out]
    where = str(paths[0]) if len(paths) == 1 else str(place / _shown(spec, table))
    there = list(map(str, theirs.columns))
    optional = {*schema.DEFAULTS.get(table, ()), *_PAIRED.get(table, ()), "is_human"}
    lacking = [
        name
        for name in schema.columns(table)
        if not (name in whole or name in lost or name in optional)
    ]
    if lacking:
        problems.append(
            f"{where}: {table} has no column{'s' * (len(lacking) > 1)} "
            f"{', '.join(map(repr, lacking))}: name the file's under `columns` in {FILE}, or "
            f"under `constants`.{did_you_mean(lacking[0], there)} Found {_some(there)}."
        )
    return Raw(whole, where, lines, called, frozenset(lost | {*lacking}), there)


def _grouping(
    path: Path, theirs: pd.DataFrame, frame: pd.DataFrame, is_read: set[str]
) -> list[str]:
    """Name the columns that are not read and group items, such as documents."""
    found = []
    for name in map(str, theirs.columns if "item_id" in frame else ()):
        if name in is_read or not _words(name) & _GROUPS:
            continue
        groups = frame[["item_id"]].assign(group=theirs[name].loc[frame["{at}"]].to_numpy())
        groups = groups.drop_duplicates()
        n, n_items = groups["group"].nunique(), groups["item_id"].nunique()
        if groups["item_id"].is_unique and 1 < n <= n_items / 2:
            found.append(
                f"{path}: {n_items:,} items have {n:,} values of {name}, which is not read: if "
                f"items of one {name} are alike, read it with outputs and set settings: extra: "
                f"[{name}] and clusters: {name}."
            )
    return found


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:40]) or "none"
    return shown + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def _shown(spec: Mapping[str, Any], table: str) -> str:
    pattern = spec.get("file", f"{table}.csv")
    return pattern if isinstance(pattern, str) else ", ".join(pattern)


def _declared_rightly(
    table: str, spec: Mapping[str, Any], ours: list[str], about: str, problems: list[str]
) -> bool:
    """Check what can be known of a table's lines without its files."""
    found = []
    for key in ("columns", "constants"):
        for name in spec.get(key, {}):
            if name not in ours and table != "contexts":
                found.append(
                    f"{about}: {key}: {name!r} is no column of {table}."
                    f"{did_you_mean(name, ours)} There are: {', '.join(ours)}."
                )
            if key == "constants" and name in spec.get("columns", {}):
                found.append(f"{about}: {name!r} stands in columns and in constants: keep one.")
    if spec.get("format", "csv") not in formats.ENDINGS:
        hint = did_you_mean(spec["format"], formats.ENDINGS)
        found.append(
            f"{about}: format {spec['format']!r} is unknown.{hint} There are: "
            f"{', '.join(formats.ENDINGS)}."
        )
    if len(spec.get("delimiter", ",")) > 1:
        found.append(f"{about}: delimiter must be one character. Got {spec['delimiter']!r}.")
    if spec.get("sum") == "true" and table != "judgments":
        found.append(f"{about}: `sum` adds up the values of judgments: leave it out here.")
    sources = {
        our: [re.sub(r"\{\w+\}", " ", their)]
        if isinstance(their, str)
        else list(_columns_of(their).values())
        for our, their in spec.get("columns", {}).items()
    }
    sources |= {
        our: re.findall(r"\{([^{}]+)\}", one) for our, one in spec.get("constants", {}).items()
    }
    for our, theirs in sources.items():
        telling = [one for one in theirs if _identifies(one)]
        if telling and our != "annotator_id" and telling[0] != our:
            found.append(
                f"{about}: {our} comes from {telling[0]!r}, which looks personal: only "
                "annotator_id may, which becomes w001, w002, ...; leave it out."
            )
    problems += found
    return not found


def _columns_of(their: list[str] | dict[str, str]) -> dict[str, str]:
    return their if isinstance(their, dict) else {name: name for name in their}


def _paths(
    place: Path, table: str, spec: Mapping[str, Any], about: str, problems: list[str]
) -> list[Path]:
    named = spec.get("file", f"{table}.csv")
    paths: list[Path] = []
    for name in [named] if isinstance(named, str) else named:
        if (place / name).is_file():
            paths.append(Path(os.path.normpath(place / name)))
            continue
        found = sorted(glob.glob(name, root_dir=place, recursive=True))  # noqa: PTH207, absolute too
        found = [one for one in found if os.path.isfile(place / one)]  # noqa: PTH113
        if not found:
            home = (place / name).parent
            there = [one.name for one in home.iterdir()] if home.is_dir() else []
            hint = did_you_mean(Path(name).name, there)
            problems.append(f"{about}: no file {place / name}.{hint} Name it with `file`.")
        paths += [Path(os.path.normpath(place / one)) for one in found]
    return paths


class _OneFile:
    """A file's rows on their way to a table: renamed, filtered, made long."""

    def __init__(
        self,
        path: Path,
        table: str,
        theirs: pd.DataFrame,
        places: list[str],
        spec: Mapping[str, Any],
        ours: list[str],
        about: str,
        problems: list[str],
        notes: list[str],
    ) -> None:
        self.path, self.table, self.theirs, self.places = path, table, theirs, places
        self.spec, self.ours, self.about = spec, ours, about
        self.problems, self.notes = problems, notes
        self.called: dict[str, str] = {}
        self.lost: set[str] = set()
        doubled = theirs.columns[theirs.columns.duplicated()]
        if len(doubled):
            problems.append(f"{path} has two columns {doubled[0]!r}: rename one.")
            self.theirs = theirs.loc[:, ~theirs.columns.duplicated()]

    def long(self) -> pd.DataFrame:
        """Give our columns, with `{at}`, the number of the row in the file."""
        kept, captured = self._only()
        single, several = self._resolved(captured)
        frame = pd.DataFrame({our: kept[their] for our, their in single.items()}, index=kept.index)
        frame = frame.assign(**{"{at}": kept.index})
        if several is not None:
            wide = [name for name in map(str, several) if name in self.spec["columns"]]
            captured_names = [name for name in map(str, several) if name not in wide]
            parts = [
                frame.assign(
                    **{name: kept[one[name]] for name in wide},
                    **{_own(name, self.ours): one[name] for name in captured_names},
                )
                for one in several.to_dict("records")
            ]
            frame = pd.concat(parts).sort_index(kind="stable") if parts else frame.iloc[:0]
        frame = self._exploded(frame.reset_index(drop=True))
        measure = _MEASURES.get(self.table)
        if (several is not None or "lists" in self.spec) and measure in frame:
            empty = frame[measure].str.strip() == ""
            if empty.any():
                shown = f"{int(empty.sum()):,} empty cells are no {self.table}"
                self.notes.append(f"{self.path}: {shown}.")
                frame = frame[~empty].reset_index(drop=True)
        for our, text in self.spec.get("constants", {}).items():
            frame[our] = self._filled(our, text, frame)
        for our, changed in self.spec.get("values", {}).items():
            self._replace(frame, our, changed)
        return self._summed(frame) if self.spec.get("sum") == "true" else frame

    def _only(self) -> tuple[pd.DataFrame, dict[str, list[str]]]:
        """Keep the rows that are asked for; what `only` says of captured names comes later."""
        kept, captured = self.theirs, {}
        for name, allowed in self.spec.get("only", {}).items():
            listed = [allowed] if isinstance(allowed, str) else allowed
            if name in self.theirs:
                kept = kept[kept[name].isin(listed)]
            else:
                captured[name] = listed
        if kept.empty and len(self.theirs):
            self.problems.append(
                f"{self.about}: `only` keeps no row of {self.path}: check what it asks for."
            )
        return kept, captured

    def _resolved(
        self, captured: dict[str, list[str]]
    ) -> tuple[dict[str, str], pd.DataFrame | None]:
        """Find the columns that the map names: our column -> theirs, and a grid of several."""
        there = set(self.theirs.columns)
        spec = self.spec
        taken = {*spec.get("columns", {}), *spec.get("constants", {})}
        single = {name: name for name in self.ours if name in there and name not in taken}
        grids, missing = [], {}
        for our, their in spec.get("columns", {}).items():
            if isinstance(their, str) and their in there:
                single[our] = their
            elif isinstance(their, str) and re.search(r"\{\w+\}", their):
                grid = _captures(our, their, list(self.theirs.columns))
                for name, listed in captured.items():
                    grid = grid[grid[name].isin(listed)] if name in grid else grid
                if grid.empty:
                    missing[our] = [their]
                grids.append(grid)
            elif isinstance(their, str):
                missing[our] = [their]
            else:
                named = _columns_of(their)
                if lost := [one for one in named.values() if one not in there]:
                    missing[our] = lost
                named = {name: one for name, one in named.items() if one in there}
                names = _NAMES.get(self.table, "name")
                grids.append(pd.DataFrame({names: list(named), our: list(named.values())}))
        self.called = {
            our: their for our, their in spec.get("columns", {}).items() if our in single
        }
        if missing:
            self.lost |= {our for our in missing if our not in {n for g in grids for n in g}}
            self._say_missing([one for lost in missing.values() for one in lost])
        made = set().union(*grids) - set(spec.get("columns", {})) if grids else set()
        if unknown := [name for name in captured if name not in made]:
            self._say_missing(unknown, "only")
        single = {our: their for our, their in single.items() if our not in made}
        if not grids:
            return single, None
        try:
            return single, functools.reduce(lambda one, other: one.merge(other), grids)
        except pd.errors.MergeError:
            self.problems.append(
                f"{self.about}: columns that stand for several must share what is in braces, as in "
                "system: Input.system_{slot} and value: Answer.rating_{slot}."
            )
            return single, grids[0]

    def _say_missing(self, names: list[str], key: str = "columns") -> None:
        there = list(map(str, self.theirs.columns))
        shown = ", ".join(map(repr, names))
        self.problems.append(
            f"{self.path} has no column{'s' * (len(names) > 1)} {shown}, which {FILE} names for "
            f"{self.table} ({key}).{did_you_mean(names[0], there)} Found {_some(there)}."
        )

    def _exploded(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a row of each element of the cells that are lists."""
        asked = [name for name in self.spec.get("lists", []) if name not in self.lost]
        if unknown := [name for name in asked if name not in frame]:
            self.problems.append(
                f"{self.about}: lists: {unknown[0]!r} is no column that is read."
                f"{did_you_mean(unknown[0], map(str, frame))} Name it in columns, too."
            )
        asked = [name for name in asked if name in frame]
        if not asked:
            return frame
        separator = self.spec.get("separator", "")
        listed = {
            name: pd.Series(
                [formats.as_list(cell, separator) if cell.strip() else [] for cell in frame[name]],
                dtype=object,
            )
            for name in asked
        }
        bad = np.zeros(len(frame), dtype=bool)
        for name, cells in listed.items():
            none = cells.isna().to_numpy()
            self._report(frame, none, name, "must be a list, as in [4, 5]; or set `separator`")
            bad |= none
        sizes = pd.DataFrame({name: cells[~bad].map(len) for name, cells in listed.items()})
        uneven = bad.copy()
        uneven[~bad] = sizes.nunique(axis=1).to_numpy() > 1
        self._report(
            frame, uneven & ~bad, asked[0], f"must be as long as {', '.join(asked[1:])}: mend it"
        )
        whole = frame.assign(**listed)[~(bad | uneven)].reset_index(drop=True)
        made = whole.explode(asked).dropna(subset=asked)
        made["{position}"] = (made.groupby(level=0).cumcount() + 1).astype("str")
        return made.reset_index(drop=True).astype(dict.fromkeys(asked, "str"))

    def _report(self, frame: pd.DataFrame, bad: np.ndarray, name: str, rule: str) -> None:
        rows = np.flatnonzero(bad)
        if len(rows):
            at, cell = frame["{at}"].iloc[rows[0]], frame[name].iloc[rows[0]]
            more = f"; and {len(rows) - 1:,} more" if len(rows) > 1 else ""
            self.problems.append(
                f"{self.path}: {self.table}, column {name!r} {rule}. Found row {at + 1} "
                f"({self.places[at]}): {brief(cell)}{more}."
            )

    def _filled(self, our: str, text: str, frame: pd.DataFrame) -> pd.Series:
        """Fill a text's braces with the cells of each row."""
        made = pd.Series("", index=frame.index, dtype="str")
        about = {"file": formats.stem(self.path), "folder": self.path.resolve().parent.name}
        for literal, name in re.findall(r"([^{]*)(?:\{([^{}]*)\})?", text):
            made = made + literal
            if not name:
                continue
            if name in frame:
                made = made + frame[name]
            elif _own(name, self.ours) in frame:
                made = made + frame[_own(name, self.ours)]
            elif name in about:
                made = made + about[name]
            elif name == "row":
                made = made + (frame["{at}"] + 1).astype("str")
            elif name in self.theirs:
                cells = self.theirs.loc[frame["{at}"], name]
                made = made + cells.set_axis(frame.index)
            else:
                there = [*frame, *about, "row", "position"]
                hint = did_you_mean(name, there)
                self.problems.append(
                    f"{self.about}: constants: {our}: {{{name}}} is no column here.{hint}"
                )
        return made

    def _replace(self, frame: pd.DataFrame, our: str, changed: Mapping[str, str]) -> None:
        name = our if our in frame else _own(our, self.ours)
        if name not in frame:
            if our not in self.lost:
                self.problems.append(
                    f"{self.about}: values: {our!r} is no column that is read."
                    f"{did_you_mean(our, map(str, frame))} Name it in columns, too."
                )
            return
        starred = [
            (re.compile(".*".join(map(re.escape, old.split("*"))), re.DOTALL), new)
            for old, new in changed.items()
            if "*" in old
        ]

        def change(cell: str) -> str:
            if cell in changed:
                return changed[cell]
            return next((new for old, new in starred if old.fullmatch(cell)), cell)

        frame[name] = frame[name].map({cell: change(cell) for cell in frame[name].unique()})

    def _summed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Add up the values of rows that are alike otherwise: a row per error becomes one."""
        if "value" not in frame:
            return frame
        numbers, bad, rule = csv_files.convert(frame["value"], "float")
        bad = bad | ~np.isfinite(numbers.to_numpy())
        way = "or say in `values` what it counts"
        self._report(frame, bad, "value", f"{rule.partition(':')[0]}: mend it, {way}")
        frame = frame.assign(value=numbers)[~bad]
        same = [name for name in frame if name in self.ours and name != "value"]
        rule_of = {"value": "sum", "{at}": "first"}
        made = frame.groupby(same, sort=False, as_index=False).agg(rule_of)
        return made.assign(value=[repr(float(one)) for one in made["value"]])


def _own(name: str, ours: list[str]) -> str:
    """Name the column of what was captured: ours, or in braces, where it is nobody's."""
    return name if name in ours else f"{{{name}}}"


def _captures(our: str, their: str, columns: list[str]) -> pd.DataFrame:
    """List the columns that fit a name with braces, with what stood in these."""
    seen: set[str] = set()
    pattern = ""
    for literal, name in re.findall(r"([^{]*(?:\{(?!\w+\})[^{]*)*)(?:\{(\w+)\})?", their):
        pattern += re.escape(literal)
        if name:
            pattern += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
            seen.add(name)
    fits = [(one, re.fullmatch(pattern, one, re.DOTALL)) for one in columns]
    found = [{**fit.groupdict(), our: one} for one, fit in fits if fit]
    return pd.DataFrame(found, columns=[*dict.fromkeys(re.findall(r"\{(\w+)\}", their)), our])


def _identify(path: Path, raws: dict[str, Raw], problems: list[str]) -> None:
    """Give ids where files know only items and systems, and outputs where no file has them."""
    paired = {
        table: {new: one for new, one in _PAIRED.get(table, {}).items() if new not in raw.frame}
        for table, raw in raws.items()
    }
    if "outputs" not in raws:
        pairs = [
            raws[table].frame[["item_id", system]].set_axis(["item_id", "system"], axis=1)
            for table, wanted in paired.items()
            for system in wanted.values()
            if {"item_id", system} <= set(raws[table].frame)
        ]
        if not pairs:
            if not any(raw.lost for raw in raws.values()):
                problems.append(
                    f"{path}: there are no outputs. Name the file that has output_id, item_id and "
                    "system under `tables: outputs:`, or item_id and system in another table."
                )
            return
        made = pd.concat(pairs, ignore_index=True).drop_duplicates(ignore_index=True)
        raws["outputs"] = Raw(made, f"{path}, outputs as other tables name them")
        paired["outputs"] = {"output_id": "system"}
    outputs = raws["outputs"].frame
    if paired["outputs"] and {"item_id", "system"} <= set(outputs):
        ids = outputs["item_id"] + "/" + outputs["system"]
        raws["outputs"] = raws["outputs"]._replace(frame=outputs.assign(output_id=ids))
    outputs = raws["outputs"].frame
    if not {"output_id", "item_id", "system"} <= set(outputs):
        return
    by = ["item_id", "system"]
    several = outputs[outputs.duplicated(by)]
    ids = outputs.drop_duplicates(by).set_index(by)["output_id"]
    for table, wanted in paired.items():
        raw = raws[table]
        if table == "outputs":
            continue
        frame = raw.frame
        for new, system in wanted.items():
            if not {"item_id", system} <= set(frame):
                if not raw.lost:
                    problems.append(
                        f"{raw.where}: {table} needs {new}, or item_id and {system} instead: name "
                        f"their columns in {FILE}. Found {_some(raw.found)}."
                    )
                raw = raw._replace(lost=raw.lost | {new})
                continue
            if len(several):
                item, name = several.iloc[0][by]
                problems.append(
                    f"{raw.where}: {table} names outputs by item_id and {system}, but outputs has "
                    f"several of system {name!r} on item {item!r} ({len(several):,} more than "
                    "one): give both tables an output_id."
                )
            asked = pd.MultiIndex.from_frame(frame[["item_id", system]])
            found = ids.reindex(asked).to_numpy(dtype=object)
            unknown = pd.isna(found)
            found[unknown] = (frame["item_id"] + "/" + frame[system]).to_numpy(object)[unknown]
            frame = frame.assign(**{new: found}).astype({new: "str"})
        raws[table] = raw._replace(frame=frame)


def rename_annotators(raws: dict[str, Raw]) -> None:
    """Call annotators w001, w002, ... in order of first appearance, if not all are called so."""
    having = [one for one in ("judgments", "preferences") if one in raws]
    having = [one for one in having if "annotator_id" in raws[one].frame]
    if not having:
        return
    named = pd.concat([raws[one].frame["annotator_id"] for one in having]).unique()
    who = [name for name in named if name.strip()]
    if all(re.fullmatch(r"w\d{3,}", name) for name in who):
        return
    new = {name: f"w{number:03d}" for number, name in enumerate(who, 1)}
    for table in having:
        frame = raws[table].frame
        ids = frame["annotator_id"].map(lambda name: new.get(name, "")).astype("str")
        raws[table] = raws[table]._replace(frame=frame.assign(annotator_id=ids))


def turn(raws: dict[str, Raw], settings: dict[str, Any]) -> None:
    """Say in the signatures of evaluators that lower is better, and keep of the list dimensions."""
    of_people = [raws[one].frame for one in ("judgments", "preferences") if one in raws]
    dimensions = {one for frame in of_people for one in frame.get("dimension", [])}
    evaluators: set[str] = set()
    for table in ("scores", "system_scores"):
        if table not in raws or "evaluator" not in raws[table].frame:
            continue
        frame = raws[table].frame
        lower = set(settings.get("lower_is_better", ())) - dimensions
        evaluators |= lower & set(frame["evaluator"])
        said = frame["signature"] if "signature" in frame else pd.Series("", index=frame.index)
        turned = (said + "|direction:lower").str.lstrip("|")
        said = said.where(~frame["evaluator"].isin(lower), turned).astype("str")
        raws[table] = raws[table]._replace(frame=frame.assign(signature=said))
    if evaluators:
        kept = [name for name in settings["lower_is_better"] if name not in evaluators]
        settings["lower_is_better"] = kept
