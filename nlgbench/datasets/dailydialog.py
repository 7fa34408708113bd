"""DailyDialog with several references: 500 rated responses of four systems and of people.

Gupta et al. (2019), Investigating Evaluation of Open-Domain Dialogue Systems With Human Generated
Multiple References, doi:10.18653/v1/W19-5944.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd

from nlgbench import csv_files, schema
from nlgbench.datasets import cache
from nlgbench.study import Study, trusted

RAW_FILE = "dailydialog-multiref/mturk_rating_processed_output.csv"

#: Name in the release -> system.
SYSTEMS = {
    "human": "human",
    "dualencoder_train": "dual_encoder",
    "seq2seqf": "seq2seq",
    "hredf": "hred",
    "CVAEf": "cvae",
}

_TURN = "||||"
_COLUMNS = ("model", "context_id", "human_average_rating", "response", "prevgt", "all_references")


def load_dailydialog() -> Study:
    """Load the rated responses of multi-reference DailyDialog as tidy tables.

    Returns
    -------
    Study
        ``outputs``: 500 responses, one of ``human`` and of each of four systems on each of 100
        contexts (``item_id`` is the release's context_id; turns of a context are lines).
        ``judgments``: the mean of the annotators' ratings, 1 to 5, higher is better, as one value
        of dimension ``appropriateness`` and annotator ``mean``, because the release has no more;
        ``group_id`` is empty. ``references``: four per context: r1 to r3, and ``original``, which
        is DailyDialog's own next turn; no human response is among them.

    Raises
    ------
    DataUnavailableError
        If the file is not in the cache.
    DataCorruptError
        If it is not the released file.

    Notes
    -----
    A mean hides how many rated, and how they differed: agreement of annotators, and what a test of
    rated outputs loses to it, cannot be computed. Systems write some responses more than once.

    Examples
    --------
    >>> if cache.available([RAW_FILE]):
    ...     assert len(load_dailydialog().judgments) == 500
    """
    return read_dailydialog(cache.path(RAW_FILE))


def read_dailydialog(path: Path) -> Study:
    """Read a file laid out as the release's ratings."""
    frame, lines = csv_files.parse(path)
    _check(frame, lines, path)
    system = frame["model"].map(SYSTEMS)
    outputs = pd.DataFrame(
        {
            "output_id": frame["context_id"] + "-" + system,
            "item_id": frame["context_id"],
            "system": system,
            "text": frame["response"],
            "is_human": system == "human",
            "context": frame["context"].str.replace(_TURN, "\n", regex=False),
        }
    )
    judgments = outputs[["output_id"]].assign(
        annotator_id="mean",
        dimension="appropriateness",
        value=frame["human_average_rating"],
        group_id="",
    )
    references = []
    for row in frame.drop_duplicates("context_id").to_dict("records"):
        others = row["all_references"].split("\t")
        others.remove(row["prevgt"])
        named = {f"r{n}": text for n, text in enumerate(others, 1)} | {"original": row["prevgt"]}
        references += [(row["context_id"], name, text) for name, text in named.items()]
    given = pd.DataFrame(references, columns=schema.columns("references"))
    return trusted(
        outputs=schema.check(outputs, "outputs", source=path),
        judgments=schema.check(judgments, "judgments", source=path),
        references=schema.check(given, "references", source=path),
    )


def _check(frame: pd.DataFrame, lines: list[int], path: Path) -> None:
    csv_files.require_columns(
        frame,
        (*_COLUMNS, "context"),
        path,
        f"it is not the file of ratings that the release holds; take {RAW_FILE}.",
    )

    refuse = functools.partial(csv_files.refuse_rows, frame, lines, path)

    refuse(~frame["model"].isin(list(SYSTEMS)), "model", f"one of {', '.join(SYSTEMS)}")
    rating = pd.to_numeric(frame["human_average_rating"], errors="coerce")
    refuse(~rating.between(1, 5), "human_average_rating", "a rating from 1 to 5")
    refuse(
        frame.duplicated(["context_id", "model"]), "model", "one that has not answered this context"
    )
    for name in ("context", "prevgt", "all_references"):
        first = frame.groupby("context_id")[name].transform("first")
        refuse(frame[name] != first, name, "the same in all rows of one context_id")
    lacks = [
        own not in every.split("\t")
        for own, every in zip(frame["prevgt"], frame["all_references"], strict=True)
    ]
    refuse(pd.Series(lacks), "prevgt", "one of all_references")
