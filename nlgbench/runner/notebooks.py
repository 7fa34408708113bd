"""Notebooks as files: found by name, and read with their parameters and data sets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nlgbench
from nlgbench.names import UsageError, did_you_mean
from nlgbench.runner.parameters import Parameter, read_parameters, shown

_PACKAGE = Path(nlgbench.__file__).parent

#: The most bytes in a notebook's name: folders of results are named after it, with additions.
_LONGEST = 150


def notebooks_dir() -> Path:
    """Find the notebooks: inside an installed wheel, or next to the package in a checkout."""
    for folder in (_PACKAGE / "notebooks", _PACKAGE.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"there are no notebooks in {_PACKAGE} or next to it: the installation is incomplete. "
        "Reinstall the wheel, or work from a clone with `pip install -e .`."
    )


@dataclass(frozen=True)
class Notebook:
    """A notebook file, read once."""

    path: Path
    title: str  # its first heading
    code: list[str]  # sources of the code cells, in order
    parameters: dict[str, Parameter]
    datasets: list[str]  # names of data sets that it reads if they are available

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return self.path.stem


def read_notebook(path: Path) -> Notebook:
    """Read a notebook with its parameters and the names of its data sets."""
    try:  # as JSON, because importing nbformat takes longer than all other checks
        node = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(node, ensure_ascii=False).encode()  # refuses unpaired surrogates such as \ud800
        if node["nbformat"] != 4:
            raise ValueError(f"it has notebook format {node['nbformat']}, not 4")
        datasets = node.get("metadata", {}).get("nlgbench", {}).get("datasets", [])
        if not isinstance(datasets, list) or not all(isinstance(name, str) for name in datasets):
            raise TypeError(
                f"its metadata must list the names of data sets as strings, not {datasets!r}"
            )
        cells = [
            (cell["cell_type"], "".join(cell["source"]), cell.get("metadata", {}).get("tags", []))
            for cell in node["cells"]
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read as a notebook ({type(error).__name__}: {error}): restore it "
            "from version control, or save it again in JupyterLab."
        ) from None
    code = [source for kind, source, _ in cells if kind == "code"]
    is_tagged = ["parameters" in tags for kind, _, tags in cells if kind == "code"]
    tagged = [number for number, is_parameters in enumerate(is_tagged) if is_parameters]
    if len(tagged) != 1:
        raise UsageError(
            f"{path} has {len(tagged)} code cells tagged 'parameters', but needs exactly one: set "
            "the tag in JupyterLab's property inspector."
        )
    headings = (text for kind, text, _ in cells if kind == "markdown" and text.startswith("# "))
    title = next(headings, "").partition("\n")[0].removeprefix("# ")
    following = code[tagged[0] + 1 : tagged[0] + 2]
    parameters = read_parameters(code[tagged[0]], *following, where=path.stem)
    return Notebook(path.absolute(), title, code, parameters, datasets)


def find_notebooks(names: Sequence[str] = ()) -> list[Path]:
    """Find notebooks by name, number or path; without names, all of the workbench's notebooks."""
    paths = {path.stem: path for path in sorted(notebooks_dir().glob("*.ipynb"))}
    if not names:
        return list(paths.values())
    chosen = []
    for name in names:
        if name.endswith(".ipynb"):
            chosen.append(_own(name, paths))
        elif name in paths:
            chosen.append(paths[name])
        elif by_number := _by_number(name, paths):
            chosen += by_number
        else:
            raise UsageError(
                f"there is no notebook {shown(name)}.{did_you_mean(name, paths)} Notebooks: "
                f"{', '.join(paths)}. For your own notebook, give its path, which ends in .ipynb."
            )
    chosen = list({path.resolve(): path for path in chosen}.values())
    by_name = {path.stem: path for path in chosen}
    for path in chosen:
        if (duplicate := by_name[path.stem]) != path:
            raise UsageError(
                f"{path} and {duplicate} have the same name, so their results would share a "
                "folder: rename one, or use a different --out for each."
            )
    return chosen


def _own(name: str, names: Iterable[str]) -> Path:
    """Check the path to the user's own notebook."""
    path = Path(name)
    if os.path.isfile(path):
        folder = path.stem
        if not folder.isprintable() or folder.startswith(".") or len(folder.encode()) > _LONGEST:
            raise UsageError(
                f"The folder of results is named after {shown(name)}, so the name must be "
                f"printable, have at most {_LONGEST} bytes, and not begin with a dot: rename the "
                "file."
            )
        return path
    why = "it is not a regular file" if os.path.lexists(path) else "there is no such file"
    siblings = [notebook.name for notebook in path.parent.glob("*.ipynb")]
    hint = did_you_mean(path.name, [*siblings, *names])
    raise UsageError(f"cannot open the notebook {shown(name)}: {why}.{hint}")


def _by_number(name: str, paths: Mapping[str, Path]) -> list[Path]:
    """Find notebooks by number: 5 and 05 both match 05 and 05b."""
    form = re.compile(f"0*{re.escape(name)}[a-z]?")
    return [path for stem, path in paths.items() if form.fullmatch(stem.split("-")[0])]
