"""A parameter's value has its declared type and range, or is refused with what was declared."""

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


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n_neighbors", "5", 5),
        ("n_neighbors", 5, 5),
        ("system", "007", "007"),
        ("system", "none", None),
        ("system", "t1.0", "t1.0"),
        ("ratio", "2", 2.0),
        ("names", "['x', 'y']", ["x", "y"]),
        ("mode", "fast", "fast"),
        ("untyped", "4", 4),
        ("share", ".999", 0.999),
        ("level", "-2", -2),
        ("level", "2", 2),
        ("level", "none", None),
        ("pairs", "-4", -4),
        ("counts", "[1, 2]", [1, 2]),
        ("anything", "[1, 'a']", [1, "a"]),
        ("anything", "1e999", "1e999"),
    ],
)
def test_texts_become_values_of_the_declared_type(name, text, value):
    got = resolve(KNOWN, {name: text}, where="demo")[name]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n_neighbors", "many"),
        ("n_neighbors", "2.5"),
        ("n_neighbors", "true"),
        ("ratio", "a tenth"),
        ("names", "[1, 2]"),
        ("mode", "slow"),
        ("untyped", "x"),
        ("ratio", "1" + "0" * 400),
        ("names", "x,y"),
        ("mode", "1"),
        ("ratio", "1e999"),
        ("ratio", "nan"),
        ("ratio", float("nan")),
        ("names", "{[]: 1}"),
        ("share", "0"),
        ("share", "1"),
        ("share", "1" + "0" * 400),
        ("level", "-3"),
        ("level", "3"),
        ("pairs", "3"),
        ("counts", "[1, 0]"),
    ],
)
def test_ill_typed_values_name_parameter_type_and_value(name, text):
    with pytest.raises(ParameterError, match=rf"demo: .* declared `{name}(: .*)? = .*`; got"):
        resolve(KNOWN, {name: text}, where="demo")


def test_misspelt_names_get_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'n_neighbors'"):
        resolve(KNOWN, {"n_neighbours": "5"}, where="demo")


def test_misspelt_choices_get_the_nearest():
    known = read_parameters('mode: Literal["fast", "exact"] | None = None', where="demo")
    with pytest.raises(ParameterError, match="Did you mean 'exact'"):
        resolve(known, {"mode": "exakt"}, where="demo")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("k = range(3)", "not a literal"),
        ("k = ", "not Python"),
        ("import os", "is not `name = value`"),
        ("a = b = 3", "is not `name = value`"),
        ("k = {1, 2}", "not a literal"),
        ("k = b'x'", "not a literal"),
    ],
)
def test_a_cell_that_computes_is_refused(cell, message):
    with pytest.raises(ParameterError, match=message):
        read_parameters(cell, where="demo")


def test_an_unknown_annotation_is_named():
    known = read_parameters("k: Path = 'x'", where="demo")
    with pytest.raises(ParameterError, match="'Path', which is not understood"):
        resolve(known, {"k": "y"}, where="demo")
