"""What is decided about a notebook before its kernel starts."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from nlgbench.datasets import cache, registry
from nlgbench.hashing import content_hash, file_hash
from nlgbench.names import did_you_mean
from nlgbench.runner import identity
from nlgbench.runner.notebooks import Notebook
from nlgbench.runner.parameters import ParameterError, resolve, shown

if TYPE_CHECKING:
    from nlgbench.study import Study

#: Parameters of which the newest run replaces the former, and what is in the name already.
_BY_THEMSELVES = ("source", "effort", "study", "output_dir")
#: Parameters that name something in the study.
_NAMING = ("dimension", "evaluator", "evaluators", "sampling", "authors")

SourceWish = Literal["auto", "released", "simulated"]


@dataclass(frozen=True)
class Plan:
    """One notebook with everything decided before its kernel starts."""

    name: str
    path: Path
    parameters: dict[str, Any]  # resolved, without output_dir
    source: str  # released, simulated or study; empty where the notebook has no such parameter
    data: dict[str, str]  # name -> SHA-256 of the data files that it reads
    parts: dict[str, str]  # hashes of all that can change the result
    digest: str
    prose: str  # hash of the text beside the code
    n_cells: int  # of code, for the progress bar
    note: str  # what the user should know about the choice of source
    place: str  # folder of the result: the notebook's name, and what is not as by default


@dataclass(frozen=True)
class Outcome:
    """How one notebook's run ended."""

    plan: Plan
    status: Literal["done", "skipped", "failed"]  # skipped: the same run was there already
    seconds: float
    message: str = ""  # for a failure: the cell and the error


def check(
    notebook: Notebook, given: Mapping[str, Any], *, source: SourceWish, effort: str
) -> dict[str, Any]:
    """Give a notebook's parameters, checked, folders made absolute; no data are looked at."""
    for name, way in {
        "output_dir": "the runner sets it: use --out",
        "source": "use --source",
        "effort": "use --effort",
    }.items():
        if name in given:
            raise ParameterError(f"{notebook.name}: {name!r} is not set with -p; {way}.")
    wanted = dict(given)
    if "effort" in notebook.parameters:
        wanted["effort"] = effort
    values = resolve(notebook.parameters, wanted, where=notebook.name)
    if "study" in given and isinstance(values["study"], str):
        if source != "auto":
            raise ParameterError(
                f"{notebook.name}: study={shown(values['study'])} and --source {source} are two "
                "studies: leave one out."
            )
        home = Path(os.path.expanduser(values["study"]))
        described = bool(values["study"]) and os.path.isfile(home / "study.yml")
        holding = "study.yml" if described else "outputs.csv"
        values["study"] = _folder(notebook, "study", values["study"], holding)
    encoder = values.get("encoder")
    if "encoder" in given and isinstance(encoder, str):
        # A name on Hugging Face has one slash at most, and begins with no dot.
        is_path = not encoder or encoder[0] in "./~" or encoder.count("/") > 1
        if is_path or os.path.isfile(Path(encoder, "config.json")):
            values["encoder"] = _folder(notebook, "encoder", encoder, "config.json")
    return values


def _folder(notebook: Notebook, name: str, value: str, holding: str) -> str:
    """Find a folder that a parameter names: kernels work in their notebook's own."""
    home = Path(os.path.expanduser(value)).absolute()
    if value and os.path.isfile(home / holding):
        return str(home)
    why, hint = f"holds no {holding}", ""
    if not value or not os.path.isdir(home):
        there = os.listdir(home.parent) if os.path.isdir(home.parent) else []
        why, hint = "is no folder", did_you_mean(home.name, there) if value else ""
    raise ParameterError(
        f"{notebook.name}: {name}={shown(value)} {why}.{hint} Give the folder that holds {holding}."
    )


def plan(
    notebook: Notebook,
    given: Mapping[str, Any],
    *,
    source: SourceWish,
    effort: str,
    around: Mapping[str, str],
) -> Plan:
    """Decide a notebook's parameters, source and identity."""
    values = check(notebook, given, source=source, effort=effort)
    chosen, note, varied = "", "", {}
    if "study" in given and values["study"] is not None:
        chosen = "study"
        varied = {"study": study_name(values["study"])}
    elif "source" in notebook.parameters:
        chosen, note = _choose_source(notebook, source)
        values |= resolve(
            {"source": notebook.parameters["source"]}, {"source": chosen}, where=notebook.name
        )
    values.pop("output_dir", None)
    backend = values.get("backend")
    by_tfidf = backend == "tfidf" or (backend == "auto" and chosen != "released")
    if by_tfidf and values.get("encoder") is not None:
        unused = f"encoder is not used, as backend={backend} compares by TF-IDF here"
        note = f"{note}; {unused}" if note else unused
    for name, parameter in notebook.parameters.items():
        if name in values and name not in _BY_THEMSELVES and values[name] != parameter.default:
            varied[name] = values[name]
    data = hash_data(notebook, values, chosen)
    parts = identity.parts(notebook.code, values | varied, data, around)
    about = (notebook.name, notebook.path, values, chosen, data, parts, identity.digest(parts))
    prose, place = identity.short(notebook.prose), _place(notebook.name, varied)
    return Plan(*about, prose, len(notebook.code), note, place)


def study_name(folder: str) -> str:
    """Name the study in a folder as its description or the folder does, printable in file names."""
    from nlgbench.study.reading import load_yaml  # JSON is YAML, too

    home, about = Path(folder), None
    for described in ("study.yml", "study.json"):
        if about is None and (home / described).is_file():
            with contextlib.suppress(ValueError):  # what is wrong with it is said when it is read
                about = load_yaml(home / described)
    name = about.get("name") if isinstance(about, dict) else None
    return re.sub(r"[^A-Za-z0-9._-]", "_", str(name or home.resolve().name))[:40]


def check_names(
    notebook: Notebook, given: Mapping[str, Any], plan: Plan, opened: dict[tuple[str, str], Study]
) -> None:
    """Check parameters that name something in the study; each study is `opened` once."""
    values = {name: plan.parameters[name] for name in _NAMING if name in given}
    asked = {name: value for name, value in values.items() if value is not None}
    mine = plan.parameters["study"] if plan.source == "study" else None
    code = "\n".join(notebook.code)
    names = [mine] if mine else re.findall(r'\bopen_study\(\s*"([^"]+)"', code)
    if not asked or not plan.source or not names:
        return
    from nlgbench.worlds.simulated import open_study

    for name in names:
        if (name, plan.source) not in opened:
            source: Any = "released" if plan.source == "released" else "simulated"
            opened[name, plan.source] = open_study(name, source=source, folder=mine)
    studies = [opened[name, plan.source] for name in names]

    def there(column: str, *tables: str) -> list[str]:
        frames = [getattr(one, table) for one in studies for table in tables]
        found = (frame[column].unique() for frame in frames if frame is not None)
        return [str(value) for value in dict.fromkeys(chain(*found))]

    def refuse_unknown(name: str, value: str, choices: list[str]) -> None:
        if value not in choices:
            listed = f"There are: {', '.join(choices)}." if choices else "It has none."
            raise ParameterError(
                f"{notebook.name}: {name}={shown(plan.parameters[name])}: the study has no "
                f"{shown(value)}.{did_you_mean(value, choices)} {listed}"
            )

    choices = {
        "dimension": there("dimension", "judgments", "preferences"),
        "evaluator": there("evaluator", "scores"),
        "evaluators": there("evaluator", "scores") + there("comparator", "comparisons"),
        "sampling": ["random"],
    }
    for name, value in asked.items():
        listed = value.split(",") if name in ("evaluators", "authors") else [value]
        for each in map(str.strip, value if isinstance(value, list) else listed):
            if name != "authors":
                refuse_unknown(name, each, choices[name])
                continue
            judge, equals, system = each.partition("=")
            if not equals:
                raise ParameterError(
                    f"{notebook.name}: authors={shown(value)} is not JUDGE=SYSTEM,JUDGE=SYSTEM."
                )
            refuse_unknown(name, judge, there("comparator", "comparisons"))
            refuse_unknown(name, system, there("system", "outputs"))


def _place(notebook: str, varied: Mapping[str, Any]) -> str:
    """Name the folder of a result: what its parameters are, where these are not the defaults."""
    shown = ",".join(f"{name}={quote(str(varied[name]), safe='=')}" for name in sorted(varied))
    if len(shown) > 80:
        shown = f"{shown[:73]}-{identity.short(shown)}"
    return f"{notebook}@{shown}" if shown else notebook


def hash_data(notebook: Notebook, values: Mapping[str, Any], source: str) -> dict[str, str]:
    """Hash what a run reads: a study's files or released ones, and what parameters name."""
    data = {}
    if source == "study":
        home = Path(values["study"])
        data = {
            path.relative_to(home).as_posix(): file_hash(path)
            for path in sorted(home.rglob("*"))
            if path.is_file()
        }
    elif source == "released":
        cached = cache.cache_dir()
        names = [file.name for name in notebook.datasets for file in registry.files(name)]
        data = {name: file_hash(cached / name) for name in names}
    return data | _paths_given(notebook, values)


def _paths_given(notebook: Notebook, values: Mapping[str, Any]) -> dict[str, str]:
    """Hash the files and folders that parameters name, as the notebook's kernel finds them."""
    found = {}
    for name, value in values.items():
        if not isinstance(value, str) or not re.search(r"[/\\\\]|\.\w+$", value) or name == "study":
            continue
        path = notebook.path.parent / Path(value).expanduser()
        with contextlib.suppress(OSError):
            if path.exists():
                found[f"{name}={value}"] = content_hash(path)
    return found


def _choose_source(notebook: Notebook, wish: SourceWish) -> tuple[str, str]:
    if wish == "simulated":
        return "simulated", ""
    if not notebook.datasets:
        return "simulated", "it reads no released data"
    if cache.available(notebook.datasets):
        if not cache.read_only():
            # What is corrupt is fetched anew; where it cannot be, loading says what is wrong.
            with contextlib.suppress(OSError, ValueError):
                cache.fetch(notebook.datasets)
        return "released", ""
    if wish == "released":
        cache.fetch(notebook.datasets)
        return "released", ""
    if cache.read_only():
        return "simulated", f"released data are not all in {cache.cache_dir()} (NLGBENCH_DATA)"
    if not cache.reachable():
        return "simulated", "released data are not in the cache and cannot be reached from here"
    try:
        cache.fetch(notebook.datasets)
    except (OSError, ValueError) as error:
        return "simulated", f"released data could not be fetched: {error}"
    return "released", ""
