"""Your own claims: printed numbers, each compared with a result of an analysis."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.datasets.public import is_public
from nlgbench.names import brief, did_you_mean
from nlgbench.papers.claim_rows import claim_prefix
from nlgbench.runner import claims as ledgers
from nlgbench.study import Study, csv_files
from nlgbench.study.checks import checked
from nlgbench.study.csv_files import TableError

COLUMNS = [
    *("claim_id", "quantity", "published", "tolerance"),
    *("analysis", "where", "column", "unavailable"),
]
_ID = r"[a-z0-9._-]+(/[a-z0-9._-]+)*"
_NUMBERS = ("published", "tolerance")
_RULES = {
    "claim_id": "a unique id of lower-case letters, digits and . _ -, in parts separated by /",
    "published": "a finite number as printed, such as 0.41; for a direction 1 (above 0) or -1",
    "tolerance": "a finite number that is not negative, such as 0.005 for 0.41",
    "analysis": "the result to compare with; or, under unavailable, why there is none (not both)",
    "where": "column=value; column=value, each column once",
}
#: Old names of the column with estimates; a claim may still have them.
_OLD_NAMES = (
    *("accuracy", "agreement", "difference", "rating", "rho", "severity", "slope", "variance"),
    "win_rate",
)


def read_claims(claims: str | os.PathLike | pd.DataFrame) -> pd.DataFrame:
    """Read claims from a study's folder (its claims.csv, if it has one), a CSV file or a table.

    Raises `TableError`, which lists all problems by row and column.

    >>> table = pd.DataFrame({"claim_id": ["table2/bleu"], "published": ["0.41"]})
    >>> read_claims(table.assign(analysis="correlate", where="evaluator=bleu"))["tolerance"].item()
    0.005
    """
    lines: list[int] = []
    if isinstance(claims, pd.DataFrame):
        frame, origin = claims, "claims"
    else:
        path = Path(claims)
        has_none = path.is_dir() and not (path / "claims.csv").is_file()
        if has_none or is_public(os.fspath(claims)):
            return pd.DataFrame(columns=COLUMNS, dtype="str")
        path = path / "claims.csv" if path.is_dir() else path
        frame, lines = csv_files.parse(path)
        files.note_read(path)
        origin = os.fspath(path)
    names = list(map(str, frame.columns))
    wrong = [name for name in names if name not in COLUMNS or names.count(name) > 1]
    if wrong or not {"claim_id", "published"} <= set(names):
        raise TableError(
            f"{origin} has the columns {', '.join(names)}: use only "
            f"{', '.join(COLUMNS)}, each once, including claim_id and published."
            f"{did_you_mean(wrong[0], COLUMNS) if wrong else ''}"
        )
    frame = frame.reset_index(drop=True).reindex(columns=COLUMNS)
    text = frame.map(_text)
    numbers = {name: pd.to_numeric(text[name], errors="coerce") for name in _NUMBERS}
    published, tolerance = numbers.values()
    of_sign = text["claim_id"].str.startswith("direction/")
    printed = frame["published"].map(lambda cell: isinstance(cell, str)).astype(bool)
    stated = np.isfinite(tolerance) & (tolerance >= 0)
    right = {
        "claim_id": text["claim_id"].str.fullmatch(_ID) & ~text["claim_id"].duplicated(),
        "published": np.isfinite(published) & (~of_sign | (published.abs() == 1)),
        "tolerance": stated | ((text["tolerance"] == "") & (of_sign | printed)),
        "analysis": (text["analysis"] == "") != (text["unavailable"] == ""),
        "where": text["where"].map(_pairs).notna(),
    }
    problems = []
    for row, name in zip(*np.nonzero(~pd.DataFrame(right).to_numpy(dtype=bool)), strict=True):
        line = f" (line {lines[row]})" if lines else ""
        column, cell = list(right)[name], brief(frame[list(right)[name]].iloc[row])
        problems.append(
            f"{origin}, row {row + 1}{line}, column {column!r}, {cell}: write {_RULES[column]}."
        )
    if problems:
        raise TableError(*problems)
    unit = text["published"].map(_half_unit).astype(float)
    numbers["tolerance"] = numbers["tolerance"].fillna(unit).mask(of_sign, 0.0)
    return text.assign(**numbers, column=text["column"].replace("", "estimate"))


def _text(cell: object) -> str:
    missing = pd.api.types.is_scalar(cell) and pd.isna(cell)  # type: ignore[call-overload]
    return "" if missing else str(cell).strip()


def _pairs(where: str) -> dict[str, str] | None:
    """Read ``column=value; column=value``; None if the text has another form."""
    conditions = [condition.partition("=") for condition in where.split(";")] if where else []
    pairs = {name.strip(): value.strip() for name, equals, value in conditions if equals}
    return pairs if len(pairs) == len(conditions) and "" not in pairs else None


def _half_unit(printed: str) -> float:
    """Return half a unit of a printed number's last digit."""
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    return float(Decimal((0, (5,), exponent - 1)))


@checked
def check_claims(
    study: Study,
    claims: str | os.PathLike | pd.DataFrame | None,
    results: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Compare your own claims with the results of a study, and give each claim a verdict.

    Parameters
    ----------
    study : Study
        The study that the results are from; its name and source are in every row.
    claims : path, DataFrame or None
        A study's folder (its ``claims.csv`` is read if it exists), a CSV file, a table, or None for
        no claims. Columns:

        - ``claim_id``: lower-case letters, digits, ``. _ -``, in parts separated by ``/``. Ids that
          begin with ``direction/`` are claims about a sign: published is 1 (above 0) or -1 (below).
        - ``published``: the number, as printed.
        - ``tolerance``: largest difference that matches; default: half a unit of the last digit.
        - ``analysis``: the name of the result.
        - ``where``: its row, as ``column=value; column=value``; empty if there is only one.
        - ``column``: its column. Default: ``estimate``.
        - ``quantity``: what the number is, for readers; optional.
        - ``unavailable``: why no result can check the claim; then leave ``analysis`` empty.
    results : mapping of str to DataFrame
        Result tables by the names that claims use under ``analysis``, such as
        ``{"correlate": nb.correlate(study)}``.

    Returns
    -------
    DataFrame
        One row of the ledger per claim, for `run.claims` in a notebook: claim_id
        (``study/<name>/...``), variant, published, recomputed, ci_low, ci_high, tolerance, verdict,
        reason, source. Verdicts mean the same as for claims from papers.

    Raises
    ------
    TableError
        If a claim breaks a rule, names a column that the result lacks or that has no numbers, or
        matches more than one row. The message lists all such claims and how to fix them.

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
    table = pd.DataFrame(columns=COLUMNS) if claims is None else read_claims(claims)
    prefix = f"{claim_prefix(study, study.name)}/"
    records, skipped, problems = [], {}, []
    for number, claim in enumerate(table.to_dict("records"), 1):
        try:
            records.append({"claim_id": prefix + claim["claim_id"], **_answer(claim, results)})
        except LookupError as nothing:
            skipped[prefix + claim["claim_id"]] = nothing.args[0]
        except ValueError as error:
            problems.append(f"row {number}, claim_id={claim['claim_id']!r}, {error}")
    if problems:
        raise TableError(*problems)
    names = ["claim_id", "recomputed", "ci_low", "ci_high", "reason"]
    recorded = pd.DataFrame(records, columns=names)
    recorded = recorded.assign(variant="", source=study.source, comparable=True)
    signs = table["claim_id"].str.startswith("direction/").map({True: "direction", False: ""})
    claimed = table.assign(where=signs, claim_id=prefix + table["claim_id"])
    return ledgers.join(claimed, recorded, source=study.source, skipped=skipped)


def _answer(claim: dict[Any, Any], results: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Find the value to compare with one claim; LookupError explains why there is none."""
    name, column = claim["analysis"], claim["column"]
    if name not in results:
        names, hint = ", ".join(results) or "none", did_you_mean(name, results)
        raise LookupError(f"this run has no result {name!r}; it has: {names}.{hint}")
    rows = table = results[name]
    conditions = _pairs(claim["where"]) or {}
    if column in _OLD_NAMES and column not in table and "estimate" in table:
        note = f"claim {claim['claim_id']!r}: {name} now has the column 'estimate', no {column!r}."
        warnings.warn(f"{note} Write 'estimate' in its column 'column'.", stacklevel=3)
        column = "estimate"
    for key in (*conditions, column):
        if key not in table:
            names, hint = ", ".join(map(str, table)), did_you_mean(key, map(str, table))
            raise ValueError(f"{name} has no column {key!r}.{hint} Its columns: {names}.")
    for key, text in conditions.items():
        if not _same(table[key], text).any():
            hint = did_you_mean(text, table[key].map(_text).unique()[:1000])
            raise LookupError(f"{name} has no row where {key} is {text!r}.{hint}")
        rows = rows[_same(rows[key], text)]
    if rows.empty:
        raise LookupError(f"{name} has no row with all of these: {claim['where']}.")
    if len(rows) > 1:
        more = [key for key in rows if key not in conditions and len(set(rows[key].map(_text))) > 1]
        how = f"differ in {', '.join(map(str, more))}: add one of these" if more else "are equal"
        raise ValueError(
            f"column 'where': {len(rows)} rows of {name} match {claim['where']!r}; they {how}."
        )
    row = rows.iloc[0]
    answer: dict[str, Any] = {"reason": _text(row.get("reason"))}
    try:
        answer["recomputed"] = float(row[column])
    except (TypeError, ValueError):
        message = f"{column!r} of {name} is not a number: {brief(row[column])}."
        raise ValueError(message) from None
    if column == "estimate":
        answer |= {end: float(row[end]) for end in ("ci_low", "ci_high") if end in row}
    if np.isnan(answer["recomputed"]) and not answer["reason"]:
        answer["reason"] = f"{column} is undefined in this row of {name}"
    return answer


def _same(column: pd.Series, value: str) -> pd.Series:
    """Find the rows whose cell equals a claim's value, as numbers in a column of numbers."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column == pd.to_numeric(value, errors="coerce")
    return column.map(_text).str.lower() == value.lower()
