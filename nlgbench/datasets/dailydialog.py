"""Multi-reference DailyDialog: 500 rated responses, human and from four systems.

Gupta et al. (2019), Investigating Evaluation of Open-Domain Dialogue Systems With Human Generated
Multiple References, doi:10.18653/v1/W19-5944. The release also has the test dialogues of Li et al.
(2017), DailyDialog, arXiv:1710.03957, with five human responses to every turn, for training.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_rows, schema

RAW_FILE = "dailydialog-multiref/mturk_rating_processed_output.csv"
TURNS_FILE = "dailydialog-multiref/multireftest.json"

#: Name in the release -> system.
SYSTEMS = {
    "human": "human",
    "dualencoder_train": "dual_encoder",
    "seq2seqf": "seq2seq",
    "hredf": "hred",
    "CVAEf": "cvae",
}

_TURN = "||||"
_NAMES = ("original", "r1", "r2", "r3", "r4")

# Substitutions, in this order, that reproduce the release's own tokenizer for most turns.
_CUTS = [
    (r"\s*['\u2019]\s*", "'"),
    (r"(n't)\b", r" \1"),
    (r"('(?:s|m|re|ve|ll|d))(?![a-z])", r" \1"),
    (r"\b(can|gon|got)(not|na|ta)\b", r"\1 \2"),
    (r"(?<=\w)(-+)(?=\w)", r" \1 "),
    (r"(\.\.+|[!?;\"()$%/]|(?<!\d)[.,:]|[.,:](?!\d))", r" \1 "),
    (r"(?<=\S)'(?!\S)", " '"),
]


def read_dailydialog(path: Path) -> Study:
    """Read the rated responses of multi-reference DailyDialog as tidy tables.

    Each of 100 contexts (one turn per line) has a response of ``human`` and of four systems. The
    release has only the mean of the annotators' ratings, 1 to 5: dimension ``appropriateness``,
    annotator ``mean``. A context has four references: r1 to r3, and DailyDialog's ``original``.
    """
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
        annotator_id="mean", dimension="appropriateness", value=frame["human_average_rating"]
    )
    references = []
    for row in frame.drop_duplicates("context_id").to_dict("records"):
        further = row["all_references"].split("\t")
        further.remove(row["prevgt"])
        named = {f"r{n}": text for n, text in enumerate(further, 1)} | {"original": row["prevgt"]}
        references += [(row["context_id"], name, text) for name, text in named.items()]
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        references=references,
        settings={"scales": {"appropriateness": {"min": 1.0, "max": 5.0}}},
    )


def read_dailydialog_turns(path: Path) -> pd.DataFrame:
    """Read the human responses to every turn of DailyDialog's 1,000 test dialogues.

    An ``outputs`` table: 33,699 responses of system ``human`` to 6,740 contexts, each of all
    previous turns; its ``item_id``, such as ``73_4``, has the numbers of the dialogue and of the
    last turn. ``73_4-original`` is DailyDialog's own next turn; ``73_4-r1`` to ``-r4`` are from the
    release's annotators. To train a generator for the contexts of `read_dailydialog`, exclude all
    equal contexts. First turns are tokenized here, by rules that agree with 99.7% of the release's
    other turns.
    """
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        record = json.loads(line) if line else {"dialogue": []}
        context, last = "", ""
        for number, turn in enumerate(record["dialogue"][:-1]):
            responses = [" ".join(text.split()) for text in turn["responses"]]
            context = f"{context}\n{last}" if number else tokenized(turn["text"])
            last = responses[0]
            item = f"{record['index']}_{number}"
            rows += [
                (f"{item}-{name}", item, "human", text, True, context)
                for name, text in zip(_NAMES, responses, strict=True)
                if text
            ]
    return schema.typed(rows, "outputs")


def tokenized(text: str) -> str:
    """Tokenize a turn as the release's tokenizer does, with rare exceptions."""
    text = text.lower()
    for pattern, cut in _CUTS:
        text = re.sub(pattern, cut, text)
    return " ".join(text.split())
