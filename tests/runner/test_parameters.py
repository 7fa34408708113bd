"""A parameter's value has its declared type and range, or is refused with the type in words."""

import pytest

from nlgbench.runner.parameters import ParameterError, read_parameters, resolve

CELL = """\
source: str = "simulated"  # where the data come from
n_neighbors: int = 16
system: str | None = None
ratio: float = 0.1
names: list[str] = ["a"]
mode: Literal["fast", "exact"] = "exact"
untyped = 3
share: Annotated[float, Gt(0), Lt(1)] = 0.5
level: Annotated[int, Ge(-2), Le(2)] | None = None
pairs: Annotated[int, MultipleOf(2)] = 2
counts: list[Annotated[int, Ge(1)]] = [1]
anything = None
output_dir: str | None = None
"""
KNOWN = read_parameters(CELL, where="demo")


def test_reads_names_defaults_annotations_and_notes():
    assert list(KNOWN)[:3] == ["source", "n_neighbors", "system"]
    assert KNOWN["source"].note == "where the data come from"
    assert KNOWN["system"].annotation == "str | None"
    assert KNOWN["names"].default == ["a"]
    assert str(KNOWN["source"]) == "source: str = 'simulated'  # where the data come from"


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


@pytest.mark.parametrize(("name", "text"), [(one, text) for one in WRONG for text in WRONG[one]])
def test_ill_typed_values_name_the_type_and_the_value(name, text):
    with pytest.raises(ParameterError, match=rf"demo: {name} must be .*\. Got "):
        resolve(KNOWN, {name: text}, where="demo")


@pytest.mark.parametrize(
    ("cell", "given", "message"),
    [
        ("k = range(3)", {}, "not a literal"),
        ("import os", {}, "is not `name = value`"),
        ("k: Path = 'x'", {"k": "y"}, "'Path', which is not supported"),
        ('k: Literal["fast", "exact"] | None = None', {"k": "exakt"}, "Did you mean 'exact'"),
        (
            "k: Annotated[int, Ge(0)] = 1",
            {"k": "x"},
            "k must be a whole number of at least 0. Got 'x'",
        ),
        ("n_neighbors = 1", {"n_neighbours": "5"}, "Did you mean 'n_neighbors'"),
    ],
)
def test_a_wrong_cell_or_name_says_what_would_be_right(cell, given, message):
    with pytest.raises(ParameterError, match=message):
        resolve(read_parameters(cell, where="demo"), given, where="demo")
