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


def recognize(path: Path, shapes: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the format of a log and what its records lack; the nearest format if they lack keys.

    Files that no format of records is near to have no format: tables are guessed by columns.
    """
    if path.suffix == ".eval":
        return "inspect", []
    kind = file_types.guess(path)
    if kind not in ("json", "jsonl", "parquet"):
        return "", []
    documents = _documents(path, kind)
    near: list[tuple[float, str, list[str]]] = []
    for name, kinds in _KEYS.items():
        for record in list(_records(documents, shapes[name]))[:_EXAMINED]:
            for keys in (kind.split() for kind in kinds):
                lacks = [key for key in keys if key not in record]
                near.append((len(lacks) / len(keys), name, lacks))
    share, name, lacks = min(near, default=(1.0, "", []))
    return (name, lacks) if share <= 0.5 else ("", [])


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
