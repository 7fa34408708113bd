"""Names, addresses and hashes of released files, which are downloaded on request."""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple
from urllib.parse import quote

from nlgbench.names import did_you_mean

BASE = "https://raw.githubusercontent.com"


class ReleasedFile(NamedTuple):
    """A file released by authors: a row of ``registry.csv``."""

    name: str  # its path in the cache, <dataset>/<file>
    repository: str
    commit: str
    path: str
    license: str
    sha256: str

    @property
    def dataset(self) -> str:
        """Its folder in the cache."""
        return self.name.split("/")[0]

    @property
    def address(self) -> str:
        """Address of the raw file at the pinned commit."""
        return f"{BASE}/{self.repository}/{self.commit}/{quote(self.path)}"


_TEXT = resources.files(__package__).joinpath("registry.csv").read_text(encoding="utf-8")
FILES = tuple(ReleasedFile(**row) for row in csv.DictReader(_TEXT.splitlines()))


def files(name: str | None = None) -> list[ReleasedFile]:
    """List released files."""
    matching = [file for file in FILES if name in (None, file.dataset, file.name)]
    if not matching:
        datasets = list(dict.fromkeys(file.dataset for file in FILES))
        names = datasets + [file.name for file in FILES]
        hint = did_you_mean(name, names)
        raise ValueError(
            f"no released data are called {name!r}.{hint} Data sets are {', '.join(datasets)}."
        )
    return matching
