"""What is wrong with what is passed in is named before anything runs, or does not matter."""

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.study.checks import checked, read_table

FOLDERS = "analysis.huse analysis.correlation analysis.people analysis.ratings analysis.trials "
FOLDERS += "analysis.judges analysis.planning analysis.distributions explorer "
FOLDERS += "evaluators.comparator evaluators.listeners worlds"


def test_whatever_is_handed_out_and_takes_parameters_is_checked():
    modules = [nb, *(importlib.import_module(f"nlgbench.{name}") for name in FOLDERS.split())]
    names = [(one, name) for one in modules for name in getattr(one, "__all__", vars(one))]
    functions = [getattr(one, name) for one, name in names if name[0] != "_"]
    functions = [one for one in functions if inspect.isfunction(one)]
    bare = {one.__name__ for one in functions if not hasattr(one, "__wrapped__")}
    assert len(functions) > 70 and bare <= {"studies"}


@pytest.fixture(scope="module")
def study():
    return nb.simulate("gaussian", n_outputs=20, seed=0)


def test_a_misspelt_choice_has_the_nearest(study):
    with pytest.raises(ValueError, match=r"ties: 'exactly' is unknown\. Did you mean 'exact'"):
        nb.huse(study, ties="exactly")
    with pytest.raises(ValueError, match=r"ties: 'releasd' is unknown\. Did you mean 'released'"):
        nb.huse(study, ties=["exact", "releasd"])
    with pytest.raises(ValueError, match=r"'kendall' is unknown\. Did you mean 'kendall_b'"):
        nb.correlate(study, statistics=["kendall"])


def test_columns_of_a_table_are_converted_as_declared():
    held = {
        "system": [1, 2],
        "who": [1.5, 2],
        "n": ["3", "4"],
        "note": ["x", None],
        "p": ["", "inf"],
    }
    found = read_table(pd.DataFrame(held), "system who:key n:int note:text? p:number", "it has")
    assert found["system"].tolist() == ["1", "2"] and found["who"].tolist() == [1.5, 2]
    assert found["n"].tolist() == [3, 4] and found["note"].isna().tolist() == [False, True]
    assert found["p"].tolist()[1] == np.inf and np.isnan(found["p"][0])
    for wrong, message in [
        ({"p": "inf"}, "column 'p' must be finite: leave the cell empty.*row 1: 'inf'"),
        ({"n": [3, 2.5]}, "column 'n' must be a whole number.*row 2: 2.5"),
        ({"system": ["a", None]}, "it, column 'system' must be a text and not missing.*row 2"),
        ({"system": ["a" * 80, "b" * 81]}, "at most 80 characters.*row 2"),
        ({"who": [1, None]}, "column 'who' must not be missing: drop.*row 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_table(pd.DataFrame(held | wrong), "system who:key n:int p:float", "it has")
    several = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with pytest.raises(ValueError, match="it has several levels of columns"):
        read_table(several, "a", "it has")


@checked
def asked(
    study: nb.Study | None = None,
    n_items: int = 1,
    seed: int | np.random.Generator = 0,
    confidence: float = 0.9,
    of: Sequence[Literal["a", "b"]] = (),
    by: str | None = None,
    whole: bool = False,
    systems: Mapping[str, float] | None = None,
) -> int:
    return n_items


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"study": "study/"}, "study must be None, or a Study"),
        *(({"seed": value}, "seed must be") for value in (None, -1, 1.5)),
        *(({"confidence": one}, "must be a finite number") for one in ("0.95", True, np.nan)),
        *(({"confidence": one}, "confidence must be between 0 and 1. Got ") for one in (0, 1, 1.5)),
        ({"confidence": 1.0}, r"Got 1.0 \(0.95 is usual\)"),
        *(({"n_items": value}, "a whole number. Got") for value in (2.0, True)),
        ({"n_items": -1}, "n_items must be a whole number, at least 0. Got -1"),
        ({"of": []}, r"of must be a non-empty list of 'a' or 'b'. Got \[\]"),
        ({"of": ["a", "bb"]}, r"of: 'bb' is unknown. Did you mean 'b'\?"),
        ({"of": "a"}, "of must be a non-empty list"),
        ({"by": 3}, "by must be None, or a string. Got 3"),
        ({"whole": 1}, "whole must be True or False. Got 1"),
        ({"systems": [1]}, r"systems must be None, or a dict of finite numbers. Got \[1\]"),
    ],
)
def test_a_parameter_of_another_kind_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        asked(**wrong)


def test_what_a_type_allows_is_let_through(study):
    assert asked(study, np.int64(3), np.random.default_rng(), of=["a"], by=None) == 3
    assert asked(None, 0, np.int64(1), np.float32(0.5), iter("ab"), "x", np.True_, {"a": 1}) == 0
    assert asked(study, of=pd.Series(["b"])) == 1
    with pytest.raises(TypeError, match="unexpected keyword"):
        asked(items=3)
