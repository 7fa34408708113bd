"""Run notebooks unchanged, and store only the output of their summary cells.

    .venv/bin/python .ci/summaries.py [NOTEBOOK...]

`make test` compares the summaries; run this after a change that is meant to change them.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def refresh(path: Path) -> None:
    """Execute one notebook and write it back with its summary's output.

    Parameters
    ----------
    path : Path
        The notebook.
    """
    node = nbformat.read(path, as_version=4)
    NotebookClient(node, kernel_name="python3").execute()
    node.metadata = {
        name: node.metadata[name] for name in ("kernelspec", "nlgbench") if name in node.metadata
    }
    for cell in node.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}
        if cell.cell_type == "code":
            kept = cell.source.startswith("# NBVAL_CHECK_OUTPUT")
            cell.execution_count = 1 if kept else None  # nbval requires one for output
            if not kept:
                cell.outputs = []
    nbformat.write(node, path)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(Path("notebooks").glob("*.ipynb")):
        refresh(Path(name))
