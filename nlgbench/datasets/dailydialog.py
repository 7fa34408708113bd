"""DailyDialog with several references: 500 rated responses of four systems and of people.

Gupta et al. (2019), Investigating Evaluation of Open-Domain Dialogue Systems With Human Generated
Multiple References, doi:10.18653/v1/W19-5944.
"""

from __future__ import annotations

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


def load_dailydialog() -> Study:
    """Load the rated responses of multi-reference DailyDialog as tidy tables.

    500 responses, one of ``human`` and of each of four systems on each of 100 contexts (``item_id``
    is the release's context_id; turns of a context are lines). The mean of the annotators' ratings,
    1 to 5, is one value of dimension ``appropriateness`` and annotator ``mean``, because the
    release has no more: agreement of annotators, and what a test of rated outputs loses to it,
    cannot be computed. Four references per context: r1 to r3, and ``original``, which is
    DailyDialog's own next turn; no human response is among them. Systems write some responses more
    than once.
    """
    return read_dailydialog(cache.path(RAW_FILE))


def read_dailydialog(path: Path) -> Study:
    """Read a file laid out as the release's ratings."""
    frame, _ = csv_files.parse(path)
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
    return trusted(
        outputs=schema.typed(outputs, "outputs"),
        judgments=schema.typed(judgments, "judgments"),
        references=schema.typed(references, "references"),
    )
