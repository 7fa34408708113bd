"""What names a run: the hash of everything that can change its result."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nlgbench
from nlgbench.datasets.published import published_dir
from nlgbench.hashing import canonical_json, dependencies_hash, folder_hash

_PACKAGE = Path(nlgbench.__file__).parent
#: Sums over more threads have another order, and other last digits.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def short(text: str) -> str:
    """Give six hex digits that tell texts apart in names of folders."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:6]


def surroundings() -> dict[str, str]:
    """Hash what every notebook depends on: package, published numbers, what is installed, where."""
    return {
        "package": folder_hash(_PACKAGE, "**/*.py"),
        "published numbers": folder_hash(published_dir(), "*.csv"),
        "installed packages": dependencies_hash(),
        "platform": canonical_json(platform_of()).decode(),
    }


def platform_of() -> dict[str, Any]:
    """Say what else can move a result: interpreter, machine, threads, and Java for METEOR."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
        "java": shutil.which("java") is not None,
    }


def threads() -> dict[str, str]:
    """Give the variables that say how many threads a kernel uses, where they are set."""
    return {name: os.environ[name] for name in _THREADS if os.environ.get(name)}


def set_threads(wanted: Mapping[str, str]) -> None:
    """Have kernels use as many threads as elsewhere: Dask sets these variables for its workers."""
    for name in _THREADS:
        os.environ.pop(name, None)
    os.environ.update(wanted)


def commit() -> str:
    """Name the commit of a checkout, with a plus where files differ from it; else nothing."""
    if not (_PACKAGE.parent / ".git").exists():
        return ""
    git = ["git", "-C", str(_PACKAGE.parent)]
    try:
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True)
    except OSError:
        return ""
    return found.stdout.strip() + "+" * bool(changed.stdout)


def parts(
    cells: Iterable[str],
    parameters: Mapping[str, Any],
    data: Mapping[str, str],
    around: Mapping[str, str],
) -> dict[str, str]:
    """Hash everything that can change a run's result, part by part."""
    named = {name: value for name, value in parameters.items() if name != "output_dir"}
    own = {"code": list(cells), "parameters": named, "data": dict(data)}
    hashed = {name: hashlib.sha256(canonical_json(one)).hexdigest() for name, one in own.items()}
    return {**hashed, **around}


def digest(of: Mapping[str, str]) -> str:
    """Name a run by its parts."""
    return hashlib.sha256(canonical_json(dict(of))).hexdigest()
