"""USR: responses in Topical-Chat and Persona-Chat, rated by three annotators in six ways.

Mehri and Eskenazi (2020), USR: An Unsupervised and Reference Free Evaluation Metric for Dialog
Generation, doi:10.18653/v1/2020.acl-main.64.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from nlgbench import schema
from nlgbench.datasets import cache
from nlgbench.names import did_you_mean
from nlgbench.study import Study, trusted

#: Data set -> its file.
RAW_FILES = {
    "usr-topical-chat": "usr/usr_topical_chat.json",
    "usr-persona-chat": "usr/usr_percona_chat.json",
}

#: Name in the release -> system; the first two are people.
SYSTEMS = {
    "Original Ground Truth": "human_original",
    "New Human Generated": "human_new",
    "Argmax Decoding": "transformer_argmax",
    "Nucleus Decoding (p = 0.3)": "transformer_nucleus_0.3",
    "Nucleus Decoding (p = 0.5)": "transformer_nucleus_0.5",
    "Nucleus Decoding (p = 0.7)": "transformer_nucleus_0.7",
    "KV-MemNN": "kv_memnn",
    "Seq2Seq": "seq2seq",
    "Language Model": "language_model",
}

#: Name in the release -> dimension and its range.
DIMENSIONS = {
    "Understandable": ("understandable", 0, 1),
    "Natural": ("natural", 1, 3),
    "Maintains Context": ("maintains_context", 1, 3),
    "Engaging": ("engaging", 1, 3),
    "Uses Knowledge": ("uses_knowledge", 0, 1),
    "Overall": ("overall", 1, 5),
}


def load_usr(
    dataset: Literal["usr-topical-chat", "usr-persona-chat"], *, fact: bool = False
) -> Study:
    """Load one of USR's two data sets as tidy tables.

    Parameters
    ----------
    dataset : {"usr-topical-chat", "usr-persona-chat"}
        Which.
    fact : bool
        Put the fact or persona that the response should use before the context.

    Returns
    -------
    Study
        ``outputs``: 60 contexts, each with six responses (Topical-Chat) or five (Persona-Chat), of
        which two are human; ids are ``c01``, ... and ``c01-kv_memnn``. ``judgments``: three for
        each output in each of six dimensions (`DIMENSIONS`), higher is better; ``group_id`` is
        empty. Annotators are ``w001``, ... in order of first appearance in the data set's file:
        equal names in the two data sets need not be one person.

    Raises
    ------
    ValueError
        For an unknown data set.
    DataUnavailableError
        If the file is not in the cache.
    DataCorruptError
        If it is not the released file.

    Examples
    --------
    >>> if cache.available(list(RAW_FILES.values())):
    ...     assert len(load_usr("usr-topical-chat").outputs) == 360
    """
    if dataset not in RAW_FILES:
        hint = did_you_mean(dataset, RAW_FILES)
        raise ValueError(f"no data set {dataset!r}.{hint} There are: {', '.join(RAW_FILES)}.")
    return read_usr(cache.path(RAW_FILES[dataset]), dataset, fact=fact)


def read_usr(path: Path, dataset: str, *, fact: bool = False) -> Study:
    """Read a file laid out as the USR release."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise schema.TableError(f"{path} is no JSON ({error}). Get the file anew.") from error
    if not isinstance(items, list):
        raise schema.TableError(f"{path} must hold a list of contexts. Get the file anew.")
    outputs, judgments = [], []
    workers: dict[str, str] = {}
    for number, item in enumerate(items, 1):
        place = f"{path}, context {number}"
        _need(item, ("context", "fact", "annotators", "responses"), place)
        item_id = f"c{number:02d}"
        context = item["context"].strip()
        known = item["fact"].strip()
        if fact and known != "_nofact":
            context = f"{known}\n{context}"
        names = [workers.setdefault(one, f"w{len(workers) + 1:03d}") for one in item["annotators"]]
        for at, response in enumerate(item["responses"], 1):
            inner = f"{place}, response {at}"
            _need(response, ("response", "model", *DIMENSIONS), inner)
            system = _system(response["model"], inner)
            output_id = f"{item_id}-{system}"
            text = response["response"].strip()
            human = system.startswith("human")
            outputs.append((output_id, item_id, system, text, human, context))
            for name, (dimension, low, high) in DIMENSIONS.items():
                values = _ratings(response[name], len(names), low, high, f"{inner}, {name!r}")
                judgments += [
                    (output_id, who, dimension, value, "")
                    for who, value in zip(names, values, strict=True)
                ]

    def table(rows: list[tuple], name: str) -> pd.DataFrame:
        return schema.check(pd.DataFrame(rows, columns=schema.columns(name)), name, source=path)

    return trusted(outputs=table(outputs, "outputs"), judgments=table(judgments, "judgments"))


def _need(found: Any, names: tuple[str, ...], place: str) -> None:
    missing = [name for name in names if not isinstance(found, dict) or name not in found]
    if missing:
        raise schema.TableError(f"{place}: it has no {missing[0]!r}. Get the file anew.")


def _system(model: str, place: str) -> str:
    if model not in SYSTEMS:
        raise schema.TableError(
            f"{place}: model is {model!r}; it must be one of {', '.join(SYSTEMS)}."
        )
    return SYSTEMS[model]


def _ratings(values: Any, n: int, low: int, high: int, place: str) -> list[int]:
    allowed = range(low, high + 1)
    if not isinstance(values, list) or len(values) != n or any(v not in allowed for v in values):
        raise schema.TableError(
            f"{place} is {values!r}; it must be {n} whole numbers from {low} to {high}, one for "
            "each annotator. Get the file anew."
        )
    return values
