"""What `nlgbench new` writes: a study.yml, guessed from files' columns, or to be filled in."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.runner import listing
from nlgbench.study import csv_files, formats, read_folder, reading
from nlgbench.study.csv_files import TableError
from nlgbench.study.reading import FILE, personal

Specs = dict[str, dict[str, Any]]

#: Our column -> what files call it: words of a name joined by _, the likeliest first.
_CALLED = {
    "system_a": "system_a model_a system_1 model_1 left model_x a",
    "system_b": "system_b model_b system_2 model_2 right model_y b",
    "choice": "choice winner preference preferred vote",
    "output_id": "output_id response_id",
    "item_id": "item_id item doc_id seg_id global_seg_id segment_id prompt_id question_id "
    "source_id context_id sample_id example_id story_id input_id instance_id doc prompt question",
    "system": "system system_id system_name model model_id model_name generator team",
    "text": "text output system_output response hypothesis generation story target translation "
    "summary caption",
    "annotator_id": "annotator_id annotator worker_id worker rater rater_id judge judge_id "
    "participant_id prolific_pid user user_id coder annotators raters workers judges",
    "dimension": "dimension criterion aspect",
    "value": "value rating judgment judgement score answer label",
    "evaluator": "evaluator metric",
    "group_id": "group_id hit_id batch batch_id page",
    "severity": "severity",
    "category": "category",
}
_PARTS = re.compile(r"[^a-z0-9]+")
#: How a column that people filled in, and a system of human texts, is called.
_WHO = {"human", "annotator", "rater", "worker", "judge", "expert", "participant", "crowd"}
_HUMAN = {"human", "humans", "reference", "references", "gold"}
#: What people are asked, and few metrics are called.
_ASKED = {
    *("fluency", "adequacy", "coherence", "consistency", "relevance", "naturalness", "quality"),
    *("informativeness", "overall", "understandability", "engagingness", "grammaticality"),
    *("correctness", "groundedness", "faithfulness", "helpfulness", "empathy", "surprise"),
}
#: What tools write beside what people said.
_OTHER = {
    *("id", "annotation_id", "created_at", "updated_at", "lead_time", "work_time_in_seconds"),
    *("seg", "row", "index", "unnamed_0", "inner_id", "total_annotations", "cancelled_annotations"),
}


def new(place: Path, sources: Sequence[Path], layout: str | None) -> str:
    """Write a study.yml into a folder, and say in words what it reads so."""
    for name in (FILE, "study.json"):
        if (place / name).exists():
            raise FileExistsError(
                f"{place / name} is there, and is not replaced: `nlgbench check {place}` says what "
                "it reads; move it away to begin anew."
            )
    text = EMPTY
    if (place / "outputs.csv").is_file():
        if sources and _reads_well(place):
            raise FileExistsError(
                f"{place} has outputs.csv and is read as it is, so nothing is written. For its "
                f"settings, use `nlgbench new {place}` without --from; for a study of other files, "
                "another folder."
            )
        text = EMPTY.partition("\ntables:")[0] + "\n"  # its tables are found by their names
    found = [_guess(path, place, layout) for path in sources]
    text = _written(found) if sources else text
    place.mkdir(parents=True, exist_ok=True)
    files.replace_bytes(place / FILE, text.encode())
    said = f"wrote {place / FILE}"
    if not sources:
        return f"{said}: fill it in, then `nlgbench check {place}`."
    problems: list[str] = []
    tables, notes = reading.read(place, reading.about(place / FILE, problems), problems)
    reading.rename_annotators(tables)
    parts = [said, *notes]
    for table, raw in tables.items():
        head = raw.frame.head(3).map(lambda cell: cell if len(cell) <= 30 else f"{cell[:29]}…")
        parts.append(
            f"{table}, {len(raw.frame):,} rows, of which the first are\n{listing.plain(head)}"
        )
    if problems:
        parts.append("\n".join(["To be mended:", *problems]))
    check = f"Read {place / FILE} through, as it is guessed; then `nlgbench check {place}`."
    return "\n\n".join([*parts, check])


def _reads_well(place: Path) -> bool:
    problems: list[str] = []
    try:
        return read_folder(place, problems)[0] is not None
    except TableError:
        return False


class _Guess:
    """What a file, or all files of a pattern, seem to hold."""

    def __init__(self, path: Path, place: Path, options: dict[str, Any], frame: pd.DataFrame):
        self.file = _relative(path, place)
        self.options = options  # how the file is opened
        self.columns = list(map(str, frame.columns))
        self.tables: Specs = {}
        self.stems: list[str] = []


def _relative(path: Path, place: Path) -> str:
    try:
        return Path(os.path.relpath(path, place)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


def _guess(path: Path, place: Path, layout: str | None) -> _Guess:
    kind = formats.guess(path)
    there = [path]
    if not path.exists() and glob.has_magic(str(path)):
        there = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
    there = [one for one in there if one.is_file()]
    if not there:
        raise FileNotFoundError(f"no file {path}: name one with --from.")
    if not kind:
        known = ", ".join(ending for endings in formats.ENDINGS.values() for ending in endings)
        raise TableError(f"{path} is of no known format: name it as {known} (or these with .gz).")
    options = _levels(there[0]) if kind == "json" else {}
    frames = [formats.read(one, kind, problems=[], **options)[0] for one in there]
    frame = pd.concat(frames, ignore_index=True).fillna("")
    made = _Guess(path, place, options, frame)
    made.stems = [formats.stem(one) for one in there]
    if layout == "mturk" and not any(str(name).startswith("Answer.") for name in frame):
        raise TableError(
            f"{path} has no column `Answer.*`, which an export of Mechanical Turk has: leave --as "
            "out, or name another file."
        )
    made.tables = (ADAPTERS[layout] if layout else guess)(frame)
    return made


def _levels(path: Path) -> dict[str, Any]:
    """Guess what the levels of a JSON document are."""
    document = formats.load_json(csv_files.read_text(path), str(path))
    if isinstance(document, dict):
        inner = [name for name, one in document.items() if _is_table(one)]
        if len(inner) == 1:
            return {"rows": inner[0]}
        levels = []
        level: Any = document
        while isinstance(level, dict) and level:
            levels.append(level)
            level = next(iter(level.values()))
        if not isinstance(level, list | dict) and len(levels) > 1:
            same = {frozenset(one) for one in levels[-2].values() if isinstance(one, dict)}
            if len(same) <= 2:  # its names are fields, of which some may lack
                levels.pop()
        names = ["item_id", "annotator_id", "dimension"][: len(levels)]
        if len(levels) == 2 and len(levels[0]) < len(levels[1]):
            names = ["annotator_id", "item_id"]
        return {"keys": names}
    if isinstance(document, list) and document and isinstance(document[0], dict):
        inner = [name for name, one in document[0].items() if _is_table(one)]
        if len(inner) == 1:
            return {"rows": inner[0]}
    return {}


def _is_table(one: Any) -> bool:
    # An object with one field is a value in a wrapping.
    return isinstance(one, list) and bool(one) and isinstance(one[0], dict) and len(one[0]) > 1


def _plain(name: str) -> str:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return _PARTS.sub("_", parted.lower()).strip("_")


def _recognized(columns: Sequence[str]) -> dict[str, str]:
    """Name, for columns of ours, the file's column that seems to be it."""
    plain: dict[str, str] = {}
    for name in columns:
        plain.setdefault(_plain(name), name)
    found: dict[str, str] = {}
    for our, names in _CALLED.items():
        fits = [plain[name] for name in names.split() if name in plain]
        fits = [name for name in fits if name not in found.values()]
        if fits:
            found[our] = fits[0]
    if not {"system_a", "system_b", "choice"} <= set(found):
        for our in ("system_a", "system_b"):
            found.pop(our, None)
    return found


def _measured(frame: pd.DataFrame, known: dict[str, str]) -> list[str]:
    """List the columns that hold numbers, or lists of them, and are nothing else."""
    found = []
    for name in frame.columns:
        cells = frame[name][frame[name].str.strip() != ""].head(100)
        if name in known.values() or _plain(name) in _OTHER or personal([name]) or cells.empty:
            continue
        listed = [formats.as_list(cell) for cell in cells]
        flat = [one for each in listed for one in each or ()] if all(listed) else list(cells)
        if pd.to_numeric(pd.Series(flat), errors="coerce").notna().all():
            found.append(name)
    return found


def guess(frame: pd.DataFrame) -> Specs:
    """Guess what tables a file holds from its columns."""
    known = _recognized(list(frame.columns))
    there = set(known)
    if {"system_a", "system_b", "choice"} <= there:
        return pairwise(frame)
    if {"severity", "system"} <= there:
        return mqm(frame)
    if any(re.match(r"(Input|Answer)\.", name) for name in frame.columns):
        return mturk(frame)
    if (
        there & {"system"}
        and not there & {"item_id", "output_id"}
        and (item := _item(frame, known))
    ):
        known["item_id"] = item
    tables = _slotted(frame, known) or _ratings(frame, known) or _scores(frame, known)
    tables = tables or _outputs(known)
    if "system" in known and (human := _human(list(frame[known["system"]].unique()))):
        for spec in tables.values():
            if "system" in spec["columns"]:
                spec["values"] = {"system": human}
    return tables


def _item(frame: pd.DataFrame, known: dict[str, str]) -> str:
    """Find the column whose values each system, and annotator, meets once, and several systems."""
    by = [known[one] for one in ("system", "annotator_id", "dimension") if one in known]
    of_values = {*known.values(), *_measured(frame, known)}
    fits = {
        name: frame[name].nunique()
        for name in frame.columns
        if name not in of_values and not personal([name]) and _plain(name) not in _OTHER
        if not frame.duplicated([*by, name]).any() and frame[name].str.strip().ne("").all()
    }
    n_systems = {name: frame.groupby(name)[known["system"]].nunique().mean() for name in fits}
    fits = {name: n for name, n in fits.items() if n > 1 and n_systems[name] > 1.5}
    return max(fits, key=lambda name: fits[name], default="")


def _human(systems: Sequence[str]) -> dict[str, str]:
    """Name as `human` the one system that seems to be people's texts."""
    found = [
        one
        for one in systems
        if (words := set(_plain(one).split("_"))) & _HUMAN or {"ground", "truth"} <= words
    ]
    return {found[0]: "human"} if len(found) == 1 and found[0] != "human" else {}


def _slotted(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    """Map columns such as `Human 1 fluency`: a number tells who judged, the rest what."""
    measured = _measured(frame, known)
    by_people = [name for name in measured if set(re.findall("[a-z]+", _plain(name))) & _WHO]
    grids: dict[str, dict[str, dict[str, str]]] = {}  # what is before the number, number, rest
    for name in by_people:
        if fit := re.fullmatch(r"(\D+)(\d+)(\D*)", name):
            grids.setdefault(fit[1], {}).setdefault(fit[2], {})[fit[3]] = name
    whole = [
        before
        for before, slots in grids.items()
        if len(slots) > 1 and len({frozenset(rests) for rests in slots.values()}) == 1
    ]
    if "annotator_id" in known or not {"system", "output_id"} & set(known) or not whole:
        return {}
    before = min(whole, key=len)
    slots = grids[before]
    rests = list(next(iter(slots.values())))
    before_words = {re.sub(r"[^\W_].*", "", rest) for rest in rests}
    between = before_words.pop() if len(before_words) == 1 else ""
    names = [one for one in ("output_id", "item_id", "system") if one in known]
    columns: dict[str, Any] = {one: known[one] for one in names}
    columns["value"] = f"{before}{{slot}}" + (f"{between}{{dimension}}" if any(rests) else "")
    spec: dict[str, Any] = {"columns": columns, "only": {"slot": list(slots)}}
    spec = _with_lists(frame, spec, slots[next(iter(slots))][rests[0]])
    of = "{output_id}" if "output_id" in columns else "{item_id}/{system}"
    spec["constants"] = spec.get("constants", {}) | {"annotator_id": f"{of}/{{slot}}"}
    means = [
        np.mean([_numbers(frame[own[rest]]) for own in slots.values()], axis=0) for rest in rests
    ]
    said = [
        name
        for name in measured
        if name in by_people or any(_same(_numbers(frame[name]), mean) for mean in means)
    ]
    texts = _outputs(known) if "text" in known else {}
    return {**texts, "judgments": spec, **_scores(frame.drop(columns=said), known)}


def _numbers(cells: pd.Series) -> np.ndarray:
    """Give the numbers of a column, of all its lists in turn."""
    flat = [one for cell in cells for one in formats.as_list(cell) or [cell]]
    return pd.to_numeric(pd.Series(flat), errors="coerce").to_numpy(dtype=np.float64)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.allclose(one, other, atol=1e-6, equal_nan=True)


def _outputs(known: dict[str, str]) -> Specs:
    names = [one for one in ("output_id", "item_id", "system", "text") if one in known]
    if "system" not in names or not {"output_id", "item_id"} & set(names):
        return {}
    return {"outputs": {"columns": {one: known[one] for one in names}}}


def _ratings(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    if "annotator_id" not in known or "evaluator" in known:
        return {}
    names = ["output_id", "item_id", "system", "annotator_id", "dimension", "group_id"]
    columns: dict[str, Any] = {one: known[one] for one in names if one in known}
    if "output_id" in columns and "text" in known:
        columns = {one: their for one, their in columns.items() if one not in ("item_id", "system")}
    measured = _measured(frame, known)
    wide = measured if "value" not in known or "dimension" not in known else []
    if "value" in known and not (wide and "dimension" not in known and len(wide) > 1):
        columns["value"] = known["value"]
    elif wide:
        columns["value"] = wide
    else:
        return {}
    spec = _with_lists(frame, {"columns": columns}, columns["value"])
    return {**(_outputs(known) if "text" in known else {}), "judgments": spec}


def _scores(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    if "system" not in known and "output_id" not in known:
        return {}
    names = [one for one in ("output_id", "item_id", "system") if one in known]
    columns: dict[str, Any] = {one: known[one] for one in names}
    if "evaluator" in known and "value" in known:
        columns |= {"evaluator": known["evaluator"], "score": known["value"]}
        whole = names == ["system"]
    else:
        measured = _measured(frame, {**known, "value": ""})
        if not measured:
            return {}
        columns["score"] = measured
        whole = names == ["system"] and frame[known["system"]].is_unique
    spec = _with_lists(frame, {"columns": columns}, columns["score"])
    table = "system_scores" if whole and "lists" not in spec else "scores"
    return {**(_outputs(known) if "text" in known else {}), table: spec}


def _with_lists(
    frame: pd.DataFrame, spec: dict[str, Any], measured: str | list[str]
) -> dict[str, Any]:
    """Say that cells are lists, where they are."""
    first = measured if isinstance(measured, str) else measured[0]
    cells = frame[first].head(20)
    if len(cells) and all(formats.as_list(cell) is not None for cell in cells):
        ours = "score" if "score" in spec["columns"] else "value"
        spec["lists"] = [ours]
        who = spec["columns"].get("annotator_id")
        if who and all(formats.as_list(cell) is not None for cell in frame[who]):
            spec["lists"].append("annotator_id")
        if "item_id" not in spec["columns"] and "output_id" not in spec["columns"]:
            spec["constants"] = {"item_id": "{position}"}
        elif "annotator_id" not in spec["columns"]:
            spec["constants"] = {"annotator_id": "{position}"}
    return spec


def mturk(frame: pd.DataFrame) -> Specs:
    """Map a Mechanical Turk batch: Input.* is what was shown, Answer.* what was answered."""
    columns = list(frame.columns)
    shown = _by_slot([name for name in columns if name.startswith("Input.")])
    said = _by_slot([name for name in columns if name.startswith("Answer.")])
    named = _of_inputs(shown)
    slotted = {name: theirs for name, theirs in said.items() if "{slot}" in name}
    answers = slotted if slotted else said
    values = [
        name
        for name, theirs in answers.items()
        if not personal([name]) and _plain(name) not in _ODD
        if (_is_short if "{slot}" in name else _is_rating)(frame, theirs)
    ]
    base: dict[str, Any] = {}
    if "AssignmentStatus" in columns:
        base["only"] = {"AssignmentStatus": ["Approved", "Submitted"]}
    people = {"annotator_id": "WorkerId", "group_id": "HITId"}
    places = {our: their for our, their in named.items() if our != "text"}
    judged: dict[str, Any] = {our: one for our, one in people.items() if one in columns} | places
    if values:
        judged["value"] = values[0] if len(values) == 1 or slotted else values
    constants = (
        {} if "item_id" in named else {"item_id": "{HITId}-{slot}" if slotted else "{HITId}"}
    )
    spec = base | {"columns": judged} | ({"constants": constants} if constants else {})
    tables: Specs = {"judgments": spec}
    if {"system", "text"} <= set(named):
        texts = {"columns": named} | ({"constants": constants} if constants else {})
        tables = {"outputs": texts, **tables}
    return tables


_ODD = {"answer_comment", "answer_comments", "answer_feedback", "answer_hit_id"}


def _by_slot(names: Sequence[str]) -> dict[str, list[str]]:
    """Gather columns whose names differ in one number alone, as a name with {slot}."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"\d+", "{slot}", name, count=1), []).append(name)
    return {
        (one if len(theirs) > 1 else theirs[0]): theirs
        for one, theirs in found.items()
        if "{" not in theirs[0]  # a field that a form left unfilled
    }


def _of_inputs(shown: dict[str, list[str]]) -> dict[str, str]:
    words = {
        "system": ("system", "model"),
        "text": ("text", "output", "response"),
        "item_id": ("item",),
    }
    found: dict[str, str] = {}
    for our, ways in words.items():
        fits = [one for one in shown if any(way in one.lower() for way in ways)]
        fits = [one for one in fits if one not in found.values()]
        if fits:
            found[our] = fits[0]
    return found


def _is_short(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    cells = frame[list(theirs)].stack()
    return bool(cells.str.strip().ne("").any()) and cells.str.len().max() < 30


def _is_rating(frame: pd.DataFrame, theirs: Sequence[str]) -> bool:
    """Say whether an answer is a rating: what its form writes besides need be none."""
    cells = pd.Series(frame[list(theirs)].to_numpy().ravel(), dtype="str")
    numbers = pd.to_numeric(cells[cells.str.strip() != ""], errors="coerce")
    return bool(len(numbers)) and bool((numbers.between(-100, 100) & (numbers % 0.5 == 0)).all())


def prolific(frame: pd.DataFrame) -> Specs:
    """Map a survey's export with Prolific's ids: a row per rating, or per output with ratings."""
    known = _recognized(list(frame.columns))
    wanted = {"prolific_pid", "participant_id", "prolific_id"}
    ids = [name for name in frame.columns if _plain(name) in wanted]
    if ids:
        known["annotator_id"] = ids[0]
    status = [name for name in frame.columns if _plain(name) == "status"]
    tables = _ratings(frame, known)
    if tables and status and frame[status[0]].eq("APPROVED").any():
        tables["judgments"]["only"] = {status[0]: ["APPROVED", "AWAITING REVIEW"]}
    return tables


def label_studio(frame: pd.DataFrame) -> Specs:
    """Map Label Studio's export as CSV or JSON-MIN: a row per task and annotator.

    Single choices are written as texts, but ratings and numbers as `[{"rating": 4}]`.
    """
    listed = re.compile(r'\[\{"(?:rating|number)": *(-?[\d.]+)\}\]')
    cells = {name: frame[name][frame[name].str.strip() != ""] for name in frame.columns}
    rated = [
        name for name, own in cells.items() if len(own) and own.map(listed.fullmatch).notna().all()
    ]
    if not rated:
        return _ratings(frame, _recognized(list(frame.columns)))
    plain = frame.assign(
        **{name: frame[name].str.replace(listed, r"\1", regex=True) for name in rated}
    )
    known = _recognized([name for name in frame.columns if name not in rated])
    tables = _ratings(plain, known)
    if "judgments" in tables:
        said = sorted({one for name in rated for one in cells[name]})
        spec = tables["judgments"]
        spec["columns"]["value"] = rated
        spec["lists"] = ["value"]
        spec["values"] = {"value": {one[1:-1]: listed.sub(r"\1", one) for one in said}}
    return tables


def potato(frame: pd.DataFrame) -> Specs:
    """Map Potato's annotated_instances.jsonl, in a folder for each annotator, or its tables."""
    if {"instance_id", "user_id"} <= set(frame):  # from version 2 on
        known = {"output_id": "instance_id", "annotator_id": "user_id"}
        measured = _measured(frame, known)
        value: Any = measured
        if any(str(name).startswith("labels.") for name in frame):
            value = "labels.{dimension}.{answer}"
        elif _are_choices(frame[measured]):
            value = "{dimension}.{answer}"
        return {"judgments": {"columns": {**known, "value": value}}}
    if "instance_id" in frame:
        user = {"output_id": "instance_id", "annotator_id": "user"}
        return {"judgments": {"columns": {**user, "value": "{dimension}:::{answer}"}}}
    columns: dict[str, Any] = {"output_id": "id", "value": "label_annotations.{dimension}.{answer}"}
    return {"judgments": {"columns": columns, "constants": {"annotator_id": "{folder}"}}}


def _are_choices(frame: pd.DataFrame) -> bool:
    """Say whether columns such as flow.3 and flow.4 are one question's answers."""
    questions = (frame != "").T.groupby([name.split(".")[0] for name in frame.columns]).sum()
    several = len(questions) < len(frame.columns) and all("." in name for name in frame.columns)
    return several and bool((questions <= 1).to_numpy().all())


def mqm(frame: pd.DataFrame) -> Specs:
    """Map errors as WMT publishes them: a row per error, weighed as Freitag et al. (2021) do.

    doi:10.1162/tacl_a_00437: by severity and category.
    """
    known = _recognized(list(frame.columns))
    names = [one for one in ("output_id", "system", "annotator_id") if one in known]
    columns: dict[str, str] = {name: known[name] for name in names}
    plain = {_plain(name): name for name in frame.columns}
    constants = {"dimension": "mqm"}
    if {"doc", "seg_id"} <= set(plain):
        constants["item_id"] = f"{{{plain['doc']}}}/{{{plain['seg_id']}}}"
    elif "item_id" in known:
        columns["item_id"] = known["item_id"]
    severity, category = known.get("severity", "severity"), known.get("category")
    constants["value"] = f"{{{severity}}}/{{{category}}}" if category else f"{{{severity}}}/"
    weights = {"*/Non-translation*": "25"} | {
        f"{name}{rest}": weight
        for rest, weights in (
            ("/Fluency/Punctuation", {"Minor": "0.1", "minor": "0.1"}),
            ("/*", {"Critical": "25", "critical": "25", "Major": "5", "major": "5", "Minor": "1"}),
            ("/*", {"minor": "1", "Neutral": "0", "neutral": "0", "No-error": "0"}),
            ("/*", {"no-error": "0", "No-Error": "0"}),
        )
        for name, weight in weights.items()
    }
    used = {
        one: weight
        for one, weight in weights.items()
        if one.startswith("*") or one.split("/")[0] in set(frame.get(severity, []))
    }
    spec = {"columns": columns, "constants": constants, "values": {"value": used}, "sum": "true"}
    return {"judgments": spec}


def pairwise(frame: pd.DataFrame) -> Specs:
    """Map votes on pairs: a row per vote, with two systems and who won."""
    known = _recognized(list(frame.columns))
    names = ["item_id", "system_a", "system_b", "annotator_id", "dimension", "choice"]
    spec: dict[str, Any] = {"columns": {one: known[one] for one in names if one in known}}
    if "choice" in known:
        a = {"left", "model_a", "system_a", "a", "1", "x", "model_x", "first"}
        b = {"right", "model_b", "system_b", "b", "2", "y", "model_y", "second"}
        seen = {
            one: "a" if _plain(one) in a else "b" if _plain(one) in b else "tie"
            for one in frame[known["choice"]].unique()
            if _plain(one) in a | b or re.search("tie|draw|equal|same|both|neither", one.lower())
        }
        spec["values"] = {"choice": {one: mean for one, mean in seen.items() if one != mean}}
        if not spec["values"]["choice"]:
            del spec["values"]
    if "annotator_id" not in known:
        spec["constants"] = {"annotator_id": "all"}
    return {"preferences": spec}


ADAPTERS: dict[str, Callable[[pd.DataFrame], Specs]] = {
    "mturk": mturk,
    "prolific": prolific,
    "label-studio": label_studio,
    "potato": potato,
    "mqm": mqm,
    "pairwise": pairwise,
}


def _written(found: Sequence[_Guess]) -> str:
    """Write the guesses as a study.yml."""
    tables: dict[str, tuple[_Guess, dict[str, Any], list[str]]] = {}
    others = []
    for one in found:
        for table, spec in one.tables.items():
            if table not in tables:
                tables[table] = (one, spec, [one.file])
            elif tables[table][0].columns == one.columns or tables[table][1] == spec:
                tables[table][2].append(one.file)
                tables[table][0].stems.extend(one.stems)
            else:
                others.append(f"# {one.file} seems to hold {table}, too: which of the two is it?")
        if not one.tables:
            shown = ", ".join(one.columns[:30])
            others.append(f"# {one.file} is not read: no table was recognized in {shown}")
    lines = ["# What the columns of this study's files are, as `nlgbench new` guessed it.", ""]
    lines += _settings(tables)
    lines += ["", "tables:"] if tables else ["", "tables: {}"]
    for table, (one, spec, names) in tables.items():
        several = len(names) > 1
        needs = {"judgments", "scores"} & {table} and "outputs" not in tables
        if needs and not {"system", "output_id"} & {*spec["columns"], *spec.get("constants", {})}:
            spec = {**spec, "constants": {**spec.get("constants", {}), "system": "{file}"}}
            if human := _human(one.stems):
                spec["values"] = {"system": human}
        spec = {"file": names if several else names[0], **one.options, **spec}
        lines.append(f"  {table}:")
        for key, value in spec.items():
            lines.append(
                f"    {key}: {_yaml(value)}" if not isinstance(value, dict) else f"    {key}:"
            )
            if isinstance(value, dict):
                lines += [f"      {_yaml(name)}: {_yaml(inner)}" for name, inner in value.items()]
        lines += [f"    # {line}" for line in _hints(table, spec)]
        used = _used(one)
        rest = [name for name in one.columns if name not in used]
        private = [name for name in rest if personal([name])]
        rest = [name for name in rest if name not in private]
        if private:
            lines.append(f"    # looks personal, is never read: {_commented(private)}")
        if rest:
            lines.append(f"    # not read: {_commented(rest)}")
    return "\n".join([*lines, *others, ""])


def _hints(table: str, spec: dict[str, Any]) -> list[str]:
    """Say what only the study's own people know, and which line to change for it."""
    lines = []
    columns, constants = spec["columns"], spec.get("constants", {})
    if constants.get("annotator_id", "").endswith("/{slot}"):
        value = columns["value"].replace("{slot}", "{annotator_id}")
        lines += [
            "Each rating is an annotator of its own, as nothing tells who gave it. If a number is",
            f"the same person everywhere: value: {_yaml(value)}, annotator_id for slot in `only`,",
            "no line annotator_id, and settings: annotators: persons.",
        ]
    if table == "scores" and len(columns["score"]) > 30 and isinstance(columns["score"], list):
        lines.append(f"score: {len(columns['score'])} evaluators: keep those that you ask about.")
    asked = [name for name in columns.get("score", ()) if _plain(name).split("_")[-1] in _ASKED]
    if asked and isinstance(columns["score"], list):
        lines.append(f"Do people say {', '.join(asked)}? Then these are `value` of `judgments`,")
        lines.append("under constants: {annotator_id: all} where no column tells who.")
    if _plain(columns.get("item_id", "item_id")) not in _CALLED["item_id"].split():
        lines.append("item_id: guessed, as each system has one row of each of its values.")
    ids = {"item_id", "output_id"} & {*columns, *constants}
    if "system" in columns and not ids and table != "system_scores":
        lines.append("No column was seen to be the item, the input that systems share: name it")
        lines.append('as item_id; or, if each row has its own, constants: {item_id: "{row}"}.')
    return lines


def _used(one: _Guess) -> set[str]:
    """List the columns of a file that its tables read."""
    found: set[str] = set()
    for spec in one.tables.values():
        named = [
            *spec["columns"].values(),
            *spec.get("only", {}),
            *spec.get("constants", {}).values(),
        ]
        for their in named:
            for name in [their] if isinstance(their, str) else their:
                found.add(name)
                found |= set(re.findall(r"\{([^{}]+)\}", name))
                if "{" in name:
                    pattern = re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(name))
                    found |= {column for column in one.columns if re.fullmatch(pattern, column)}
    return found


def _commented(names: Sequence[str]) -> str:
    shown = ", ".join(listing.visible(name) for name in names[:40])
    return shown + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def _settings(tables: dict[str, Any]) -> list[str]:
    lines = ["settings:"]
    constants: dict[str, str] = {}
    dimensions: list[str] = []
    if "judgments" in tables:
        one, spec, _ = tables["judgments"]
        constants, value = spec.get("constants", {}), spec["columns"].get("value", "")
        dimensions = value if isinstance(value, list) else []
        if "{slot}" in value and "{dimension}" in value:
            pattern = (
                re.escape(value).replace(r"\{slot\}", r"\d+").replace(r"\{dimension\}", "(.+)")
            )
            fits = [re.fullmatch(pattern, name) for name in one.columns]
            dimensions = list(dict.fromkeys(fit[1] for fit in fits if fit))
    if constants.get("dimension") == "mqm":
        lines += ["  quality: mqm", "  lower_is_better: [mqm]  # errors"]
    elif len(dimensions) > 1:
        others = f"; else one of {', '.join(dimensions[1:])}" if len(dimensions) < 9 else ""
        lines.append(f"  quality: {_yaml(dimensions[0])}  # the dimension meant by quality{others}")
        lines.append(
            f"  # scales: {{{_yaml(dimensions[0])}: {{min: 1, max: 5}}}}  # no value may leave it"
        )
    else:
        lines.append("  # quality: fluency  # of several dimensions, the one meant by quality")
        lines.append("  # scales: {fluency: {min: 1, max: 5}}  # which no value may leave")
        lines[0] = "# settings:"
    return lines


def _yaml(value: Any) -> str:
    """Write a value so that it reads back as the same texts."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_yaml(name)}: {_yaml(one)}" for name, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    plain = re.fullmatch(r"[A-Za-z0-9_./][\w ./()+-]*", value) and value == value.strip()
    return value if plain else json.dumps(value, ensure_ascii=False)


EMPTY = """\
# What the columns of this study's files are. Nothing else in the files is read.
# docs/own-study.md of nlgbench shows each line by an example.

name: my-study  # how results and figures call it

# settings:
#   quality: fluency  # of several dimensions, the one meant by quality
#   lower_is_better: [errors]  # dimensions, or evaluators
#   clusters: topic  # a column of outputs: which of them go together
#   extra: [topic]  # columns of outputs that are kept beside the known ones
#   labels: {sys1: Our system}
#   scales: {fluency: {min: 1, max: 5}}  # which no value may leave
#   valid: {fluency: {max: 100}}  # judgments outside are excluded, and counted
#   annotators: persons  # where numbered columns or positions are one person each

tables:
  judgments:
    file: ratings.csv  # or .tsv, .jsonl, .json, .parquet; the first four also with .gz
    columns:  # ours: theirs
      item_id: item
      system: system
      annotator_id: annotator
      value: [fluency, adequacy]  # a column for each dimension
  # outputs:
  #   file: outputs.csv
  #   columns: {item_id: item, system: system, text: text}
  # scores:
  #   file: metrics.csv
  #   columns: {item_id: item, system: system, score: [bleu, chrf]}
"""
