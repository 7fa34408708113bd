"""A notebook's parameters: read from its cell with `ast`, checked before anything runs.

Papermill's own inspection drops annotations such as ``int | None`` and only warns about a name
that the notebook does not have.
"""

from __future__ import annotations

import ast
import io
import json
import operator
import sys
import tokenize
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as bounds

from nlgbench.names import did_you_mean


class UsageError(ValueError):
    """What was asked for cannot be done as it was asked: said before anything starts."""


class ParameterError(UsageError):
    """A parameter that the notebook does not have, or a value that it does not take."""


class _MisfitError(Exception):
    """A value is not of a type."""


#: Types and bounds that an annotation may name.
_TYPES = {one.__name__: one for one in (int, float, str, bool, list, dict)}
_NAMES: dict[str, Any] = {**_TYPES, "Literal": Literal, "Annotated": Annotated}
#: The bounds of `annotated_types` that are understood: the test, and how a message says it.
_BOUNDS: dict[Any, tuple[Callable[[Any, Any], bool], str]] = {
    bounds.Ge: (operator.ge, "at least"),
    bounds.Gt: (operator.gt, "above"),
    bounds.Le: (operator.le, "at most"),
    bounds.Lt: (operator.lt, "below"),
    bounds.MultipleOf: (lambda value, step: value % step == 0, "a multiple of"),
}
_NAMES |= {bound.__name__: bound for bound in _BOUNDS}


@dataclass(frozen=True)
class Parameter:
    """One assignment of a notebook's ``parameters`` cell."""

    name: str
    default: Any
    annotation: str  # as written; empty where there is none, and then the default's type counts
    note: str  # the comment behind the assignment

    @property
    def declared(self) -> str:
        """Its type and range in words; empty where neither is known."""
        hint = self.hint()
        return "" if hint is Any else _words(hint)

    def hint(self) -> Any:
        """Give the annotation as a type, or else the default's type."""
        if self.annotation:
            return _as_type(ast.parse(self.annotation, mode="eval").body)
        return Any if self.default is None else type(self.default)


def _as_type(node: ast.expr) -> Any:
    """Read an annotation; LookupError, TypeError or ValueError where it is not understood."""
    match node:
        case ast.Name(id=name):
            return _NAMES[name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_as_type(left), _as_type(right)]  # noqa: UP007, None | Literal["a"] is none
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            return Literal[ast.literal_eval(choices)]
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=inner)):
            return _as_type(outer)[tuple(map(_as_type, inner))]
        case ast.Subscript(value=outer, slice=inner):
            return _as_type(outer)[_as_type(inner)]
        case ast.Call(func=ast.Name(id=name), args=[limit], keywords=[]):
            return _NAMES[name](ast.literal_eval(limit))
    return ast.literal_eval(node)  # None


def read_parameters(source: str, *, where: str) -> dict[str, Parameter]:
    """Read the assignments of a parameters cell."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(
            f"{where}: the parameters cell is not Python (line {error.lineno}: {error.msg})."
        ) from None
    notes = _comments(source)
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
                    "move it to a cell of its own."
                )
        try:
            default = ast.literal_eval(value)
            json.dumps(default, allow_nan=False)  # sets and bytes are literals, too
        except (ValueError, TypeError):
            raise ParameterError(
                f"{where}: the default of {name!r} is {ast.unparse(value)!r}, which is not a "
                "literal: use a number, a text, True, False, None, or a list or dict of them."
            ) from None
        note = notes.get(node.end_lineno or node.lineno, "")
        found[name] = Parameter(name, default, annotation, note)
    return found


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ").rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def resolve(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, where: str
) -> dict[str, Any]:
    """Lay given values over the defaults, checking names and types."""
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            raise ParameterError(
                f"{where} has no parameter {name!r}.{hint} It has: {', '.join(parameters)}."
            )
        values[name] = _conform(value, parameters[name], where)
    return values


def _conform(value: Any, parameter: Parameter, where: str) -> Any:
    """Give a value, or what a text stands for, in the type that a parameter declares."""
    try:
        hint = parameter.hint()
        for candidate in filter(_is_json, (_literal(value), value)):
            with suppress(_MisfitError):
                return _converted(candidate, hint)
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(
            f"{where}: parameter {parameter.name!r} is annotated {parameter.annotation!r}, which "
            "is not understood: use int, float, str, bool, None, list[...], dict[..., ...], "
            "Literal[...], unions of them with |, and ranges as in Annotated[int, Ge(1)] "
            f"({', '.join(bound.__name__ for bound in _BOUNDS)})."
        ) from None
    literals = [part for part in (hint, *get_args(hint)) if get_origin(part) is Literal]
    near = did_you_mean(value, [str(one) for part in literals for one in get_args(part)])
    if parameter.annotation.startswith("list"):
        near = " A list is written ['a', 'b']."
    raise ParameterError(
        f"{where}: parameter {parameter.name!r} is declared {parameter.declared!r}; got "
        f"{shown(value)}.{near} Its default is {parameter.default!r}."
    )


def _converted(value: Any, hint: Any) -> Any:
    """Give a value in a type, a whole number as a float where one is wanted."""
    origin, inner = get_origin(hint), get_args(hint)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if origin is Union:
        for one in inner:
            with suppress(_MisfitError):
                return _converted(value, one)
    elif origin is Literal:
        if any(type(value) is type(one) and value == one for one in inner):
            return value
    elif origin is Annotated:
        tests = [(_BOUNDS[type(bound)][0], astuple(bound)[0]) for bound in inner[1:]]
        if all(not is_number or test(value, limit) for test, limit in tests):
            return _converted(value, inner[0])
    elif origin is list and isinstance(value, list):
        return [_converted(one, inner[0]) for one in value]
    elif origin is dict and isinstance(value, dict):
        return {_converted(k, inner[0]): _converted(one, inner[1]) for k, one in value.items()}
    elif hint is float and is_number and abs(value) <= sys.float_info.max:
        return float(value)
    elif hint is Any or (not origin and isinstance(value, hint) and (hint is not int or is_number)):
        return value
    raise _MisfitError


def shown(value: object) -> str:
    """Quote a value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text):,} characters)"


def _literal(text: Any) -> Any:
    """Read a text, or the texts in a list, as Python where it is that."""
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
    """Tell whether a value reaches the kernel as it is: no set, no NaN, no half of a character."""
    try:
        return bool(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, TypeError, RecursionError):
        return False


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union:
        return " | ".join(map(_words, inner))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, inner))
    if origin is Annotated:
        limits = [f"{_BOUNDS[type(one)][1]} {astuple(one)[0]}" for one in inner[1:]]
        return ", ".join([_words(inner[0]), *limits])
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(_words, inner))}]"
    return "None" if hint in (None, type(None)) else hint.__name__
