"""What public functions check of what they are given, once, before they run."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd

from nlgbench.names import brief, did_you_mean, known
from nlgbench.study import csv_files
from nlgbench.study.csv_files import TableError

P = ParamSpec("P")
R = TypeVar("R")

#: Parameter -> what its number must be: one of the field's names means one thing everywhere.
_SHARES = {"confidence": ": 0.95 is usual", "alpha": ": 0.05 is usual", "test_size": ""}
_SEEDS = ("seed", "pair_seed")
_SINGLE: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: ("a whole number", lambda value: isinstance(value, Integral) and not _is_bool(value)),
    float: ("a finite number", lambda value: _is_number(value)),
    type(None): ("None", lambda value: value is None),
}
_MANY = (collections.abc.Collection, Iterator)

#: Of a name, in characters: more leave no room in a figure for what it names.
LONGEST_NAME = 80


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Hold what a public function is given against its annotations, and names against ranges."""
    signature = inspect.signature(function)
    hints: dict[str, Any] = {}

    @functools.wraps(function)
    def entered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python says itself which parameter is wrong
        if not hints:  # when it is first called: all that annotations name is loaded by then
            hints.update({name: _hint(function, one) for name, one in signature.parameters.items()})
        for name, value in given.items():
            _check(name, value, hints[name])
        return function(*args, **kwargs)

    return entered


def _hint(function: Callable, parameter: inspect.Parameter) -> Any:
    hint = parameter.annotation
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return Any
    if isinstance(hint, str):
        try:
            return eval(hint, inspect.unwrap(function).__globals__)
        except NameError:  # imported for type checkers alone
            return Any
    return hint


def _check(name: str, value: Any, hint: Any) -> None:
    if not _fits(value, hint):
        choices = _choices(hint)
        listed = [value] if isinstance(value, str) or not isinstance(value, _MANY) else list(value)
        for one in listed:
            if choices and isinstance(one, str):
                known(one, choices, name)
        raise ValueError(f"{name} must be {_words(hint)}. Got {brief(value)}.")
    if not isinstance(value, Real) or _is_bool(value):
        return
    number = cast(float, value)
    if name in _SHARES and not 0 < number < 1:
        raise ValueError(f"{name} must be between 0 and 1. Got {number}{_SHARES[name]}.")
    if number < 0 and (name in _SEEDS or name.startswith(("n_", "max_"))):
        raise ValueError(f"{name} must be a whole number, not negative. Got {number}.")


def _choices(hint: Any) -> list[str]:
    """List the texts that a parameter, or each in its list, may be, if it is one of some."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is Literal:
        return list(inner)
    return list(dict.fromkeys(choice for each in inner for choice in _choices(each)))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_number(value: object) -> bool:
    if not isinstance(value, Real) or _is_bool(value):
        return False
    return abs(cast(float, value)) <= csv_files.GREATEST


def _fits(value: Any, hint: Any) -> bool:
    if hint in _SINGLE:
        return _SINGLE[hint][1](value)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple and inner[-1] is not ...:
        several = isinstance(value, collections.abc.Collection) and not isinstance(value, str)
        return several and len(value) == len(inner) and all(map(_fits, value, inner))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(one, inner[1]) for one in value.values())
    if origin is not None and origin is not collections.abc.Callable:
        if isinstance(value, str | bytes | pd.DataFrame) or not isinstance(value, _MANY):
            return False
        # What can be gone through only once is left to the function.
        if isinstance(value, Iterator):
            return True
        return len(value) > 0 and all(_fits(one, inner[0]) for one in value)
    if origin is collections.abc.Callable:
        return callable(value)
    if hint is Any or not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return True
    return isinstance(value, hint)


def _words(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _SINGLE:
        return _SINGLE[hint][0]
    if origin in (typing.Union, types.UnionType):
        # What is longest last: a list's "each" would seem to go on.
        return ", or ".join(sorted(dict.fromkeys(_words(one) for one in inner), key=len))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and inner[-1] is not ...:
        return f"{len(inner)} in a row, each {' or '.join(dict.fromkeys(map(_words, inner)))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a dict whose values are each {_words(inner[1])}"
    if origin is collections.abc.Callable:
        return "a function"
    if origin is not None:
        return f"a list of at least one, each {_words(inner[0])}"
    return f"a {getattr(hint, '__name__', str(hint))}"


def read_table(frame: pd.DataFrame, columns: str, subject: str) -> pd.DataFrame:
    """Give a table that is passed in the columns' types, or say which breaks which rule.

    Columns are named as `schema` does it, "system estimate:float task?", an optional one with a
    question mark (its texts may be missing); others stay as they are. A "float" is finite, a
    "number" need not be; a "name" is a text, or a number written as one, that a figure has room
    for; a "key" may be any text or number. The subject has its verb, such as "scores have".
    """
    declared = columns.split()
    parts = [part.rstrip("?").partition(":") for part in declared]
    kinds = {name: kind or "name" for name, _, kind in parts}
    optional = {part.rstrip("?").partition(":")[0] for part in declared if part.endswith("?")}
    wanted = [name for name in kinds if name not in optional]
    return convert_columns(frame, kinds, wanted, subject)


def convert_columns(
    frame: pd.DataFrame, kinds: Mapping[str, str], wanted: list[str], subject: str
) -> pd.DataFrame:
    """Do what `read_table` does, where columns' names are the user's and may be any text."""
    thing, has = subject.rsplit(" ", 1)
    if frame.columns.nlevels > 1:
        raise TableError(f"{subject} several levels of columns: keep one, by droplevel().")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise TableError(f"{subject} two columns {doubled[0]!r}: keep one.")
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        need = "they need" if has == "have" else "it needs"
        raise TableError(
            f"{subject} no column {missing[0]!r}: {need} {', '.join(wanted)}; found "
            f"{', '.join(map(str, frame.columns)) or 'none'}."
            f"{did_you_mean(missing[0], set(map(str, frame.columns)) - set(wanted))}"
        )
    if frame.empty:
        raise TableError(f"{subject} no row: there is nothing to draw.")
    frame = frame if frame.index.is_unique else frame.reset_index(drop=True)
    made = {}
    for name in frame.columns.intersection(list(kinds)):
        found, bad, rule = _converted(frame[name], kinds[name], name not in wanted)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise TableError(
                f"{thing}, column {name!r} {rule}. Found in row {row + 1}: "
                f"{brief(frame[name].iloc[row])}."
            )
        dtype = frame[name].dtype
        is_plain = isinstance(dtype, np.dtype) and dtype.kind in "iufb"
        if kinds[name] in ("name", "text") or not is_plain:
            made[name] = found  # other numbers stay as they are: 3 is not written 3.0
    return frame.assign(**made) if made else frame


def _converted(column: pd.Series, kind: str, may_lack: bool) -> tuple[pd.Series, np.ndarray, str]:
    """Convert a column as `csv_files.convert` does; a number may be a name."""
    column = column.infer_objects() if kind == "key" else column
    if kind == "key" and pd.api.types.is_any_real_numeric_dtype(column):
        rule = "must not be missing: leave the row out"
        bad = column.isna().to_numpy(dtype=bool)
        plain = column if bad.any() else column.astype(column.to_numpy().dtype)
        return plain, bad, rule
    if kind in ("text", "name", "key"):
        if pd.api.types.is_any_real_numeric_dtype(column) and not column.isna().any():
            column = column.astype(object).map(str)
        lacks = column.isna() & may_lack
        if lacks.any():
            found, bad, rule = csv_files.convert(column.astype(object).mask(lacks, ""), "text")
            found = found.mask(lacks)
        else:
            found, bad, rule = csv_files.convert(column, "text")
        if kind == "name" and not bad.any():
            bad = (found.fillna("").str.len() > LONGEST_NAME).to_numpy(dtype=bool)
            rule = f"must be at most {LONGEST_NAME} characters long: shorten it for figures"
        return found, bad, rule
    found, bad, rule = csv_files.convert(column, "float" if kind == "number" else kind)
    if kind == "float" and not bad.any():
        bad = np.isinf(found.to_numpy())
        rule = "must be finite: leave it empty where it is undefined"
    return found, bad, rule
