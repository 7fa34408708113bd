"""What names a run: the hash of everything that can change its result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nlgbench
from nlgbench.datasets.published import published_dir
from nlgbench.hashing import canonical_json, dependencies_hash, folder_hash

_PACKAGE = Path(nlgbench.__file__).parent


def short(text: str) -> str:
    """Give six hex digits that tell texts apart in names of folders."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:6]


def surroundings() -> dict[str, str]:
    """Hash what every notebook depends on: the package, the published numbers, the lock."""
    return {
        "package": folder_hash(_PACKAGE, "**/*.py"),
        "published": folder_hash(published_dir(), "*.csv"),
        "dependencies": dependencies_hash(),
    }


def digest(
    cells: Iterable[str],
    parameters: Mapping[str, Any],
    data: Mapping[str, str],
    around: Mapping[str, str],
) -> str:
    """Name a run by everything that can change its result."""
    named = {name: value for name, value in parameters.items() if name != "output_dir"}
    whole = {"cells": list(cells), "parameters": named, "data": dict(data), **around}
    return hashlib.sha256(canonical_json(whole)).hexdigest()
