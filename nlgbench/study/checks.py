"""Check the arguments of public functions, once, before they run."""

from __future__ import annotations

import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from nlgbench.names import brief, did_you_mean, known
from nlgbench.status import Unsupported
from nlgbench.study import csv_files
from nlgbench.study.column_names import argument, recognized
from nlgbench.study.csv_files import TableError

P = ParamSpec("P")
R = TypeVar("R")

#: Parameters between 0 and 1 -> a hint about the usual value.
_SHARES = {"confidence": " (0.95 is usual)", "alpha": " (0.05 is usual)", "test_size": ""}
_COUNTS = ("seed", "pair_seed", "n_", "max_")
_WORDS = {str: "string", int: "whole number", float: "finite number", Mapping: "dict"}
_VALUES = {bool: "True or False", types.NoneType: "None", Literal[""]: "empty"}

#: The longest name, in characters, that leaves room for data in a figure.
LONGEST_NAME = 80


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check names against choices and numbers against ranges before a public function runs."""
    signature = inspect.signature(function)

    @functools.cache
    def hint(name: str) -> Any:
        parameter = signature.parameters[name]
        written = parameter.annotation
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            return Any
        try:
            scope = inspect.unwrap(function).__globals__
            return eval(written, scope) if isinstance(written, str) else written
        except NameError:  # imported only for type checkers
            return Any

    @functools.wraps(function)
    def entered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python names the wrong parameter itself
        for name, value in bound.items():
            _check(name, value, hint(name))
        return function(*args, **kwargs)

    return entered


def _check(name: str, value: Any, hint: Any) -> None:
    if not fits(value, hint):
        choices = _choices(hint)
        for element in value if isinstance(value, list | tuple) else [value]:
            if isinstance(element, str) and choices:
                known(element, choices, name)
        way = read_first(value) if "Study" in words(hint) else ""
        raise ValueError(f"{name} must be {words(hint)}. Got {brief(value)}.{way}")
    if isinstance(value, Real) and name in _SHARES and not 0 < float(value) < 1:
        raise ValueError(f"{name} must be between 0 and 1. Got {value}{_SHARES[name]}.")
    if isinstance(value, Real) and name.startswith(_COUNTS) and float(value) < 0:
        raise ValueError(f"{name} must be a whole number, at least 0. Got {value}.")


def read_first(value: object) -> str:
    """Say how to make a study of a DataFrame or path; empty for anything else."""
    if isinstance(value, str | os.PathLike):
        return f" Read it first: nb.read_study({os.fspath(value)!r})."
    if not isinstance(value, pd.DataFrame):
        return ""
    columns = recognized([*map(str, value.columns)])
    measured = ["system_a", "system_b", "choice"] if "choice" in columns else ["system", "value"]
    ours = ("item_id", "annotator_id", *measured)
    named = [f"{argument(our)}={columns.get(our, '...')!r}" for our in ours]
    return f" Make one of its columns: nb.read_study(df, {', '.join(named)})."


def _choices(hint: Any) -> list[str]:
    """List the strings that a parameter, or each element of a list, may be."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return list(inner)
    return list(dict.fromkeys(choice for element in inner for choice in _choices(element)))


def fits(value: Any, hint: Any) -> bool:
    """Check a value, and the elements of a collection, against a type hint."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if isinstance(origin, type) and issubclass(origin, Mapping):
        value_hint = inner[1] if inner else Any
        return isinstance(value, Mapping) and all(fits(v, value_hint) for v in value.values())
    if isinstance(origin, type) and origin is not Callable:
        if isinstance(value, str | bytes | pd.DataFrame | Mapping):
            return False
        several = isinstance(value, Collection) and len(value) > 0
        return isinstance(value, Iterator) or (several and all(fits(v, inner[0]) for v in value))
    if hint in (int, float):
        kind = Integral if hint is int else Real
        if isinstance(value, np.number):
            value = value.item()
        right = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
        return right and abs(value) <= csv_files.GREATEST
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    vague = hint is Any or getattr(hint, "_is_protocol", False)
    return vague or not isinstance(hint, type) or isinstance(value, hint)


def words(hint: Any, several: bool = False) -> str:
    """Describe a value of a type, or several values, in words."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    a, s = ("", "s") if several else ("a ", "")
    if origin in (typing.Union, types.UnionType):
        # The longest comes last, because its elements would seem to include what follows.
        options = sorted(dict.fromkeys(words(option, several) for option in inner), key=len)
        text = (" or " if several else ", or ").join(options)
        return text.replace(f"list of {options[0]}", "list of them")
    if hint in _VALUES:
        return _VALUES[hint]
    if origin is Literal:
        return " or ".join(filter(None, [", ".join(map(repr, inner[:-1])), repr(inner[-1])]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = "" if inner[1:] in ((), (Any,)) else f" of {words(inner[1], True)}"
        return f"{a}dict{s}{values}"
    if origin is not None:
        return f"{a}non-empty list{s} of {words(inner[0], True)}"
    if hint in _WORDS:
        return f"{a}{_WORDS[hint]}{s}"
    named = getattr(hint, "__name__", str(hint))
    return f"{named} objects" if several else f"{'an' if named[0] in 'AEIO' else 'a'} {named}"


def read_table(frame: pd.DataFrame, columns: str, subject: str) -> pd.DataFrame:
    """Convert a table's columns to their declared types, or report the first invalid cell.

    Columns are declared as "system estimate:float task?". A question mark makes a column optional,
    and its texts may be missing. Undeclared columns stay unchanged. A "float" must not be infinite;
    a "number" may be. A "name" (the default) is a text or number that is short enough for a
    figure; a "key" is any text or number. The subject includes its verb, such as "scores have".
    """
    declared = csv_files.declared(columns)
    kinds = {column.name: column.kind or "name" for column in declared}
    required = [column.name for column in declared if not column.is_optional]
    return convert_columns(frame, kinds, required, subject)


def convert_columns(
    frame: pd.DataFrame, kinds: Mapping[str, str], required: list[str], subject: str
) -> pd.DataFrame:
    """Convert columns as `read_table` does, but allow any text as a column's name."""
    table, has = subject.rsplit(" ", 1)
    if frame.columns.nlevels > 1:
        raise TableError(f"{subject} several levels of columns: keep one level with droplevel().")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise TableError(f"{subject} two columns named {doubled[0]!r}: keep one.")
    missing = [name for name in required if name not in frame]
    if missing:
        need = "they need" if has == "have" else "it needs"
        names = list(map(str, frame.columns))
        raise TableError(
            f"{subject} no column {missing[0]!r}: {need} {', '.join(required)}; found "
            f"{', '.join(names) or 'none'}.{did_you_mean(missing[0], {*names} - {*required})}"
        )
    if frame.empty:
        raise Unsupported("no_rows", f"{subject} no rows.")
    frame = frame if frame.index.is_unique else frame.reset_index(drop=True)
    converted = {}
    for name in frame.columns.intersection(list(kinds)):
        cells, bad, rule = _converted(frame[name], kinds[name], name not in required)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise TableError(
                f"{table}, column {name!r} {rule}. Found in row {row + 1}: "
                f"{brief(frame[name].iloc[row])}."
            )
        dtype = frame[name].dtype
        is_plain = isinstance(dtype, np.dtype) and dtype.kind in "iufb"
        if kinds[name] in ("name", "text") or not is_plain:
            converted[name] = cells  # other numbers stay unchanged, so that 3 is not written as 3.0
    return frame.assign(**converted) if converted else frame


def _converted(column: pd.Series, kind: str, may_lack: bool) -> tuple[pd.Series, np.ndarray, str]:
    """Convert a column as `csv_files.convert` does; a number may be a name."""
    if kind not in ("text", "name", "key"):
        converted, bad, rule = csv_files.convert(column, "float" if kind == "number" else kind)
        if kind == "float" and not bad.any():
            bad = np.isinf(converted.to_numpy())
            rule = "must be finite: leave the cell empty if the value is undefined"
        return converted, bad, rule
    column = column.infer_objects() if kind == "key" else column
    is_number = pd.api.types.is_any_real_numeric_dtype(column)
    lacks = column.isna().to_numpy(dtype=bool)
    if is_number and kind == "key":
        plain = column if lacks.any() else column.astype(column.to_numpy().dtype)
        return plain, lacks, "must not be missing: drop the row"
    if is_number and not lacks.any():
        column = column.astype(object).map(str)
    if may_lack and lacks.any():
        column = column.astype(object).mask(lacks, "")
    converted, bad, rule = csv_files.convert(column, "text")
    converted = converted.mask(lacks) if may_lack else converted
    if kind == "name" and not bad.any():
        bad = (converted.fillna("").str.len() > LONGEST_NAME).to_numpy(dtype=bool)
        rule = f"must be at most {LONGEST_NAME} characters long: shorten it for figures"
    return converted, bad, rule
