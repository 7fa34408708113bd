"""What names of columns tell: which of our columns they are, whether personal, what tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from nlgbench.study import file_types

Specs = dict[str, dict[str, Any]]

#: Our column -> what files call it: words of a name joined by _, the likeliest first.
CALLED = {
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
#: What tools write beside what people said.
OTHER = {
    *("id", "annotation_id", "created_at", "updated_at", "lead_time", "work_time_in_seconds"),
    *("seg", "row", "index", "unnamed_0", "inner_id", "total_annotations", "cancelled_annotations"),
}

#: Words of a column's name that identify a person: only an annotator's id may come from it.
IDENTIFYING = (
    "ip|e_?mail|mail|phone|telephone|mobile|latitude|longitude|lat|lon|lng|ip_?address|user_?agent|"
    "fingerprint|geolocation|(?:first|last|full|user)_?name|"
    "(?:worker|participant|prolific|assignment|annotator|turker)_?(?:id|pid|name)"
)
_PERSONAL = (
    "browser|city|zip|zipcode|postcode|age|gender|sex|nationality|ethnicity|birthday|birthdate|"
    "birthyear|dob|country|address|timezone"
)


def personal(columns: Iterable[str]) -> list[str]:
    """Name the columns that look personal."""
    return [name for name in columns if has_word(name, f"{IDENTIFYING}|{_PERSONAL}")]


def has_word(name: str, words: str) -> bool:
    """Tell whether a column's name has one of the words, in any spelling."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return bool(re.search(rf"(?:^|_)(?:{words})(?:_|$)", re.sub(r"[^a-z0-9]+", "_", parted)))


def plain_name(name: str) -> str:
    """Write a column's name as words in small letters, joined by _."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return _PARTS.sub("_", parted.lower()).strip("_")


def recognized(columns: Sequence[str]) -> dict[str, str]:
    """Name, for columns of ours, the file's column that seems to be it."""
    plain: dict[str, str] = {}
    last = [name.rpartition(".")[2] for name in columns]  # of a path in JSON
    for name in columns:
        plain.setdefault(plain_name(name), name)
    for name, end in zip(columns, last, strict=True):
        if last.count(end) == 1:
            plain.setdefault(plain_name(end), name)
    found: dict[str, str] = {}
    for our, names in CALLED.items():
        fits = [plain[name] for name in names.split() if name in plain]
        fits = [name for name in fits if name not in found.values()]
        if fits:
            found[our] = fits[0]
    if not {"system_a", "system_b", "choice"} <= set(found):
        for our in ("system_a", "system_b"):
            found.pop(our, None)
    return found


def measured_columns(frame: pd.DataFrame, known: dict[str, str]) -> list[str]:
    """List the columns that hold numbers, or lists of them, and are nothing else."""
    found = []
    for name in frame.columns:
        cells = frame[name][frame[name].str.strip() != ""].head(100)
        if name in known.values() or plain_name(name) in OTHER or personal([name]) or cells.empty:
            continue
        listed = [file_types.as_list(cell) for cell in cells]
        flat = [one for each in listed for one in each or ()] if all(listed) else list(cells)
        if pd.to_numeric(pd.Series(flat), errors="coerce").notna().all():
            found.append(name)
    return found


def outputs_spec(known: dict[str, str]) -> Specs:
    """Map the outputs of a file, if its columns identify them."""
    names = [one for one in ("output_id", "item_id", "system", "text") if one in known]
    if "system" not in names or not {"output_id", "item_id"} & set(names):
        return {}
    return {"outputs": {"columns": {one: known[one] for one in names}}}


def ratings_spec(frame: pd.DataFrame, known: dict[str, str]) -> Specs:
    """Map the ratings of a file, if a column says who gave them."""
    if "annotator_id" not in known or "evaluator" in known:
        return {}
    names = ["output_id", "item_id", "system", "annotator_id", "dimension", "group_id"]
    columns: dict[str, Any] = {one: known[one] for one in names if one in known}
    if "output_id" in columns and "text" in known:
        columns = {one: their for one, their in columns.items() if one not in ("item_id", "system")}
    measured = measured_columns(frame, known)
    wide = measured if "value" not in known or "dimension" not in known else []
    if "value" in known and not (wide and "dimension" not in known and len(wide) > 1):
        columns["value"] = known["value"]
    elif wide:
        columns["value"] = wide
    else:
        return {}
    spec = with_lists(frame, {"columns": columns}, columns["value"])
    return {**(outputs_spec(known) if "text" in known else {}), "judgments": spec}


def with_lists(
    frame: pd.DataFrame, spec: dict[str, Any], measured: str | list[str]
) -> dict[str, Any]:
    """Say that cells are lists, where they are."""
    first = measured if isinstance(measured, str) else measured[0]
    cells = frame[first].head(20)
    if len(cells) and all(file_types.as_list(cell) is not None for cell in cells):
        ours = "score" if "score" in spec["columns"] else "value"
        spec["lists"] = [ours]
        who = spec["columns"].get("annotator_id")
        if who and all(file_types.as_list(cell) is not None for cell in frame[who]):
            spec["lists"].append("annotator_id")
        if "item_id" not in spec["columns"] and "output_id" not in spec["columns"]:
            spec["constants"] = {"item_id": "{position}"}
        elif "annotator_id" not in spec["columns"]:
            spec["constants"] = {"annotator_id": "{position}"}
    return spec
