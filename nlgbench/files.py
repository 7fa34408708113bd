"""Atomic replacement of files, and a log of the files that a run reads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from nlgbench.hashing import content_hash

#: The environment variable with the path of a run's log of files read.
READ_LOG = "NLGBENCH_READ_LOG"


def replace(path: Path, save: Callable[[Path], object]) -> None:
    """Replace a file atomically: write a temporary file in its folder, then rename it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content with bytes, atomically."""
    replace(path, lambda aside: aside.write_bytes(content))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Fill a temporary folder, which then replaces a folder."""
    aside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
    former = folder.with_name(f"{aside.name}.former")
    try:
        aside.mkdir(parents=True)
        yield aside
        if folder.exists():
            folder.rename(former)
        aside.rename(folder)
        shutil.rmtree(former, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def note_read(path: Path) -> None:
    """Record a file or folder as read, if this process is part of a run."""
    log = os.environ.get(READ_LOG)
    if log:
        line = json.dumps({"path": str(path.absolute()), "sha256": content_hash(path)})
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
