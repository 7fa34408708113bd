"""Findings: sentences whose numbers name the table, rows and column that they come from.

A run's tables are read through `Facts`. Each number that it writes into a sentence becomes a row of
the run's table ``findings``, so that every sentence can be recomputed from the run's CSV files.

>>> table = pd.DataFrame({"system": ["s_1", "s_2"], "estimate": [0.1, 0.5]})
>>> facts = Facts({"scores": table.assign(ci_low=[-0.2, 0.4], ci_high=[0.4, 0.6])})
>>> finding = facts.say("The score is", "scores", "{number} for {system}", null=0, order="highest")
>>> finding.sentence
'The score is 0.50 [0.40, 0.60] for s 2 and 0.10 [−0.20, 0.40] (inconclusive) for s 1.'
>>> n_above = facts.count("scores", {"ci_low": (">", 0)})
>>> facts.sentence(f"Scores above zero: {n_above}.").facts[0]["n"]
1
"""

from __future__ import annotations

import json
import math
import operator
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.clustering import write_scope
from nlgbench.evaluators.names import label
from nlgbench.reported import digits
from nlgbench.text import listed

#: Column -> the value of the rows, or an operator of `OPERATORS` and a value.
Where = Mapping[str, Any]

#: The most rows or names that a sentence lists.
_MOST = 3
#: The columns of the table ``findings``; a row is a number in the sentence ``finding``.
COLUMNS = (
    *("finding", "subject", "quantity", "estimate", "ci_low", "ci_high", "n", "of"),
    *("adjusted", "covers", "conditions", "status", "source", "study", "data"),
    *("table", "filter", "column", "aggregate", "digits", "unit"),
)
OPERATORS = {
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "in": lambda column, values: column.isin(values),
    "not in": lambda column, values: ~column.isin(values),
    "defined": lambda column, _: column.notna(),
    "undefined": lambda column, _: column.isna(),
}


@dataclass(frozen=True)
class Finding:
    """A sentence, and a row of the table ``findings`` for each number in it."""

    sentence: str
    facts: list[dict[str, Any]]

    def about(self, **columns: Any) -> Finding:
        """Set columns of all rows that have none, such as the study and the source."""
        return replace(self, facts=[{**columns, **fact} for fact in self.facts or [{}]])


class Facts:
    """Write numbers of a run's tables into sentences, and remember where each comes from.

    Methods that return text add to the sentence that `sentence` completes. `where` selects rows by
    column, as in ``{"score": "huse", "ci_low": (">", 0)}``; operators are those of `OPERATORS`.
    """

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        self.tables = tables
        self._facts: list[dict[str, Any]] = []

    def rows(self, table: str, where: Where | None = None) -> pd.DataFrame:
        """Return the rows of a table; none if the run has no such table."""
        rows = self.tables.get(table, pd.DataFrame())
        for column, condition in (where or {}).items() if len(rows) else ():
            name, value = condition if isinstance(condition, tuple) else ("=", condition)
            rows = rows[OPERATORS[name](rows[column], value).astype(bool)]
        return rows

    def sentence(self, text: str, **about: Any) -> Finding:
        """Complete a sentence; `about` sets columns of its facts (conditions, adjusted ...)."""
        facts, self._facts = self._facts, []
        return Finding(_minus(text), facts).about(**about)

    def count(
        self,
        table: str,
        where: Where | None = None,
        *,
        among: Where | None = None,
        of: str = "",
        each: int = 1,
    ) -> str:
        """Write the number of rows; with `among`, also of how many, and what they are (`of`).

        `each` is how many rows list the same thing, such as a pair of systems in both directions.
        """
        rows = {**(among or {}), **(where or {})}
        n = len(self.rows(table, rows)) // each
        aggregate = "count" if each == 1 else f"count / {each}"
        self._add(table, rows, aggregate=aggregate, estimate=n, n=n, of=of or table, digits=0)
        if among is None:
            return f"{n:,}"
        return f"{n:,} of {self.count(table, among, of=of, each=each)} {of or table}"

    def number(
        self,
        table: str,
        where: Where | None = None,
        column: str = "estimate",
        form: str = "",
        *,
        interval: bool = True,
        subject: str = "",
        quantity: str = "",
    ) -> str:
        """Write the value of one row, with its interval if it has one, or in a given format."""
        row = self.rows(table, where).iloc[0]
        ends = [row.get(end, math.nan) if interval else math.nan for end in ends_of(column)]
        values = np.array([row[column], *ends], dtype=np.float64)
        has_interval = bool(np.isfinite(values[1:]).all())
        form = form or (f"z.{digits(values)}f" if interval else _short_form(values[0]))
        texts = [f"{value:{form}}" for value in values]
        text = texts[0]
        if interval:
            text += f" [{texts[1]}, {texts[2]}]" if has_interval else " (no interval)"
        columns = {name: row[name] for name in ("covers", "status") if name in row}
        columns |= {"ci_low": ends[0], "ci_high": ends[1]}
        self._add(
            *(table, where),
            **columns | _size(row),
            quantity=quantity or column,
            estimate=float(row[column]),
            subject=subject,
            column=column,
            aggregate="value",
            digits=len(texts[0].removesuffix("%").partition(".")[2]),
            unit="%" * texts[0].endswith("%"),
        )
        return text

    def names(
        self, table: str, where: Where | None = None, column: str = "system", *, by: str = ""
    ) -> str:
        """List the names in a column; of many, the first, and how many others there are.

        With `by`, a column of numbers, the names with the highest come first.
        """
        rows = self.rows(table, where)
        if by:
            rows = rows.sort_values(by, ascending=False, kind="stable")
        names = [write_name(column, name) for name in rows[column].unique()]
        n_left = len(names) - _MOST
        n_left *= n_left > 1
        listed_names = names[: len(names) - n_left]
        self._add(
            table, where, column=column, aggregate="names", subject=listed(listed_names), n=n_left
        )
        return listed([*listed_names, f"{n_left:,} others"] if n_left else listed_names)

    def name(self, text: str) -> str:
        """Write a name that is in no table, such as that of a parameter."""
        self._facts.append({"subject": text})
        return text

    def reason(self, table: str, where: Where | None = None) -> str:
        """Write the reason of the first row; as an example, if others have another one."""
        reasons = self.rows(table, where)["reason"].astype(str)
        self._add(table, where, column="reason", aggregate="first", subject=reasons.iloc[0])
        return "for example, " * (len({*reasons}) > 1) + reasons.iloc[0]

    def listing(
        self,
        table: str,
        template: str = "{number}",
        where: Where | None = None,
        *,
        value: str = "estimate",
        null: float | None = None,
        order: str = "",
        rest: str = "",
        most: int = 3,
    ) -> str:
        """Describe the first rows with a value by a template; empty if there is none.

        `template` may name columns, and ``{number}``, which is the `value` with its interval,
        marked as inconclusive if the interval contains `null`. `order` is "highest" or "lowest"
        (first).
        `rest` describes the ``{n}`` rows beyond the first, `most` of which are shown.
        """
        where = {value: ("defined", None), **(where or {})}
        rows = self.rows(table, where)
        if rows.empty:
            return ""
        if order:
            rows = rows.sort_values(value, ascending=order == "lowest", kind="stable")
        n_shown = most if len(rows) > most + bool(rest) else len(rows)
        first_rows = rows[:n_shown].iterrows()
        texts = [self._describe(table, row, template, where, value, null) for _, row in first_rows]
        if n_shown == len(rows) or not rest:
            return _join(texts)
        last = rows[value].iloc[n_shown - 1]
        n_left = len(rows) - n_shown
        if order and (rows[value][n_shown:] == last).any():  # as high or low as the last one shown
            rest = re.sub(r"\b(lower|higher)\b", r"not \1", rest)
        size = {"estimate": n_left, "n": n_left, "of": table, "digits": 0}
        self._add(table, where, aggregate=f"count - {n_shown}", **size)
        more = rest.format(n=f"{n_left:,}")
        return f"{_join(texts)}{more}" if more.startswith(";") else _join([*texts, more])

    def say(
        self, start: str, table: str, template: str = "{number}", where: Any = None, **options: Any
    ) -> Finding | None:
        """Write a sentence about a table's first rows (`listing`); None without any value."""
        waiting, self._facts = self._facts, []  # of a sentence that is not complete
        finding, text = None, self.listing(table, template, where, **options)
        if text:
            finding = self.sentence(f"{start} {text}.")
        self._facts = waiting
        return finding

    def _describe(
        self,
        table: str,
        row: pd.Series,
        template: str,
        where: Where,
        value: str,
        null: float | None,
    ) -> str:
        """Describe one row; the numbers in the template's fields become facts."""
        fields = [
            (text, str(name), str(form or "")) for text, name, form, _ in _PARSER.parse(template)
        ]
        names = [name for _, name, _ in fields if isinstance(row.get(name), str)]
        row_of = {**where, **{name: row[name] for name in names}}
        if len(self.rows(table, row_of)) > 1:  # names, and the numbers that describe a design
            keys = [name for name in row.index if isinstance(row[name], str) or name[:2] == "n_"]
            row_of |= {name: row[name] for name in keys if name not in _TEXTS}
        subject = ", ".join(write_name(name, row[name]) for name in names)
        texts = []
        for text, name, form in fields:
            texts.append(text)
            if name == "number":
                texts.append(self.number(table, row_of, value, subject=subject))
                if null is not None and not (row["ci_low"] > null or row["ci_high"] < null):
                    texts.append(" (inconclusive)")
            elif name in names:
                texts.append(write_name(name, row[name]))
            elif name != "None":
                options: Any = {"interval": False, "subject": subject}
                texts.append(self.number(table, row_of, name, form, **options))
        return "".join(texts)

    def _add(self, table: str, where: Where | None, **fact: Any) -> None:
        conditions = json.dumps(dict(where or {}), default=_plain, ensure_ascii=False)
        self._facts.append({"table": table, "filter": conditions, "status": "ok", **fact})


_PARSER = string.Formatter()
#: Columns of text that do not identify a row, and those that do not identify a pair of systems.
_TEXTS = ("reason", "status", "covers", "source", "label", "signature")
_NOT_KEYS = [*_TEXTS, "system", "opponent", "verdict"]


def write_name(column: str, value: object) -> str:
    """Write a name as it appears in a sentence."""
    if column.startswith("evaluator"):
        return label(str(value)).replace(", ", " with ")
    return write_scope([value]) if column == "covers" else str(value).replace("_", " ")


def legible(table: pd.DataFrame) -> pd.DataFrame:
    """Replace names of evaluators by labels, sort systems by rank, and keep each pair once."""
    table = drop_mirrored(table)
    if {"comparator", "rank_low"} <= set(table):
        groups = (rows for _, rows in table.groupby("comparator", sort=False))
        table = pd.concat(rows.sort_values("estimate", ascending=False) for rows in groups)
    for name in table:
        if str(name).startswith("evaluator") and all(isinstance(cell, str) for cell in table[name]):
            table[name] = [
                "annotators" if cell == "people" else label(cell) for cell in table[name]
            ]
    return table


def drop_mirrored(table: pd.DataFrame) -> pd.DataFrame:
    """Copy a table; of pairs in both directions, keep that with the higher estimates."""
    if not {"system", "opponent", "estimate"} <= set(table):
        return table.copy()
    texts = table.select_dtypes(["object", "str"]).columns.difference(_NOT_KEYS)
    pairs = pd.Series(map(frozenset, zip(table["system"], table["opponent"], strict=True)))
    keys = table[texts].reset_index(drop=True).assign(pair=pairs)
    total = table.groupby(["system", "opponent"])["estimate"].transform("sum")
    order = np.argsort(-total.to_numpy(), kind="stable")
    return table.iloc[np.sort(keys.iloc[order].drop_duplicates().index)].copy()


def ends_of(column: str) -> tuple[str, str]:
    """Return the columns of the ends of an estimate's interval."""
    start = column.removesuffix("estimate") if column != "estimate" else "ci_"
    return (f"{start}low", f"{start}high") if start.endswith("_") else ("ci_low", "ci_high")


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """Return the table ``findings``: a row for each number, or for a sentence without numbers."""
    rows = [
        {"finding": finding.sentence, **fact}
        for finding in findings
        for fact in finding.facts or [{}]
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _short_form(value: float) -> str:
    """Return a format with up to three significant digits, without trailing zeros."""
    digits = next(
        d for d in range(6) if d == 5 or math.isclose(value, round(value, d), rel_tol=5e-3)
    )
    return f"z,.{digits}f"


def _size(row: pd.Series) -> dict[str, Any]:
    """Return how many units an estimate is from, and what they are."""
    column = next((name for name in _SIZES if name in row), "")
    return {"n": row[column], "of": column.removeprefix("n_")} if column else {}


_SIZES = ("n_studies", "n_items", "n_outputs", "n_judgments", "n_clusters", "n_games", "n")


def _join(texts: Sequence[str]) -> str:
    """Join the parts of a list that contain commas."""
    return f"{', '.join(texts[:-1])}, and {texts[-1]}" if texts[2:] else " and ".join(texts)


def _minus(text: str) -> str:
    return re.sub(r"(?<![\w-])-(?=\d)", "−", text)


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and other sequences for JSON."""
    return value.item() if isinstance(value, np.generic) else list(value)
