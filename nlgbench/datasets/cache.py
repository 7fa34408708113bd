"""The cache of released files: its location, verification by hash, and downloads."""

from __future__ import annotations

import functools
import os
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nlgbench.datasets import registry
from nlgbench.datasets.registry import ReleasedFile
from nlgbench.files import note_read
from nlgbench.hashing import file_hash

if TYPE_CHECKING:
    import pandas as pd


PATIENCE = 3.0  # timeout of the authors' host, in seconds


class DataUnavailableError(FileNotFoundError):
    """A released file is not in the cache."""


class DataCorruptError(ValueError):
    """A file's hash differs from that of the released file."""


def read_only() -> bool:
    """Return whether ``NLGBENCH_DATA`` names the cache, and thus makes it read-only."""
    return bool(os.environ.get("NLGBENCH_DATA"))


def cache_dir() -> Path:
    """Return the folder of released files."""
    if read_only():
        return Path(os.environ["NLGBENCH_DATA"])
    import pooch

    return Path(pooch.os_cache("nlgbench"))


def path(name: str) -> Path:
    """Return the path of a released file after checking its hash; download nothing."""
    return _verified(registry.files(name)[0])


def _verified(file: ReleasedFile) -> Path:
    folder = cache_dir()
    path = folder / file.name
    if not path.is_file():
        missing = "" if folder.is_dir() else " (there is no such folder)"
        raise DataUnavailableError(
            f"{file.name} is not in {folder}{missing}. {_how_to_get(file)} (Source: "
            f"{file.address}, SHA-256 {file.sha256}.)"
        )
    digest = file_hash(path)
    if digest != file.sha256:
        raise DataCorruptError(
            f"{path} is not the released file: expected SHA-256 {file.sha256}, found {digest} "
            f"({path.stat().st_size:,} bytes; truncated or changed). It was not read. "
            f"{_how_to_get(file)}"
        )
    note_read(path)
    return path


def _how_to_get(file: ReleasedFile) -> str:
    if read_only():
        return (
            "NLGBENCH_DATA names that folder, and nlgbench never writes to it. Put the file there, "
            f"or unset NLGBENCH_DATA and run `nlgbench fetch {file.dataset}`."
        )
    return (
        f"Run `nlgbench fetch {file.dataset}`, or set NLGBENCH_DATA to a folder that has it. "
        "Without it, notebooks run with --source simulated."
    )


def available(names: str | Iterable[str]) -> bool:
    """Return whether all files of some data sets are in the cache, without checking hashes."""
    folder = cache_dir()
    return all((folder / file.name).is_file() for file in _wanted(names))


def _wanted(names: str | Iterable[str]) -> list[ReleasedFile]:
    one_each = [names] if isinstance(names, str) else names
    return list(dict.fromkeys(file for name in one_each for file in registry.files(name)))


@functools.cache
def reachable() -> bool:
    """Check once whether the authors' repositories are reachable."""
    request = urllib.request.Request(registry.FILES[0].address, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status == 200
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        pass
    return False


def fetch(names: str | Iterable[str] = ()) -> pd.DataFrame:
    """Download released files into the cache, and verify each by its hash.

    Intact files are kept. A corrupt file is replaced only after the new one is verified. If
    ``NLGBENCH_DATA`` is set, files are verified and nothing is written.
    """
    import pandas as pd

    done: list[tuple[str, str, str]] = []
    failures: list[Exception] = []
    for file in _wanted(names) or registry.files():
        try:
            done.append((file.name, file.license, _get(file)))
        except (OSError, ValueError) as error:
            failures.append(error)
    if failures:
        kind = DataCorruptError if isinstance(failures[0], ValueError) else OSError
        # Files usually fail for one reason, such as a missing network: one of each kind is shown.
        several = {type(failure): failure for failure in reversed(failures)}
        n = len(failures)
        listed = "\n".join(map(str, reversed(several.values())))
        more = f"\nAnd {n - len(several)} more." if n > len(several) else ""
        raise kind(f"{n} of {len(done) + n} files failed:\n{listed}{more}")
    return pd.DataFrame(done, columns=["name", "license", "done"])


def _get(file: ReleasedFile) -> str:
    path = cache_dir() / file.name
    if read_only() or (path.is_file() and file_hash(path) == file.sha256):
        _verified(file)
        return "was there"
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # pooch writes a temporary file and renames it after checking the hash.
        # With streaming, a refused download would leave its socket open.
        pooch.retrieve(
            file.address,
            f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(stream=False),
        )
    except ValueError as error:
        raise DataCorruptError(
            f"{file.name}: {error} The download was discarded. Try again. If the error persists, "
            f"{file.address} no longer provides the released file."
        ) from None
    except OSError as error:  # includes network errors
        reason = str(error).split(" | ")[0]  # pooch adds its own advice
        raise OSError(
            f"{file.name} could not be fetched from {file.address} to {path}: {reason}. Check the "
            f"network and try again, or put the file there (SHA-256 {file.sha256}). If the folder "
            "is not writable, fix its permissions, or set NLGBENCH_DATA to another folder."
        ) from None
    return "fetched"
