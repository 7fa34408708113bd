"""Find names that are nearly the same: spellings of one system, annotator, dimension or item."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.names import did_you_mean
from nlgbench.study import raters, schema
from nlgbench.study.schema import RawTable, RawTables
from nlgbench.text import as_yaml, counted, listed

#: What has names -> the columns that contain them.
KINDS = {
    "systems": ("system", "system_a", "system_b", "model"),
    "annotators": ("annotator_id",),
    "dimensions": ("dimension",),
    "evaluators": ("evaluator", "comparator"),
    "items": ("item_id",),
}
#: Lists of names, as in `settings: same`; and such lists, or counts of names, for each kind.
Lists = Sequence[Sequence[str]]
Declared = Mapping[str, Lists]
Counts = Mapping[str, Mapping[str, int]]
#: A name is rare if it has at most this share of the rows of the name that it resembles.
_RARE = 0.25
#: What identifies a row, and the probability of chance below which names never meet.
_KEYS = [*("output_id", "output_a", "output_b"), *itertools.chain(*KINDS.values())]
_CHANCE = 0.01
#: Control characters, and others without width.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
#: The most names that are compared in pairs, and the most groups of names that a message lists.
_COMPARED, _SHOWN = 2000, 40


def settle(
    raws: RawTables, settings: dict[str, Any], problems: list[str], doubts: list[str] | None = None
) -> None:
    """Unify names as `settings: same` declares, and list names that may be one."""
    distinct = settings.get("distinct", {})
    problems += unify(raws, settings)
    counts = _count_names(raws)
    problems += collisions(raws, distinct, counts)
    if doubts is not None:
        doubts += misspelled(raws, distinct, counts) + raters.pooled(raws)


def unify(raws: RawTables, settings: dict[str, Any]) -> list[str]:
    """Apply and remove `settings: same`; list its names that occur nowhere."""
    problems = []
    for kind, lists in settings.pop("same", {}).items():
        problems += _rename(raws, kind, lists, settings.get("distinct", {}).get(kind, ()))
    return problems


def collisions(
    raws: RawTables, distinct: Declared, counts: Counts | None = None, *, items: bool = False
) -> list[str]:
    """Describe names with the same fold, of items or of everything else."""
    problems = []
    for kind, rows in (_count_names(raws) if counts is None else counts).items():
        lists = distinct.get(kind, ())
        groups = _group(rows) if (kind == "items") == items else []
        if groups := [names for names in groups if not _are_declared(names, lists)]:
            lines = [listed(_count(name, rows) for name in names) for names in groups[:_SHOWN]]
            more = f"; and {len(groups) - _SHOWN:,} more" if len(groups) > _SHOWN else ""
            where = ", ".join(dict.fromkeys(raw.where for raw, _, _ in _columns(raws, kind)))
            problems.append(
                f"{where}: {kind} {'; '.join(lines)}{more} differ only in capitals, blanks or the "
                f"form of characters. {_remedy(kind, groups[:_SHOWN])}"
            )
    return problems


def spellings(raws: RawTables) -> dict[str, list[list[str]]]:
    """Group the names of each kind but items that have the same fold."""
    groups = {kind: _group(rows) for kind, rows in _count_names(raws).items() if kind != "items"}
    return {kind: lists for kind, lists in groups.items() if lists}


def _group(counts: Mapping[str, int]) -> list[list[str]]:
    """Group the names that have the same fold, each group's most frequent spelling first."""
    groups: dict[str, list[str]] = {}
    for name in counts:
        groups.setdefault(fold(name), []).append(name)
    for names in groups.values():
        names.sort(key=lambda name: (-counts[name], name != " ".join(name.split())))
    return [names for names in groups.values() if len(names) > 1]


def fold(name: str) -> str:
    """Reduce a name to what its spellings share: no case, invisible characters or extra blanks."""
    if not (name.isascii() and name.isprintable()):
        visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", name))
        name = unicodedata.normalize("NFKC", visible.casefold())
    return " ".join(name.casefold().split())


def _are_declared(names: Sequence[str], lists: Lists) -> bool:
    return any({*names} <= {*declared} for declared in lists)


def _columns(raws: RawTables, kind: str) -> Iterator[tuple[RawTable, str, str]]:
    """Yield each column with names of a kind: its table as read, the table's name, the column."""
    for table, raw in raws.items():
        if isinstance(raw.frame, pd.DataFrame) and raw.frame.columns.is_unique:
            ours = {*schema.columns(table), "item_id", "system", "system_a", "system_b"}
            for column in KINDS[kind]:
                if column in ours and column in raw.frame:
                    yield raw, table, column


def _count_names(raws: RawTables) -> dict[str, dict[str, int]]:
    """Count the rows that contain each name of each kind, in order of first appearance."""
    counts: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for kind, n_rows in counts.items():
        for raw, _, column in _columns(raws, kind):
            cells = raw.frame[column]
            if cells.dtype != "str":  # cells of a DataFrame may be anything
                cells = cells[[isinstance(cell, str) for cell in cells]]
            for name, n in cells.value_counts(sort=False).items():
                n_rows[str(name)] = n_rows.get(str(name), 0) + n
        n_rows.pop("", None)
    return counts


def _rename(raws: RawTables, kind: str, lists: Lists, distinct: Lists) -> list[str]:
    """Rename the names in each list, and others with their folds, to its first name."""
    names = list(_count_names(raws)[kind])
    new = {name: names[0] for names in lists for name in names}
    first_of = {fold(name): first for name, first in new.items()}
    undeclared = {*names}.difference(new, *distinct)
    new |= {name: first_of[fold(name)] for name in undeclared if fold(name) in first_of}
    for raw, table, column in list(_columns(raws, kind)):
        cells = raw.frame[column]
        renamed = [new.get(cell, cell) if isinstance(cell, str) else cell for cell in cells]
        dtype = "str" if cells.dtype == "str" else object
        columns = {column: pd.Series(renamed, cells.index, dtype=dtype)}
        raws[table] = raws[table]._replace(frame=raws[table].frame.assign(**columns))
    unknown = {*first_of} - {fold(name) for name in names}
    return [
        f"settings: same: {kind}: {name!r} occurs in no table.{did_you_mean(name, names[:5000])} "
        "Correct or remove it."
        for name in new
        if fold(name) in unknown
    ]


def _count(name: str, counts: Mapping[str, int], more: str = "") -> str:
    return f"{name!r} ({counted(counts[name], 'row')}{more})"


def _remedy(kind: str, groups: Lists) -> str:
    return (
        f"If they are one, set `settings: same: {as_yaml({kind: groups})}`, which uses the first "
        "name; if not, write `distinct` instead of `same`."
    )


def misspelled(raws: RawTables, distinct: Declared, counts_by_kind: Counts) -> list[str]:
    """Describe names that are spelled almost alike, if one is rare or they never meet."""
    doubts = collisions(raws, distinct, counts_by_kind, items=True)
    for kind, counts in counts_by_kind.items():
        cells: dict[str, set[int]] = {}
        for pair in _alike(list(counts)):
            frequent, rare = sorted(pair, key=lambda name: -counts[name])
            is_rare = counts[rare] <= _RARE * counts[frequent]
            is_near = kind != "items" and (is_rare or _bare(frequent) == _bare(rare))
            if not is_near:
                if not cells:
                    cells = _cells(raws, kind)
                    names_in = Counter(itertools.chain(*cells.values()))
                is_near = _are_apart(cells, names_in, pair)
            if is_near and not _are_declared(pair, distinct.get(kind, ())):
                columns = _columns(raws, kind)
                raw, column = next((x, c) for x, _, c in columns if (x.frame[c] == rare).any())
                row = int(np.flatnonzero(raw.frame[column] == rare)[0])
                where = f"; {raw.where}, row {raw.locate(row)}"
                doubts.append(
                    f"{kind}: {_count(rare, counts, where)} is spelled almost like "
                    f"{_count(frequent, counts)}. {_remedy(kind, [[frequent, rare]])}"
                )
    return doubts


def sort_pairs(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Order the two names of each row, so that a pair is the same, whichever was shown first."""
    pairs = np.sort(rows[[first, second]].astype(str).to_numpy(object), axis=1)
    return rows.assign(**{first: pairs[:, 0], second: pairs[:, 1]})


def _cells(raws: RawTables, kind: str) -> dict[str, set[int]]:
    """Map names to the cells of the design with them: what identifies a row beside the name."""
    tables = []
    for raw, table, column in _columns(raws, kind):
        frame = raw.frame
        if kind != "systems" and {"system_a", "system_b"} <= {*frame}:
            frame = sort_pairs(frame, "system_a", "system_b")
        keys = [name for name in _KEYS if name in frame and name not in KINDS[kind]]
        if kind == "systems" and "item_id" in keys:  # an output belongs to one system
            keys = [name for name in keys if name != "output_id"]
        if keys:
            cell = frame.groupby(keys, sort=False).ngroup()
            tables.append(pd.DataFrame({"name": frame[column], "table": table, "cell": cell}))
    # A text that several annotators judged is one output, whatever they call its system.
    tables = [cells for cells in tables if cells["table"].iloc[0] != "outputs"] or tables
    rows = pd.concat(tables) if tables else pd.DataFrame(columns=["name", "table", "cell"])
    rows["cell"] = rows.groupby(["table", "cell"]).ngroup()
    return {str(name): {*cells} for name, cells in rows.groupby("name")["cell"]}


def _are_apart(cells: Mapping[str, set[int]], counts: Counter[int], pair: Sequence[str]) -> bool:
    """Check whether names share less than a tenth of the cells that they share with others.

    If that may be due to chance, because others share few cells with them, they are not apart.
    """
    small, large = sorted((cells.get(name, set()) for name in pair), key=len)
    n_others, either = len(cells) - 2, small | large
    if n_others < 1 or not small:
        return False
    n_met = sum(counts[cell] for cell in either) - len(small) - len(large)
    share = n_met / n_others / len(either)
    n_common = len(small & large)
    return n_common < share * len(small) / 10 and (1 - share) ** len(small) < _CHANCE


def _alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pair names that are equal without separators, or after removing a letter of each."""
    groups: dict[str, list[str]] = {}
    for name in names if len(names) <= _COMPARED else ():
        folded = fold(name)
        n = len(folded) if 3 < len(folded) <= 200 else 0  # the copies take quadratic space
        shorter = [folded[:position] + folded[position + 1 :] for position in range(n)]
        for variant in {_bare(name), folded, *shorter}:
            groups.setdefault(variant, []).append(name)
    pairs = [pair for group in groups.values() for pair in itertools.combinations(group, 2)]
    return [pair for pair in dict.fromkeys(pairs) if not _is_counted(*pair)]


def _bare(name: str) -> str:
    """Fold a name, and remove accents and separators, except those between digits."""
    plain = unicodedata.normalize("NFKD", fold(name))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return re.sub(r"(?<!\d)[\s_./\u2010-\u2015-]+|[\s_./\u2010-\u2015-]+(?!\d)", "", plain)


def _is_counted(first: str, second: str) -> bool:
    """Check whether names have the same fold, or differ only in numbers and single letters."""
    tokens = [re.findall(r"\d+|[A-Z]+(?![a-z])|[^\W\d_][a-z]*", name) for name in (first, second)]
    differing = {*map(str.casefold, tokens[0])} ^ {*map(str.casefold, tokens[1])}
    is_counted = all(token.isdigit() or len(token) == 1 for token in differing)
    return fold(first) == fold(second) or (bool(differing) and is_counted)
