"""A parameter's value has its declared type and limits, or is refused with these in words."""

import pytest

from nlgbench.runner.parameters import ParameterError, read_parameters, resolve

CELL = """\
source: str = "simulated"  # where the data come from
n_neighbors: int = 16
system: str | None = None
ratio: float = 0.1
names: list[str] = ["a"]
mode: str = "exact"
untyped = 3
share: float = 0.5
level: Optional[int] = None
pairs: int = 2
counts: list[int] = [1]
anything = None
output_dir: Optional[str] = None
"""
LIMITS = """\
import somewhere

limits = {
    "mode": ["fast", "exact"],
    "share": "> 0, < 1",
    "level": ">= -2, <= 2",
    "pairs": "multiple of 2",
    "counts": ">= 1",
}
"""
KNOWN = read_parameters(CELL, LIMITS, where="demo")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n_neighbors", "5", 5),
        ("system", "007", "007"),
        ("system", "none", None),
        ("names", "['x', 'y']", ["x", "y"]),
        ("mode", "fast", "fast"),
        ("untyped", "4", 4),
        ("share", ".999", 0.999),
        ("level", "-2", -2),
        ("level", "2", 2),
        ("ratio", "2", 2.0),
        ("counts", "[1, 2]", [1, 2]),
        ("anything", "[1, 'a']", [1, "a"]),
        ("anything", "1e999", "1e999"),
    ],
)
def test_texts_become_values_of_the_declared_type(name, text, value):
    got = resolve(KNOWN, {name: text}, where="demo")[name]
    assert got == value
    assert type(got) is type(value)


WRONG = {
    "n_neighbors": ["many", "2.5"],
    "ratio": ["nan", "1" + "0" * 400],
    "names": ["[1, 2]", "x,y"],
    "mode": ["slow", "1"],
    "untyped": ["x"],
    "share": ["0", "1"],
    "level": ["-3", "3"],
    "pairs": ["3"],
    "counts": ["[1, 0]"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in WRONG for text in WRONG[name]])
def test_ill_typed_values_name_the_type_and_the_value(name, text):
    with pytest.raises(ParameterError, match=rf"demo: {name} must be .*\. Got "):
        resolve(KNOWN, {name: text}, where="demo")


K = {"k": ["fast", "exact"]}


@pytest.mark.parametrize(
    ("cell", "limits", "given", "message"),
    [
        ("k = range(3)", {}, {}, "not a literal"),
        ("import os", {}, {}, "is not `name = value`"),
        ("k: Path = 'x'", {}, {}, "'Path', which is not supported"),
        ("k: Optional[str] = None", K, {"k": "exakt"}, "Did you mean 'exact'"),
        ("k: Optional[str] = None", K, {"k": "x"}, "be 'fast' or 'exact', or None. Got 'x'"),
        ("k: int = 1", {"k": ">= 0"}, {"k": "x"}, "a whole number of at least 0. Got 'x'"),
        ("k: list[int] = []", {"k": "> 0, < 9"}, {"k": [9]}, "each a whole number above 0 and b"),
        ("n_neighbors = 1", {}, {"n_neighbours": "5"}, "Did you mean 'n_neighbors'"),
        ("k: int = 1", {"kk": ">= 0"}, {}, "`limits` has 'kk', which is no parameter"),
        ("k: int = 1", {"k": "at least 1"}, {}, "range such as '> 0, < 1'"),
        ("k: int = 1", {"k": []}, {}, "use a list of choices"),
        ("k: int = 1", 3, {}, "`limits` is not a literal dict"),
    ],
)
def test_a_wrong_cell_or_name_says_what_would_be_right(cell, limits, given, message):
    with pytest.raises(ParameterError, match=message):
        resolve(read_parameters(cell, f"limits = {limits}", where="demo"), given, where="demo")
