"""Formats of tools and platforms: columns mapped to ours, or records read as rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from nlgbench.names import unknown
from nlgbench.study.column_names import Specs
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats import recognizing
from nlgbench.study.formats.exports import mqm, mturk, potato, toloka
from nlgbench.study.formats.harnesses import inspect, lm_eval, promptfoo
from nlgbench.study.formats.judged_pairs import alpaca_eval, arena, mt_bench
from nlgbench.study.formats.records import Recorded
from nlgbench.study.guessing import specs


class Mapped(NamedTuple):
    """A format of tables, whose columns are mapped as in study.yml, or guessed."""

    specs: Callable[[pd.DataFrame], Specs] = specs
    files: tuple[str, ...] = ("*.csv",)
    settings: Mapping[str, Any] = MappingProxyType({})


#: `files` are the files of a study's folder that are read if study.yml names none.
FORMATS: dict[str, Mapped | Recorded] = {
    "mturk": Mapped(mturk),
    "toloka": Mapped(toloka, ("*.tsv",)),
    "prolific": Mapped(),
    "label_studio": Mapped(files=("*.csv", "*.json")),
    "potato": Mapped(potato, ("*.jsonl", "*/annotated_instances.jsonl")),
    "mqm": Mapped(mqm, ("*.tsv", "*.csv"), {"quality": "mqm", "lower_is_better": ["mqm"]}),
    "pairwise": Mapped(),
    "alpaca_eval": Recorded(alpaca_eval, ("*.json",), settings={"extra": ["dataset"]}),
    "inspect": Recorded(inspect, ("*.eval", "*.json"), ("samples",)),
    "lm_eval": Recorded(lm_eval, ("samples_*.jsonl", "*/samples_*.jsonl")),
    "mt_bench": Recorded(
        mt_bench, ("*.jsonl",), settings={"extra": ["question"], "clusters": "question"}
    ),
    "arena": Recorded(arena, ("*.json", "*.jsonl", "*.csv", "*.parquet")),
    "promptfoo": Recorded(promptfoo, ("*.json", "*.jsonl"), ("results", "results")),
}


def find(name: str, where: str) -> Mapped | Recorded:
    """Find a format by its name, written with hyphens or underscores."""
    if (plain := name.lower().replace("-", "_")) in FORMATS:
        return FORMATS[plain]
    way = "The file type of a table (csv, json, ...) goes under `tables`."
    raise TableError(f"{where}: format: {unknown(name, FORMATS)} {way}")


def recognize(path: Path) -> str:
    """Return the format of a log; empty if it has none."""
    return recognizing.recognize(path, FORMATS)


def resembling(columns: Sequence[str]) -> str:
    """Name the format that unrecognized columns resemble most, and how to choose a format."""
    name, lacking = recognizing.nearest(columns)
    way = "`nlgbench new` takes the format of a tool"
    if not name:
        return f"{way} with --as: {', '.join(FORMATS)}."
    but = f", but lacks {', '.join(lacking)}" if lacking else ""
    return f"It resembles files of {name}{but}. {way}: --as {name}."


def draft(name: str, names: Sequence[str]) -> str:
    """Write the study.yml for files that a format of records reads."""
    return (
        f"format: {name}  # for this format, columns need not be mapped\n"
        f"files: {json.dumps(list(names), ensure_ascii=False)}\n"
        "# rename: {system: {old: new}}  # works for evaluators and comparators, too\n"
    )
