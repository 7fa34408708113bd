"""USR: responses in Topical-Chat and Persona-Chat, rated by three annotators in six dimensions.

Mehri and Eskenazi (2020), USR: An Unsupervised and Reference Free Evaluation Metric for Dialog
Generation, doi:10.18653/v1/2020.acl-main.64.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgbench.study import Study, from_rows

#: Data set -> its file.
RAW_FILES = {
    "usr-topical-chat": "usr/usr_topical_chat.json",
    "usr-persona-chat": "usr/usr_percona_chat.json",
}

#: Name in the release -> system; the first two are human.
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

#: Name in the release -> lowest and highest rating, from the paper.
_SCALES = {
    "Understandable": (0.0, 1.0),
    "Natural": (1.0, 3.0),
    "Maintains Context": (1.0, 3.0),
    "Engaging": (1.0, 3.0),
    "Uses Knowledge": (0.0, 1.0),
    "Overall": (1.0, 5.0),
}
#: Name in the release -> dimension.
DIMENSIONS = {name: name.lower().replace(" ", "_") for name in _SCALES}


def read_usr(path: Path) -> Study:
    """Read one of USR's two data sets as tidy tables.

    Each output has three judgments in each of six dimensions (`DIMENSIONS`); higher is better.
    Annotators are ``w001``, ... in order of first appearance, so equal names in the two data sets
    may be different annotators.
    """
    outputs, judgments = [], []
    workers: dict[str, str] = {}
    for number, item in enumerate(json.loads(path.read_text(encoding="utf-8")), 1):
        item_id = f"c{number:02d}"
        context = item["context"].strip()
        names = [workers.setdefault(w, f"w{len(workers) + 1:03d}") for w in item["annotators"]]
        for response in item["responses"]:
            system = SYSTEMS[response["model"]]
            output_id = f"{item_id}-{system}"
            text = response["response"].strip()
            human = system.startswith("human")
            outputs.append((output_id, item_id, system, text, human, context))
            judgments += [
                (output_id, who, dimension, value, "")
                for name, dimension in DIMENSIONS.items()
                for who, value in zip(names, response[name], strict=True)
            ]
    scales = {DIMENSIONS[name]: {"min": low, "max": high} for name, (low, high) in _SCALES.items()}
    return from_rows(outputs=outputs, judgments=judgments, settings={"scales": scales})
