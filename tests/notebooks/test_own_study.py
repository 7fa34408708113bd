"""A notebook on a folder of one's own gives what it gives on the study that it was made of."""

import ast
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from test_own_study_docs import drafted

import nlgbench as nb
from nlgbench.runner import execute
from nlgbench.runner.cli import main
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
        folders.append(out / done[0].plan.place)
    made, own = folders
    assert "study=" in own.name and "study=" not in made.name
    found = {one.relative_to(made) for one in made.glob("figures/*.csv")}
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


def judged(n_systems, n_items, n_annotators, n_evaluators, seed=0):
    """A study of a shape, whose evaluators see more and more; every other one on another scale."""
    rng = np.random.default_rng(seed)
    outputs = pd.DataFrame(
        [(f"i{i:03d}", f"s{s:02d}") for i in range(n_items) for s in range(n_systems)],
        columns=["item_id", "system"],
    )
    outputs["output_id"] = outputs["item_id"] + outputs["system"]
    outputs["text"] = ["word " * n for n in rng.integers(3, 12, len(outputs))]
    felt = rng.normal(size=len(outputs))
    ids = outputs[["output_id"]]
    judgments = [
        ids.assign(annotator_id=f"w{n}", value=np.clip(np.round(3 + felt + noise), 1, 5))
        for n, noise in enumerate(rng.normal(size=(n_annotators, len(felt))))
    ]
    names = ["length@sentinel", *(f"e{n:02d}" for n in range(1, n_evaluators))]
    scores = [
        ids.assign(evaluator=name, score=(3 + felt * n / len(names) + noise) / (1 + 9 * (n % 2)))
        for n, (name, noise) in enumerate(
            zip(names, rng.normal(size=(len(names), len(felt))), strict=True)
        )
    ]
    return nb.Study(
        outputs,
        pd.concat(judgments),
        scores=pd.concat(scores) if n_evaluators else None,
        settings={"scales": {"quality": {"min": 1, "max": 5}}},
    )


def votes_alone() -> nb.Study:
    study = simulate("votes", n_items=20)
    return nb.Study(study.outputs, preferences=study.preferences)


#: Studies that lack what some analyses need.
ODD: dict[str, Callable[[], nb.Study]] = {
    "2 systems x 5 items x 1 annotator": lambda: judged(2, 5, 1, 2),
    "votes alone": votes_alone,
    "without scores": lambda: judged(4, 12, 3, 0),
    "3 systems x 12 items x 2 annotators": lambda: judged(3, 12, 2, 3, seed=1),
    "6 systems x 40 items x 6 annotators": lambda: judged(6, 40, 6, 3, seed=2),
    "34 evaluators x 16 systems x 3 annotators": lambda: judged(16, 12, 3, 34),
}
#: The two that support least; the others are for a release.
LEAST = ("2 systems x 5 items x 1 annotator", "votes alone")


@pytest.mark.parametrize(
    "shape", [pytest.param(one, marks=[pytest.mark.release] * (one not in LEAST)) for one in ODD]
)
@pytest.mark.parametrize("number", ["08", "09", "10", "11", "12"])
def test_a_study_that_lacks_something_ends_well(number, shape, tmp_path, capsys):
    """In this process, which spares a kernel for each."""
    ODD[shape]().write(tmp_path / "own")
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
    assert (out / "ledger.csv").exists()
    said = capsys.readouterr().out
    assert number not in ("11", "12") or " nan" not in said
    if shape in LEAST and number != "08":
        assert "Skipped" in said
    if number == "09" and "34" in shape:
        drawn = set(pd.read_csv(out / "figures" / "replacement.csv")["evaluator"])
        assert len(drawn) == 20 and "length@sentinel" in drawn
        assert "20 of 34 evaluators" in (out / "figures" / "replacement.txt").read_text("utf-8")


FIGURES = {
    "hanna": {"systems", "superiority", "atlas"},
    "webnlg-2020": {"systems", "superiority", "severity"},
    "llmfao": {"ratings", "votes"},  # of annotators against each other: it has no evaluator
}


@pytest.mark.release
@pytest.mark.parametrize("name", FIGURES)
def test_a_published_study_goes_from_raw_files_to_figures(name, tmp_path, monkeypatch):
    """By `new`, the lines that docs/own-study.md changes, `check` and `run`."""
    monkeypatch.chdir(tmp_path)
    own = drafted(name, tmp_path)
    assert CliRunner().invoke(main, ["check", str(own)]).exit_code == 0
    out = tmp_path / "out"
    done = execute.run(["08"], {"study": str(own)}, out=out, source="auto", timeout=900, say=str)
    assert [one.status for one in done] == ["done"], done[0].message
    drawn = {one.stem for one in (out / done[0].plan.place).glob("figures/*.pdf")}
    assert drawn == FIGURES[name]
