"""What is decided about a notebook before its kernel starts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from nlgbench.datasets import cache, registry
from nlgbench.hashing import content_hash, file_hash
from nlgbench.names import did_you_mean
from nlgbench.runner import identity
from nlgbench.runner.notebooks import Notebook
from nlgbench.runner.parameters import ParameterError, resolve

#: Parameters of which the newest run replaces the former, and what is in the name already.
_BY_THEMSELVES = ("source", "effort", "study", "output_dir")

SourceWish = Literal["auto", "released", "simulated"]


@dataclass(frozen=True)
class Plan:
    """One notebook with everything decided before its kernel starts."""

    name: str
    path: Path
    parameters: dict[str, Any]  # resolved, without output_dir
    source: str  # released, simulated or study; empty where the notebook has no such parameter
    data: dict[str, str]  # name -> SHA-256 of the data files that it reads
    parts: dict[str, str]  # hashes of all that can change the result
    digest: str
    prose: str  # hash of the text beside the code
    n_cells: int  # of code, for the progress bar
    note: str  # what the user should know about the choice of source
    place: str  # folder of the result: the notebook's name, and what is not as by default


@dataclass(frozen=True)
class Outcome:
    """How one notebook's run ended."""

    plan: Plan
    status: Literal["done", "skipped", "failed"]  # skipped: the same run was there already
    seconds: float
    message: str = ""  # for a failure: the cell and the error


def plan(
    notebook: Notebook,
    given: Mapping[str, Any],
    *,
    source: SourceWish,
    effort: str,
    around: Mapping[str, str],
) -> Plan:
    """Decide a notebook's parameters, source and identity."""
    for name, way in {
        "output_dir": "the runner sets it: use --out",
        "source": "use --source",
        "effort": "use --effort",
    }.items():
        if name in given:
            raise ParameterError(f"{notebook.name}: {name!r} is not set with -p; {way}.")
    wanted = dict(given)
    if "effort" in notebook.parameters:
        wanted["effort"] = effort
    resolve(notebook.parameters, wanted, where=notebook.name)
    chosen, note, varied, data = "", "", {}, {}
    folder = wanted.get("study") if "study" in notebook.parameters else None
    if folder is not None:
        if source != "auto":
            raise ParameterError(
                f"{notebook.name}: study={folder!r} and --source {source} are two studies: leave "
                "one out."
            )
        home = _study_folder(notebook, folder)
        wanted["study"], chosen = str(home), "study"
        data = {
            path.relative_to(home).as_posix(): file_hash(path)
            for path in sorted(home.rglob("*"))
            if path.is_file()
        }
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", home.name)[:40]  # in file names everywhere
        varied = {"study": f"{safe}-{identity.short(str(home))}"}
    elif "source" in notebook.parameters:
        chosen, note = _choose_source(notebook, source)
        wanted["source"] = chosen
    values = resolve(notebook.parameters, wanted, where=notebook.name)
    values.pop("output_dir", None)
    if chosen == "released":
        cached = cache.cache_dir()
        names = [file.name for name in notebook.datasets for file in registry.files(name)]
        data = {name: file_hash(cached / name) for name in names}
    for name, parameter in notebook.parameters.items():
        if name in values and name not in _BY_THEMSELVES and values[name] != parameter.default:
            varied[name] = values[name]
    data |= _paths_given(notebook, values)
    parts = identity.parts(notebook.code, values, data, around)
    about = (notebook.name, notebook.path, values, chosen, data, parts, identity.digest(parts))
    prose, place = identity.short(notebook.prose), _place(notebook.name, varied)
    return Plan(*about, prose, len(notebook.code), note, place)


def _place(notebook: str, varied: Mapping[str, Any]) -> str:
    """Name the folder of a result: what its parameters are, where these are not the defaults."""
    shown = ",".join(f"{name}={quote(str(varied[name]), safe='=')}" for name in sorted(varied))
    if len(shown) > 80:
        shown = f"{shown[:73]}-{identity.short(shown)}"
    return f"{notebook}@{shown}" if shown else notebook


def _paths_given(notebook: Notebook, values: Mapping[str, Any]) -> dict[str, str]:
    """Hash the files and folders that parameters name, as the notebook's kernel finds them."""
    found = {}
    for name, value in values.items():
        if not isinstance(value, str) or not re.search(r"[/\\\\]|\.\w+$", value) or name == "study":
            continue
        path = notebook.path.parent / Path(value).expanduser()
        with contextlib.suppress(OSError):
            if path.exists():
                found[f"{name}={value}"] = content_hash(path)
    return found


def _study_folder(notebook: Notebook, folder: str) -> Path:
    home = Path(folder).expanduser().absolute()
    if not home.is_dir():
        there = [one.name for one in home.parent.iterdir()] if home.parent.is_dir() else []
        raise ParameterError(
            f"{notebook.name}: study={folder!r} is no folder.{did_you_mean(home.name, there)} "
            "Give the folder that holds outputs.csv."
        )
    return home


def _choose_source(notebook: Notebook, wish: SourceWish) -> tuple[str, str]:
    if wish == "simulated":
        return "simulated", ""
    if not notebook.datasets:
        return "simulated", "it reads no released data"
    if cache.available(notebook.datasets):
        if not cache.read_only():
            # What is corrupt is fetched anew; where it cannot be, loading says what is wrong.
            with contextlib.suppress(OSError, ValueError):
                cache.fetch(notebook.datasets)
        return "released", ""
    if wish == "released":
        cache.fetch(notebook.datasets)
        return "released", ""
    if cache.read_only():
        return "simulated", f"released data are not all in {cache.cache_dir()} (NLGBENCH_DATA)"
    if not cache.reachable():
        return "simulated", "released data are not in the cache and cannot be reached from here"
    try:
        cache.fetch(notebook.datasets)
    except (OSError, ValueError) as error:
        return "simulated", f"released data could not be fetched: {error}"
    return "released", ""
