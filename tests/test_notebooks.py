"""Notebooks are thin: parameters, load, compute, plot, interpret."""

import ast
from pathlib import Path

import nbformat
import pytest

from nlgbench.datasets import registry
from nlgbench.datasets.published import load_claims
from nlgbench.runner.notebooks import find_notebooks, read_notebook

NOTEBOOKS = find_notebooks()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_thin(path: Path):
    notebook = read_notebook(path)
    for cell in notebook.node.cells:
        if cell.cell_type == "code":
            kept = cell.source.startswith("# NBVAL_CHECK_OUTPUT")
            assert bool(cell.outputs) == kept, "only the summary keeps its output"
            assert bool(cell.execution_count) == kept
            definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
            assert not any(
                isinstance(node, definitions) for node in ast.walk(ast.parse(cell.source))
            )
    summaries = [code for code in notebook.code if code.startswith("# NBVAL_CHECK_OUTPUT")]
    assert len(summaries) == 1
    assert notebook.title
    assert notebook.parameters["output_dir"].default is None
    assert notebook.parameters["source"].default == "simulated"
    assert all(p.note for p in notebook.parameters.values()), "every parameter says what it is"
    for dataset in notebook.datasets:
        assert registry.files(dataset)
    nbformat.validate(notebook.node)


def test_every_claim_has_one_owner():
    claims = load_claims()
    assert claims["claim_id"].is_unique
    owners = set(claims["notebook"])
    assert "" not in owners
    written = {path.stem for path in NOTEBOOKS}
    assert owners <= written
