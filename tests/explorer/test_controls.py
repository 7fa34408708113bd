"""Controls draw a figure again when a reader changes one, and never before."""

import pytest

import nlgbench as nb
from nlgbench.explorer.controls import make_control, show_controls
from nlgbench.explorer.view import choice, control, several
from nlgbench.runner import record
from nlgbench.status import Unsupported

pytest.importorskip("ipywidgets", reason="ipywidgets are not installed (extra lab)")


def draw(k, system):
    if system == "none":
        raise Unsupported("no_outputs", "there are none.")
    return f"figure of {system}, k = {k}"


@pytest.fixture
def displayed(monkeypatch):
    objects = []
    monkeypatch.setattr("IPython.display.display", lambda *shown: objects.extend(shown))
    return objects


def test_a_change_draws_again_with_all_choices(displayed, capsys):
    show_controls(draw, {"k": [5, 16], "system": {"all": "a and b", "first": "a", "no": "none"}})
    (box,) = displayed
    slider, menu = box.children[0].children
    assert (slider.value, menu.value) == (16, "a and b")
    slider.value = 5
    menu.value = "a"
    assert displayed[1:] == ["figure of a and b, k = 5", "figure of a, k = 5"]
    menu.value = "none"
    assert "No figure, because there are none." in capsys.readouterr().out


def test_a_control_of_a_view_tells_what_the_reader_changes_and_keeps_what_is_typed():
    told = []
    tell = lambda *change: told.append(change)  # noqa: E731
    menu, _ = make_control(choice("system", "System", {"x": "the x", "y": "the y"}), tell)
    box, pick = make_control(several("shown", "Shown", ["x", "y"]), tell)
    text, fill = make_control(control("number", "low", "from", None), tell)
    menu.value, box.children[1].value, text.value = "y", ("x",), "2."
    assert told == [("system", "y"), ("shown", ["x"]), ("low", 2.0)]
    fill(2.0)
    pick(["x", "y"])
    assert (text.value, box.children[0].description) == ("2.", "Shown: 2 of 2")
    fill(1 / 3)
    assert text.value == "0.333333" and len(told) == 3  # what a view sets is not told back


def test_a_saved_run_has_a_line_instead(displayed, capsys, tmp_path):
    run = record.open("02-huse-boundary", source="simulated", output_dir=str(tmp_path))
    run.controls(draw, k=[5, 16], system=["a", "b"])
    run.explore(nb.simulate("gaussian", n_outputs=20), view="boundary")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "Open this notebook in JupyterLab to choose k and system, and the figure is drawn again.",
        "Open this notebook in JupyterLab to explore the outputs and figures of the study.",
    ]
    assert not displayed


def test_the_explorer_opens_at_a_view():
    study = nb.simulate("gaussian", n_outputs=20)
    assert nb.explore(study, view="boundary").shown["view"] == "boundary"
    assert nb.explore(study, view="game").shown["view"] == "outputs"
    with pytest.raises(ValueError, match="Did you mean 'boundary'"):
        nb.explore(study, view="boundry")
