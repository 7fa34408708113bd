"""Files as wholes: written aside and renamed into place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, save: Callable[[Path], object]) -> None:
    """Write a file aside in its folder, then rename it: a reader sees the old one or the new."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def replace_bytes(path: Path, content: bytes) -> None:
    """Write bytes so."""
    replace(path, lambda aside: aside.write_bytes(content))
