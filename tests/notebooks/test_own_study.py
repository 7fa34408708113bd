"""A notebook on a folder of one's own gives what it gives on the study that it was made of."""

import ast
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.runner import execute
from nlgbench.runner.notebooks import find_notebooks, read_notebook

simulate = partial(nb.simulate, seed=0)
#: Smaller than the notebooks' own, so that this takes seconds.
SMALL = {
    "01": {"n_outputs": 60},
    "02": {"n_outputs": 40},
    "03": {"n_outputs": 60},
    "04": {"n_contexts": 40, "epochs": 1},
    "05b": {"n_outputs": 20},
    "06": {"n_outputs": 40, "n_splits": 2},
    "06b": {"n_outputs": 40},
    "08": {"n_items": 20},
    "09": {"n_items": 40, "n_labels": 60},
    "10": {"n_items": 20},
    "12": {"n_outputs": 30},
}


def simulated(path: Path, given: dict) -> nb.Study:
    """Open the study that a notebook opens by itself: its own lines, up to there."""
    notebook = read_notebook(path)
    names = {name: one.default for name, one in notebook.parameters.items()} | given
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code" or "parameters" in cell.metadata.get("tags", []):
            continue
        for node in ast.parse(cell.source).body:
            exec(ast.unparse(node), names)
            if isinstance(node, ast.Assign) and "open_stud" in ast.unparse(node.value):
                found = names[node.targets[0].id]
                return found if isinstance(found, nb.Study) else next(iter(found.values()))
    raise AssertionError(f"{path.stem} opens no study")


@pytest.mark.parametrize(
    "number", [pytest.param(one, marks=[pytest.mark.release] * (one != "02")) for one in SMALL]
)
def test_a_folder_gives_the_same_figures_and_values(number, tmp_path):
    path = find_notebooks([number])[0]
    simulated(path, SMALL[number]).write(tmp_path / "own")
    out, folders = tmp_path / "out", []
    for given in (SMALL[number], SMALL[number] | {"study": str(tmp_path / "own")}):
        source = "auto" if "study" in given else "simulated"
        done = execute.run([str(path)], given, out=out, source=source, timeout=900, say=str)
        assert [one.status for one in done] == ["done"], done[0].message
        folders.append(out / done[0].plan.folder)
    made, own = folders
    assert "study=" in own.name and "study=" not in made.name
    found = {one.relative_to(made) for one in made.glob("figures/*.csv")}
    found -= {Path("figures/biased_judges.csv")}  # simulated, whatever the source
    assert found and found == {one.relative_to(own) for one in own.glob("figures/*.csv")}
    for name in found:
        first, second = (pd.read_csv(folder / name) for folder in folders)
        assert list(first) == list(second) and len(first) == len(second), name
        for column in first:
            if column in ("source", "study"):
                continue
            if pd.api.types.is_numeric_dtype(first[column]):
                np.testing.assert_allclose(first[column], second[column], rtol=1e-9, atol=1e-12)
            else:
                assert first[column].astype(str).equals(second[column].astype(str)), (name, column)


def one_annotator():
    study = simulate("own", n_items=5)
    small = study.only(systems=study.systems[:2])
    one = small.judgments.drop_duplicates(["output_id", "dimension"]).assign(annotator_id="w1")
    return small.replace(judgments=one, preferences=None)


def votes_alone():
    study = simulate("votes", n_items=20)
    return nb.Study(study.outputs, preferences=study.preferences)


def scores_alone():
    study = simulate("votes", n_items=20)
    return nb.score(nb.Study(study.outputs), ["length@sentinel"])


def comparisons_alone():
    study = votes_alone()
    sides = study.preferences[["output_a", "output_b"]].drop_duplicates()
    chances = {"prob_a": 0.7, "prob_tie": 0.0, "prob_b": 0.3}
    return nb.Study(study.outputs, comparisons=sides.assign(comparator="a judge", **chances))


@pytest.mark.parametrize(
    "number, make",
    [
        *product(["08", "09", "10", "11", "12"], [one_annotator, votes_alone]),
        *product(["08", "09"], [scores_alone, comparisons_alone]),
    ],
)
def test_a_study_that_lacks_something_ends_well(number, make, tmp_path, capsys):
    """In this process, which spares a kernel for each."""
    make().write(tmp_path / "own")
    path, out = find_notebooks([number])[0], tmp_path / "out"
    given = {"study": str(tmp_path / "own"), "output_dir": str(out)}
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                exec(ast.unparse(ast.parse(cell.source)), names)
            if "parameters" in cell.metadata.get("tags", []):
                names |= given
    ledger = pd.read_csv(out / "ledger.csv", dtype="str")
    assert ledger["claim_id"].str.startswith("study/").all(), "a paper's claim"
    assert not {one.stem for one in out.glob("tables/*.csv")} & {"little_power", "equation_9"}
    said = capsys.readouterr().out
    assert number not in ("11", "12") or " nan" not in said
    assert number == "08" or "Skipped" in said
    assert number != "08" or list(out.glob("figures/*.png")), "08 answers by what the study has"
