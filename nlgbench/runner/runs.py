"""Define a run: what can change its result, its folder, and how results get there.

A run is prepared in a hidden folder of ``--out``. Writing its manifest finishes it: the former
result is renamed into that folder, the new one into its place, and the former one is deleted. If a
command is killed in between, `recover` completes or removes what it left when the next one starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import nlgbench
from nlgbench import files, hashing
from nlgbench.datasets import cache, registry
from nlgbench.datasets.published import published_dir
from nlgbench.hashing import canonical_json, content_hash, file_hash, folder_hash, value_hash
from nlgbench.names import UsageError, did_you_mean, require_extra
from nlgbench.runner.kernels import READ
from nlgbench.runner.notebooks import Notebook
from nlgbench.runner.parameters import ParameterError, resolve, shown

if TYPE_CHECKING:
    import pandas as pd

    from nlgbench.study import Study

    Opened = dict[str, Study] | None  # studies that were already read, by folder

SourceWish = Literal["auto", "released", "simulated"]

MANIFEST = "manifest.json"
#: Files that an open record and a closed one leave for the runner, and the mark of a failed run.
OPEN, RECORD, FAILED = ".open", ".record.json", ".failed"
#: The table of how close recomputed numbers are to printed ones.
DEGREES = "reproduction.csv"
#: The figure of which printed numbers can be recomputed, in four files.
RECOMPUTED = "recomputed"
#: Why a run is made if there is no result.
FIRST = "not run yet"
#: The folder of incomplete results, which is empty between two commands.
HALF = ".nlgbench"
#: The first columns of tables in a folder of runs, by which they are recognized.
_TABLES = {
    "ledger.csv": b"claim_id,variant,",
    "index.csv": b"notebook,source,",
    DEGREES: b"paper,where,claim_id,",
    f"{RECOMPUTED}.csv": b"claim_id,paper,outcome,",
}
_PACKAGE = Path(nlgbench.__file__).parent
#: Sums over more threads are computed in another order, so their last digits differ.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
#: Parameters that a folder's name omits (a new run replaces the former one) or already has.
_BY_THEMSELVES = ("source", "effort", "study", "output_dir")
#: Parameters that name something in the study.
_LISTS = ("evaluators", "authors")
_NAMING = ("dimension", "evaluator", *_LISTS)


@dataclass(frozen=True)
class Plan:
    """One notebook with everything decided before its kernel starts."""

    notebook: Notebook
    parameters: dict[str, Any]  # resolved, without output_dir
    source: str  # released, simulated or study; empty if the notebook has no such parameter
    data: dict[str, str]  # name -> SHA-256 of the data files that it reads
    hashes: dict[str, str]  # hashes of everything that can change the result
    note: str  # what the user should know about the choice of source
    folder: str  # the result's folder: the notebook's name, and parameters that are not defaults

    @property
    def name(self) -> str:
        """The notebook's name."""
        return self.notebook.name

    @property
    def digest(self) -> str:
        """The hash of all hashes."""
        return value_hash(self.hashes)


@dataclass(frozen=True)
class Outcome:
    """How one notebook's run ended."""

    plan: Plan
    # skipped: the same run already exists; incomplete: sections failed, other results are kept
    status: Literal["done", "skipped", "incomplete", "failed"]
    seconds: float
    message: str = ""  # for a failure: the cell or section, and the error


# The identity of a run.


def surroundings() -> dict[str, str]:
    """Hash what every notebook depends on: package, published numbers, installation, machine."""
    return {
        "package": folder_hash(_PACKAGE, "**/*.py"),
        "published numbers": folder_hash(published_dir(), "*.csv"),
        "installed packages": canonical_json(hashing.installed_versions()).decode(),
        "platform": canonical_json(platform_of()).decode(),
    }


def platform_of() -> dict[str, Any]:
    """Describe what else can change a result: Python, machine, threads, and Java for METEOR."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
        "java": shutil.which("java") is not None,
    }


def threads() -> dict[str, str]:
    """Return the variables that set how many threads a kernel uses."""
    return {name: os.environ[name] for name in _THREADS if os.environ.get(name)}


def set_threads(variables: Mapping[str, str]) -> None:
    """Set the number of threads of kernels, because Dask changes it for its workers."""
    for name in _THREADS:
        os.environ.pop(name, None)
    os.environ.update(variables)


def hash_data(
    notebook: Notebook, values: Mapping[str, Any], source: str, opened: Opened = None
) -> dict[str, str]:
    """Hash the data of a run: a study's files or released ones, and files that parameters name."""
    paths: dict[str, Path] = {}
    returned: dict[str, str] = {}
    if source == "study":
        home = Path(values["study"])
        paths = {path.relative_to(home).as_posix(): path for path in sorted(home.rglob("*"))}
        if "study.py" in paths:  # it may read files outside its folder
            from nlgbench.study.study import tables_of

            study = _open(values["study"], opened)
            tables = {table: frame.to_csv() for table, frame in tables_of(study).items()}
            returned["study()"] = value_hash([study.name, repr(study.settings), tables])
    elif source == "released":
        from nlgbench.datasets.public import files_of

        names = files_of(values["study"]) if values.get("study") else notebook.datasets
        released = (file.name for name in names for file in registry.files(name))
        paths = {name: cache.cache_dir() / name for name in released}
    data = {name: file_hash(path) for name, path in paths.items() if path.is_file()} | returned
    for name, parameter in notebook.parameters.items():
        if parameter.limits == "path" and values.get(name):
            path = notebook.path.parent / Path(values[name]).expanduser()  # as the kernel finds it
            with suppress(OSError):
                if path.exists():
                    data[f"{name}={values[name]}"] = content_hash(path)
    return data


def _open(folder: str, opened: Opened) -> Study:
    """Open the study in a folder once for all plans."""
    from nlgbench.datasets.public import open_named

    studies = {} if opened is None else opened
    if folder not in studies:
        studies[folder] = open_named(folder)
    return studies[folder]


# Decisions before a kernel starts.


def check(
    notebook: Notebook, parameters: Mapping[str, Any], *, source: SourceWish, effort: str
) -> dict[str, Any]:
    """Return a notebook's checked parameters, with absolute folders, without reading data."""
    for name, way in {
        "output_dir": "the runner sets it: use --out",
        "source": "use --source",
        "effort": "use --effort",
    }.items():
        if name in parameters:
            raise ParameterError(f"{notebook.name}: {name!r} cannot be set with -p; {way}.")
    chosen = dict(parameters)
    if "effort" in notebook.parameters:
        chosen["effort"] = effort
    values = resolve(notebook.parameters, chosen, where=notebook.name)
    if isinstance(values.get("study"), str) and "study" in parameters:
        if source != "auto":
            raise ParameterError(
                f"{notebook.name}: study={shown(values['study'])} and --source {source} name two "
                "studies: omit one."
            )
        values["study"] = _study_folder(notebook.name, values["study"])
    if os.path.isdir(folder := os.path.expanduser(values.get("encoder") or "")):
        values["encoder"] = os.path.abspath(folder)  # otherwise a name on Hugging Face
    return values


def _study_folder(where: str, study: str) -> str:
    """Make a study's folder absolute, because kernels run elsewhere; a public name stays."""
    from nlgbench.datasets.public import files_of, is_public, studies
    from nlgbench.study.study import why_no_study

    if is_public(study):
        for name in files_of(study):
            cache.path(name)  # which explains how to get a file that is missing
        return study
    home = Path(os.path.expanduser(study)).absolute()
    if why := why_no_study(home) if study else "it is empty: name a folder":
        public = did_you_mean(study, studies()["name"]).replace("mean", "mean the public study")
        raise ParameterError(f"{where}: study={shown(study)} is not a study, because {why}{public}")
    return str(home)


def plan(
    notebook: Notebook,
    parameters: Mapping[str, Any],
    opened: Opened = None,
    *,
    source: SourceWish,
    effort: str,
    environment: Mapping[str, str],
) -> Plan:
    """Decide a notebook's parameters, source and identity; each study is `opened` once."""
    values = check(notebook, parameters, source=source, effort=effort)
    values.pop("output_dir", None)
    chosen, notes, varied = "", [], {}
    if "study" in parameters and [values["study"]] == notebook.datasets:
        values["study"], chosen = None, "released"  # the notebook's own study
        values["source"] = chosen
    elif "study" in parameters and values["study"] is not None:
        from nlgbench.datasets.public import is_public

        chosen = "released" if is_public(values["study"]) else "study"
        varied["study"] = study_name(values["study"], opened)
    elif "source" in notebook.parameters:
        chosen, note = _choose_source(notebook, source)
        values["source"] = chosen
        notes.append(note)
    backend = values.get("backend")
    by_tfidf = backend == "tfidf" or (backend == "auto" and chosen != "released")
    if by_tfidf and values.get("encoder") is not None:
        notes.append(f"encoder is ignored, because backend={backend} uses TF-IDF here")
    for name, parameter in notebook.parameters.items():
        if name in values and name not in _BY_THEMSELVES and values[name] != parameter.default:
            varied[name] = values[name]
    data = hash_data(notebook, values, chosen, opened)
    contents = {"code": notebook.code, "parameters": values | varied, "data": data}
    hashes = {name: value_hash(content) for name, content in contents.items()} | dict(environment)
    note = "; ".join(filter(None, notes))
    return Plan(notebook, values, chosen, data, hashes, note, _folder_name(notebook.name, varied))


def _choose_source(notebook: Notebook, wish: SourceWish) -> tuple[str, str]:
    """Choose released data if they are available, unless simulated data are requested."""
    if wish == "simulated":
        return "simulated", ""
    if not notebook.datasets:
        return "simulated", "it reads no released data"
    is_available = cache.available(notebook.datasets)
    if wish == "auto" and not is_available and (cache.read_only() or not cache.reachable()):
        why = " (NLGBENCH_DATA)" if cache.read_only() else ", and cannot be downloaded"
        return _fall_back(notebook, f"released data are incomplete in {cache.cache_dir()}{why}")
    if not (is_available and cache.read_only()):
        try:
            cache.fetch(notebook.datasets)  # corrupt files are fetched again
        except (OSError, ValueError) as error:
            if not is_available and wish == "released":
                raise
            if not is_available:
                why = str(error).splitlines()[0].rstrip(":")
                return _fall_back(notebook, f"released data could not be fetched ({why})")
    return "released", ""  # if a file is still corrupt, loading it reports the error


def _fall_back(notebook: Notebook, why: str) -> tuple[str, str]:
    """Choose simulated data; explain why in one line, and how to get the released data."""
    fetch = f"`nlgbench fetch {' '.join(notebook.datasets)}`"
    way = "put the files there, or unset NLGBENCH_DATA" if cache.read_only() else f"run {fetch}"
    return "simulated", f"results are of SIMULATED data, because {why}. For released data, {way}"


def study_name(folder: str, opened: Opened = None) -> str:
    """Return the name of the study in a folder, with characters allowed in file names."""
    from nlgbench.study.reading import load_yaml  # JSON is YAML, too

    name = Path(folder).resolve().name
    for settings in (Path(folder, "study.json"), Path(folder, "study.yml")):
        # Problems with it are reported when it is read.
        with suppress(OSError, ValueError, AttributeError):
            name = load_yaml(settings).get("name") or name
    if Path(folder, "study.py").is_file():
        name = _open(folder, opened).name
    return re.sub(r"[^A-Za-z0-9._-]", "_", str(name))[:40]


def _folder_name(notebook: str, varied: Mapping[str, Any]) -> str:
    """Name a result's folder after the parameters that differ from their defaults."""
    text = ",".join(f"{name}={quote(str(varied[name]), safe='=')}" for name in sorted(varied))
    if len(text) > 80:
        text = f"{text[:73]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    return f"{notebook}@{text}" if text else notebook


def check_names(plan: Plan, parameters: Mapping[str, Any], opened: dict[str, Study]) -> None:
    """Check parameters that name something in your own study; each study is `opened` once."""
    chosen = {key: plan.parameters[key] for key in _NAMING if key in parameters}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    if plan.parameters.get("study") is None or not chosen:
        return
    study = _open(plan.parameters["study"], opened)

    def names_in(column: str, *tables: str) -> list[str]:
        frames = (getattr(study, table) for table in tables)
        values = (frame[column].unique() for frame in frames if frame is not None)
        return list(map(str, dict.fromkeys(chain(*values))))

    judges, scored = names_in("comparator", "comparisons"), names_in("evaluator", "scores")
    choices = {
        # In notebook 08, an evaluator takes the place of a dimension.
        "dimension": names_in("dimension", "judgments", "preferences") or scored,
        "evaluator": scored,
        "evaluators": scored + judges,
        "authors": ["=".join(pair) for pair in product(judges, names_in("system", "outputs"))],
    }
    for key, value in chosen.items():
        for name in map(str.strip, value.split(",") if key in _LISTS else [value]):
            if name not in choices[key]:
                raise ParameterError(
                    f"{plan.name}: {key}={shown(value)}, but the study has no {shown(name)}."
                    f"{did_you_mean(name, choices[key])} Available: "
                    f"{', '.join(choices[key]) or 'none'}."
                )


# Results: complete, with these parts, for this study.


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read a run's manifest; a run without a readable one is not finished."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "digest" in manifest else None


def describe_failures(folder: Path) -> str:
    """List the failed sections of a finished run with their errors; empty if none failed."""
    failed = (read_manifest(folder) or {}).get("failed", [])
    return "\n".join(f"section {failure['section']}: {failure['error']}" for failure in failed)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest in one step, which finishes the run."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    complete = {
        **manifest,
        "nlgbench": nlgbench.__version__,
        "commit": commit(),
        **platform_of(),
        "dependencies": hashing.installed_versions(),
        "files": {path.relative_to(folder).as_posix(): file_hash(path) for path in paths},
    }
    text = json.dumps(complete, indent=1, ensure_ascii=False) + "\n"
    files.replace_bytes(folder / MANIFEST, text.encode())


def commit() -> str:
    """Return the commit of a checkout, with a plus if files were changed; empty if unknown."""
    named = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    git = ["git", "-C", str(_PACKAGE.parent), *named]
    try:
        is_checkout = (_PACKAGE.parent / ".git").exists()
        output = subprocess.run(git, capture_output=True, text=True) if is_checkout else None
    except OSError:
        return ""
    return output.stdout.strip() if output else ""


def why_rerun(folder: Path, hashes: Mapping[str, str], study: str | None = None) -> str:
    """Explain why a run must be made; empty if its result is complete and up to date."""
    manifest = read_manifest(folder)
    if manifest is None:
        is_damaged = (folder / MANIFEST).exists()
        return f"its {MANIFEST} is damaged" if is_damaged else FIRST
    former = manifest.get("hashes", {})
    if changed := [name for name in hashes if hashes[name] != former.get(name)]:
        return f"changed: {', '.join(changed)}"
    for name, expected in manifest.get("files", {}).items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing from its result"
        if file_hash(path) != expected:
            return f"{name} in its result was changed"
    return _changed_read(manifest, study)


def _changed_read(manifest: Mapping[str, Any], study: str | None) -> str:
    """Report a file that a run read and that has changed since."""
    for name, expected in manifest.get("read", {}).items():
        path = Path(os.path.normpath(Path(study or "", name)))
        if not path.exists():
            return f"it read {path}, which no longer exists"
        if content_hash(path) != expected:
            return f"it read {path}, which was changed"
    return ""


def refuse_other_study(folder: Path, study: str, data: Mapping[str, str]) -> None:
    """Refuse to replace results of another study with the same name but other content."""
    manifest = read_manifest(folder) or {}
    former = manifest.get("parameters", {}).get("study")
    if former in (None, study):
        return
    if manifest.get("data") != data or _changed_read(manifest, study):
        raise UsageError(
            f"{folder} has results of the study in {former}. The study in {study} has the same "
            "name but different content: choose another --out, or change one study's `name` in its "
            "study.yml or study.py."
        )


def take_read(folder: Path, study: str | None) -> dict[str, str]:
    """Collect what the run's processes read: path -> hash when first read."""
    log = folder / READ
    hashes: dict[str, str] = {}
    if not log.is_file():
        return hashes
    # The package knows the hashes of released files and of published numbers.
    hashed = (folder, cache.cache_dir(), published_dir())
    excluded = tuple(f"{path.absolute()}{os.sep}" for path in hashed)
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        path = os.path.normpath(entry["path"])
        if study and Path(path).is_relative_to(Path(study).parent):
            path = os.path.relpath(path, study)  # stays valid if the study moves
        if not path.startswith(excluded):
            hashes.setdefault(path, entry["sha256"])
    log.unlink()
    return hashes


def take_record(folder: Path, notebook: str) -> dict[str, Any]:
    """Collect what the notebook left for the manifest when it closed its record."""
    from nlgbench.study import schema

    if (folder / OPEN).exists():
        raise ValueError("it opened a record but did not close it: end it with run.close().")
    if (folder / "ledger.csv").exists():
        schema.read(folder / "ledger.csv", "ledger")
    path = folder / RECORD
    record: dict[str, Any] = {"notebook": notebook, "made": [], "peak_memory_bytes": None}
    if path.is_file():
        record = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
    if record["notebook"] != notebook:
        raise ValueError(
            f"its record is opened as {record['notebook']!r}, but the file is named {notebook!r}: "
            "open the record under the file's own name (claims belong to one notebook)."
        )
    return record


# Folders.


def aside(out: Path, name: str) -> Path:
    """Make the folder in which the future `out`/`name` is prepared."""
    folder = out / HALF / "new" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def promote(new: Path, folder: Path) -> None:
    """Put a finished run into its place."""
    former = folder.parent / HALF / "old" / folder.name
    if folder.exists():
        former.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(former)
    new.rename(folder)
    shutil.rmtree(former, ignore_errors=True)


def keep_failed(new: Path, failed: Path) -> None:
    """Put the files of a failed run into its place."""
    remove(failed)
    (new / FAILED).touch()
    new.rename(failed)


def remove(folder: Path) -> None:
    """Delete a folder: it is renamed first, so that leftovers of a kill are recognized."""
    if folder.exists():
        (folder.parent / HALF).mkdir(exist_ok=True)
        rubbish = Path(tempfile.mkdtemp(dir=folder.parent / HALF))
        folder.rename(rubbish / folder.name)
        shutil.rmtree(rubbish, ignore_errors=True)


def recover(out: Path) -> None:
    """Put finished runs into their places, restore former ones otherwise, and delete the rest."""
    for new in sorted(out.glob(f"{HALF}/new/*")):
        if read_manifest(new) is not None:
            promote(new, out / new.name)
    for former in sorted(out.glob(f"{HALF}/old/*")):
        if not (out / former.name).exists():
            former.rename(out / former.name)
    shutil.rmtree(out / HALF, ignore_errors=True)


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Lock a folder for one command, and leave nothing incomplete in it."""
    require_extra("writing results", "run", "filelock")
    from filelock import FileLock, Timeout

    with contextlib.ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            # The system releases the lock with the process, even if the command is killed.
            stack.enter_context(FileLock(out / ".lock", timeout=0))
        except Timeout:
            raise OSError(
                f"another nlgbench run is writing to {out}: wait for it, or choose another --out."
            ) from None
        except OSError as error:
            raise OSError(
                f"cannot write to {out} ({error.strerror or error}): choose another folder with "
                "--out, or fix its permissions."
            ) from None
        stack.callback(recover, out)
        recover(out)
        try:
            yield
        except OSError as error:
            if out.is_dir():
                raise
            raise OSError(
                f"the folder {out} was removed or moved during the run: run the command again, and "
                "leave the folder as it is until the command ends."
            ) from error


def check_place(out: Path, places: Iterable[str]) -> None:
    """Refuse to replace files that nlgbench did not make."""
    names = [name + end for name in places for end in ("", ".failed")]
    for path in (out / name for name in (*names, *_TABLES)):
        if path.is_dir():
            names_in_folder = {file.name for file in path.iterdir()}
            is_ours = not names_in_folder or bool(names_in_folder & {MANIFEST, FAILED})
        else:
            header = _TABLES.get(path.name, b"?")
            is_ours = not path.exists() or path.read_bytes().startswith(header)
        if not is_ours:
            raise OSError(
                f"{path} was not made by nlgbench and would be replaced: move it away, or "
                "choose another --out."
            )


def run_of(folder: Path) -> str:
    """Name a run by the parameters that are not defaults; empty if all of them are."""
    return folder.name.partition("@")[2]


def is_default(run: str) -> bool:
    """Check whether a run has default parameters, on any study."""
    return all(parameter.startswith("study=") for parameter in run.split(",") if parameter)


def size(path: Path) -> tuple[int, int]:
    """Count the files below a path, and their bytes."""
    files_below = [file for file in (path, *path.rglob("*")) if file.is_file()]
    return len(files_below), sum(file.stat().st_size for file in files_below)


def clean(out: Path, *, dry_run: bool) -> pd.DataFrame:
    """Remove what killed commands left, and cached scores; return path, files, bytes."""
    import pandas as pd

    from nlgbench.evaluators.stored import stored_dir

    paths = [stored_dir(), out / HALF]
    if not cache.read_only():
        paths += cache.cache_dir().rglob("tmp*")  # left by pooch if a download was killed
    rows = [(str(path), *size(path)) for path in paths if path.exists()]
    if not dry_run:
        with writing(out) if out.is_dir() else contextlib.nullcontext():
            for path in paths:
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)
    return pd.DataFrame(rows, columns=["removed", "files", "bytes"])


def finished(out: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Find the finished runs in a folder, with their manifests."""
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    manifests = ((path, read_manifest(path)) for path in folders if not path.name.startswith("."))
    return [(path, manifest) for path, manifest in manifests if manifest is not None]
