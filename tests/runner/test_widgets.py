"""Controls of notebooks that are run by hand."""

import pytest

import nlgbench as nb
from nlgbench.runner.widgets import boundary_explorer

pytest.importorskip("ipywidgets")


def test_the_explorer_draws_anew_for_each_k_and_system():
    study = nb.simulate("gaussian", n_outputs=12, n_truth=0, seed=0)
    box = boundary_explorer(study, n_neighbors=3)
    controls, picture = box.children
    k, system = controls.children
    assert (k.value, k.max, list(system.options)) == (3, 23, sorted(study.systems, reverse=True))
    first = bytes(picture.value)
    assert first.startswith(b"\x89PNG")
    k.value = 9
    assert bytes(picture.value) != first
