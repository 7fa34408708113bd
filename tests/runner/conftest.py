"""Small notebooks, made on the spot."""

import nbformat
import pytest


@pytest.fixture
def make_notebook(tmp_path):
    """Return a function that writes a notebook of code cells, the first tagged `parameters`."""

    def make(name, *cells, datasets=()):
        node = nbformat.v4.new_notebook()
        node.cells = [nbformat.v4.new_code_cell(source) for source in cells]
        if cells:
            node.cells[0].metadata["tags"] = ["parameters"]
        node.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        node.metadata["nlgbench"] = {"datasets": list(datasets)}
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(node, path)
        return path

    return make
