"""Notebooks are thin: parameters, a study, a call, a figure, a sentence."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from papermill import PapermillExecutionError, execute_notebook, inspect_notebook

import nlgbench
from nlgbench.datasets import registry
from nlgbench.datasets.published import load_claims
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import ParameterError, resolve

NOTEBOOKS = find_notebooks()
LONGEST_CELL = 25
MOST_ROOT_NAMES = 15


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_thin(path: Path):
    notebook, node = read_notebook(path), nbformat.read(path, as_version=4)
    for cell in node.cells:
        if cell.cell_type == "code":
            kept = cell.source.startswith("# NBVAL_CHECK_OUTPUT")
            assert bool(cell.outputs) == kept, "only what the notebook shows is kept"
            assert bool(cell.execution_count) == kept
            assert len(cell.source.splitlines()) <= LONGEST_CELL, cell.source[:200]
    cells = node.cells[:-2] if node.cells[-1].source.startswith("run.explore(") else node.cells
    heading, last = cells[-2:]
    assert heading.source.startswith("## What this shows") and "run.conclude(" in last.source
    assert not any("NBVAL_CHECK_OUTPUT" in cell.source for cell in cells[:-1])
    assert len(set(re.findall(r"\bnb\.(\w+)", "\n".join(notebook.code)))) <= MOST_ROOT_NAMES
    assert notebook.title
    assert notebook.parameters["output_dir"].default is None
    assert all(p.note for p in notebook.parameters.values()), "every parameter says what it is"
    for dataset in notebook.datasets:
        assert registry.files(dataset)
    nbformat.validate(node)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tables_are_shown_by_what_escapes_their_html(path: Path):
    """As pandas does of a frame, and does not of a Styler."""
    raw = {"style", "to_html", "_repr_html_", "HTML"}
    for code in read_notebook(path).code:
        for node in ast.walk(ast.parse(code)):
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", "")))
            assert name not in raw, ast.unparse(node)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_declare_their_range_and_defaults_are_in_it(path: Path):
    notebook = read_notebook(path)
    parameters = notebook.parameters
    for parameter in parameters.values():
        assert parameter.type not in ("int", "float") or parameter.limits, str(parameter)
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert resolve(parameters, defaults, where=path.stem) == defaults
    limited = [parameter for parameter in parameters.values() if parameter.limits]
    check = f'record.check("{path.stem}", limits, globals())'
    assert not limited or sum(check in code for code in notebook.code) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_papermill_lists_every_parameter_with_its_type_default_and_help(path: Path):
    listed = inspect_notebook(path)
    for name, parameter in read_notebook(path).parameters.items():
        typed = {"inferred_type_name": parameter.annotation, "help": parameter.note}
        assert listed[name].items() >= typed.items()
        assert ast.literal_eval(listed[name]["default"]) == parameter.default


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_calls_is_public(path: Path):
    """A name of ours that a notebook uses is handed out by the root or a folder, and documented."""
    for code in read_notebook(path).code:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == "nb":
                    assert node.attr in nlgbench.__all__, f"nb.{node.attr}"
                    assert getattr(nlgbench, node.attr).__doc__
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nlgbench"):
                assert not any(alias.name.startswith("_") for alias in node.names)


def test_papermill_alone_refuses_a_value_with_the_message_of_the_runner(tmp_path):
    (path,) = find_notebooks(["08"])
    with pytest.raises(ParameterError) as before:
        resolve(read_notebook(path).parameters, {"n_items": 3}, where=path.stem)
    with pytest.raises(PapermillExecutionError, match=re.escape(str(before.value))):
        execute_notebook(path, tmp_path / "08.ipynb", {"n_items": 3}, progress_bar=False)


def test_every_claim_has_one_owner():
    claims = load_claims()
    assert claims["claim_id"].is_unique
    assert set(claims["notebook"]) <= {path.stem for path in NOTEBOOKS}
