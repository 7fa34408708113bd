"""The root hands out every name that it lists."""

import pytest

import nlgbench as nb


def test_root_names_are_there_and_load_when_used():
    for name in nb.__all__:
        assert getattr(nb, name) is not None
    assert {"Study", "load", "simulate", "Drawing"} <= set(dir(nb))
    with pytest.raises(AttributeError, match=r"no attribute 'hues'$"):
        nb.hues  # noqa: B018
