"""Read a notebook's parameters from their cell with `ast`, and check values before a run.

Papermill's own inspection drops annotations such as ``int | None``, and only warns about a name
that the notebook does not have.
"""

from __future__ import annotations

import ast
import json
import operator
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nlgbench.names import UsageError, did_you_mean


class ParameterError(UsageError):
    """An unknown parameter, or a value that the notebook does not accept."""


class _MisfitError(Exception):
    """A value does not have the declared type."""


_TYPES = {"str": str, "bool": bool, "list": list, "dict": dict}
_WORDS = {
    **{"str": "a string", "bool": "True or False", "list": "a list", "dict": "a dict"},
    **{"int": "a whole number", "float": "a finite number", "Any": "a JSON value"},
}
#: The bounds of `annotated_types` that annotations may use, and how messages name them.
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "Ge": (operator.ge, "of at least"),
    "Gt": (operator.gt, "above"),
    "Le": (operator.le, "of at most"),
    "Lt": (operator.lt, "below"),
    "MultipleOf": (lambda value, step: value % step == 0, "divisible by"),
}


@dataclass(frozen=True)
class Parameter:
    """One assignment of a notebook's ``parameters`` cell."""

    name: str
    default: Any
    annotation: str  # as written; if empty, the default's type applies
    note: str  # the comment after the assignment

    def __str__(self) -> str:
        """Write the parameter as in its cell."""
        annotation = f": {self.annotation}" if self.annotation else ""
        return f"{self.name}{annotation} = {self.default!r}" + f"  # {self.note}" * bool(self.note)

    def parsed(self) -> ast.expr:
        """Parse the annotation, or the name of the default's type."""
        return ast.parse(self.annotation or type(self.default).__name__, mode="eval").body


def read_parameters(source: str, *, where: str) -> dict[str, Parameter]:
    """Read the assignments of a parameters cell."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(
            f"{where}: the parameters cell is not valid Python (line {error.lineno}: {error.msg})."
        ) from None
    lines = source.encode().splitlines()
    found: dict[str, Parameter] = {}
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        annotation = ""
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                annotation = ast.unparse(node.annotation)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case _:
                raise ParameterError(
                    f"{where}: line {node.lineno} of the parameters cell is not `name = value`: "
                    "move it to another cell."
                )
        try:
            default = ast.literal_eval(value)
            json.dumps(default, allow_nan=False)  # refuses sets and bytes, which are also literals
        except (ValueError, TypeError):
            raise ParameterError(
                f"{where}: the default of {name!r} is {ast.unparse(value)!r}, which is not a "
                "literal: use a number, a string, True, False, None, or a list or dict of these."
            ) from None
        behind = lines[(node.end_lineno or 0) - 1][node.end_col_offset :].decode()
        found[name] = Parameter(name, default, annotation, behind.lstrip(" #").rstrip())
    return found


def resolve(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, where: str
) -> dict[str, Any]:
    """Override defaults with given values, checking names and types."""
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            raise ParameterError(
                f"{where} has no parameter {name!r}.{hint} Its parameters: {', '.join(parameters)}."
            )
        values[name] = _conform(value, parameters[name], where)
    return values


def _conform(value: Any, parameter: Parameter, where: str) -> Any:
    """Return a value, or the value that a text represents, in a parameter's declared type."""
    declared = parameter.parsed()
    if not parameter.annotation and parameter.default is None:
        declared = ast.Name("Any")
    try:
        for candidate in filter(_is_json, (_literal(value), value)):
            with suppress(_MisfitError):
                return _converted(candidate, declared)
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(
            f"{where}: parameter {parameter.name!r} has annotation {parameter.annotation!r}, which "
            "is not supported: use int, float, str, bool, None, list[...], Literal[...], unions of "
            f"them with |, and ranges as in Annotated[int, Ge(1)] ({', '.join(_BOUNDS)})."
        ) from None
    constants = (one.value for one in ast.walk(declared) if isinstance(one, ast.Constant))
    near = did_you_mean(value, [one for one in constants if isinstance(one, str)])
    must = f"{where}: {parameter.name} must be {_words(declared)}."
    raise ParameterError(f"{must} Got {shown(value)}.{near}")


def _words(declared: ast.expr) -> str:
    """Describe a declared type in words."""
    match declared:
        case ast.Name(name):
            return _WORDS.get(name, name)
        case ast.Subscript(ast.Name("Literal"), ast.Tuple(choices)):
            *most, last = map(ast.unparse, choices)
            return f"{', '.join(most)} or {last}"
        case ast.Subscript(ast.Name("Literal"), choice):
            return ast.unparse(choice)
        case ast.Subscript(ast.Name("list"), inner):
            return f"a list whose elements are each {_words(inner)}"
        case ast.Subscript(ast.Name("Annotated"), ast.Tuple([inner, *limits])):
            return f"{_words(inner)} {' and '.join(map(_words, limits))}"
        case ast.Call(ast.Name(bound), [limit]):
            return f"{_BOUNDS[bound][1]} {ast.unparse(limit)}"
        case ast.BinOp(left, ast.BitOr(), right):
            return f"{_words(left)}, or {_words(right)}"
    return ast.unparse(declared)


def _converted(value: Any, declared: ast.expr) -> Any:
    """Return a value in a declared type; a whole number may become a float."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match declared:
        case ast.Name("Any"):
            return value
        case ast.Name("float"):
            if is_number and abs(value) <= sys.float_info.max:
                return float(value)
        case ast.Name("int"):
            if is_number and isinstance(value, int):
                return value
        case ast.Name(name):
            if isinstance(value, _TYPES[name]):
                return value
        case ast.Subscript(ast.Name("Literal"), choices):
            listed = ast.literal_eval(choices)
            listed = listed if isinstance(listed, tuple) else (listed,)
            if any(type(value) is type(one) and value == one for one in listed):
                return value
        case ast.Subscript(ast.Name("list"), inner):
            if isinstance(value, list):
                return [_converted(one, inner) for one in value]
        case ast.Subscript(ast.Name("Annotated"), ast.Tuple([inner, *limits])):
            found = _converted(value, inner)
            for limit in limits:
                _converted(found, limit)
            return found
        case ast.Call(ast.Name(bound), [limit]):
            if not is_number or _BOUNDS[bound][0](value, ast.literal_eval(limit)):
                return value
        case ast.BinOp(left, ast.BitOr(), right):
            with suppress(_MisfitError):
                return _converted(value, left)
            return _converted(value, right)
        case _:
            if value is ast.literal_eval(declared):  # None
                return value
    raise _MisfitError


def shown(value: object) -> str:
    """Quote a value in a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text):,} characters)"


def _literal(text: Any) -> Any:
    """Parse a text, or the texts in a list, as Python literals where possible."""
    if isinstance(text, list):
        return [_literal(one) for one in text]
    plain = {"true": True, "false": False, "none": None}
    if not isinstance(text, str):
        return text
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _is_json(value: Any) -> bool:
    """Check whether JSON can pass a value to the kernel: no set, NaN or unpaired surrogate."""
    try:
        return bool(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, TypeError, RecursionError):
        return False
