"""Hashes of files, folders and values: what names a run, and a stored score."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Write a value as JSON that is the same wherever the value is.

    >>> canonical_json({"b": 1, "a": [None, 0.5]})
    b'{"a":[null,0.5],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def file_hash(path: Path) -> str:
    """Give a file's SHA-256 in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_hash(folder: Path, pattern: str) -> str:
    """Hash the files of a folder that fit a pattern (`pathlib.Path.glob`), with their names."""
    whole = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return whole.hexdigest()


def dependencies_hash() -> str:
    """Hash the lock of a checkout, or the installed versions where there is none."""
    lock = Path(__file__).parent.parent / "lock" / "requirements.txt"
    if lock.is_file():
        return file_hash(lock)
    return hashlib.sha256(canonical_json(dependency_versions())).hexdigest()


def dependency_versions() -> dict[str, str]:
    """Look up the installed versions of what nlgbench requires, extras aside."""
    versions = {}
    for requirement in importlib.metadata.requires("nlgbench") or []:
        if "extra ==" in requirement:
            continue
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        if match:
            versions[match.group()] = importlib.metadata.version(match.group())
    return versions
