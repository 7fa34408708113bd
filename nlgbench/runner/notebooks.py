"""Notebooks as files: found by name, read with their parameters and the data they name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nlgbench
from nlgbench.names import did_you_mean
from nlgbench.runner.parameters import Parameter, UsageError, read_parameters, shown

_PACKAGE = Path(nlgbench.__file__).parent

#: Bytes of a name: folders are called by it, with a digest before and an ending behind.
_LONGEST = 150


def notebooks_dir() -> Path:
    """Find the notebooks: inside an installed wheel, or beside the package in a checkout."""
    for folder in (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"no notebooks beside {_PACKAGE} or in it: the installation is incomplete; install the "
        "wheel anew, or work from a clone with `pip install -e .`."
    )


@dataclass(frozen=True)
class Notebook:
    """A notebook file, read once."""

    path: Path
    title: str  # its first heading
    code: list[str]  # source of the code cells, in order
    parameters: dict[str, Parameter]
    datasets: list[str]  # that it reads when released

    @property
    def name(self) -> str:
        """File name without ending."""
        return self.path.stem


def read_notebook(path: Path) -> Notebook:
    """Read a notebook with its parameters and the names of its data.

    As plain JSON: importing nbformat takes longer than all other checks together.
    """
    try:
        node = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(node, ensure_ascii=False).encode()  # half a character can be written as \ud800
        if node["nbformat"] != 4:
            raise ValueError(f"notebook format {node['nbformat']}, and format 4 is read")
        datasets = node.get("metadata", {}).get("nlgbench", {}).get("datasets", [])
        if not isinstance(datasets, list) or not all(isinstance(one, str) for one in datasets):
            raise TypeError(f"its metadata name the data sets {datasets!r}: texts are needed")
        cells = [
            (cell["cell_type"], "".join(cell["source"]), cell.get("metadata", {}).get("tags", []))
            for cell in node["cells"]
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read as a notebook ({type(error).__name__}: {error}): restore it "
            "from version control, or save it anew in JupyterLab."
        ) from None
    code = [source for kind, source, _ in cells if kind == "code"]
    tagged = [source for kind, source, tags in cells if kind == "code" and "parameters" in tags]
    if len(tagged) != 1:
        raise UsageError(
            f"{path} has {len(tagged)} code cells tagged 'parameters' and needs exactly one: add "
            "the tag in JupyterLab's property inspector."
        )
    headings = (text for kind, text, _ in cells if kind == "markdown" and text.startswith("# "))
    title = next(headings, "").partition("\n")[0].removeprefix("# ")
    parameters = read_parameters(tagged[0], where=path.stem)
    return Notebook(path.absolute(), title, code, parameters, datasets)


def find_notebooks(names: Sequence[str] = ()) -> list[Path]:
    """Find notebooks by name, number or path; all of the workbench's without a name."""
    known = {path.stem: path for path in sorted(notebooks_dir().glob("*.ipynb"))}
    if not names:
        return list(known.values())
    found = []
    for name in names:
        if name.endswith(".ipynb"):
            found.append(_own(name, known))
        elif name in known:
            found.append(known[name])
        elif by_number := _by_number(name, known):
            found += by_number
        else:
            raise UsageError(
                f"no notebook {shown(name)}.{did_you_mean(name, known)} There are: "
                f"{', '.join(known)}; a notebook of your own goes by its path, ending in .ipynb."
            )
    found = list({path.resolve(): path for path in found}.values())
    by_name = {path.stem: path for path in found}
    for path in found:
        if (other := by_name[path.stem]) != path:
            raise UsageError(
                f"{path} and {other} have one name, and results go by it: rename one, or run "
                "them with different --out."
            )
    return found


def _own(name: str, known: Iterable[str]) -> Path:
    """Check a path to a notebook of the user's own."""
    path = Path(name)
    if os.path.isfile(path):
        folder = path.stem
        if not folder.isprintable() or folder.startswith(".") or len(folder.encode()) > _LONGEST:
            raise UsageError(
                f"{shown(name)}: results go by a notebook's name, so it is printable, has at most "
                f"{_LONGEST} bytes, and begins with no dot: rename it."
            )
        return path
    why = "it is no regular file" if os.path.lexists(path) else "there is no such file"
    hint = did_you_mean(path.name, [*(one.name for one in path.parent.glob("*.ipynb")), *known])
    raise UsageError(f"no notebook {shown(name)}: {why}.{hint}")


def _by_number(name: str, known: Mapping[str, Path]) -> list[Path]:
    """Find notebooks by number: 5 and 05 stand for 05 and 05b."""
    form = re.compile(f"0*{re.escape(name)}[a-z]?")
    return [path for stem, path in known.items() if form.fullmatch(stem.split("-")[0])]
