"""The tidy tables: their columns, types, keys and rules, and how they are checked and stored.

One long DataFrame per kind, one number per cell. Texts are ``str`` columns without missing values
(an empty optional text is ``""``); numbers are ``float64`` or ``int64``.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean, known
from nlgbench.study import answers, csv_files
from nlgbench.study.csv_files import TableError

_SHOWN = 3

PAPERS = (
    *("huse", "comm-eval", "judge-the-judges", "learning-to-compare", "power"),
    *("hanna", "usr", "alpaca-eval"),
)
VERDICTS = ("matches", "differs", "same direction", "undecided", "not recomputable", "new")
SOURCES = ("published", "released", "simulated", "study")

# A star marks a key. A column without a type is an id: a text that is not empty.
_DECLARED = {
    "outputs": "output_id* item_id system text:text is_human:bool context:text",
    "judgments": "output_id* annotator_id* dimension* value:float group_id:text*",
    "preferences": "output_a* output_b* annotator_id* dimension* group_id:text* choice",
    "logprobs": "output_id* model* logprob:float n_tokens:int",
    "references": "item_id* reference_id* text:text",
    "contexts": "item_id* state* is_target:bool",
    "scores": "output_id* evaluator* score:float signature:text",
    "system_scores": "system* evaluator* score:float signature:text",
    "comparisons": "output_a* output_b* comparator* prob_a:float prob_tie:float prob_b:float",
    "claims": "claim_id* paper where quantity unit "
    "published:float tolerance:float notebook unavailable:text",
    "ledger": "claim_id* variant:text* published:float recomputed:float ci_low:float ci_high:float "
    "tolerance:float verdict reason:text source",
}
#: The tables of a study.
TABLES = tuple(name for name in _DECLARED if name not in ("claims", "ledger"))
# The ledgers of several runs, concatenated; the run with default parameters has no name.
_DECLARED["ledgers"] = _DECLARED["ledger"] + " run:text*"
#: Table -> the columns that identify a row.
KEYS: dict[str, list[str]] = {}
COLUMNS: dict[str, dict[str, str]] = {}
for _name, _line in _DECLARED.items():
    _columns = csv_files.declared(_line)
    KEYS[_name] = [column.name for column in _columns if column.is_key]
    COLUMNS[_name] = {column.name: column.kind or "id" for column in _columns}

#: Table -> optional columns and their defaults.
DEFAULTS: dict[str, dict[str, str]] = {
    "outputs": {"text": "", "context": ""},
    **{name: {"dimension": "quality", "group_id": ""} for name in ("judgments", "preferences")},
    **{name: {"signature": ""} for name in ("scores", "system_scores")},
}

# Columns whose numbers may be NaN, if undefined or not computed.
_OF_LEDGER = {"published", "recomputed", "ci_low", "ci_high", "tolerance"}
_UNDEFINED = {"scores": {"score"}, "system_scores": {"score"}}
_UNDEFINED |= dict.fromkeys(("ledger", "ledgers"), _OF_LEDGER)


#: A test for valid cells, and the rule that other cells break, with the fix.
_Rule = tuple[Callable[[pd.Series], Any], str]


def _one_of(choices: Sequence[str]) -> _Rule:
    return lambda cells: cells.isin(choices), f"must be one of {', '.join(choices)}"


_PART = "[a-z0-9._-]+"
_FINITE: _Rule = (np.isfinite, "must be finite: drop the row if the value is missing")
_NOT_NEGATIVE: _Rule = (lambda numbers: numbers >= 0, "must not be negative: check the sign")
_DEFINED: _Rule = (
    lambda numbers: ~np.isinf(numbers),
    "must be finite: leave the cell empty if the score is undefined",
)
_PROBABILITY: _Rule = (
    lambda numbers: numbers.between(0, 1),
    "must be a probability between 0 and 1: divide percentages by 100",
)
_DIRECTION: _Rule = (
    lambda texts: ~contains(texts, r"(?i)\bdirection\s*:(?!\s*(?:lower|higher)\b)"),
    "must declare the direction as lower or higher: write direction:lower if lower is better",
)
_OWN_CLAIM = re.compile(rf"{_PART}(?:/{_PART})+")
_CLAIM = re.compile(rf"(?:{'|'.join(PAPERS)})/(?:direction/{_PART}|{_PART}/{_PART}/{_PART})")

#: Rules that also suggest how to map words to values.
_WORDS = {
    ("judgments", "value"): "must be a number: fix it, drop the row, or map words to numbers, as "
    "in `values: {value: {good: 1}}`"
}
CHOICE: _Rule = (
    lambda cells: cells.isin(("a", "b", "tie")),
    "must be one of a, b, tie: map other words to these, as in `values: {choice: {left: a}}`",
)

#: Rules for single cells.
_RULES: dict[tuple[str, str], list[_Rule]] = {
    ("logprobs", "logprob"): [
        (
            lambda numbers: numbers <= 0,
            "must be a log-probability in nats, so at most 0 (-inf is allowed): check its sign and "
            "unit",
        )
    ],
    ("logprobs", "n_tokens"): [(lambda n: n >= 1, "must be at least 1: drop empty texts")],
    ("judgments", "value"): [_FINITE],
    **{(table, "score"): [_DEFINED] for table in ("scores", "system_scores")},
    **{(table, "signature"): [_DIRECTION] for table in ("scores", "system_scores")},
    ("preferences", "choice"): [CHOICE],
    **{("comparisons", name): [_PROBABILITY] for name in ("prob_a", "prob_tie", "prob_b")},
    ("claims", "claim_id"): [
        (
            lambda ids: ids.str.fullmatch(_CLAIM),
            "must have the form paper/where/row/column or paper/direction/slug, in lower case "
            f"(a-z 0-9 . _ -), where paper is one of {', '.join(PAPERS)}",
        )
    ],
    ("claims", "paper"): [_one_of(PAPERS)],
    ("claims", "published"): [_FINITE],
    ("claims", "tolerance"): [_FINITE, _NOT_NEGATIVE],
    ("ledger", "claim_id"): [
        (
            lambda ids: ids.str.fullmatch(_OWN_CLAIM),
            "must have the form paper/where/row/column or simulated/..., in lower case",
        )
    ],
    ("ledger", "tolerance"): [_NOT_NEGATIVE],
    ("ledger", "verdict"): [_one_of(VERDICTS)],
    ("ledger", "source"): [_one_of(SOURCES)],
}


class RawTable(NamedTuple):
    """A table of strings, as written, with the locations of its rows for messages."""

    frame: pd.DataFrame
    where: str
    lines: Sequence[int | str] | None = None  # of each row: a line's number, or a description
    theirs: Mapping[str, str] | None = None  # our column -> theirs
    file_columns: Sequence[str] = ()

    def locate(self, row: int) -> str:
        """Describe where a row is, by its number and its line in the file."""
        if not self.lines:
            return f"{row + 1}"
        line = self.lines[row]
        return f"{row + 1} ({f'line {line}' if isinstance(line, int) else line})"


#: Tables as written, by name.
RawTables = dict[str, RawTable]


def _broken_rows(frame: pd.DataFrame, table: str) -> tuple[str, np.ndarray, str]:
    """Check the rule that spans several cells of a row; return column, invalid rows and rule."""
    if table in ("preferences", "comparisons"):
        same = (frame["output_a"] == frame["output_b"]).to_numpy()
        if same.any():
            return "output_b", same, "must differ from output_a: remove the row"
    if table == "comparisons":
        total = frame["prob_a"] + frame["prob_tie"] + frame["prob_b"]
        rule = "must sum to 1 with prob_tie and prob_b: normalize all three"
        return "prob_a", np.asarray((total - 1).abs() > 1e-6), rule
    if table == "contexts":
        for name in frame.columns.difference(columns(table)):
            if np.isinf(frame[name]).any():
                rule = "must be finite: leave the cell empty if the value is undefined"
                return str(name), np.isinf(frame[name]).to_numpy(), rule
        n_targets = frame.groupby("item_id")["is_target"].transform("sum")
        rule = "must be true for exactly one state of each item: mark one state as the target"
        return "is_target", np.asarray(n_targets != 1), rule
    if table == "claims":
        is_other = frame["claim_id"].str.split("/").str[0] != frame["paper"]
        rule = "must be the paper that claim_id begins with: correct one of the two"
        return "paper", np.asarray(is_other), rule
    return "", np.zeros(len(frame), dtype=bool), ""


def columns(table: str) -> list[str]:
    """List a table's columns in order; contexts and outputs may have more."""
    return list(COLUMNS[known(table, list(COLUMNS), "table")])


def typed(rows: list[tuple] | pd.DataFrame, table: str) -> pd.DataFrame:
    """Apply a table's columns and types to rows that are known to be valid."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=columns(table))
    frame = _filled(frame, table).reset_index(drop=True)
    kinds = _kinds(frame, table)
    converted = {name: csv_files.convert(frame[name], kind)[0] for name, kind in kinds.items()}
    return pd.DataFrame(converted, columns=list(kinds))


def check(
    frame: pd.DataFrame,
    table: str,
    *,
    source: str | os.PathLike = "the frame passed in",
    lines: Sequence[int | str] | None = None,
) -> pd.DataFrame:
    """Check a frame against a table's columns, types, keys and rules; return a typed copy.

    Raises `TableError`, which lists all problems with source, row (from 1 below the header), key,
    column, value, rule and how to fix it.
    """
    checked, problems = examine(RawTable(frame, os.fspath(source), lines), table)
    if problems:
        raise TableError(*problems)
    return checked


def examine(
    written: RawTable, table: str, extra: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Find all problems in a table; return its valid rows, typed, and the problems."""
    if not isinstance(written.frame, pd.DataFrame):
        kind = type(written.frame).__name__
        return pd.DataFrame(), [f"{written.where} must be a DataFrame; got {kind}."]
    raw = written.frame.reset_index(drop=True)
    raw = raw.set_axis([str(name) for name in raw.columns], axis=1)
    doubled = raw.columns.duplicated()
    problems = []
    if doubled.any():
        names = _quoted(raw.columns[doubled].unique())
        problems.append(
            f"{written.where}: {table} has repeated columns ({names}): keep one of each."
        )
    raw = raw.loc[:, ~doubled]
    misnamed = _name_problems(list(map(str, raw)), table, written.where, extra)
    problems += misnamed
    # Without all columns of the key, rows would seem to repeat.
    has_keys = not misnamed or set(KEYS[table]) <= set(raw)
    raw = _filled(raw, table)
    kinds = {name: kind for name, kind in _kinds(raw, table).items() if name in raw}
    good = np.ones(len(raw), dtype=bool)
    cells = {}
    for name, kind in kinds.items():
        converted, bad, rule = csv_files.convert(raw[name], kind)
        if rule.startswith("must be a number"):
            rule = answers.number_rule(raw.loc[bad, name]) or _WORDS.get((table, name), rule)
        problems += problem(written, table, raw, bad, name, rule)
        good &= ~bad
        # Every readable cell is checked, whatever else is in its row.
        cells[name] = csv_files.convert(raw.loc[~bad, name], kind)[0] if bad.any() else converted
        for rows, rule in _broken_cells(cells[name], table, name):
            wrong = raw.index.isin(rows)
            problems += problem(written, table, raw, wrong, name, rule)
            good &= ~wrong
    right = raw.index[good]
    checked = pd.DataFrame({name: column.loc[right] for name, column in cells.items()}, index=right)
    if set(KEYS[table]) <= set(kinds) and has_keys:
        doubled = checked.duplicated(KEYS[table], keep=False).to_numpy()
        keys = " + ".join(KEYS[table])
        rule = f"must not repeat a key ({keys}): drop the duplicates, or give each row its own id"
        problems += problem(written, table, checked, doubled, KEYS[table][0], rule)
    # An item may lack its target only because an invalid row was left out.
    is_complete = table != "contexts" or good.all()
    if set(columns(table)) <= set(kinds) and good.any() and is_complete:
        name, bad, rule = _broken_rows(checked, table)
        problems += problem(written, table, checked, bad, name, rule)
    return checked.assign(**{name: raw[name] for name in extra if name in raw}), problems


def _kinds(frame: pd.DataFrame, table: str) -> dict[str, str]:
    """Return the types of a table's columns; features of contexts are numbers."""
    features = [str(name) for name in frame if name] if table == "contexts" else []
    return COLUMNS[table] | {name: "float" for name in features if name not in COLUMNS[table]}


def _filled(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Fill in the optional columns."""
    for name, value in DEFAULTS.get(table, {}).items():
        if name not in frame:
            frame = frame.assign(**{name: value})
    if table == "outputs" and "is_human" not in frame and "system" in frame:
        frame = frame.assign(is_human=frame["system"].astype(str) == "human")
    return frame


def _name_problems(names: list[str], table: str, where: str, extra: Sequence[str]) -> list[str]:
    expected, problems = columns(table), []
    optional = {*DEFAULTS.get(table, ()), "is_human"}
    missing = [name for name in expected if name not in {*names, *optional}]
    unknown = [name for name in names if name not in {*expected, *extra}]
    near = {name: difflib.get_close_matches(name, unknown, n=1) for name in missing}
    if missing:
        it = "them" if len(missing) > 1 else "it"
        ways = [f"rename {similar[0]!r} to {name!r}" for name, similar in near.items() if similar]
        if unknown and not ways:
            unknowns = f"unknown column{'s' * (len(unknown) > 1)} {_quoted(unknown)}"
            ways = [f"add {it}, or rename the {unknowns}"]
        way = ", ".join(ways) or f"add {it}"
        problems.append(
            f"{where}: {table} has no column{'s' * (len(missing) > 1)} {_quoted(missing)}: {way}. "
            f"Expected columns: {', '.join(expected)}. Found: {', '.join(names) or 'none'}."
        )
    problems += [
        f"{where}: {table} has no column {name!r}, which is listed in `settings: extra`: add the "
        "column, or remove it from the list."
        for name in extra
        if name not in names
    ]
    if unknown and not missing and (table != "contexts" or "" in unknown):
        a, it = ("an unknown column", "it") if len(unknown) == 1 else ("unknown columns", "them")
        way_to_keep = "in a table of your own"
        if table == "outputs":
            way_to_keep = f"with `settings: extra: [{', '.join(unknown)}]`"
        problems.append(
            f"{where}: {table} has {a} {_quoted(unknown)}: drop {it}, or keep "
            f"{it} {way_to_keep}.{did_you_mean(unknown[0], expected)} Known columns: "
            f"{', '.join(expected)}."
        )
    return problems


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def problem(
    written: RawTable, table: str, frame: pd.DataFrame, bad: np.ndarray, name: str, rule: str
) -> list[str]:
    """Describe the cells that break a rule; empty if there are none."""
    rows = np.flatnonzero(bad)
    if not len(rows):
        return []
    examples = []
    keys = [column for column in KEYS[table] if column in frame]
    for row in rows[:_SHOWN]:
        cells = {column: brief(frame[column].iloc[row]) for column in {*keys, name}}
        shown_keys = [column for column in keys if column == name or cells[column] != "''"]
        key = "".join(f", {column}={cells[column]}" for column in shown_keys)
        examples.append(f"row {written.locate(int(frame.index[row]))}{key}: {cells[name]}")
    more = f"; and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    their = (written.theirs or {}).get(name, name)
    their_name = f" ({their!r} in the file)" if their != name else ""
    listed = f"{'; '.join(examples)}{more}"
    return [f"{written.where}: {table}, column {name!r}{their_name} {rule}. Found {listed}."]


def contains(signatures: pd.Series, pattern: str) -> pd.Series[bool]:
    """Mark signatures that match a pattern; each is searched once, although many rows have it."""
    distinct = signatures.drop_duplicates()
    return signatures.isin(distinct[distinct.str.contains(pattern)])


def _broken_cells(cells: pd.Series, table: str, name: str) -> Iterator[tuple[pd.Index, str]]:
    """Find the cells of a column that break a rule: their rows, and the rule."""
    missing = cells.isna().to_numpy()
    if COLUMNS[table].get(name) == "id":
        yield cells.index[cells == ""], "must not be empty: fill it in every row"
        too_long = (cells.str.len() > csv_files.LONGEST).to_numpy(dtype=bool)
        rule = f"must have at most {csv_files.LONGEST:,} characters: shorten it"
        yield cells.index[too_long], rule
        has_nul = cells.str.contains("\0", regex=False).to_numpy(dtype=bool)
        yield cells.index[has_nul], "must not contain the character NUL: remove it"
    for right, rule in _RULES.get((table.replace("ledgers", "ledger"), name), []):
        yield cells.index[~np.asarray(right(cells), dtype=bool) & ~missing], rule
    if name in COLUMNS[table] and name not in _UNDEFINED.get(table, ()):
        yield cells.index[missing], "must not be missing: fill it in, or drop the row"


def read(path: str | os.PathLike, table: str) -> pd.DataFrame:
    """Read a table from CSV and check it: an id ``001`` and a text ``NA`` stay as they are."""
    frame, lines = csv_files.parse(Path(path))
    files.note_read(Path(path))
    return check(frame, table, source=path, lines=lines)


def write(frame: pd.DataFrame, table: str, path: str | os.PathLike) -> None:
    """Check a table and write it as CSV in full precision, replacing the file in one step."""
    checked = check(frame, table)
    files.replace(Path(path), lambda draft: csv_files.save(checked, draft))
