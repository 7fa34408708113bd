"""Storage of scores that take long to compute; they are reused while nothing changes."""

from __future__ import annotations

import functools
import hashlib
import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pandas as pd

from nlgbench import files
from nlgbench.hashing import folder_hash, installed_versions, value_hash
from nlgbench.study import csv_files

# Code that a score can depend on: all layers below the analyses.
_CODE = ("*.py", "study/**/*.py", "datasets/**/*.py", "evaluators/**/*.py", "generators/**/*.py")


def stored_dir() -> Path:
    """Return the folder of stored scores in the user's cache, whatever ``NLGBENCH_DATA`` is."""
    import pooch

    return Path(pooch.os_cache("nlgbench")) / "kept"


def stored(
    name: str,
    compute: Callable[[], pd.DataFrame],
    *,
    inputs: Mapping[str, object],
    folder: Path | None,
) -> pd.DataFrame:
    """Compute scores and store them, or read them if they are stored already.

    `inputs` holds all tables and JSON values that determine the scores. Stored scores are reused
    only while `inputs`, the package's code and its dependencies are unchanged. The first line of a
    file has the hash and the number of rows of the table below it, which reveal a damaged file. A
    folder that is not writable stores nothing.
    """
    if folder is None:
        return compute()
    path = folder / f"{name}-{_digest(inputs)[:20]}.csv"
    if path.is_file():
        with suppress(ValueError, KeyError, OSError):
            return _load(path)
    scores = compute()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(path, lambda path: _save(scores, path))
    return scores


def _save(scores: pd.DataFrame, path: Path) -> None:
    csv_files.save(scores, path)
    table = path.read_bytes()
    path.write_bytes(_seal(table, len(scores)) + table)


def _load(path: Path) -> pd.DataFrame:
    content = path.read_bytes()
    table = content[content.index(b"\n") + 1 :]
    frame = pd.read_csv(io.BytesIO(table), dtype="str", keep_default_na=False)
    if not content.startswith(_seal(table, len(frame))):
        raise ValueError(f"{path} is damaged")
    return frame.assign(score=csv_files.convert(frame["score"], "float")[0])


def _seal(table: bytes, n_rows: int) -> bytes:
    """Write the first line of a file: the hash of the table below it, and its number of rows."""
    return f"sha256 {hashlib.sha256(table).hexdigest()} rows {n_rows}\n".encode()


def _digest(inputs: Mapping[str, object]) -> str:
    hashed = {}
    for key, value in inputs.items():
        if isinstance(value, pd.DataFrame):
            text = value.to_csv(index=False).encode("utf-8", "surrogatepass")
            value = hashlib.sha256(text).hexdigest()
        hashed[key] = value
    return value_hash({**made_by(), "given": hashed})


@functools.cache
def made_by() -> dict[str, object]:
    """Hash the code and the packages that scores depend on."""
    package = Path(__file__).parent.parent
    return {
        "code": [folder_hash(package, pattern) for pattern in _CODE],
        "dependencies": value_hash(installed_versions()),
    }
