"""A notebook's parameters: read from its cell with `ast`, checked before anything runs.

Papermill's own inspection drops annotations such as ``int | None`` and only warns about a name
that the notebook does not have; here both are errors.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgbench.names import did_you_mean


class ParameterError(ValueError):
    """A parameter that the notebook does not have, or a value of the wrong type."""


@dataclass(frozen=True)
class Parameter:
    """One assignment of a notebook's ``parameters`` cell."""

    name: str
    default: Any
    annotation: str  # as written; empty where there is none, and then the default's type counts
    note: str  # the comment behind the assignment


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
            json.dumps(default)  # sets and bytes are literals, too
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
    annotation = parameter.annotation
    if not annotation and parameter.default is not None:
        annotation = type(parameter.default).__name__
    if not annotation:
        return _literal(value) if isinstance(value, str) else value
    expected = ast.parse(annotation, mode="eval").body
    candidates = [_literal(value), value] if isinstance(value, str) else [value]
    for candidate in candidates:
        if _fits(candidate, expected, parameter, where):
            wants_float = isinstance(candidate, int) and not _fits(
                candidate, expected, parameter, where, int_is_float=False
            )
            try:
                return float(candidate) if wants_float else candidate
            except OverflowError:
                break
    example = " A list is written ['a', 'b']." if annotation.startswith("list") else ""
    raise ParameterError(
        f"{where}: parameter {parameter.name!r} is declared {annotation!r}; got {value!r}. "
        f"Its default is {parameter.default!r}.{example}"
    )


def _literal(text: str) -> Any:
    plain = {"true": True, "false": False, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_PLAIN_TYPES = {"str": str, "bool": bool, "list": list, "dict": dict}


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
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            allowed = ast.literal_eval(choices)
            return value in (allowed if isinstance(allowed, tuple) else (allowed,))
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return isinstance(value, list) and all(part(item, inner) for item in value)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, inner])):
            return isinstance(value, dict) and all(
                part(name, key) and part(item, inner) for name, item in value.items()
            )
    raise ParameterError(
        f"{where}: parameter {parameter.name!r} is annotated {parameter.annotation!r}, which is "
        "not understood: use int, float, str, bool, None, list[...], dict[..., ...], "
        "Literal[...] and unions of them with |."
    )
