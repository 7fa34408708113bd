"""Guess from columns' names which of our columns they match, and which look personal."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

Specs = dict[str, dict[str, Any]]
#: Our columns, and the names of files' columns that flags or arguments give for each.
Flags = Mapping[str, Sequence[str]]

#: Our column -> its names in files, as lower-case words joined by _, the likeliest first.
CALLED = {
    "system_a": "system_a model_a system_1 model_1 left model_x a",
    "system_b": "system_b model_b system_2 model_2 right model_y b",
    "choice": "choice winner preference preferred vote verdict",
    "output_id": "output_id response_id",
    "item_id": "item_id item doc_id seg_id global_seg_id segment_id prompt_id question_id "
    "source_id context_id sample_id example_id story_id input_id instance_id article_id "
    "document_id dialogue_id doc prompt question",
    "system": "system system_id system_name model model_id model_name generator team",
    "text": "text output system_output response hypothesis generation story target translation "
    "summary caption",
    "annotator_id": "annotator_id annotator worker_id worker rater rater_id judge judge_id "
    "participant_id prolific_pid prolific_id user user_id coder expert expert_id reviewer "
    "reviewer_id voter voter_id annotators raters workers judges",
    "dimension": "dimension criterion aspect",
    "value": "value rating judgment judgement score answer label",
    "evaluator": "evaluator metric",
    "group_id": "group_id hit_id batch batch_id page",
    "severity": "severity",
    "category": "category",
}
_PARTS = re.compile(r"[^a-z0-9]+")
#: Columns that annotation tools add to the answers.
OTHER = {
    *("id", "annotation_id", "created_at", "updated_at", "lead_time", "work_time_in_seconds"),
    *("seg", "row", "index", "unnamed_0", "inner_id", "total_annotations", "cancelled_annotations"),
}

#: What precedes the names of columns in exports of Toloka.
TOLOKA = "(?:INPUT|OUTPUT|GOLDEN|HINT|ASSIGNMENT):"
#: Columns in which tools mark valid submissions, and the values that mark them.
_COUNTS = {
    "finished": ["True", "1"],
    "status": ["APPROVED", "AWAITING REVIEW"],
    "assignment_status": ["Approved", "Submitted"],
    "ASSIGNMENT:status": ["APPROVED", "SUBMITTED"],
}

#: Words in names of columns that identify a person: only annotator_id may come from these.
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
    """List the columns that look personal."""
    return [name for name in columns if has_word(name, f"{IDENTIFYING}|{_PERSONAL}")]


def has_word(name: str, pattern: str) -> bool:
    """Check whether a column's name contains one of the words, in any spelling."""
    return bool(re.search(rf"(?:^|_)(?:{pattern})(?:_|$)", plain_name(name)))


@functools.lru_cache(2**14)
def plain_name(name: str) -> str:
    """Write a column's name as lower-case words joined by _."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return _PARTS.sub("_", parted.lower()).strip("_")


def argument(our: str) -> str:
    """Return the argument of `read_study`, and flag of `new`, that names one of our columns."""
    return our.removesuffix("_id").removeprefix("system_")


def recognized(columns: Sequence[str]) -> dict[str, str]:
    """Map our columns to the file's columns that seem to match them."""
    plain: dict[str, str] = {}
    # The last step of a JSON path, or what follows a prefix of Toloka.
    last = [re.split(rf"\.|^{TOLOKA}", name)[-1] for name in columns]
    for name in columns:
        plain.setdefault(plain_name(name), name)
    n_times = Counter(last)
    for name, end in zip(columns, last, strict=True):
        if n_times[end] == 1:
            plain.setdefault(plain_name(end), name)
    ours: dict[str, str] = {}
    for our, names in CALLED.items():
        fits = [plain[name] for name in names.split() if name in plain]
        fits = [name for name in fits if name not in ours.values()]
        if fits:
            ours[our] = fits[0]
    if not {"system_a", "system_b", "choice"} <= set(ours):
        for our in ("system_a", "system_b"):
            ours.pop(our, None)
    return ours


def counted(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns that mark valid rows of an export, each with the values that do so."""
    names = list(map(str, frame))
    valid = {name: _COUNTS.get(name) or _COUNTS.get(plain_name(name)) for name in names}
    counted = {x: cells for x, cells in valid.items() if cells and frame[x].isin(cells).any()}
    # Toloka's control tasks, whose right answers are known, are not judgments.
    control = [name for name in names if name.startswith("GOLDEN:") and frame[name].ne("").any()]
    return counted | {name: [""] for name in control}


def in_braces(text: str) -> list[str]:
    """List the names in braces."""
    return re.findall(r"\{([^{}]+)\}", text)


def fill_braces(template: str, frame: pd.DataFrame) -> pd.Series:
    """Fill the braces of a template with the cells of each row."""
    texts = pd.Series("", index=frame.index, dtype="str")
    for literal, name in re.findall(r"([^{]*)(?:\{([^{}]*)\})?", template):
        texts = texts + literal + (frame[name] if name else "")
    return texts


def fit_pattern(pattern: str, columns: Iterable[str]) -> dict[str, dict[str, str]]:
    """Find the columns that match a pattern with braces, each with what the braces match."""
    regex = ""
    for literal, name in re.findall(r"(.*?)(?:\{([^\W\d]\w*)\}|$)", pattern, re.DOTALL):
        regex += re.escape(literal)
        if f"(?P<{name}>" in regex:
            regex += f"(?P={name})"
        elif name:
            regex += f"(?P<{name}>.+?)"
    fits = {name: re.fullmatch(regex, name, re.DOTALL) for name in columns}
    return {name: fit.groupdict() for name, fit in fits.items() if fit}
