"""Claims of your own: printed numbers, each put to the result that answers it."""

from __future__ import annotations

import os
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
_ID = r"[a-z0-9._-]+(/[a-z0-9._-]+)*"
_SHOWN = 20
#: What ci_low and ci_high lie around: the first of these that a table has.
_ESTIMATES = ("estimate", "rating", "win_rate", "mean")


def read_claims(claims: str | os.PathLike | pd.DataFrame) -> pd.DataFrame:
    """Read claims from a study's folder (its claims.csv, if there is one), a CSV file or a table.

    Raises `TableError`, which names all that is wrong by row, column, rule and value.

    >>> table = pd.DataFrame({"claim_id": ["table2/bleu"], "published": ["0.41"]})
    >>> read_claims(table.assign(analysis="correlate", where="evaluator=bleu"))["tolerance"].item()
    0.005
    """
    lines: list[int] = []
    if isinstance(claims, pd.DataFrame):
        frame, place = claims, "claims"
    else:
        path = Path(claims)
        if path.is_dir() and not (path / "claims.csv").is_file():
            return _typed(pd.DataFrame(columns=COLUMNS, dtype="str"), "", lines)
        path = path / "claims.csv" if path.is_dir() else path
        frame, lines = csv_files.parse(path)
        files.note_read(path)
        place = os.fspath(path)
    names = list(map(str, frame.columns))
    for name in names:
        if name not in COLUMNS or names.count(name) > 1:
            raise TableError(
                f"{place} has a column {name!r} that claims do not have, or twice: drop it."
                f"{did_you_mean(name, COLUMNS)} Known are {', '.join(COLUMNS)}."
            )
    for name in ("claim_id", "published"):
        if name not in names:
            raise TableError(f"{place} has no column {name!r}; found {', '.join(names) or 'none'}.")
    return _typed(frame.reset_index(drop=True).reindex(columns=COLUMNS), place, lines)


def _typed(frame: pd.DataFrame, place: str, lines: list[int]) -> pd.DataFrame:
    """Type a table of claims, or name everything in it that breaks a rule."""
    text = frame.map(_text)
    published, unread, _ = csv_files.convert(text["published"], "float")
    tolerance, unread_tolerance, _ = csv_files.convert(text["tolerance"], "float")
    of_sign = text["claim_id"].str.startswith("direction/")
    printed = frame["published"].map(lambda cell: isinstance(cell, str)).astype(bool)
    rules: list[tuple[str, Any, str]] = [
        (
            "claim_id",
            ~text["claim_id"].str.fullmatch(_ID),
            "an id has lower case letters, digits and . _ - in parts divided by /",
        ),
        ("claim_id", text["claim_id"].duplicated(), "stands in an earlier row, too: rename one"),
        (
            "published",
            unread | ~np.isfinite(published),
            "a finite number is needed: write what was printed, as 0.41",
        ),
        (
            "published",
            of_sign & (published.abs() != 1),
            "of a direction it is 1 (above 0) or -1 (below 0)",
        ),
        (
            "tolerance",
            unread_tolerance | (tolerance < 0) | np.isinf(tolerance),
            "a finite number is needed, not negative: 0.005 for 0.41",
        ),
        (
            "tolerance",
            (text["tolerance"] == "") & ~of_sign & ~printed,
            "a number does not say with how many digits it was printed",
        ),
        (
            "analysis",
            (text["analysis"] == "") == (text["unavailable"] == ""),
            "name the result that answers it, or under unavailable why nothing can, not both",
        ),
        (
            "where",
            [_pairs(one) is None for one in text["where"]],
            "write column=value; column=value, each column once",
        ),
    ]
    broken = [
        (int(row), name, rule)
        for name, bad, rule in rules
        for row in np.flatnonzero(np.asarray(bad))
    ]
    problems = []
    for row, name, rule in sorted(broken, key=lambda one: one[0]):
        line = f" (line {lines[row]})" if lines else ""
        cell = brief(frame[name].iloc[row])
        problems.append(f"row {row + 1}{line}, column {name!r}, {cell}: {rule}.")
    _refuse(problems, place)
    unit = text["published"].map(_half_unit).astype(float)
    tolerance = tolerance.where(text["tolerance"] != "", unit).mask(of_sign, 0.0)
    column = text["column"].replace("", "estimate")
    typed = text.assign(published=published, tolerance=tolerance, column=column)
    numbers = ["published", "tolerance"]
    return typed.astype({name: "float64" if name in numbers else "str" for name in COLUMNS})


def _text(cell: object) -> str:
    missing = pd.api.types.is_scalar(cell) and pd.isna(cell)  # type: ignore[call-overload]
    return "" if missing else str(cell).strip()


def _pairs(where: str) -> dict[str, str] | None:
    """Read ``column=value; column=value``; None where it is not that."""
    parts = [part.partition("=") for part in where.split(";")] if where else []
    found = {name.strip(): value.strip() for name, equals, value in parts if equals}
    return found if len(found) == len(parts) and "" not in found else None


def _half_unit(printed: str) -> float:
    """Give half a unit of a printed number's last digit."""
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    return float(Decimal((0, (5,), exponent - 1)))


def _refuse(problems: list[str], place: str) -> None:
    if problems:
        more = f"\n... and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
        listed = "\n".join(problems[:_SHOWN])
        raise TableError(f"{place}: {len(problems):,} to be fixed.\n{listed}{more}")


@checked
def check_claims(
    study: Study,
    claims: str | os.PathLike | pd.DataFrame | None,
    results: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Compare claims of your own with the results of a study, with verdicts.

    Parameters
    ----------
    study : Study
        What the results are of: its name and its source stand in every row.
    claims : path, DataFrame or None
        A study's folder, whose ``claims.csv`` is read if it has one, a CSV file, a table, or None
        for no claims. Columns:

        - ``claim_id``: lower case letters, digits, ``. _ -``, parts divided by ``/``. An id that
          begins with ``direction/`` is a claim about a sign: published is 1 (above 0) or -1.
        - ``published``: the number, as it was printed.
        - ``tolerance``: how far off still matches. Default: half a unit of the last printed digit.
        - ``analysis``: the name of the result.
        - ``where``: its row, as ``column=value; column=value``; empty where it has only one.
        - ``column``: its column. Default: ``estimate``.
        - ``quantity``: what it is, for readers; may be left out.
        - ``unavailable``: instead of an analysis, why nothing can answer it.
    results : mapping of str to DataFrame
        Result tables by the name that claims have under ``analysis``, such as
        ``{"correlate": nb.correlate(study)}``.

    Returns
    -------
    DataFrame
        A row of the ledger for each claim, for `run.claims` in a notebook: claim_id
        (``study/<name>/...``), variant, published, recomputed, ci_low, ci_high, tolerance, verdict,
        reason, source. Verdicts are those of the papers' claims.

    Raises
    ------
    TableError
        When a claim breaks a rule, or names a column that its result does not have, one that is no
        number, or several rows: all that do, by row, column, value, rule and way out.

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
        row = {
            **{name: claim[name] for name in ("published", "tolerance")},
            **dict.fromkeys(("recomputed", "ci_low", "ci_high"), np.nan),
            **{"claim_id": f"{place}/{claim['claim_id']}", "variant": "", "source": study.source},
        }
        try:
            rows.append(row | _answer(claim, results))
        except LookupError as nothing:
            rows.append(row | {"verdict": "not recomputable", "reason": nothing.args[0]})
        except ValueError as error:
            problems.append(f"row {number}, claim_id={claim['claim_id']!r}, {error}")
    _refuse(problems, "claims")
    return schema.check(pd.DataFrame(rows, columns=schema.columns("ledger")), "ledger")


def _answer(claim: dict[Any, Any], results: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Answer one claim from the results; LookupError says why nothing there answers it."""
    name, column = claim["analysis"], claim["column"]
    if claim["unavailable"]:
        raise LookupError(claim["unavailable"])
    if name not in results:
        there, hint = ", ".join(results) or "none", did_you_mean(name, results)
        raise LookupError(f"there is no result {name!r} in this run; there are: {there}.{hint}")
    table = results[name]
    if table.columns.has_duplicates:
        doubled = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"column 'analysis': {name} has two columns {doubled!r}: keep one.")
    named = [one for one in table.index.names if one is not None and one not in table]
    table = table.reset_index(level=named) if named else table
    wanted = _pairs(claim["where"]) or {}
    for one in (*wanted, column):
        if one not in table:
            there, hint = ", ".join(map(str, table)), did_you_mean(one, map(str, table))
            raise ValueError(f"{name} has no column {one!r}.{hint} It has {there}.")
    rows = table
    for one, text in wanted.items():
        if not _same(table[one], text).any():
            hint = did_you_mean(text, table[one].map(_text).unique()[:1000])
            raise LookupError(f"{name} has no row where {one} is {text!r}.{hint}")
        rows = rows[_same(rows[one], text)]
    if rows.empty:
        raise LookupError(f"{name} has no row where {claim['where']}, all at once.")
    if len(rows) > 1:
        more = [one for one in rows if one not in wanted and len(set(rows[one].map(_text))) > 1]
        raise ValueError(
            f"column 'where': {len(rows)} rows of {name} fit {claim['where']!r}; they differ in "
            f"{', '.join(map(str, more)) or 'no column'}: add one of these."
        )
    row = rows.iloc[0]
    value, bad, _ = csv_files.convert(pd.Series([row[column]]), "float")
    if bad.any():
        raise ValueError(f"{column!r} of {name} is no number: {brief(row[column])}.")
    recomputed = float(value[0])
    bounded = column == next((one for one in _ESTIMATES if one in table), None)
    ends = {
        end: float(row.get(end, np.nan)) if bounded else np.nan for end in ("ci_low", "ci_high")
    }
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
    return {**ends, "recomputed": recomputed, "verdict": says, "reason": reason}


def _same(column: pd.Series, value: str) -> pd.Series:
    """Find the rows in which a cell is what a claim says: as a number in a column of numbers."""
    texts = column.map(_text)
    if pd.api.types.is_bool_dtype(column):
        return texts.str.lower() == value.lower()
    if pd.api.types.is_numeric_dtype(column) and value:
        numbers = pd.to_numeric(column, errors="coerce")
        return (numbers == pd.to_numeric(value, errors="coerce")).fillna(False).astype(bool)
    return texts == value
