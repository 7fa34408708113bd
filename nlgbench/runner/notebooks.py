"""Notebooks as files: found by name, read with their parameters and the data they name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    prose: str  # what stands beside it
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
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}") from None
    _check_format(path, node)
    about = _part(path, node["metadata"], "nlgbench", dict, {})
    datasets = _part(path, about, "datasets", list, [])
    if not all(isinstance(name, str) for name in datasets):
        raise _unreadable(path, f"its metadata name the data sets {datasets!r}: texts are needed")
    heading, code, prose, tagged = "", [], [], []
    for cell in node["cells"]:
        source = cell.get("source")
        source = "".join(source) if _is_texts(source) else source
        tags = _part(path, _part(path, cell, "metadata", dict, {}), "tags", list, [])
        if not isinstance(source, str):
            raise _unreadable(path, "a cell has no `source`")
        if cell.get("cell_type") == "code":
            code.append(source)
            tagged += [source] if "parameters" in tags else []
            continue
        prose.append(source)
        if cell.get("cell_type") == "markdown" and source.startswith("# "):
            heading = heading or source.splitlines()[0].removeprefix("# ")
    if len(tagged) != 1:
        raise UsageError(
            f"{path} has {len(tagged)} code cells tagged 'parameters' and needs exactly one: add "
            "the tag in JupyterLab's property inspector."
        )
    parameters = read_parameters(tagged[0], where=path.stem)
    return Notebook(path, heading, code, "\0".join(prose), parameters, datasets)


def _check_format(path: Path, node: Any) -> None:
    if not isinstance(node, dict) or not isinstance(node.get("nbformat"), int):
        raise _unreadable(path, "it is JSON, and has no `nbformat`")
    if node["nbformat"] != 4:
        raise UsageError(
            f"{path} is of notebook format {node['nbformat']}, and format 4 is read: convert it "
            f"with `jupyter nbconvert --to notebook --inplace {path}`."
        )
    metadata = _part(path, node, "metadata", dict, {})
    if not all(isinstance(cell, dict) for cell in _part(path, node, "cells", list)):
        raise _unreadable(path, "a cell is no JSON object")
    for about, key in (("kernelspec", "language"), ("language_info", "name")):
        language = _part(path, _part(path, metadata, about, dict, {}), key, str, "python")
        if language.lower() != "python":
            raise UsageError(
                f"{path} is written in {language}, and notebooks run in a Python kernel: choose "
                "one in JupyterLab (Kernel, Change Kernel) and save it, if its cells are Python."
            )


def _part(path: Path, whole: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    part = whole.setdefault(name, default)
    if not isinstance(part, kind):
        raise _unreadable(path, f"{name!r} in it must be a {kind.__name__}, not {part!r:.60}")
    return part


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} cannot be read as a notebook ({why}): restore it from version control, or save "
        "it anew in JupyterLab."
    )


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
    for n, path in enumerate(found):
        for other in found[:n]:
            if other.stem == path.stem:
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
    why = "there is no such file"
    if os.path.isdir(path):
        why = "it is a folder: name the notebooks in it"
    elif os.path.islink(path):
        why = f"it is a link to {os.readlink(path)!r}, and there is no file there"
    elif os.path.exists(path):
        why = "it is no regular file"
    there = os.listdir(path.parent) if os.path.isdir(path.parent) else []
    hint = did_you_mean(path.name, [one for one in there if one.endswith(".ipynb")] + [*known])
    raise UsageError(f"no notebook {shown(name)}: {why}.{hint}")


def _by_number(name: str, stems: Sequence[str]) -> list[str]:
    """Find names by their number: 05 stands for 05 and 05b, 5 for 05 where nothing else is 5."""
    numbers = {stem: stem.split("-")[0] for stem in stems}
    exact = [stem for stem, number in numbers.items() if number == name]
    exact += [
        stem
        for stem, number in numbers.items()
        if number[:-1] == name and not number[-1:].isdigit()
    ]
    if exact or not name[:1].isdigit():
        return exact
    padded = {number for number in numbers.values() if number.lstrip("0") == name}
    return _by_number(padded.pop(), stems) if len(padded) == 1 else []
