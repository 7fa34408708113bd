"""The cache of released files: where it is, what is in it, and how it is filled."""

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


PATIENCE = 3.0  # seconds that the authors' host has to answer


class DataUnavailableError(FileNotFoundError):
    """A released file is not where it is looked for."""


class DataCorruptError(ValueError):
    """A file is not the released one: its hash differs."""


def read_only() -> bool:
    """Tell whether the cache is a folder of the user's, named by ``NLGBENCH_DATA``."""
    return bool(os.environ.get("NLGBENCH_DATA"))


def cache_dir() -> Path:
    """Find the folder of released files."""
    if read_only():
        return Path(os.environ["NLGBENCH_DATA"])
    import pooch

    return Path(pooch.os_cache("nlgbench"))


def path(name: str) -> Path:
    """Find one released file and check its hash. Nothing is downloaded."""
    return _verified(registry.files(name)[0])


def _verified(file: ReleasedFile) -> Path:
    folder = cache_dir()
    place = folder / file.name
    if not place.is_file():
        missing = "" if folder.is_dir() else " (there is no such folder)"
        raise DataUnavailableError(
            f"{file.name} is not in {folder}{missing}. {_way_out(file)} (It is {file.address}, "
            f"SHA-256 {file.sha256}.)"
        )
    found = file_hash(place)
    if found != file.sha256:
        raise DataCorruptError(
            f"{place} is not the released file: expected SHA-256 {file.sha256}, found {found} "
            f"({place.stat().st_size:,} bytes; cut off, or changed). Nothing was read from it. "
            f"{_way_out(file)}"
        )
    note_read(place)
    return place


def _way_out(file: ReleasedFile) -> str:
    if read_only():
        return (
            "NLGBENCH_DATA names that folder, and it is never written to: put the file there, or "
            f"unset NLGBENCH_DATA and run `nlgbench fetch {file.dataset}`."
        )
    return (
        f"Run `nlgbench fetch {file.dataset}`, or set NLGBENCH_DATA to a folder that holds it; "
        "without it, notebooks run with --source simulated."
    )


def available(names: str | Iterable[str]) -> bool:
    """Tell whether all files of some data sets are in the cache, whatever they hold."""
    folder = cache_dir()
    return all((folder / file.name).is_file() for file in _wanted(names))


def _wanted(names: str | Iterable[str]) -> list[ReleasedFile]:
    one_each = [names] if isinstance(names, str) else names
    return list(dict.fromkeys(file for name in one_each for file in registry.files(name)))


@functools.cache
def reachable() -> bool:
    """Probe once whether the authors' repositories can be reached."""
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
    """Get released files into the cache, each checked by its hash.

    A file that is there and whole is kept. One that is there and corrupt is replaced when the new
    one is whole, not before. Where ``NLGBENCH_DATA`` is set, nothing is written: what is there is
    checked.
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
        whole = "\n".join(str(failure) for failure in failures)
        raise kind(f"{len(failures)} of {len(done) + len(failures)} files failed:\n{whole}")
    return pd.DataFrame(done, columns=["name", "license", "done"])


def _get(file: ReleasedFile) -> str:
    place = cache_dir() / file.name
    if read_only() or (place.is_file() and file_hash(place) == file.sha256):
        _verified(file)
        return "was there"
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # pooch writes aside, checks the hash, and only then renames.
        # Unless it reads the whole answer at once, a refused one leaves its socket open.
        pooch.retrieve(
            file.address,
            f"sha256:{file.sha256}",
            fname=place.name,
            path=place.parent,
            downloader=pooch.HTTPDownloader(stream=False),
        )
    except ValueError as error:
        raise DataCorruptError(
            f"{file.name}: {error} Nothing was kept. Try again; if it persists, the address "
            f"{file.address} no longer gives the released file."
        ) from None
    except OSError as error:  # of the network, too
        reason = str(error).split(" | ")[0]  # pooch adds its own advice
        raise OSError(
            f"{file.name} could not be fetched from {file.address} to {place}: {reason}. Try again "
            f"with a network, or put the file there (SHA-256 {file.sha256}); if the folder cannot "
            "be written to, fix its permissions, or set NLGBENCH_DATA to another."
        ) from None
    return "fetched"
