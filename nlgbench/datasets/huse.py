"""The HUSE release: headlines of one summarization model at t = 1.0, with 4,000 judgments.

Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169. The release has no other
temperatures or tasks.
"""

from __future__ import annotations

from pathlib import Path

from nlgbench.study import Study, csv_files, from_rows

RAW_FILE = "huse/summarization_raw_outputs.csv"
SYSTEM = "summarization_t1.0"

#: Typicality values from the authors' code. The paper's appendix prints the scale as 0-5, but its
#: Table 2 has values above 5, and therefore uses this scale.
TYPICALITY = {"Invalid": 1, "Rare": 2, "Specific": 3, "Average": 4, "Typical": 5, "Very Typical": 6}

#: Outputs in Table 2 of the paper: row of the claim -> output_id.
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


def read_huse(path: Path) -> Study:
    """Read the HUSE release as tidy tables.

    100 headlines of ``human`` and 100 of ``summarization_t1.0``, in the order of the authors'
    ``summary_clean.csv``, with 20 judgments of ``typicality`` each, from 1 (invalid) to 6 (very
    typical). Log-probabilities are of the whole text, in nats; ``n_tokens`` counts tokens separated
    by spaces. ``group_id`` is the HIT, whose outputs are all human or all generated.
    """
    frame, _ = csv_files.parse(path, may_lack=("Approve", "Reject"))
    hits = {hit: f"hit{n}" for n, hit in enumerate(sorted(frame["HITId"].unique()), 1)}
    workers = {worker: f"w{n:03d}" for n, worker in enumerate(frame["WorkerId"].unique(), 1)}
    # Assignments of a HIT differ only in worker and answers.
    first = frame.drop_duplicates("HITId").set_index("HITId").to_dict("index")

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
    for row in frame.to_dict("records"):
        hit, annotator = row["HITId"], workers[row["WorkerId"]]
        judgments += [
            (ids[hit, n], annotator, "typicality", TYPICALITY[row[f"Answer.{n}"]], hits[hit])
            for n in range(_PER_HIT)
        ]

    return from_rows(outputs=outputs, logprobs=logprobs, judgments=judgments)
