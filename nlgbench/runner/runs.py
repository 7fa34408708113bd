"""A run's folder and its manifest.

A run is written to ``.partial-<digest>-<pid>`` beside its place. When its manifest is written
it is finished: the former folder is renamed aside, the new one renamed in, the former one
deleted. Whatever is killed in between, `recover` completes or cleans up at the next start.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nlgbench
from nlgbench import files
from nlgbench.hashing import content_hash, file_hash, installed_versions
from nlgbench.runner import identity, kernels
from nlgbench.runner.parameters import UsageError

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = "manifest.json"
#: What an open record and a closed one leave for the runner, and what marks a failed run.
OPEN, RECORD, FAILED = ".open", ".record.json", ".failed"
#: The table that says how near recomputed numbers come to the printed ones.
DEGREES = "reproduction"
#: Why a run is made where there is none.
FIRST = "not run so far"


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read a run's manifest; a run without a readable one is not finished."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "digest" in manifest else None


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, aside first: with it the run is finished."""
    whole = {
        **manifest,
        "nlgbench": nlgbench.__version__,
        "commit": identity.commit(),
        **identity.platform_of(),
        "dependencies": installed_versions(),
        "files": {
            path.relative_to(folder).as_posix(): file_hash(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    files.replace_bytes(folder / MANIFEST, text.encode())


def why_anew(place: Path, parts: Mapping[str, str], study: str | None = None) -> str:
    """Say why a run has to be made; nothing where its result is there, whole, of these parts.

    `study` is the folder of the study, which may have moved.
    """
    manifest = read_manifest(place)
    if manifest is None:
        return FIRST
    former = manifest.get("parts", {})
    if changed := [name for name in parts if parts[name] != former.get(name)]:
        return f"changed since: {', '.join(changed)}"
    for name, expected in manifest.get("files", {}).items():
        path = place / name
        if not path.is_file():
            return f"{name} is missing from its result"
        if file_hash(path) != expected:
            return f"{name} of its result was changed"
    return _changed_read(manifest, study)


def _changed_read(manifest: Mapping[str, Any], study: str | None) -> str:
    """Say what a run read that is not as it was; what is in or beside a study moves with it."""
    former = manifest.get("parameters", {}).get("study")
    for name, expected in manifest.get("read", {}).items():
        path = Path(name)
        if study and former and study != former:
            moved = Path(os.path.normpath(Path(study, os.path.relpath(name, former))))
            path = moved if moved.exists() else path
        if not path.exists():
            return f"it read {path}, which is gone"
        if content_hash(path) != expected:
            return f"it read {path}, which was changed"
    return ""


def refuse_other_study(place: Path, study: str, data: Mapping[str, str]) -> None:
    """Refuse to replace results of another study of the same name: other content, elsewhere."""
    manifest = read_manifest(place) or {}
    former = manifest.get("parameters", {}).get("study")
    if former in (None, study):
        return
    if manifest.get("data") != data or _changed_read(manifest, study):
        raise UsageError(
            f"{place} holds results of the study in {former}, and the one in {study} has the same "
            "name and other content: choose another --out, or give one another `name` in its "
            "study.yml."
        )


def take_read(folder: Path) -> dict[str, str]:
    """Take over what the run's processes read: path -> hash when it was read first."""
    log = folder / kernels.READ
    found: dict[str, str] = {}
    if log.is_file():
        for line in log.read_text(encoding="utf-8").splitlines():
            about = json.loads(line)
            found.setdefault(about["path"], about["sha256"])
        log.unlink()
    inside = str(folder.absolute()) + os.sep
    return {path: found[path] for path in sorted(found) if not path.startswith(inside)}


def partial_dir(out: Path, notebook: str, run_digest: str) -> Path:
    """Make the folder in which a run is prepared."""
    folder = out / f".partial-{run_digest}-{os.getpid()}-{notebook}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def promote(partial: Path, place: Path) -> None:
    """Put a finished run in its place."""
    former = place.with_name(f".old-{os.getpid()}-{place.name}")
    if place.exists():
        place.rename(former)
    partial.rename(place)
    remove(former)


def keep_failed(partial: Path, failed: Path) -> None:
    """Put what a run left that failed in its place."""
    remove(failed)
    (partial / FAILED).touch()
    partial.rename(failed)


def remove(folder: Path) -> None:
    """Delete a folder: renamed first, so that what a kill leaves of it is known for rubbish."""
    rubbish = folder.with_name(f".trash-{os.getpid()}-{folder.name.lstrip('.')}")
    with suppress(FileNotFoundError):
        folder.rename(rubbish)
    shutil.rmtree(rubbish, ignore_errors=True)


def _is_left_over(path: Path) -> bool:
    """Tell what only this module made: other programs keep hidden files as well."""
    if path.is_dir():
        of_run = re.fullmatch(r"\.(partial-[0-9a-f]{64}|trash)-\d+-.+", path.name)
        former = re.fullmatch(r"\.old-\d+-.+", path.name)
        return bool(of_run or (former and any(path.iterdir()) and _is_ours(path)))
    return re.fullmatch(rf"\.(ledger|index|{DEGREES})\.csv\.\d+", path.name) is not None


def recover(out: Path) -> None:
    """Complete or clean up what a killed command left behind.

    A finished run that was not yet in its place is put there; a former run that was aside while
    no new one is finished is put back; everything else that is half is deleted.
    """
    left = sorted(path for path in out.glob(".*") if _is_left_over(path))
    # New results first: a former one goes back only where there is none.
    for path in sorted(left, key=lambda path: path.name.startswith(".old-")):
        manifest = read_manifest(path) if path.is_dir() else None
        if path.is_file():
            path.unlink()
        elif manifest is None or path.name.startswith(".trash-"):
            remove(path)
        elif path.name.startswith(".partial-"):
            promote(path, out / str(manifest.get("place", manifest["notebook"])))
        elif (place := out / path.name.split("-", 2)[2]).exists():
            remove(path)
        else:
            path.rename(place)
    for failed in sorted(out.glob("*.failed")):
        done = out / failed.name.removesuffix(".failed") / MANIFEST
        mark = failed / FAILED
        # A failure before the result that is there: its cleaning up was killed.
        if mark.is_file() and done.is_file() and done.stat().st_mtime > mark.stat().st_mtime:
            remove(failed)


def _is_ours(folder: Path) -> bool:
    """Tell whether a run was written to a folder, be its manifest or its marker cut off or gone."""
    if not folder.is_dir():
        return False
    if (folder / MANIFEST).is_file() or (folder / FAILED).is_file() or not any(folder.iterdir()):
        return True
    try:  # papermill's mark stays in the notebook of a run that failed
        return '"papermill"' in (folder / "notebook.ipynb").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def check_place(out: Path, notebooks: Iterable[str]) -> None:
    """Refuse to write where something lies that is not ours."""
    for name in notebooks:
        place, failed = out / name, out / f"{name}.failed"
        foreign = [one for one in (place, failed) if one.exists() and not _is_ours(one)]
        for table, header in (
            ("ledger.csv", "claim_id,variant,"),
            ("index.csv", "notebook,source,"),
            (f"{DEGREES}.csv", "paper,where,claim_id,"),
        ):
            path = out / table
            if path.exists() and not (
                path.is_file() and path.read_bytes().startswith(header.encode())
            ):
                foreign.append(path)
        if foreign:
            raise OSError(
                f"{foreign[0]} was not made by nlgbench and would be replaced: move it away, or "
                "choose another --out."
            )


def run_of(folder: Path) -> str:
    """Name a run by what is not as by default; nothing where all is."""
    return folder.name.partition("@")[2]


def is_default(run: str) -> bool:
    """Tell whether a run has default parameters, on whatever study."""
    return all(part.startswith("study=") for part in run.split(",") if part)


def size(path: Path) -> tuple[int, int]:
    """Count the files below a path, and their bytes."""
    files_below = [one for one in (path, *path.rglob("*")) if one.is_file()]
    return len(files_below), sum(one.stat().st_size for one in files_below)


def clean(out: Path, *, dry_run: bool) -> pd.DataFrame:
    """Remove what killed commands left, and kept scores: path, files, bytes."""
    import pandas as pd

    from nlgbench.datasets import cache
    from nlgbench.evaluators.stored import stored_dir

    left = [stored_dir()]
    if not cache.read_only():
        left += cache.cache_dir().rglob("tmp*")  # pooch's, where a download was killed
    with writing(out) if out.is_dir() else nullcontext():
        left += [path for path in out.glob(".*") if _is_left_over(path)]
        rows = [(str(path), *size(path)) for path in left if path.exists()]
        for path in () if dry_run else left:
            if path.is_dir():
                remove(path)
            else:
                path.unlink(missing_ok=True)
    return pd.DataFrame(rows, columns=["removed", "files", "bytes"])


def finished(out: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Find the runs in a folder that are in their places, with their manifests."""
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    found = ((path, read_manifest(path)) for path in folders if not path.name.startswith("."))
    return [(path, manifest) for path, manifest in found if manifest is not None]


def gather(out: Path) -> list[str]:
    """Collect the ledgers and the lists of figures and tables of all finished runs."""
    import pandas as pd

    from nlgbench.study import schema

    ledgers = [schema.typed([], "ledgers")]
    index: list[dict[str, str]] = []
    for folder, manifest in finished(out):
        if (folder / "ledger.csv").is_file():
            own = schema.read(folder / "ledger.csv", "ledger")
            ledgers.append(own.assign(run=run_of(folder)))
        for made in manifest["made"]:
            about = {"notebook": manifest["notebook"], "run": run_of(folder), **made}
            index.append({**about, "path": f"{folder.name}/{made['path']}"})
    whole = pd.concat([one for one in ledgers if len(one)] or ledgers, ignore_index=True)
    doubled = whole.duplicated(schema.keys("ledgers"))
    schema.write(whole[~doubled], "ledgers", out / "ledger.csv")
    columns = ["notebook", "source", "kind", "name", "path", "alt", "run"]
    lines = [columns, *([row[name] for name in columns] for row in index)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    files.replace_bytes(out / "index.csv", text.getvalue().encode())
    return whole.loc[doubled, "claim_id"].tolist()


def take_record(folder: Path, notebook: str) -> dict[str, Any]:
    """Take over what the notebook left for the manifest when it closed its record."""
    from nlgbench.study import schema

    if (folder / OPEN).exists():
        raise ValueError("it opened a record and never closed it: end it with run.close().")
    if (folder / "ledger.csv").exists():
        schema.read(folder / "ledger.csv", "ledger")
    path = folder / RECORD
    if not path.is_file():
        return {"made": [], "peak_memory_bytes": None}
    left = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(left, dict) or set(left) != {"notebook", "made", "peak_memory_bytes"}:
        raise ValueError(f"{path.name} is kept for the record: give your own file another name.")
    if left["notebook"] != notebook:
        raise ValueError(
            f"its record is opened as {left['notebook']!r}, and the file is called {notebook!r}: "
            "open the record under the file's own name (claims belong to one notebook)."
        )
    path.unlink()
    return {"made": left["made"], "peak_memory_bytes": left["peak_memory_bytes"]}


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Hold a folder for one command at a time."""
    from filelock import FileLock, Timeout

    try:
        out.mkdir(parents=True, exist_ok=True)
        # The system drops the lock with the process, so a killed command leaves none behind.
        lock = FileLock(out / ".lock", timeout=0)
        lock.acquire()
    except Timeout:
        raise OSError(
            f"another nlgbench run is writing to {out}: wait for it, or choose another --out."
        ) from None
    except OSError as error:
        raise OSError(
            f"cannot write to {out} ({error.strerror or error}): choose another folder with --out, "
            "or mend its permissions."
        ) from None
    with lock:
        yield
    lock.release()
