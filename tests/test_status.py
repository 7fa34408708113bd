"""Every status code is used, and every call that explains one gives the numbers of its text."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import nlgbench
from nlgbench.status import REASONS

CODE = Path(nlgbench.__file__).parent
#: Codes that `clustering.few_clusters` makes from the name of its units.
UNITS = {code for code in REASONS if REASONS[code] == REASONS["few_clusters"]}


def nodes() -> Iterator[ast.AST]:
    for path in CODE.rglob("*.py"):
        if path.name != "status.py":
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_every_code_is_used():
    texts = {node.value for node in nodes() if isinstance(node, ast.Constant)}
    assert set(REASONS) - UNITS <= texts


def test_every_call_names_a_code_and_the_numbers_of_its_text():
    n_calls = 0
    for node in nodes():
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "explain"):
            continue
        if isinstance(code := node.args[0], ast.Constant):
            fields = {name for _, name, _, _ in string.Formatter().parse(REASONS[code.value])}
            assert fields - {None} == {keyword.arg for keyword in node.keywords}, code.value
            n_calls += 1
    assert n_calls > 100
