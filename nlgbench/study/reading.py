"""study.yml: which files of a folder are which tables, and what their columns are called there."""

from __future__ import annotations

import functools
import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean
from nlgbench.study import csv_files, formats, schema, settings
from nlgbench.study.csv_files import TableError
from nlgbench.study.schema import Raw
from nlgbench.study.settings import Rules, right_of

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


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _named(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(inner, value.values()))


def _is_cell(value: Any) -> bool:
    return isinstance(value, str)


def _is_column(value: Any) -> bool:
    return _is_text(value) or _are_texts(value) or (bool(value) and _named(_is_text)(value))


_TEXT = ("a text", _is_text)
_TEXTS = ("a list of texts", _are_texts)
_MAPPING = ("a mapping", lambda value: value == "" or isinstance(value, dict))
_TOP: Rules = {"name": _TEXT, "settings": _MAPPING, "tables": _MAPPING}
_KEYS: Rules = {
    "file": ("a text or a list of texts", lambda value: _is_text(value) or _are_texts(value)),
    "format": _TEXT,
    "delimiter": ("one character", lambda value: _is_text(value) and len(value) == 1),
    "keys": _TEXTS,
    "rows": _TEXT,
    "only": (
        "names, each with a text or a list of texts",
        _named(lambda one: _is_cell(one) or _are_texts(one)),
    ),
    "columns": (
        "names, each with a column, a list of columns, or names with columns",
        _named(_is_column),
    ),
    "lists": _TEXTS,
    "constants": ("names, each with a text", _named(_is_cell)),
    "values": ("names, each with texts and what these become", _named(_named(_is_cell))),
    "sum": ("true or false", lambda value: value in ("true", "false")),
}

#: Words of a column's name that identify a person: only an annotator's id may come from it.
_IDENTIFYING = (
    "ip|e_?mail|mail|phone|telephone|mobile|latitude|longitude|lat|lon|lng|ip_?address|user_?agent|"
    "fingerprint|geolocation|(?:first|last|full|user)_?name|"
    "(?:worker|participant|prolific|assignment|annotator|turker)_?(?:id|pid|name)"
)
_PERSONAL = (
    "browser|city|zip|zipcode|postcode|age|gender|sex|nationality|ethnicity|birthday|birthdate|"
    "birthyear|dob|country|address|timezone"
)
#: Words of a column's name whose equal values several items may share.
_GROUPS = "doc|document|article|passage|source|prompt|story|talk|topic|dialog|dialogue|conversation"


def personal(columns: Iterable[str]) -> list[str]:
    """Name the columns that look personal."""
    return [name for name in columns if _has_word(name, f"{_IDENTIFYING}|{_PERSONAL}")]


def _has_word(name: str, words: str) -> bool:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return bool(re.search(rf"(?:^|_)(?:{words})(?:_|$)", re.sub(r"[^a-z0-9]+", "_", parted)))


def about(place: Path, problems: list[str]) -> dict[str, Any]:
    """Read a folder's study.yml, keeping of it what is right: name, settings and tables."""
    path = place / FILE
    written = load_yaml(path)
    if not isinstance(written, dict):
        raise TableError(
            f"{path} must hold names with values, such as `tables:`; got {brief(written)}. "
            "`nlgbench new` in an empty folder writes one to fill in."
        )
    said, found = right_of(written, _TOP, str(path))
    problems += found
    given = settings.from_texts(said.get("settings") or {})
    said["settings"], found = settings.settled(given, f"{path}, settings")
    problems += found
    if "tables" in said:
        where = f"{path}, tables"
        tables, found = right_of(said["tables"] or {}, dict.fromkeys(TABLES, _MAPPING), where)
        problems += found
        said["tables"] = {}
        for table, spec in tables.items():
            said["tables"][table], found = right_of(spec or {}, _KEYS, f"{where}: {table}")
            problems += found
        if not said["tables"]:
            problems.append(f"{path}: `tables` names none; name at least outputs or judgments.")
    return said


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
                name = key.value if isinstance(key.value, str) else "a list or mapping"
                if name in seen or name is not key.value:
                    what = f"{name!r} stands twice, or is no name"
                    raise yaml.constructor.ConstructorError(None, None, what, key.start_mark)
                seen.add(name)
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(csv_files.read_text(path), Loader=Loader)
    except RecursionError:
        raise TableError(f"{path} is nested too deep to be read: flatten it.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise TableError(
            f"{path}{line} is no YAML: {what}. Texts with a colon, braces, or `#` go in quotes."
        ) from None


def read(
    place: Path, said: Mapping[str, Any], problems: list[str]
) -> tuple[dict[str, Raw], list[str]]:
    """Read the tables that study.yml names, and list what is to be noted."""
    chosen = said["settings"]
    raws: dict[str, Raw] = {}
    notes: list[str] = []
    personal_columns: dict[str, set[str]] = {}  # file -> those that look personal
    read_columns: dict[str, set[str]] = {}
    for number, (table, spec) in enumerate(said["tables"].items()):
        extra = chosen.get("extra", []) if table == "outputs" else []
        one = _Table(place, table, spec, extra, problems)
        found = one.read()
        notes += one.notes
        personal_columns.setdefault(one.where, set()).update(one.personal)
        read_columns.setdefault(one.where, set()).update(one.is_read)
        if number == 0 and not chosen.get("clusters"):
            notes += one.grouping
        if found is None:
            continue
        raws[table] = found
        if one.has_positions(found.frame) and chosen.get("annotators") != "persons":
            chosen["annotators"] = "positions"
            notes.append(
                f"annotators of {table} are made from positions, which need not be persons: "
                "intervals are for these annotators only. If each position is one person, set "
                "settings: annotators: persons."
            )
    for where, names in personal_columns.items():
        if unread := sorted(names - read_columns[where]):
            notes.append(f"{where}: looks personal, is not read: {', '.join(unread)}.")
    if not problems:
        _identify(place / FILE, raws, problems)
    return {one: raws[one] for one in TABLES if one in raws}, notes


def grouped(items: pd.Series, groups: pd.Series) -> str:
    """Describe how a column groups items, such as documents; nothing where it does not."""
    pairs = pd.DataFrame({"item": items.to_numpy(), "group": groups.to_numpy()}).drop_duplicates()
    n, n_items = pairs["group"].nunique(), pairs["item"].nunique()
    if not pairs["item"].is_unique or not 1 < n <= n_items / 2:
        return ""
    return f"{n_items:,} items have {n:,} values of {groups.name}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:40]) or "none"
    return shown + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def _in_braces(text: str) -> list[str]:
    return re.findall(r"\{([^{}]+)\}", text)


class _Table:
    """A table on its way from the files that study.yml names: opened, renamed, made long."""

    def __init__(
        self,
        place: Path,
        table: str,
        spec: Mapping[str, Any],
        extra: Sequence[str],
        problems: list[str],
    ) -> None:
        self.place, self.table, self.spec, self.problems = place, table, spec, problems
        self.about = f"{place / FILE}, tables: {table}"
        named = spec.get("file", f"{table}.csv")
        self.files = [named] if isinstance(named, str) else named
        self.where = str(place / ", ".join(self.files))
        self.columns: Mapping[str, Any] = spec.get("columns", {})
        self.constants: Mapping[str, str] = spec.get("constants", {})
        pairs = _PAIRED.get(table, {})
        self.ours = list(
            dict.fromkeys(
                [*schema.columns(table), *extra, *["item_id"] * bool(pairs), *pairs.values()]
            )
        )
        self.notes: list[str] = []
        self.grouping: list[str] = []
        self.personal: list[str] = []
        self.is_read = {
            *spec.get("only", {}),
            *self.ours,
            *(name for text in self.constants.values() for name in _in_braces(text)),
        }
        self.called: dict[str, str] = {}
        # Of the file at hand:
        self.path = place
        self.theirs = pd.DataFrame()
        self.places: list[str] = []

    def read(self) -> Raw | None:
        """Read all files, one below the other."""
        if not self._is_declared_rightly():
            return None
        parts: list[pd.DataFrame] = []
        lines: list[str] = []
        paths = self._paths()
        for self.path in paths:
            try:
                self._open()
                frame = self._long()
            except (TableError, OSError) as error:
                self.problems += getattr(error, "problems", [str(error)])
                continue
            self._look_at_unread(frame, alone=len(paths) == 1)
            before = f"{self.path.name}, " if len(paths) > 1 else ""
            lines += [f"{before}{self.places[at]}" for at in frame["{at}"]]
            parts.append(frame[[name for name in frame if name in self.ours]])
        if not parts or len(parts) < len(paths):
            return None
        whole = pd.concat(parts, ignore_index=True).fillna("").astype("str")
        if self.table in ("outputs", "references", "contexts"):
            # Files with a row per judgment say the same of an output many times.
            again = whole.duplicated().to_numpy()
            whole = whole[~again].reset_index(drop=True)
            lines = [line for line, left_out in zip(lines, again, strict=True) if not left_out]
        where = str(paths[0]) if len(paths) == 1 else self.where
        there = list(map(str, self.theirs.columns))
        optional = {*schema.DEFAULTS.get(self.table, ()), *_PAIRED.get(self.table, ()), "is_human"}
        lacking = [name for name in schema.columns(self.table) if name not in {*whole, *optional}]
        if lacking:
            self.problems.append(
                f"{where}: {self.table} has no column{'s' * (len(lacking) > 1)} "
                f"{', '.join(map(repr, lacking))}: name the file's under `columns` in {FILE}, or "
                f"under `constants`.{did_you_mean(lacking[0], there)} Found {_some(there)}."
            )
        return Raw(whole, where, lines, self.called, there)

    def has_positions(self, frame: pd.DataFrame) -> bool:
        """Tell whether annotators' ids are positions: in a list, a file, or columns' names."""
        if "annotator_id" not in frame or frame.empty:
            return False
        ids = frame["annotator_id"].drop_duplicates()
        made_of = set(_in_braces(self.constants.get("annotator_id", "")))
        theirs = [their for their in self.columns.values() if isinstance(their, str)]
        captured = {name for their in theirs for name in _in_braces(their)}
        if "annotator_id" in captured:
            alike = len(set(ids.str.rstrip("0123456789"))) == 1
            return alike and bool(ids.str.fullmatch(r"\D*\d+").all())
        if made_of & {"position", "row"}:
            return True
        return bool(made_of & captured) and bool(ids.str.contains(r"\d$").all())

    def _is_declared_rightly(self) -> bool:
        """Check what can be known of a table's lines without its files."""
        found = []
        for key, names in (("columns", self.columns), ("constants", self.constants)):
            found += [
                f"{self.about}: {key}: {name!r} is no column of {self.table}."
                f"{did_you_mean(name, self.ours)} There are: {', '.join(self.ours)}."
                for name in names
                if name not in self.ours and self.table != "contexts"
            ]
        found += [
            f"{self.about}: {name!r} stands in columns and in constants: keep one."
            for name in self.constants
            if name in self.columns
        ]
        kind = self.spec.get("format", "csv")
        if kind not in formats.ENDINGS:
            found.append(
                f"{self.about}: format {kind!r} is unknown.{did_you_mean(kind, formats.ENDINGS)} "
                f"There are: {', '.join(formats.ENDINGS)}."
            )
        if self.spec.get("sum") == "true" and self.table != "judgments":
            found.append(f"{self.about}: `sum` adds up the values of judgments: leave it out here.")
        sources = {our: _in_braces(text) for our, text in self.constants.items()}
        for our, their in self.columns.items():
            plain = re.sub(r"\{\w+\}", " ", their) if isinstance(their, str) else their
            sources[our] = [plain] if isinstance(plain, str) else list(_columns_of(plain).values())
        for our, theirs in sources.items():
            telling = [one for one in theirs if _has_word(one, _IDENTIFYING)]
            if telling and our != "annotator_id" and telling[0] != our:
                found.append(
                    f"{self.about}: {our} comes from {telling[0]!r}, which looks personal: only "
                    "annotator_id may, which becomes w001, w002, ...; leave it out."
                )
        self.problems += found
        return not found

    def _paths(self) -> list[Path]:
        paths: list[Path] = []
        for name in self.files:
            named = [name] if (self.place / name).is_file() else []
            matching = named or glob.glob(name, root_dir=self.place, recursive=True)  # noqa: PTH207, absolute too
            found = sorted(one for one in matching if (self.place / one).is_file())
            if not found:
                home = (self.place / name).parent
                there = [one.name for one in home.iterdir()] if home.is_dir() else []
                hint = did_you_mean(Path(name).name, there)
                self.problems.append(
                    f"{self.about}: no file {self.place / name}.{hint} Name it with `file`."
                )
            paths += [Path(os.path.normpath(self.place / one)) for one in found]
        return paths

    def _open(self) -> None:
        kind = self.spec.get("format") or formats.guess(self.path)
        if kind not in formats.ENDINGS:
            raise TableError(
                f"{self.about}: {self.path.name} is of no known format: set format: "
                f"{', '.join(formats.ENDINGS)}."
            )
        asked = {
            name: self.spec[name] for name in ("delimiter", "keys", "rows") if name in self.spec
        }
        theirs, self.places = formats.read(self.path, kind, problems=self.problems, **asked)
        files.note_read(self.path)
        doubled = theirs.columns.duplicated()
        if doubled.any():
            name = theirs.columns[doubled][0]
            self.problems.append(f"{self.path} has two columns {name!r}: rename one.")
        self.theirs = theirs.loc[:, ~doubled]
        if self.table == "contexts":  # whose features are whatever a study has
            features = self.columns or theirs.columns
            self.ours += [name for name in features if name not in self.ours]

    def _look_at_unread(self, frame: pd.DataFrame, *, alone: bool) -> None:
        """Note the columns that look personal, and those that group items and are not read."""
        self.is_read |= {*self.called.values(), *self.ours}
        there = list(map(str, self.theirs.columns))
        self.personal += personal(there)
        for name in there if alone and "item_id" in frame else ():
            if name in self.is_read or not _has_word(name, _GROUPS):
                continue
            if said := grouped(frame["item_id"], self.theirs[name].loc[frame["{at}"]]):
                self.grouping.append(
                    f"{self.path}: {said}, which is not read: if items of one {name} are alike, "
                    f"read it with outputs and set settings: extra: [{name}] and clusters: {name}."
                )

    def _long(self) -> pd.DataFrame:
        """Give our columns, with `{at}`, the number of the row in the file."""
        kept, captured = self._only()
        single, several = self._resolved(captured)
        frame = pd.DataFrame({our: kept[their] for our, their in single.items()}, index=kept.index)
        frame = frame.assign(**{"{at}": kept.index})
        if several is not None:
            wide = [name for name in map(str, several) if name in self.columns]
            inner = {name: _own(name, self.ours) for name in map(str, several) if name not in wide}
            parts = [
                frame.assign(
                    **{name: kept[one[name]] for name in wide},
                    **{own: one[name] for name, own in inner.items()},
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
        for our, text in self.constants.items():
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
        there = list(map(str, self.theirs.columns))
        single: dict[str, str] = {}
        grids, missing = [], []
        for our, their in self.columns.items():
            if isinstance(their, str) and their in there:
                single[our] = their
            elif isinstance(their, str) and re.search(r"\{\w+\}", their):
                grid = _captures(our, their, there)
                for name, listed in captured.items():
                    grid = grid[grid[name].isin(listed)] if name in grid else grid
                missing += [their] * grid.empty
                grids.append(grid)
            else:
                named = _columns_of([their] if isinstance(their, str) else their)
                missing += [one for one in named.values() if one not in there]
                names = _NAMES.get(self.table, "name")
                grids.append(pd.DataFrame({names: list(named), our: list(named.values())}))
        made = set().union(*grids) - set(self.columns) if grids else set()
        unknown = [name for name in captured if name not in made]
        problems = [self._missing(missing, "columns"), self._missing(unknown, "only")]
        if any(problems):
            raise TableError(*filter(None, problems))
        self.called |= single
        taken = {*self.columns, *self.constants, *made}
        same = {name: name for name in self.ours if name in there and name not in taken}
        single = {our: their for our, their in single.items() if our not in made}
        if not grids:
            return same | single, None
        try:
            return same | single, functools.reduce(pd.merge, grids)
        except pd.errors.MergeError:
            raise TableError(
                f"{self.about}: columns that stand for several must share what is in braces, as in "
                "system: Input.system_{slot} and value: Answer.rating_{slot}."
            ) from None

    def _missing(self, names: list[str], key: str) -> str:
        there = list(map(str, self.theirs.columns))
        if not names:
            return ""
        return (
            f"{self.path} has no column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}, "
            f"which {FILE} names for {self.table} ({key}).{did_you_mean(names[0], there)} Found "
            f"{_some(there)}."
        )

    def _refuse_unread(self, key: str, name: str, frame: pd.DataFrame) -> None:
        if name not in frame:
            raise TableError(
                f"{self.about}: {key}: {name!r} is no column that is read."
                f"{did_you_mean(name, map(str, frame))} Name it in columns, too."
            )

    def _exploded(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a row of each element of the cells that are lists."""
        asked = self.spec.get("lists", [])
        if not asked:
            return frame
        listed = frame[[]].copy()
        for name in asked:
            self._refuse_unread("lists", name, frame)
            cells = [formats.as_list(cell) if cell.strip() else [] for cell in frame[name]]
            listed[name] = pd.Series(cells, dtype=object)
        bad = listed.isna()
        for name in asked:
            self._report(frame, bad[name].to_numpy(), name, "must be a list, as in [4, 5]: mend it")
        sizes = listed.map(len, na_action="ignore")
        uneven = (~bad.any(axis=1) & (sizes.min(axis=1) < sizes.max(axis=1))).to_numpy()
        rule = f"must be as long as {', '.join(asked[1:])}: mend it"
        self._report(frame, uneven, asked[0], rule)
        whole = frame.assign(**listed)[~(bad.any(axis=1).to_numpy() | uneven)]
        made = whole.reset_index(drop=True).explode(asked).dropna(subset=asked)
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
            if name in frame or _own(name, self.ours) in frame:
                made = made + frame[name if name in frame else _own(name, self.ours)]
            elif name in about:
                made = made + about[name]
            elif name == "row":
                made = made + (frame["{at}"] + 1).astype("str")
            elif name in self.theirs:
                made = made + self.theirs.loc[frame["{at}"], name].set_axis(frame.index)
            elif name:
                hint = did_you_mean(name, [*frame, *about, "row", "position"])
                self.problems.append(
                    f"{self.about}: constants: {our}: {{{name}}} is no column here.{hint}"
                )
        return made

    def _replace(self, frame: pd.DataFrame, our: str, changed: Mapping[str, str]) -> None:
        """Change cells by a map of values, whose stars stand for any text."""
        name = _own(our, self.ours)
        name = name if name in frame else our
        self._refuse_unread("values", name, frame)
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


def _columns_of(their: list[str] | dict[str, str]) -> dict[str, str]:
    return their if isinstance(their, dict) else {name: name for name in their}


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
    by = ["item_id", "system"]
    if "outputs" not in raws:
        pairs = [
            raw.frame[["item_id", system]].set_axis(by, axis=1)
            for table, raw in raws.items()
            for new, system in _PAIRED.get(table, {}).items()
            if new not in raw.frame and {"item_id", system} <= set(raw.frame)
        ]
        if not pairs:
            problems.append(
                f"{path}: there are no outputs. Name the file that has output_id, item_id and "
                "system under `tables: outputs:`, or item_id and system in another table."
            )
            return
        made = pd.concat(pairs, ignore_index=True).drop_duplicates(ignore_index=True)
        raws["outputs"] = Raw(made, f"{path}, outputs as other tables name them")
    outputs = raws["outputs"].frame
    if "output_id" not in outputs:
        outputs = outputs.assign(output_id=outputs["item_id"] + "/" + outputs["system"])
        raws["outputs"] = raws["outputs"]._replace(frame=outputs)
    several = outputs[outputs.duplicated(by)]
    ids = outputs.drop_duplicates(by).set_index(by)["output_id"]
    for table, raw in raws.items():
        if table == "outputs" or table not in _PAIRED:
            continue
        frame = raw.frame
        for new, system in _PAIRED[table].items():
            if new in frame:
                continue
            if not {"item_id", system} <= set(frame):
                problems.append(
                    f"{raw.where}: {table} needs {new}, or item_id and {system} instead: name "
                    f"their columns in {FILE}. Found {_some(raw.found)}."
                )
                continue
            if len(several):
                item, name = several.iloc[0][by]
                problems.append(
                    f"{raw.where}: {table} names outputs by item_id and {system}, but outputs has "
                    f"several of system {name!r} on item {item!r} ({len(several):,} more than "
                    "one): give both tables an output_id."
                )
            found = ids.reindex(pd.MultiIndex.from_frame(frame[["item_id", system]]))
            named = frame["item_id"] + "/" + frame[system]
            frame = frame.assign(**{new: found.set_axis(frame.index).fillna(named)})
        known = [name for name in frame if name in schema.columns(table)]
        raws[table] = raw._replace(frame=frame[known])


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


def declare_directions(raws: dict[str, Raw], settings: dict[str, Any]) -> None:
    """Move the evaluators of `lower_is_better` into the signatures of their scores."""
    tables = [raws[one].frame for one in ("judgments", "preferences") if one in raws]
    dimensions = {one for frame in tables for one in frame.get("dimension", [])}
    lower = set(settings.get("lower_is_better", ())) - dimensions
    for table in ("scores", "system_scores") if lower else ():
        if table not in raws or "evaluator" not in raws[table].frame:
            continue
        frame = raws[table].frame
        signature = frame["signature"] if "signature" in frame else pd.Series("", frame.index)
        is_lower = frame["evaluator"].isin(lower)
        declared = (signature + "|direction:lower").str.lstrip("|")
        frame = frame.assign(signature=declared.where(is_lower, signature).astype("str"))
        raws[table] = raws[table]._replace(frame=frame)
        settings["lower_is_better"] = [
            name
            for name in settings["lower_is_better"]
            if name in dimensions or name not in set(frame["evaluator"])
        ]
