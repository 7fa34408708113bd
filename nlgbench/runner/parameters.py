"""A notebook's parameters: read from its cell with `ast`, checked before anything runs.

Papermill's own inspection drops annotations such as ``int | None`` and only warns about a name
that the notebook does not have; here both are errors. Ranges are those of `annotated_types`, as in
``Annotated[int, Ge(1)]``; nothing is imported to read them.
"""

from __future__ import annotations

import ast
import io
import json
import operator
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nlgbench.names import did_you_mean


class UsageError(ValueError):
    """What was asked for cannot be done as it was asked: said before anything starts."""


class ParameterError(UsageError):
    """A parameter that the notebook does not have, or a value that it does not take."""


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
        return _words(self.expected) if self.expected else ""

    @property
    def expected(self) -> ast.expr | None:
        """The annotation, or else the default's type."""
        if self.annotation:
            return ast.parse(self.annotation, mode="eval").body
        return None if self.default is None else ast.Name(type(self.default).__name__)


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
        target: ast.expr | None = None
        if isinstance(node, ast.AnnAssign):
            target, value = node.target, node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or value is None:
            raise ParameterError(
                f"{where}: line {node.lineno} of the parameters cell is not `name = value`: "
                "move it to a cell of its own."
            )
        try:
            default = ast.literal_eval(value)
            json.dumps(default, allow_nan=False)  # sets and bytes are literals, too
        except (ValueError, TypeError):
            raise ParameterError(
                f"{where}: the default of {target.id!r} is {ast.unparse(value)!r}, which is not a "
                "literal: use a number, a text, True, False, None, or a list or dict of them."
            ) from None
        annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
        note = notes.get(node.end_lineno or node.lineno, "")
        found[target.id] = Parameter(target.id, default, annotation, note)
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
    expected = parameter.expected
    candidates = [_literal(value), value] if isinstance(value, str) else [value]
    for candidate in filter(_is_json, candidates):
        if expected is None:
            return candidate
        if _fits(candidate, expected, parameter, where):
            wants_float = isinstance(candidate, int) and not _fits(
                candidate, expected, parameter, where, int_is_float=False
            )
            try:
                return float(candidate) if wants_float else candidate
            except OverflowError:
                break
    hint = did_you_mean(value, map(str, _choices(expected))) if expected else ""
    if parameter.annotation.startswith("list"):
        hint = " A list is written ['a', 'b']."
    raise ParameterError(
        f"{where}: parameter {parameter.name!r} is declared {parameter.declared!r}; got "
        f"{shown(value)}.{hint} Its default is {parameter.default!r}."
    )


def shown(value: object) -> str:
    """Quote a value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text):,} characters)"


def _literal(text: str) -> Any:
    plain = {"true": True, "false": False, "none": None}
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


_PLAIN_TYPES = {"str": str, "bool": bool, "list": list, "dict": dict}

#: The bounds of `annotated_types` that are understood: the test, and how a message says it.
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "Ge": (operator.ge, "at least"),
    "Gt": (operator.gt, "above"),
    "Le": (operator.le, "at most"),
    "Lt": (operator.lt, "below"),
    "MultipleOf": (lambda value, step: value % step == 0, "a multiple of"),
}


def _words(expected: ast.expr) -> str:
    match expected:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_words(left)} | {_words(right)}"
        case ast.Subscript(value=ast.Name(id="Literal")):
            return "one of " + ", ".join(map(repr, _choices(expected)))
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *bounds])):
            said = [
                f"{_BOUNDS[bound.func.id][1]} {ast.unparse(bound.args[0])}"
                for bound in bounds
                if isinstance(bound, ast.Call) and isinstance(bound.func, ast.Name)
                if bound.func.id in _BOUNDS and bound.args
            ]
            return ", ".join([_words(kind), *said])
    return ast.unparse(expected)


def _choices(expected: ast.expr) -> Iterator[Any]:
    for node in ast.walk(expected):
        match node:
            case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
                allowed = ast.literal_eval(choices)
                yield from allowed if isinstance(allowed, tuple) else (allowed,)


def _fits(
    value: Any, expected: ast.expr, parameter: Parameter, where: str, int_is_float: bool = True
) -> bool:
    def part(inner: Any, kind: ast.expr) -> bool:
        return _fits(inner, kind, parameter, where, int_is_float)

    match expected:
        case ast.Constant(value=None):
            return value is None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return part(value, left) or part(value, right)
        case ast.Name(id="int"):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.Name(id="float"):
            kinds = (int, float) if int_is_float else (float,)
            return isinstance(value, kinds) and not isinstance(value, bool)
        case ast.Name(id=name) if name in _PLAIN_TYPES:
            return isinstance(value, _PLAIN_TYPES[name])
        case ast.Subscript(value=ast.Name(id="Literal")):
            return any(
                type(value) is type(choice) and value == choice for choice in _choices(expected)
            )
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *bounds])):
            held = [_holds(value, bound, parameter, where) for bound in bounds]
            return part(value, kind) and all(held)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return isinstance(value, list) and all(part(item, inner) for item in value)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, inner])):
            return isinstance(value, dict) and all(
                part(name, key) and part(item, inner) for name, item in value.items()
            )
    raise _not_understood(parameter, where)


def _holds(value: Any, bound: ast.expr, parameter: Parameter, where: str) -> bool:
    match bound:
        case ast.Call(func=ast.Name(id=name), args=[limit], keywords=[]) if name in _BOUNDS:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            try:
                return not number or _BOUNDS[name][0](value, ast.literal_eval(limit))
            except (ValueError, TypeError, ZeroDivisionError):
                pass  # the limit is no number that one can hold a value against
    raise _not_understood(parameter, where)


def _not_understood(parameter: Parameter, where: str) -> ParameterError:
    return ParameterError(
        f"{where}: parameter {parameter.name!r} is annotated {parameter.annotation!r}, which is "
        "not understood: use int, float, str, bool, None, list[...], dict[..., ...], "
        "Literal[...], unions of them with |, and ranges as in Annotated[int, Ge(1)] "
        f"({', '.join(_BOUNDS)})."
    )
