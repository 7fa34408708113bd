"""The name of a public study stands for its folder, everywhere that a folder is named."""

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.datasets import cache, public
from nlgbench.explorer import serve
from nlgbench.runner import record, runs
from nlgbench.runner.cli import main
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.study import with_tables

USR = "usr/usr_topical_chat.json"


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A folder of released files, and a simulated study in place of each released one."""
    (tmp_path / "data" / "usr").mkdir(parents=True)
    (tmp_path / "data" / USR).write_text("[]")
    monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "path", lambda name: tmp_path / "data" / name)
    world = nb.simulate("gaussian", n_outputs=12, seed=0)
    monkeypatch.setattr(
        public, "load", lambda name: with_tables(world, origin=f"released:{name}", pristine=True)
    )
    return world


def planned(study):
    (path,) = find_notebooks(["08"])
    how = {"source": "auto", "effort": "quick", "environment": {}}
    return runs.plan(read_notebook(path), {"study": study}, **how)


def test_a_run_on_a_public_study_is_known_by_its_released_files(released, tmp_path):
    plan = planned("usr-topical-chat")
    assert (plan.source, plan.parameters["study"]) == ("released", "usr-topical-chat")
    assert plan.folder == "08-own-study@study=usr-topical-chat" and list(plan.data) == [USR]
    (tmp_path / "data" / USR).write_text("[1]")
    assert planned("usr-topical-chat").digest != plan.digest
    own = planned("webnlg-2020")  # the notebook's own study, as without the parameter
    assert (own.folder, own.source, own.parameters["study"]) == ("08-own-study", "released", None)
    released.write(tmp_path / "usr-topical-chat")
    folder = planned("usr-topical-chat")
    assert folder.source == "study" and "outputs.csv" in folder.data
    with pytest.raises(runs.ParameterError, match="Did you mean the public study 'hanna'"):
        planned("hana")


def test_commands_and_functions_open_public_studies_by_name(released, tmp_path, monkeypatch):
    assert nb.explore("huse").shown["views"]
    monkeypatch.setattr(serve, "_app", lambda place, folder, port: 1 / 0)
    opened = CliRunner().invoke(main, ["explore", "huse"])
    assert "division by zero" in opened.stderr, "the name is not refused as a folder"
    assert nb.open_study("huse", folder="huse").pristine
    assert not nb.open_study("huse", folder="hanna").pristine, "a paper's claims are about its data"
    assert nb.check_claims(released, "hanna", {}).empty
    nb.simulate("judgments", n_items=12, seed=0).write(tmp_path / "huse")
    assert nb.open_study("huse", folder="huse").name == "judgments", "a folder of that name wins"


def test_claims_are_shown_for_the_study_of_the_notebook_alone():
    assert record.open("01-huse-tradeoff", source="released", study="hanna").close().empty
    with pytest.raises(ValueError, match="claims neither recorded nor excused"):
        record.open("01-huse-tradeoff", source="released").close()
