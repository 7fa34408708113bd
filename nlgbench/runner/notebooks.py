"""Notebooks as files: found by name, read with their parameters and the data they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import nlgbench
from nlgbench.names import did_you_mean
from nlgbench.runner.parameters import Parameter, read_parameters

if TYPE_CHECKING:
    from nbformat import NotebookNode

_PACKAGE = Path(nlgbench.__file__).parent


def notebooks_dir() -> Path:
    """Find the notebooks: inside an installed wheel, or beside the package in a checkout."""
    for folder in (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"no notebooks beside {_PACKAGE} or in it: the installation is incomplete; install the "
        "wheel anew, or work from a clone with `pip install -e .`."
    )


@dataclass
class Notebook:
    """A notebook file, read once."""

    path: Path
    node: NotebookNode
    parameters: dict[str, Parameter]
    datasets: list[str] = field(default_factory=list)  # that it reads when released

    @property
    def name(self) -> str:
        """File name without ending."""
        return self.path.stem

    @property
    def title(self) -> str:
        """Its first heading."""
        for cell in self.node.cells:
            if cell.cell_type == "markdown" and cell.source.startswith("# "):
                return cell.source.splitlines()[0].removeprefix("# ")
        return ""

    @property
    def code(self) -> list[str]:
        """Source of the code cells, in order."""
        return [cell.source for cell in self.node.cells if cell.cell_type == "code"]

    @property
    def prose(self) -> str:
        """What stands beside the code."""
        return "\0".join(cell.source for cell in self.node.cells if cell.cell_type != "code")


def read_notebook(path: Path) -> Notebook:
    """Read a notebook with its parameters and the names of its data."""
    import nbformat

    try:
        node = nbformat.read(path, as_version=4)
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as a notebook ({type(error).__name__}: {error}): restore it "
            "from version control, or save it anew in JupyterLab."
        ) from None
    tagged = [
        cell
        for cell in node.cells
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]
    if len(tagged) != 1:
        raise ValueError(
            f"{path} has {len(tagged)} code cells tagged 'parameters' and needs exactly one: add "
            "the tag in JupyterLab's property inspector."
        )
    about = node.metadata.get("nlgbench", {})
    parameters = read_parameters(tagged[0].source, where=path.stem)
    return Notebook(path, node, parameters, list(about.get("datasets", [])))


def find_notebooks(names: Sequence[str] = ()) -> list[Path]:
    """Find notebooks by name, number or path; all of the workbench's without a name."""
    known = {path.stem: path for path in sorted(notebooks_dir().glob("*.ipynb"))}
    if not names:
        return list(known.values())
    found = []
    for name in names:
        numbers = {stem: stem.split("-")[0] for stem in known}
        by_number = [known[stem] for stem, number in numbers.items() if number == name]
        by_number += [
            known[stem] for stem, number in numbers.items() if number[:-1] == name != number
        ]
        if name.endswith(".ipynb") and Path(name).is_file():
            found.append(Path(name))
        elif name in known:
            found.append(known[name])
        elif by_number:
            found += by_number
        else:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"no notebook {name!r}.{hint} There are: {', '.join(known)}; a notebook of your "
                "own goes by its path, ending in .ipynb."
            )
    found = list({path.resolve(): path for path in found}.values())
    for n, path in enumerate(found):
        for other in found[:n]:
            if other.stem == path.stem:
                raise ValueError(
                    f"{other} and {path} have one name, and results go by it: rename one, or run "
                    "them with different --out."
                )
    return found
