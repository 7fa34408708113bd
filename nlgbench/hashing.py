"""Hashes of files, folders and values, which identify runs and stored scores."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Serialize a value as canonical JSON: equal values give equal bytes.

    >>> canonical_json({"b": 1, "a": [None, 0.5]})
    b'{"a":[null,0.5],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def file_hash(path: Path) -> str:
    """Compute a file's SHA-256 in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_hash(folder: Path, pattern: str) -> str:
    """Hash the files of a folder that match a `pathlib.Path.glob` pattern, with their names."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.glob(pattern) if path.is_file()):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}\n".encode())
    return whole.hexdigest()


def content_hash(path: Path) -> str:
    """Hash a file, or the files of a folder with their names."""
    return file_hash(path) if path.is_file() else folder_hash(path, "**/*")


@functools.cache
def installed_versions() -> dict[str, str]:
    """Look up the versions of all direct and indirect dependencies, including installed extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    packages = importlib.metadata
    extras = packages.metadata("nlgbench").get_all("Provides-Extra") or []
    waiting = [("nlgbench", frozenset({"", *extras} - {"dev"}))]
    versions: dict[str, str] = {}
    done = set()
    while waiting:
        name, asked = one = waiting.pop()
        if one in done:
            continue
        done.add(one)
        try:
            found = packages.distribution(name)
        except packages.PackageNotFoundError:
            continue
        versions[name] = found.version
        for text in found.requires or []:
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in asked):
                waiting.append((canonicalize_name(needed.name), frozenset({"", *needed.extras})))
    return dict(sorted(versions.items()))


def value_hash(value: Any) -> str:
    """Hash a value that can be written as JSON."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
