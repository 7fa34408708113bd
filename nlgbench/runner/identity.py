"""What names a run: the hash of everything that can change its result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nlgbench
from nlgbench.datasets.published import published_dir

_PACKAGE = Path(nlgbench.__file__).parent


def canonical_json(value: Any) -> bytes:
    """Write a value as JSON that is the same wherever the value is.

    Parameters
    ----------
    value : object
        Anything JSON can hold.

    Returns
    -------
    bytes
        Keys sorted, no white space, UTF-8.

    Examples
    --------
    >>> canonical_json({"b": 1, "a": [None, 0.5]})
    b'{"a":[null,0.5],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def file_hash(path: Path) -> str:
    """Hash one file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        SHA-256 in hex.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def short(text: str) -> str:
    """Give six hex digits that tell texts apart in names of folders."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:6]


def surroundings() -> dict[str, str]:
    """Hash what every notebook depends on: the package, the published numbers, the lock.

    Returns
    -------
    dict of str to str
        ``package`` (the package's Python files), ``published`` (the files of data/published),
        ``dependencies`` (the lock of a checkout; the installed versions where there is none).
    """
    lock = _PACKAGE.parent / "lock" / "requirements.txt"
    return {
        "package": folder_hash(_PACKAGE, "**/*.py"),
        "published": folder_hash(published_dir(), "*.csv"),
        "dependencies": file_hash(lock)
        if lock.is_file()
        else hashlib.sha256(canonical_json(dependency_versions())).hexdigest(),
    }


def folder_hash(folder: Path, pattern: str) -> str:
    """Hash the files of a folder with their names.

    Parameters
    ----------
    folder : Path
        The folder.
    pattern : str
        Which files, as in `pathlib.Path.glob`.

    Returns
    -------
    str
        SHA-256 in hex.
    """
    whole = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return whole.hexdigest()


def dependency_versions() -> dict[str, str]:
    """Look up the installed versions of what nlgbench requires.

    Returns
    -------
    dict of str to str
        Package name -> version, for the requirements without an extra that are installed.
    """
    versions = {}
    for requirement in importlib.metadata.requires("nlgbench") or []:
        if "extra ==" in requirement:
            continue
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        if match:
            versions[match.group()] = importlib.metadata.version(match.group())
    return versions


def digest(
    cells: Iterable[str],
    parameters: Mapping[str, Any],
    data: Mapping[str, str],
    around: Mapping[str, str],
) -> str:
    """Name a run by everything that can change its result.

    Parameters
    ----------
    cells : iterable of str
        Source of the notebook's code cells, in order.
    parameters : mapping of str to object
        Resolved parameters; ``output_dir`` is left out.
    data : mapping of str to str
        Name -> SHA-256 of the data files that it reads.
    around : mapping of str to str
        From `surroundings`.

    Returns
    -------
    str
        SHA-256 in hex.
    """
    named = {name: value for name, value in parameters.items() if name != "output_dir"}
    whole = {"cells": list(cells), "parameters": named, "data": dict(data), **around}
    return hashlib.sha256(canonical_json(whole)).hexdigest()
