"""Recognize the tool that wrote a log by the keys of its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from nlgbench.study import file_types
from nlgbench.study.formats.records import Recorded

#: Format -> the keys of its records, of each kind that it has.
_KEYS = {
    "alpaca_eval": ["instruction generator_1 generator_2 output_1 output_2 preference"],
    "inspect": ["id epoch input target output"],
    "lm_eval": ["doc_id target arguments resps metrics"],
    "mt_bench": [
        "question_id judge turn model_1 model_2 g1_winner g2_winner",
        "question_id judge turn model score",
        "question_id model_id choices",
    ],
    "arena": ["model_a model_b winner conversation_a conversation_b"],
    "promptfoo": ["provider prompt vars response score"],
}
#: Format of tables -> columns in its files, whatever was asked.
_COLUMNS = {
    "mturk": "HITId AssignmentId WorkerId AssignmentStatus",
    "toloka": "ASSIGNMENT:assignment_id ASSIGNMENT:worker_id ASSIGNMENT:status",
    "prolific": "PROLIFIC_PID STUDY_ID SESSION_ID",
    "label_studio": "annotation_id annotator created_at updated_at lead_time",
    "potato": "instance_id user_id displayed_text",
    "mqm": "system doc_id seg_id rater category severity",
}
#: The number of records that are examined, since some may be incomplete.
_EXAMINED = 20


def recognize(path: Path, shapes: Mapping[str, Any]) -> str:
    """Return the format of a log by the keys of its records; empty if it has no format."""
    if path.suffix == ".eval":
        return "inspect"
    kind = file_types.guess(path)
    if kind not in ("json", "jsonl", "parquet"):
        return ""
    if kind == "parquet":
        documents = [dict.fromkeys(file_types.read_rows(path, kind, problems=[])[0])]
    else:
        documents = [x for _, x in islice(file_types.documents(path, kind), _EXAMINED)]
    for name, kinds in sorted(_KEYS.items()):
        for record in list(_records(documents, shapes[name]))[:_EXAMINED]:
            if any({*keys.split()} <= {*record} for keys in kinds):
                return name
    return ""


def nearest(columns: Iterable[str]) -> tuple[str, list[str]]:
    """Return the format of which a file has most keys, at least half, and those that it lacks."""
    names = {level for name in columns for level in (name, name.split(".")[0])}
    shares: dict[tuple[float, int], tuple[str, list[str]]] = {}
    for name, kinds in (_KEYS | {name: [keys] for name, keys in _COLUMNS.items()}).items():
        for keys in map(str.split, kinds):
            lacking = [key for key in keys if key not in names]
            shares.setdefault((1 - len(lacking) / len(keys), len(keys)), (name, lacking))
    return shares[max(shares)] if max(shares)[0] >= 0.5 else ("", [])


def _records(documents: list[Any], shape: Recorded) -> Iterator[dict[str, Any]]:
    """Iterate over the objects that are records if the documents have a format."""
    for document in documents:
        for step in shape.steps:
            if isinstance(document, dict) and step in document:
                document = document[step]
        for record in document if isinstance(document, list) else [document]:
            if isinstance(record, dict):
                yield record
