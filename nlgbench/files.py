"""Files as wholes: written aside and renamed into place, and noted when read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from nlgbench.hashing import content_hash

#: Where a run's processes note what they read, if they are part of one.
READ_LOG = "NLGBENCH_READ_LOG"


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


def note_read(path: Path) -> None:
    """Note for the run that this process is part of that a file, or a folder's files, were read."""
    log = os.environ.get(READ_LOG)
    if log:
        line = json.dumps({"path": str(path.absolute()), "sha256": content_hash(path)})
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
