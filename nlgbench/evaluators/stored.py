"""Storage of scores that take long to compute; they are reused while nothing changes."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from nlgbench import files
from nlgbench.hashing import folder_hash, installed_versions, value_hash
from nlgbench.study import csv_files

# Code that a score can depend on: all layers below the analyses.
_CODE = ("*.py", "study/**/*.py", "datasets/**/*.py", "evaluators/**/*.py", "generators/**/*.py")


def stored_dir() -> Path:
    """Return the folder of stored scores in the user's cache of nlgbench.

    It does not depend on ``NLGBENCH_DATA``, the read-only folder of released files.
    """
    import pooch

    return Path(pooch.os_cache("nlgbench")) / "kept"


def stored(
    name: str,
    compute: Callable[[], pd.DataFrame],
    *,
    given: Mapping[str, object],
    folder: Path | None,
) -> pd.DataFrame:
    """Compute scores and store them, or read them if they are stored already.

    `given` holds all tables and JSON values that determine the scores. Stored scores are reused
    only while `given`, the package's code and its dependencies are unchanged. A damaged file is
    recomputed. Without a folder, or if it is not writable, scores are computed and not stored.
    """
    if folder is None:
        return compute()
    place = folder / f"{name}-{_digest(given)[:20]}.csv"
    if place.is_file():
        try:
            return _read(place)
        except (csv_files.TableError, KeyError, OSError):
            pass
    made = compute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(place, lambda path: csv_files.save(made, path))
    except OSError:
        return made
    return made


def _read(path: Path) -> pd.DataFrame:
    frame, _ = csv_files.parse(path)
    score, wrong, rule = csv_files.convert(frame["score"], "float")
    if wrong.any():
        raise csv_files.TableError(f"{path}: score {rule}")
    return frame.assign(score=score)


def _digest(given: Mapping[str, object]) -> str:
    hashed = {}
    for key, value in given.items():
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
