"""Tables that take long to compute, kept between runs and used again when nothing changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

import nlgbench
from nlgbench import tables
from nlgbench.runner import identity

# What a score can depend on: the floors below analysis/.
_CODE = ("*.py", "datasets/**/*.py", "evaluators/**/*.py", "generators/**/*.py")


def kept_dir() -> Path:
    """Find the folder of kept tables.

    Returns
    -------
    Path
        ``kept`` in the user's cache of nlgbench, whether or not ``NLGBENCH_DATA`` names another
        folder for released files: that one is never written to.

    Examples
    --------
    >>> kept_dir().name
    'kept'
    """
    import pooch

    return Path(pooch.os_cache("nlgbench")) / "kept"


def keep(
    table: str,
    name: str,
    compute: Callable[[], pd.DataFrame],
    *,
    given: Mapping[str, object],
    folder: Path | None = None,
) -> pd.DataFrame:
    """Compute a table once, and read it from then on.

    Parameters
    ----------
    table : str
        Which of the tidy tables it is, such as ``"scores"``.
    name : str
        What it holds, such as ``"meteor"``; the file's name begins so.
    compute : callable
        Makes the table.
    given : mapping of str to DataFrame or JSON value
        Everything that the table follows from: data, settings, seed. It is used again only when
        these, the package's scoring code and the locked dependencies are the same.
    folder : Path, optional
        Where to keep it. Default `kept_dir`.

    Returns
    -------
    DataFrame
        The checked table; the same, to the last bit, computed or read.

    Raises
    ------
    TableError
        If what `compute` makes is not such a table; nothing is kept.

    Notes
    -----
    A kept file that is damaged is computed anew. Where the folder cannot be written, the table is
    returned all the same.

    Examples
    --------
    >>> import tempfile
    >>> row = {"dataset": "d", "output_id": "o1", "evaluator": "length", "score": 3.0}
    >>> with tempfile.TemporaryDirectory() as home:
    ...     for _ in range(2):
    ...         scores = keep(
    ...             "scores",
    ...             "length",
    ...             lambda: pd.DataFrame([row | {"signature": "words"}]),
    ...             given={"seed": 0},
    ...             folder=Path(home),
    ...         )
    >>> scores["score"].tolist()
    [3.0]
    """
    place = (kept_dir() if folder is None else folder) / f"{name}-{_digest(given)[:20]}.csv"
    if place.is_file():
        try:
            return tables.read(place, table)
        except (tables.TableError, OSError):
            pass
    made = tables.check(compute(), table)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        tables.write(made, table, place)
    except OSError:
        return made
    return tables.read(place, table)


def _digest(given: Mapping[str, object]) -> str:
    package = Path(nlgbench.__file__).parent
    whole = {
        "code": [identity.folder_hash(package, pattern) for pattern in _CODE],
        "dependencies": identity.surroundings()["dependencies"],
        "given": {key: _hashed(value) for key, value in given.items()},
    }
    return hashlib.sha256(identity.canonical_json(whole)).hexdigest()


def _hashed(value: object) -> object:
    if not isinstance(value, pd.DataFrame):
        return value
    text = value.to_csv(index=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()
