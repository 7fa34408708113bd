"""Read a notebook's parameters from their cell, and check values before a run and in it.

The next code cell may limit values by a literal: a list of choices, a range, or ``path`` for a file
whose content is part of the run, as in

    limits = {"mode": ["fast", "exact"], "share": "> 0, < 1", "file": "path"}

Papermill's own inspection only warns about a name that the notebook does not have.
"""

from __future__ import annotations

import ast
import inspect
import json
import operator
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nlgbench.names import UsageError, did_you_mean


class ParameterError(UsageError):
    """An unknown parameter, or a value that the notebook does not accept."""


class _MisfitError(Exception):
    """A value does not have the declared type, or is out of its limits."""


#: The types of parameters, and how messages name them.
_TYPES: dict[str, tuple[type, str]] = {
    **{"str": (str, "a string"), "bool": (bool, "True or False")},
    **{"int": (int, "a whole number"), "float": (float, "a finite number")},
    **{"list": (list, "a list"), "dict": (dict, "a dict"), "Any": (object, "a JSON value")},
}
#: The comparisons in ranges, and how messages name them.
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    ">=": (operator.ge, "of at least"),
    ">": (operator.gt, "above"),
    "<=": (operator.le, "of at most"),
    "<": (operator.lt, "below"),
    "multiple of": (lambda value, step: value % step == 0, "divisible by"),
}
_BOUND = re.compile(rf"({'|'.join(_BOUNDS)}) (-?[\d.]+)")
#: The limits of parameters that notebooks share.
_SHARED = {"source": ["simulated", "released"], "effort": ["quick", "full"], "seed": ">= 0"}


@dataclass(frozen=True)
class Parameter:
    """One assignment of a notebook's ``parameters`` cell."""

    name: str
    default: Any
    annotation: str  # as written, or the name of the default's type
    note: str  # the comment after the assignment
    limits: list[Any] | str | None = None

    def __str__(self) -> str:
        """Write the parameter as in its cell."""
        text = f"{self.name}: {self.annotation} = {self.default!r}  # {self.note}"
        return text.rstrip(" #")

    @property
    def type(self) -> str:
        """The declared type, without the option of None."""
        return re.sub(r"^Optional\[(.*)\]$|^(.*?) \| None$", r"\1\2", self.annotation)

    @property
    def element(self) -> str:
        """The type of each element of a list, or of the value."""
        return re.sub(r"^list\[(.*)\]$", r"\1", self.type)

    def conform(self, value: Any) -> Any:
        """Return a value in the declared type and limits; a whole number may become a float."""
        if value is None and (self.type != self.annotation or self.type == "Any"):
            return None
        if self.element == self.type:
            return self._conform_element(value)
        if not isinstance(value, list):
            raise _MisfitError
        return [self._conform_element(element) for element in value]

    def _conform_element(self, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.element == "float" and is_number and abs(value) <= sys.float_info.max:
            value = float(value)
        fits = isinstance(value, _TYPES[self.element][0])
        if isinstance(self.limits, list):
            fits = any(type(value) is type(choice) and value == choice for choice in self.limits)
        elif self.element in ("int", "float"):
            fits = fits and is_number
            fits = fits and all(_BOUNDS[sign][0](value, end) for sign, end in self._bounds())
        if not fits or value != value:  # NaN
            raise _MisfitError
        return value

    def _bounds(self) -> list[tuple[str, float]]:
        """List the comparisons of a range, such as ``> 0, < 1``."""
        ranges = _BOUND.findall(self.limits) if isinstance(self.limits, str) else []
        return [(sign, ast.literal_eval(end)) for sign, end in ranges]

    def describe(self) -> str:
        """Describe the accepted values in words."""
        text = _TYPES[self.element][1]
        bounds = " and ".join(f"{_BOUNDS[sign][1]} {end}" for sign, end in self._bounds())
        text = f"{text} {bounds}".rstrip()
        if isinstance(self.limits, list):
            *others, last = map(repr, self.limits)
            text = f"{', '.join(others)} or {last}" if others else last
        if self.element != self.type:
            text = f"a list whose elements are each {text}"
        return text + ", or None" * (self.type != self.annotation)

    def refuse(self, value: Any, where: str) -> ParameterError:
        """Return the error for a value that the parameter does not accept."""
        near = did_you_mean(value, self.limits) if isinstance(self.limits, list) else ""
        must = f"{where}: {self.name} must be {self.describe()}."
        return ParameterError(f"{must} Got {shown(value)}.{near}")


def read_parameters(source: str, following: str = "", *, where: str) -> dict[str, Parameter]:
    """Read the assignments of a parameters cell, and their limits in the following cell."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(
            f"{where}: the parameters cell is not valid Python (line {error.lineno}: {error.msg})."
        ) from None
    lines = source.encode().splitlines()
    limits = _SHARED | _read_limits(following, where)
    parameters: dict[str, Parameter] = {}
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
        annotation = annotation or ("Any" if default is None else type(default).__name__)
        note = lines[(node.end_lineno or 0) - 1][node.end_col_offset :].decode()
        note = note.lstrip(" #").rstrip()
        parameters[name] = Parameter(name, default, annotation, note, limits.get(name))
        if parameters[name].element not in _TYPES:
            raise ParameterError(
                f"{where}: parameter {name!r} has annotation {annotation!r}, which is not "
                f"supported: use {', '.join(_TYPES)}, list[...] or Optional[...] of these, and "
                'ranges or choices as in `limits = {"n": ">= 1", "mode": ["fast", "exact"]}`.'
            )
    _check_limits(limits, parameters, where)
    return parameters


def _read_limits(source: str, where: str) -> dict[str, Any]:
    """Read the literal that a cell assigns to `limits`."""
    with suppress(SyntaxError):
        for node in ast.parse(source).body:
            match node:
                case ast.Assign(targets=[ast.Name("limits")], value=value):
                    try:
                        return dict(ast.literal_eval(value))
                    except (ValueError, TypeError):
                        raise ParameterError(
                            f"{where}: `limits` is not a literal dict of ranges and choices."
                        ) from None
    return {}


def _check_limits(limits: Mapping[str, Any], names: Mapping[str, Any], where: str) -> None:
    """Refuse limits of unknown parameters, and limits that cannot be read."""
    for name, limit in limits.items():
        is_range = isinstance(limit, str) and all(map(_BOUND.fullmatch, limit.split(", ")))
        if not (is_range or limit == "path" or (isinstance(limit, list) and limit)):
            raise ParameterError(
                f"{where}: the limit of {name!r} is {limit!r}: use a list of choices, `path`, or a "
                f"range such as '> 0, < 1' with {', '.join(_BOUNDS)}."
            )
        if name not in names and name not in _SHARED:
            hint = did_you_mean(name, names)
            raise ParameterError(f"{where}: `limits` has {name!r}, which is no parameter.{hint}")


def check(notebook: str, limits: Mapping[str, Any], namespace: Mapping[str, Any]) -> None:
    """Check the values of a notebook's parameters in its kernel; `namespace` is ``globals()``."""
    _check_limits(limits, namespace, notebook)
    limits = {**_SHARED, **limits}
    for name, annotation in namespace.get("__annotations__", {}).items():
        written = inspect.formatannotation(annotation)
        parameter = Parameter(name, None, written, "", limits.get(name))
        if name in namespace and parameter.element in _TYPES:
            try:
                parameter.conform(namespace[name])
            except _MisfitError:
                raise parameter.refuse(namespace[name], notebook) from None


def resolve(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, where: str
) -> dict[str, Any]:
    """Override defaults with given values or their texts, checking names, types and limits."""
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            raise ParameterError(
                f"{where} has no parameter {name!r}.{hint} Its parameters: {', '.join(parameters)}."
            )
        for candidate in filter(_is_json, (_literal(value), value)):
            with suppress(_MisfitError):
                values[name] = parameters[name].conform(candidate)
                break
        else:
            raise parameters[name].refuse(value, where)
    return values


def shown(value: object) -> str:
    """Quote a value in a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text):,} characters)"


def _literal(text: Any) -> Any:
    """Parse a text, or the texts in a list, as Python literals where possible."""
    if isinstance(text, list):
        return [_literal(element) for element in text]
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
