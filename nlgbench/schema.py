"""The tidy tables: their columns, kinds, keys and rules; checked, read and written.

One long DataFrame per kind, one number per cell. Texts are ``str`` columns and never missing (an
empty optional text is ``""``); numbers are ``float64`` or ``int64``.
"""

from __future__ import annotations

import difflib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nlgbench import csv_files, files
from nlgbench.csv_files import TableError
from nlgbench.names import brief, did_you_mean

if TYPE_CHECKING:
    import pandera.pandas as pa

_SHOWN = 5

PAPERS = ("huse", "comm-eval", "judge-the-judges", "learning-to-compare")
VERDICTS = ("matches", "differs", "same direction", "undecided", "not recomputable", "new")
SOURCES = ("published", "released", "simulated", "study")

# A star marks a key; a column is an id, a text that is not empty, unless its kind is named.
_DECLARED = {
    "outputs": "output_id* item_id system text:text is_human:bool context:text",
    "logprobs": "output_id* model* logprob:float n_tokens:int",
    "references": "item_id* reference_id* text:text",
    "judgments": "output_id* annotator_id* dimension* value:float group_id*:text",
    "preferences": "output_a* output_b* annotator_id* dimension* group_id*:text choice",
    "contexts": "item_id* state* is_target:bool",
    "scores": "output_id* evaluator* score:float signature:text",
    "system_scores": "system* evaluator* score:float signature:text",
    "comparisons": "output_a* output_b* comparator* prob_a:float prob_tie:float prob_b:float",
    "ratings": "comparator* system* rating:float deviation:float volatility:float n_games:int",
    "claims": "claim_id* paper where quantity unit "
    "published:float tolerance:float notebook unavailable:text",
    "ledger": "claim_id* variant*:text published:float recomputed:float ci_low:float ci_high:float "
    "tolerance:float verdict reason:text source",
}
# Those of several runs, one below the other; the run with default parameters has no name.
_DECLARED["ledgers"] = _DECLARED["ledger"] + " run*:text"
KEYS: dict[str, list[str]] = {}
COLUMNS: dict[str, dict[str, str]] = {}
for _name, _line in _DECLARED.items():
    _parts = [part.partition(":") for part in _line.split()]
    KEYS[_name] = [part[0].rstrip("*") for part in _parts if part[0].endswith("*")]
    COLUMNS[_name] = {part[0].rstrip("*"): part[2] or "id" for part in _parts}

# Where a number may be NaN because it is undefined, or was not computed.
_UNDEFINED = {
    "scores": {"score"},
    "system_scores": {"score"},
    "ratings": {"rating", "deviation", "volatility"},
    "ledger": {"published", "recomputed", "ci_low", "ci_high", "tolerance"},
}
_UNDEFINED["ledgers"] = _UNDEFINED["ledger"]


@cache
def schema(table: str) -> pa.DataFrameSchema:
    """Build the rules that one cell of a table can break; an error is the rule and the way out."""
    import pandera.pandas as pa

    part = "[a-z0-9._-]+"
    papers = "|".join(PAPERS)
    not_negative = pa.Check.ge(0.0, error="must not be negative: check the sign")
    probability = pa.Check.in_range(
        0.0, 1.0, error="must be a probability between 0 and 1: divide percentages by 100"
    )
    finite = pa.Check(np.isfinite, error="must be finite: leave the row out where it is missing")

    def one_of(choices: tuple[str, ...]) -> pa.Check:
        return pa.Check.isin(choices, error=f"must be one of {', '.join(choices)}")

    rules: dict[str, dict[str, list[pa.Check]]] = {
        "logprobs": {
            "logprob": [
                pa.Check.le(
                    0.0,
                    error="must be a log-probability in nats, so at most 0 (-inf is allowed): "
                    "check sign and unit",
                )
            ],
            "n_tokens": [pa.Check.ge(1, error="must be at least 1: drop empty texts")],
        },
        "judgments": {"value": [finite]},
        "preferences": {"choice": [one_of(("a", "b", "tie"))]},
        "comparisons": {name: [probability] for name in ("prob_a", "prob_tie", "prob_b")},
        "ratings": {
            "rating": [finite],
            "deviation": [finite, not_negative],
            "volatility": [finite, not_negative],
            "n_games": [not_negative],
        },
        "claims": {
            "claim_id": [
                pa.Check.str_matches(
                    rf"^(?:{papers})/(?:direction/{part}|{part}/{part}/{part})\Z",
                    error="must read paper/where/row/column or paper/direction/slug, in lower "
                    f"case (a-z 0-9 . _ -), paper one of {papers.replace('|', ', ')}",
                )
            ],
            "paper": [one_of(PAPERS)],
            "published": [finite],
            "tolerance": [finite, not_negative],
        },
        "ledger": {
            "claim_id": [
                pa.Check.str_matches(
                    rf"^{part}(?:/{part})+\Z",
                    error="must read paper/where/row/column or simulated/..., in lower case",
                )
            ],
            "tolerance": [not_negative],
            "verdict": [one_of(VERDICTS)],
            "source": [one_of(SOURCES)],
        },
    }
    rules["ledgers"] = rules["ledger"]
    not_empty = pa.Check(lambda ids: ids != "", error="must not be empty: fill it in every row")
    declared = {}
    for name, kind in COLUMNS[table].items():
        checks = [not_empty] if kind == "id" else []
        checks += rules.get(table, {}).get(name, [])
        nullable = name in _UNDEFINED.get(table, ())
        declared[name] = pa.Column(None, checks=checks, nullable=nullable)
    return pa.DataFrameSchema(declared)


def _broken_rows(frame: pd.DataFrame, table: str) -> tuple[str, np.ndarray, str] | None:
    """Check the rule that takes several cells to break: column to show, bad rows, the rule."""
    if table == "comparisons":
        total = frame["prob_a"] + frame["prob_tie"] + frame["prob_b"]
        rule = "must give 1 together with prob_tie and prob_b: normalize the three"
        return "prob_a", np.asarray((total - 1).abs() > 1e-6), rule
    if table == "contexts":
        n_targets = frame.groupby("item_id")["is_target"].transform("sum")
        rule = "must be true for exactly one state of each item: mark one target"
        return "is_target", np.asarray(n_targets != 1), rule
    if table == "claims":
        other = frame["claim_id"].str.split("/").str[0] != frame["paper"]
        rule = "must be the paper that claim_id begins with: correct one of the two"
        return "paper", np.asarray(other), rule
    return None


def columns(table: str) -> list[str]:
    """List a table's columns in order; contexts, and outputs, may have further ones."""
    return list(COLUMNS[_known(table)])


def keys(table: str) -> list[str]:
    """List the columns that identify a row."""
    return list(KEYS[_known(table)])


def _known(table: str) -> str:
    if table not in COLUMNS:
        hint = did_you_mean(table, COLUMNS)
        raise ValueError(f"no table {table!r}.{hint} There are: {', '.join(COLUMNS)}.")
    return table


def typed(rows: list[tuple] | pd.DataFrame, table: str) -> pd.DataFrame:
    """Give what we made, or read from a file of known hash, its columns and types."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=columns(table))
    names = columns(table)
    more = [str(name) for name in frame if name not in names] if table == "contexts" else []
    kinds = {**COLUMNS[table], **dict.fromkeys(more, "float")}
    made = {}
    for name, kind in kinds.items():
        plain = "text" if kind == "id" else kind
        made[name] = csv_files.convert(frame[name].reset_index(drop=True), plain)[0]
    return pd.DataFrame(made, columns=list(kinds))


def check(
    frame: pd.DataFrame,
    table: str,
    *,
    source: str | os.PathLike | None = None,
    lines: list[int] | None = None,
) -> pd.DataFrame:
    """Check a frame against columns, types, keys and rules of a table; give a typed copy.

    Raises `TableError`, which names source, row (from 1 below the header), key, column, value, rule
    and way out.
    """
    where = "the frame passed in" if source is None else os.fspath(source)
    wanted = COLUMNS[_known(table)]
    raw = frame.reset_index(drop=True).set_axis([str(name) for name in frame.columns], axis=1)
    _check_names(list(raw.columns), table, where)
    kinds = {**wanted, **{name: "float" for name in raw.columns if name not in wanted}}
    typed = {}
    for name, kind in kinds.items():
        typed[name], bad, rule = csv_files.convert(raw[name], "text" if kind == "id" else kind)
        _refuse(raw, bad, name, table, where, lines, rule)
    checked = pd.DataFrame(typed, columns=list(kinds))
    _check_keys(checked, table, where, lines)
    _check_rules(checked, table, where, lines)
    return checked


def _check_names(found: list[str], table: str, where: str) -> None:
    wanted = columns(table)
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        raise TableError(f"{where}: {table} has two columns {doubled[0]!r}: keep one.")
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        near = difflib.get_close_matches(missing[0], extra, n=1)
        way = f"rename {near[0]!r} to it" if near else "add it (an optional text may be '')"
        raise TableError(
            f"{where}: {table} has no column {missing[0]!r}: {way}. It needs "
            f"{', '.join(wanted)}; found {', '.join(found) or 'none'}."
        )
    if extra and (table != "contexts" or "" in extra):
        raise TableError(
            f"{where}: {table} has a column {extra[0]!r} that it does not know: drop it, or keep "
            f"it in a table of your own.{did_you_mean(extra[0], wanted)} Known are "
            f"{', '.join(wanted)}."
        )


def _row(position: int, lines: list[int] | None) -> str:
    return f"{position + 1}" + (f" (line {lines[position]})" if lines else "")


def _refuse(
    frame: pd.DataFrame,
    bad: np.ndarray,
    name: str,
    table: str,
    where: str,
    lines: list[int] | None,
    rule: str,
) -> None:
    rows = np.flatnonzero(bad)
    if not len(rows):
        return
    shown = []
    for row in rows[:_SHOWN]:
        cells = {column: brief(frame[column].iloc[row]) for column in {*keys(table), name}}
        key = ", ".join(f"{column}={cells[column]}" for column in keys(table))
        shown.append(f"row {_row(row, lines)}, {key}: {cells[name]}")
    more = f"; and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    raise TableError(f"{where}: {table}, column {name!r} {rule}. Found {'; '.join(shown)}{more}.")


def _check_keys(frame: pd.DataFrame, table: str, where: str, lines: list[int] | None) -> None:
    names = keys(table)
    doubled = frame.duplicated(names)
    if not doubled.any():
        return
    second = int(np.flatnonzero(doubled)[0])
    key = frame.loc[second, names]
    first = int(np.flatnonzero((frame[names] == key).all(axis=1))[0])
    named = ", ".join(f"{name}={brief(value)}" for name, value in key.items())
    n_repeated = int(doubled.sum())
    raise TableError(
        f"{where}: {table}, rows {_row(first, lines)} and {_row(second, lines)} have the same key "
        f"({named}); rows that repeat an earlier one's: {n_repeated:,}. Each "
        f"{' + '.join(names)} may stand once: drop the repetition, or give it an id of its own."
    )


def _check_rules(frame: pd.DataFrame, table: str, where: str, lines: list[int] | None) -> None:
    from pandera.errors import SchemaErrors

    try:
        schema(table).validate(frame, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
        column, rule = cases["column"].iloc[0], str(cases["check"].iloc[0])
        bad = np.zeros(len(frame), dtype=bool)
        same = (cases["column"] == column) & (cases["check"] == rule)
        bad[cases.loc[same, "index"].astype(int)] = True
        if rule == "not_nullable":
            rule = "must not be missing: leave the row out, or mend it"
        _refuse(frame, bad, column, table, where, lines, rule)
    broken = _broken_rows(frame, table) if len(frame) else None
    if broken is not None:
        column, bad, rule = broken
        _refuse(frame, bad, column, table, where, lines, rule)


def read(path: str | os.PathLike, table: str) -> pd.DataFrame:
    """Read a table from CSV and check it: an id ``001`` stays ``001``, a text ``NA`` a text."""
    _known(table)
    frame, lines = csv_files.parse(Path(path))
    files.note_read(Path(path))
    return check(frame, table, source=path, lines=lines)


def write(frame: pd.DataFrame, table: str, path: str | os.PathLike) -> None:
    """Check a table and write it as CSV in full precision, aside first, then renamed."""
    checked = check(frame, table)
    texts = [name for name in checked if checked[name].dtype == "str"]
    quoting = csv_files.quoting(checked)
    try:
        files.replace(
            Path(path),
            lambda aside: checked.to_csv(aside, index=False, lineterminator="\n", quoting=quoting),
        )
    except UnicodeEncodeError:
        rule = "must be text that UTF-8 can hold, without half surrogate pairs: mend its decoding"
        for name in texts:
            bad = checked[name].str.contains("[\ud800-\udfff]").to_numpy(dtype=bool)
            _refuse(checked, bad, str(name), table, "the frame passed in", None, rule)
        raise
