"""The HUSE release: headlines of one summarization model at t = 1.0, and 4,000 judgments.

Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169. Nothing was released for the other
temperatures and tasks.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd

from nlgbench import csv_files, schema
from nlgbench.datasets import cache
from nlgbench.study import Study, trusted

RAW_FILE = "huse/summarization_raw_outputs.csv"
SYSTEM = "summarization_t1.0"

#: Typicality as the authors' code counts it. The paper's appendix prints the same scale as 0-5;
#: its Table 2 shows values above 5, so it was made with this one.
TYPICALITY = {
    "Invalid": 1,
    "Rare": 2,
    "Specific": 3,
    "Average": 4,
    "Typical": 5,
    "Very Typical": 6,
}

#: Which outputs Table 2 of the paper shows: row of the claim -> output_id.
TABLE2_OUTPUTS = {
    "quality_failure_model": "o126",
    "quality_failure_reference": "o001",
    "diversity_failure_model": "o077",
    "diversity_failure_reference": "o052",
    "indistinguishable_model": "o133",
    "indistinguishable_reference": "o008",
}

_PER_HIT = 25
_HUMAN = "HUMAN_SUM"
_MACHINE = "SUM"


def load_huse() -> Study:
    """Load the HUSE release as tidy tables.

    Returns
    -------
    Study
        ``outputs``: 200 headlines, 100 of ``human`` and 100 of ``summarization_t1.0``, for 99
        contexts; ids count in the order (HIT, position), which is the order of the authors'
        ``summary_clean.csv``. ``logprobs``: every output under the model, in nats for the whole
        text; ``n_tokens`` counts what spaces separate, as the authors' code does. ``judgments``: 20
        for each output, ``typicality`` from 1 (invalid) to 6 (very typical), higher is better;
        ``group_id`` is the HIT. Every HIT holds outputs of one kind only, so the leniency of its 20
        annotators is confounded with the label. Annotators are ``w001``, ... in order of first
        appearance.

    Raises
    ------
    DataUnavailableError
        If the file is not in the cache.
    DataCorruptError
        If it is not the released file.

    Examples
    --------
    >>> from nlgbench.datasets import cache
    >>> if cache.available([RAW_FILE]):
    ...     assert len(load_huse().judgments) == 4000
    """
    return read_huse(cache.path(RAW_FILE))


def read_huse(path: Path) -> Study:
    """Read a file laid out as the HUSE release."""
    frame, lines = csv_files.parse(path, may_lack=("Approve", "Reject"))
    _check(frame, lines, path)
    assignments = [
        {str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")
    ]
    hits = {hit: f"hit{n}" for n, hit in enumerate(sorted({a["HITId"] for a in assignments}), 1)}
    workers = {a["WorkerId"]: "" for a in assignments}
    workers = {worker: f"w{n:03d}" for n, worker in enumerate(workers, 1)}
    first = {a["HITId"]: a for a in reversed(assignments)}  # they differ in worker and answers only

    outputs, logprobs, judgments = [], [], []
    contexts: dict[str, str] = {}
    ids: dict[tuple[str, int], str] = {}
    for hit in hits:
        for position in range(_PER_HIT):
            kind, text, context, logprob = (
                first[hit][f"Input.{name}{position}"] for name in ("TYPE", "OUT", "CTX", "LOGP")
            )
            output_id = ids[hit, position] = f"o{len(ids) + 1:03d}"
            item_id = contexts.setdefault(context, f"c{len(contexts) + 1:02d}")
            human = kind == _HUMAN
            system = "human" if human else SYSTEM
            outputs.append((output_id, item_id, system, text, human, context))
            logprobs.append((output_id, SYSTEM, logprob, len(text.split(" "))))
    for assignment in assignments:
        hit, annotator = assignment["HITId"], workers[assignment["WorkerId"]]
        for position in range(_PER_HIT):
            value = TYPICALITY[assignment[f"Answer.{position}"]]
            row = (ids[hit, position], annotator, "typicality", value, hits[hit])
            judgments.append(row)

    def table(rows: list[tuple], name: str) -> pd.DataFrame:
        return schema.check(pd.DataFrame(rows, columns=schema.columns(name)), name, source=path)

    return trusted(
        outputs=table(outputs, "outputs"),
        logprobs=table(logprobs, "logprobs"),
        judgments=table(judgments, "judgments"),
    )


def _check(frame: pd.DataFrame, lines: list[int], path: Path) -> None:
    types, answers = ([f"{name}{n}" for n in range(_PER_HIT)] for name in ("Input.TYPE", "Answer."))
    others = [f"Input.{name}{n}" for n in range(_PER_HIT) for name in ("OUT", "CTX", "LOGP")]
    needed = ["HITId", "WorkerId", *types, *others, *answers]
    csv_files.require_columns(
        frame, needed, path, f"it is not the export that the HUSE release holds; take {RAW_FILE}."
    )

    refuse = functools.partial(csv_files.refuse_rows, frame, lines, path)

    for name in types:
        refuse(~frame[name].isin((_HUMAN, _MACHINE)), name, f"one of {_HUMAN}, {_MACHINE}")
    for name in answers:
        refuse(~frame[name].isin(list(TYPICALITY)), name, f"one of {', '.join(TYPICALITY)}")
    for name in types + others:
        first = frame.groupby("HITId")[name].transform("first")
        refuse(frame[name] != first, name, "the same in all assignments of one HIT")
