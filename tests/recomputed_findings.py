"""Recompute a run's findings from its CSV files, by a second evaluator without our code.

`problems` returns each number that its table does not give, and each number of a sentence that no
row of the table ``findings`` holds.
"""

import json
import math
import operator
import re

import pandas as pd

from nlgbench.evaluators.names import label

NUMBER = re.compile(r"(?<![\w.−-])[−-]?\d[\d,]*(?:\.\d+)?%?")


def problems(run):
    table = pd.read_csv(run / "tables" / "findings.csv", keep_default_na=False, dtype=str)
    assert len(table), run
    wrong = []
    for sentence, facts in table.groupby("finding", sort=False):
        if (facts["status"] == "failed").any():
            wrong.append(sentence)
            continue
        rows = facts.to_dict("records")
        text = sentence
        names = {name for fact in rows for name in (fact["subject"], fact["study"]) if name}
        names |= {name for subject in names for name in subject.split(", ")}  # of a pair
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, "")
        written = sorted(one.replace(",", "") for one in NUMBER.findall(text))
        expected = sorted(one for fact in rows if fact["table"] for one in recompute(run, fact))
        if written != expected:
            wrong.append(f"{sentence!r} has {written}; its tables give {expected}")
    return wrong


def recompute(run, fact):
    """Return the numbers of one row as its sentence must print them."""
    rows = pd.read_csv(run / "tables" / f"{fact['table']}.csv")
    for column, condition in json.loads(fact["filter"]).items():
        compare, value = condition if isinstance(condition, list) else ("=", condition)
        rows = rows[[holds(cell, compare, value) for cell in rows[column]]]
    aggregate, _, number = fact["aggregate"].partition(" ")
    if aggregate == "count":
        n = len(rows)
        if number:
            n = n // int(number[2:]) if number[0] == "/" else n - int(number[2:])
        assert float(fact["estimate"]) == float(fact["n"]) == n
        return [str(n)]
    if aggregate == "names":
        names = list(dict.fromkeys(map(str, rows[fact["column"]])))
        names = list(map(label, names)) if fact["column"] == "evaluator" else names
        n_left = int(float(fact["n"]))
        shown = [name for name in names if words(name) in words(fact["subject"])]
        assert len(shown) >= len(names) - n_left, fact
        assert len(words(fact["subject"])) <= sum(map(len, map(words, shown))) or not names, fact
        return [str(n_left)] if n_left else []
    if aggregate == "first":
        assert rows[fact["column"]].iloc[0] == fact["subject"]
        return []
    assert aggregate == "value" and len(rows) == 1, (fact, len(rows))
    row = rows.iloc[0]
    start = re.sub("estimate$", "", fact["column"]) if "_" in fact["column"] else ""
    start = start if start.endswith("_") else "ci_"
    columns = {"estimate": fact["column"], "ci_low": f"{start}low", "ci_high": f"{start}high"}
    printed = []
    for name, column in columns.items():
        if fact[name] == "":
            continue
        assert math.isclose(float(fact[name]), row[column], rel_tol=1e-9), (fact, row)
        percent = 100 if fact["unit"] == "%" else 1
        number = f"{percent * row[column]:z.{int(float(fact['digits']))}f}"
        printed.append(number.replace("-", "−") + fact["unit"])
    both = len(printed) == 3 or len(printed) == 1
    assert both, fact
    return printed


def holds(cell, compare, value):
    missing = pd.isna(cell)
    if compare in ("defined", "undefined"):
        return missing == (compare == "undefined")
    if compare in ("in", "not in"):
        return (cell in value) == (compare == "in")
    if compare == "=":
        return cell == value
    if missing:
        return False
    compared = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
    return compared[compare](cell, value)


def words(text):
    """Names as they are compared: without differences in spelling that labels make."""
    return re.sub(r"[\W_]+", "", text.replace(" and ", "")).casefold()
