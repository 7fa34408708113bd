"""The Judge the Judges release: 3,600 product reviews, with votes on whether they are real.

Garbacea, Carton, Yan and Mei (2019), doi:10.18653/v1/D19-1409. The release does not include the
discriminators' training data.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_rows

RAW_FILE = "judge-the-judges/Batch_3205459_batch_results_8th.csv"

#: Name in the release -> system, as named in the claims for the paper's Table 3.
SYSTEMS = {
    "Real": "human",
    "WordRNN10": "word_lstm_temp_1.0",
    "WordRNN07": "word_lstm_temp_0.7",
    "WordRNN05": "word_lstm_temp_0.5",
    "SS": "scheduled_sampling",
    "GoogleLM": "google_lm",
    "AttentionAC": "attention_attribute_to_sequence",
    "NoAttentionAC": "contexts_to_sequences",
    "SkipConnectionsAC": "gated_contexts_to_sequences",
    "MLESeqGAN": "mle_seqgan",
    "SeqGAN": "seqgan",
    "RankGAN": "rankgan",
    "LeakGAN": "leakgan",
}

_SLOTS = range(21)  # 20 reviews and the attention check
_VOTES = {"real": 1, "fake": 0}


def read_judge_the_judges(path: Path) -> Study:
    """Read the annotated reviews of Judge the Judges as tidy tables.

    Each of 3,600 reviews is a separate item. Votes have dimension ``real_or_fake`` (1 real, 0
    fake); ``group_id`` is the HIT, in which annotators are nested. An assignment is accepted if the
    authors did not reject it and it passed the attention check: 896 of 1,094.
    """
    frame, accepted = _assignments(path)
    outputs, judgments = [], []
    ids: dict[tuple[str, int], str] = {}
    for row in frame.drop_duplicates("HITId").to_dict("records"):
        for slot in _SLOTS:
            if slot != int(row["Input.gotcha_locs"]):
                output_id = ids[row["HITId"], slot] = f"o{len(ids) + 1:04d}"
                system = SYSTEMS[row[f"Input.review_{slot}_student_model"]]
                text = row[f"Input.review_{slot}_text"]
                outputs.append((output_id, output_id, system, text, system == "human", ""))
    for row in accepted.to_dict("records"):
        for slot in _SLOTS:
            if slot != int(row["Input.gotcha_locs"]):
                value = _VOTES[row[f"Answer.review_{slot}_judgment"]]
                output_id, annotator = ids[row["HITId"], slot], row["annotator_id"]
                judgments.append((output_id, annotator, "real_or_fake", value, row["group_id"]))

    return from_rows(outputs=outputs, judgments=judgments)


def _assignments(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all assignments, and the accepted ones with group_id and annotator_id."""
    frame, _ = csv_files.parse(path, may_lack=("Approve", "Reject"))
    answers = frame[[f"Answer.review_{n}_judgment" for n in _SLOTS]].to_numpy()
    gotcha = answers[range(len(frame)), frame["Input.gotcha_locs"].astype("int64")]
    accepted = frame[(frame["AssignmentStatus"] == "Submitted") & (gotcha == "fake")]
    hits = {hit: f"hit{n:03d}" for n, hit in enumerate(frame["HITId"].unique(), 1)}
    workers = {worker: f"w{n:03d}" for n, worker in enumerate(accepted["WorkerId"].unique(), 1)}
    return frame, accepted.assign(
        group_id=accepted["HITId"].map(hits), annotator_id=accepted["WorkerId"].map(workers)
    )
