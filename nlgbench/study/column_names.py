"""What names of columns tell: which of our columns they are, whether personal, what fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

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
    "participant_id prolific_pid prolific_id user user_id coder annotators raters workers judges",
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

#: Columns in which tools say which work counts, and the values of such work.
_COUNTS = {
    "finished": ["True", "1"],
    "status": ["APPROVED", "AWAITING REVIEW"],
    "assignment_status": ["Approved", "Submitted"],
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
    return bool(re.search(rf"(?:^|_)(?:{words})(?:_|$)", plain_name(name)))


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


def counted(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Say which rows of an export count, where a column of its tool says so."""
    kept = {name: _COUNTS.get(plain_name(name), []) for name in map(str, frame)}
    return {name: values for name, values in kept.items() if frame[name].isin(values).any()}


def in_braces(text: str) -> list[str]:
    """List what stands in braces."""
    return re.findall(r"\{([^{}]+)\}", text)


def matching(pattern: str, columns: Iterable[str]) -> dict[str, dict[str, str]]:
    """Find the columns that fit a name with braces, each with what stood in these."""
    regex = ""
    for literal, name in re.findall(r"(.*?)(?:\{([^\W\d]\w*)\}|$)", pattern, re.DOTALL):
        regex += re.escape(literal)
        if f"(?P<{name}>" in regex:
            regex += f"(?P={name})"
        elif name:
            regex += f"(?P<{name}>.+?)"
    fits = {one: re.fullmatch(regex, one, re.DOTALL) for one in columns}
    return {one: fit.groupdict() for one, fit in fits.items() if fit}
