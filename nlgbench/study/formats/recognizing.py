"""Recognize the tool that wrote a log by the keys of its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
#: The number of records that are examined, since some may be incomplete.
_EXAMINED = 20


def recognize(path: Path, shapes: Mapping[str, Any]) -> str:
    """Return the format of a log by the keys of its records; empty if it has no format."""
    if path.suffix == ".eval":
        return "inspect"
    kind = file_types.guess(path)
    if kind not in ("json", "jsonl", "parquet"):
        return ""
    documents = _documents(path, kind)
    for name, kinds in sorted(_KEYS.items()):
        for record in list(_records(documents, shapes[name]))[:_EXAMINED]:
            if any({*keys.split()} <= {*record} for keys in kinds):
                return name
    return ""


def _documents(path: Path, kind: str) -> list[Any]:
    if kind == "parquet":
        return [dict.fromkeys(file_types.read(path, kind, problems=[])[0])]
    documents: list[Any] = []
    for _, document in file_types.documents(path, kind):
        documents.append(document)
        if len(documents) == _EXAMINED:
            break
    return documents


def _records(documents: list[Any], shape: Recorded) -> Iterator[dict[str, Any]]:
    """Iterate over the objects that are records if the documents have a format."""
    for document in documents:
        for step in shape.steps:
            if isinstance(document, dict) and step in document:
                document = document[step]
        for record in document if isinstance(document, list) else [document]:
            if isinstance(record, dict):
                yield record
