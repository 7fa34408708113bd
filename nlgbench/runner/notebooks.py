"""Notebooks as files: found by name, read with their parameters and the data they name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
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
        version, metadata = node["nbformat"], node.get("metadata", {})
        kernel, language = (metadata.get(name, {}) for name in ("kernelspec", "language_info"))
        languages = {kernel.get("language", "python"), language.get("name", "python")}
        datasets = metadata.get("nlgbench", {}).get("datasets", [])
        if not isinstance(datasets, list) or not all(isinstance(one, str) for one in datasets):
            raise TypeError(f"its metadata name the data sets {datasets!r}: texts are needed")
        cells = [
            (cell["cell_type"], "".join(cell["source"]), cell.get("metadata", {}).get("tags", []))
            for cell in (node["cells"] if version == 4 else [])
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read as a notebook ({type(error).__name__}: {error}): restore it "
            "from version control, or save it anew in JupyterLab."
        ) from None
    if version != 4:
        raise UsageError(
            f"{path} is of notebook format {version}, and format 4 is read: convert it "
            f"with `jupyter nbconvert --to notebook --inplace {path}`."
        )
    if foreign := [name for name in languages if name.lower() != "python"]:
        raise UsageError(
            f"{path} is written in {foreign[0]}, and notebooks run in a Python kernel: choose "
            "one in JupyterLab (Kernel, Change Kernel) and save it, if its cells are Python."
        )
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
        elif by_number := _by_number(name, list(known)):
            found += [known[stem] for stem in by_number]
        else:
            hint = did_you_mean(name, known)
            if os.path.isdir(name):
                hint = " That is a folder: name the notebooks in it."
            raise UsageError(
                f"no notebook {shown(name)}.{hint} There are: {', '.join(known)}; a notebook of "
                "your own goes by its path, ending in .ipynb."
            )
    found = list({path.resolve(): path for path in found}.values())
    by_name: dict[str, Path] = {}
    for path in found:
        if (other := by_name.setdefault(path.stem, path)) != path:
            raise UsageError(
                f"{other} and {path} have one name, and results go by it: rename one, or run "
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
    if os.path.isdir(path):
        why = "it is a folder: name the notebooks in it"
    there = os.listdir(path.parent) if os.path.isdir(path.parent) else []
    hint = did_you_mean(path.name, [one for one in there if one.endswith(".ipynb")] + [*known])
    raise UsageError(f"no notebook {shown(name)}: {why}.{hint}")


def _by_number(name: str, stems: Sequence[str]) -> list[str]:
    """Find names by their number: 05 stands for 05 and 05b, 5 for 05 where nothing else is 5."""
    if not name[:1].isdigit():
        return []
    numbers = {stem: stem.split("-")[0] for stem in stems}
    for zeros in ("", "0+"):
        form = f"({zeros}{re.escape(name)})[a-z]?"
        fit = {stem: re.fullmatch(form, number) for stem, number in numbers.items()}
        if found := {stem: match[1] for stem, match in fit.items() if match}:
            return list(found) if len(set(found.values())) == 1 else []
    return []
