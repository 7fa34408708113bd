"""One's own claims: printed numbers, each put to the result that answers it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.names import brief, did_you_mean
from nlgbench.papers.claim_rows import own_place
from nlgbench.runner.claims import verdict
from nlgbench.study import Study, csv_files, schema
from nlgbench.study.checks import checked
from nlgbench.study.csv_files import TableError

COLUMNS = [
    *("claim_id", "quantity", "published", "tolerance"),
    *("analysis", "where", "column", "unavailable"),
]
_NEEDED = ("claim_id", "published")
_ID = re.compile(r"[a-z0-9._-]+(/[a-z0-9._-]+)*")
_SHOWN = 20
#: What ci_low and ci_high lie around: the first of these that a table has.
_ESTIMATES = ("estimate", "rating", "win_rate", "mean")


@checked
def read_claims(claims: str | os.PathLike | pd.DataFrame) -> pd.DataFrame:
    """Read claims of one's own: printed numbers, and where the results that answer them stand.

    Parameters
    ----------
    claims : path or DataFrame
        A study's folder, whose ``claims.csv`` is read if it has one, a CSV file, or a table, with

        - ``claim_id``: lower case letters, digits, ``. _ -``, parts divided by ``/``. An id that
          begins with ``direction/`` is a claim about a sign: published is 1 (above 0) or -1.
        - ``published``: the number, as it was printed.
        - ``tolerance``: how far off still matches. Left empty, half a unit of the last digit that
          the file has: .005 for 0.50.
        - ``analysis``: the name of the result, as `check_claims` is given it.
        - ``where``: the row in it, as ``column=value; column=value``; empty where it has only one.
        - ``column``: the column in it. Default: ``estimate``.
        - ``quantity``: what it is, for readers; may be left out.
        - ``unavailable``: instead of an analysis, why nothing can answer it.

    Returns
    -------
    DataFrame
        These columns, checked and typed; without a row for a folder that has no ``claims.csv``.

    Raises
    ------
    FileNotFoundError
        When there is no such folder or file.
    TableError
        When a claim breaks a rule: all that do, by row, column, value, rule and way out.

    Examples
    --------
    >>> table = pd.DataFrame({"claim_id": ["table2/bleu"], "published": ["0.41"]})
    >>> read_claims(table.assign(analysis="correlate", where="evaluator=bleu"))["tolerance"]
    0    0.005
    Name: tolerance, dtype: float64
    """
    if isinstance(claims, pd.DataFrame):
        return _checked(claims.reset_index(drop=True), "claims", None)
    path = Path(claims)
    if path.is_dir():
        path = path / "claims.csv"
        if not path.is_file():
            return _checked(pd.DataFrame(columns=COLUMNS, dtype="str"), "", None)
    frame, lines = csv_files.parse(path)
    files.note_read(path)
    return _checked(frame, os.fspath(path), lines)


@checked
def check_claims(
    study: Study,
    claims: str | os.PathLike | pd.DataFrame | None,
    results: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Set claims of one's own beside the results of a study, with verdicts.

    Parameters
    ----------
    study : Study
        What the results are of: its name and its source stand in every row.
    claims : path, DataFrame or None
        As `read_claims` takes them; None for no claims.
    results : mapping of str to DataFrame
        Result tables by the name that claims have under ``analysis``, such as
        ``{"correlate": nb.correlate(study)}``.

    Returns
    -------
    DataFrame
        A row of the ledger for each claim, for `run.claims` in a notebook: claim_id
        (``study/<name>/...``), variant, published, recomputed, ci_low, ci_high, tolerance, verdict,
        reason, source. Verdicts are those of the papers' claims: ``matches`` where the value is
        within the tolerance, else ``differs``; ``undecided`` where the value is undefined, or where
        the interval of a claim about a sign holds 0 or is missing, else ``same direction`` or
        ``differs``; ``not recomputable`` where the analysis was not made or has no such row, with
        the reason.

    Raises
    ------
    TableError
        As `read_claims`; and for claims that name a column that their result does not have, one
        that is no number, or several rows.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
    >>> claims = pd.DataFrame({"claim_id": ["bleu"], "published": [0.4], "tolerance": [0.01]})
    >>> claims = claims.assign(analysis="correlate", where="evaluator=bleu")
    >>> table = pd.DataFrame({"evaluator": ["bleu", "chrf"], "estimate": [0.404, 0.5]})
    >>> found = check_claims(Study(outputs, name="pilot"), claims, {"correlate": table})
    >>> found[["claim_id", "verdict"]].values.tolist()
    [['study/pilot/bleu', 'matches']]
    """
    table = pd.DataFrame() if claims is None else read_claims(claims)
    place = own_place(study, study.name)
    rows, problems = [], []
    for number, claim in enumerate(table.to_dict("records"), 1):
        found, problem = _answer(claim, results)
        rows.append({**found, "claim_id": f"{place}/{claim['claim_id']}", "source": study.source})
        if problem:
            problems.append(f"row {number}, claim_id={claim['claim_id']!r}, {problem}")
    _refuse(problems, "claims")
    return schema.check(pd.DataFrame(rows, columns=schema.columns("ledger")), "ledger")


def _checked(frame: pd.DataFrame, where: str, lines: list[int] | None) -> pd.DataFrame:
    """Type a table of claims, or name everything in it that breaks a rule."""
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    if doubled := [name for name in names if names.count(name) > 1]:
        raise TableError(f"{where} has two columns {doubled[0]!r}: keep one.")
    for name in names:
        if name not in COLUMNS:
            raise TableError(
                f"{where} has a column {name!r} that claims do not have: drop it."
                f"{did_you_mean(name, COLUMNS)} Known are {', '.join(COLUMNS)}."
            )
    if missing := [name for name in _NEEDED if name not in names]:
        raise TableError(
            f"{where} has no column {missing[0]!r}: it needs {' and '.join(_NEEDED)}; found "
            f"{', '.join(names) or 'none'}."
        )
    records, problems = [], []
    seen: dict[str, int] = {}
    for position, cells in enumerate(frame.to_dict("records")):
        line = f" (line {lines[position]})" if lines else ""
        row = f"row {position + 1}{line}"
        record, broken = _typed(cells)
        first = seen.setdefault(record["claim_id"], position + 1)
        if first <= position:
            broken.append(("claim_id", f"stands in row {first}, too: give each an id of its own"))
        problems += [
            f"{row}, column {name!r}, {brief(cells.get(name, ''))}: {rule}."
            for name, rule in broken
        ]
        records.append(record)
    _refuse(problems, where)
    typed = pd.DataFrame(records, columns=COLUMNS)
    numbers = ["published", "tolerance"]
    return typed.astype({name: "float64" if name in numbers else "str" for name in COLUMNS})


def _typed(cells: Mapping[Any, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Read one claim; say which of its columns break which rule."""
    text = {name: _text(cells.get(name)) for name in COLUMNS}
    broken: list[tuple[str, str]] = []
    record: dict[str, Any] = text | {"column": text["column"] or "estimate"}
    if not _ID.fullmatch(text["claim_id"]):
        slug = re.sub(r"[^a-z0-9._/-]+", "_", text["claim_id"].lower()).strip("_/")
        hint = f", such as {slug!r}" if _ID.fullmatch(slug) else ""
        broken.append(
            (
                "claim_id",
                "an id has lower case letters, digits and . _ - in parts divided by /: write one"
                f"{hint}",
            )
        )
    published = record["published"] = _number(text["published"])
    if np.isnan(published):
        broken.append(("published", "a finite number is needed: write what was printed, as 0.41"))
    tolerance = _number(text["tolerance"])
    if text["claim_id"].startswith("direction/"):
        if published not in (1.0, -1.0):
            broken.append(("published", "of a direction it is 1 (above 0) or -1 (below 0)"))
        tolerance = 0.0
    elif not text["tolerance"] and isinstance(cells["published"], str):
        tolerance = _half_unit(text["published"])
    elif not text["tolerance"]:
        broken.append(("tolerance", "a number does not say with how many digits it was printed"))
    elif not tolerance >= 0:
        broken.append(("tolerance", "a finite number is needed, not negative: 0.005 for 0.41"))
    record["tolerance"] = tolerance
    if bool(text["analysis"]) == bool(text["unavailable"]):
        way = "name the result that answers it, or under unavailable why nothing can, not both"
        broken.append(("analysis", way))
    try:
        _pairs(text["where"])
    except ValueError as error:
        broken.append(("where", str(error)))
    return record, broken


def _text(cell: object) -> str:
    missing = pd.api.types.is_scalar(cell) and pd.isna(cell)  # type: ignore[call-overload]
    return "" if missing else str(cell).strip()


def _number(text: str) -> float:
    """Read a number exactly; what is none, or not finite, is NaN."""
    found, bad, _ = csv_files.convert(pd.Series([text], dtype="str"), "float")
    return float("nan") if bad.any() or not np.isfinite(found[0]) else float(found[0])


def _half_unit(printed: str) -> float:
    """Give half a unit of a printed number's last digit."""
    if np.isnan(_number(printed)):
        return float("nan")
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    return float(Decimal((0, (5,), exponent - 1)))


def _pairs(where: str) -> dict[str, str]:
    """Read ``column=value; column=value``."""
    found: dict[str, str] = {}
    for part in where.split(";") if where else []:
        name, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not name:
            raise ValueError(f"{part.strip()!r} is not column=value: write system=a; dimension=b")
        if name in found:
            raise ValueError(f"{name!r} stands there twice: keep one")
        found[name] = value
    return found


def _answer(claim: dict[Any, Any], results: Mapping[str, pd.DataFrame]) -> tuple[dict, str]:
    """Answer one claim from the results; the second says what is wrong with it, if anything."""
    nothing = dict.fromkeys(("recomputed", "ci_low", "ci_high"), np.nan)
    about = {name: claim[name] for name in ("published", "tolerance")} | {"variant": ""}
    name, column = claim["analysis"], claim["column"]

    def left(reason: str) -> tuple[dict, str]:
        return {**about, **nothing, "verdict": "not recomputable", "reason": reason}, ""

    if claim["unavailable"]:
        return left(claim["unavailable"])
    if name not in results:
        there = ", ".join(results) or "none"
        hint = did_you_mean(name, results)
        return left(f"there is no result {name!r} in this run; there are: {there}.{hint}")
    table = results[name]
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        return {}, f"column 'analysis': {name} has two columns {doubled[0]!r}: keep one."
    if named := [one for one in table.index.names if one is not None and one not in table]:
        table = table.reset_index(level=named)
    wanted = _pairs(claim["where"])
    for asked, one in [*(("where", one) for one in wanted), ("column", column)]:
        if one not in table.columns:
            there = ", ".join(map(str, table.columns))
            hint = did_you_mean(one, map(str, table.columns))
            return {}, f"column {asked!r}: {name} has no column {one!r}.{hint} It has {there}."
    fits = np.ones(len(table), dtype=bool)
    for one, text in wanted.items():
        same = _same(table[one], text)
        if not same.any():
            cells = list(dict.fromkeys(table[one].map(_text)))[:1000]
            listed = f" There are: {', '.join(cells)}." if len(cells) <= 8 else ""
            hint = did_you_mean(text, cells)
            return left(f"{name} has no row where {one} is {text!r}.{hint}{listed}")
        fits &= same
    rows = table[fits]
    if rows.empty:
        return left(f"{name} has no row where {claim['where']}, all at once.")
    if len(rows) > 1:
        of_many = [one for one in rows if one not in wanted and len(set(rows[one].map(_text))) > 1]
        more = [
            f"{one} ({', '.join(rows[one].map(_text).unique()[:4])})"
            for one in of_many
            if not pd.api.types.is_float_dtype(rows[one])
        ]
        way = f"add one of {'; '.join(more)}" if more else "they differ in no column but numbers"
        return {}, f"column 'where': {len(rows)} rows of {name} fit {claim['where']!r}: {way}."
    row = rows.iloc[0]
    value, bad, _ = csv_files.convert(pd.Series([row[column]]), "float")
    if bad.any():
        return {}, f"column 'column': {column!r} of {name} is no number: {brief(row[column])}."
    ends = {"ci_low": np.nan, "ci_high": np.nan}
    if column == next((one for one in _ESTIMATES if one in table), None):
        ends = {end: float(row.get(end, np.nan)) for end in ends}
    recomputed = float(value.iloc[0])
    says = verdict(
        claim["published"],
        recomputed,
        claim["tolerance"],
        directional=claim["claim_id"].startswith("direction/"),
        **ends,
    )
    reason = _text(row.get("reason"))
    if np.isnan(recomputed) and not reason:
        reason = f"{column} of {name} is undefined there"
    return {**about, **ends, "recomputed": recomputed, "verdict": says, "reason": reason}, ""


def _same(column: pd.Series, value: str) -> np.ndarray:
    """Tell in which rows a cell is what a claim says: as a number in a column of numbers."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return np.asarray(column.isna() if not value else column == _number(value), dtype=bool)
    texts = column.map(_text)
    if pd.api.types.is_bool_dtype(column):
        return np.asarray(texts.str.lower() == value.lower(), dtype=bool)
    return np.asarray(texts == value, dtype=bool)


def _refuse(problems: list[str], where: str) -> None:
    if problems:
        more = f"\n... and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
        listed = "\n".join(problems[:_SHOWN])
        raise TableError(f"{where}: {len(problems):,} to be mended.\n{listed}{more}")
