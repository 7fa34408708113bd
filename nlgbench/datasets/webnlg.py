"""WebNLG+ 2020 in English: texts of 16 systems from RDF triples, and human ratings from 0 to 100.

Castro Ferreira et al. (2020), The 2020 Bilingual, Bi-Directional WebNLG+ Shared Task: Overview and
Evaluation Results (WebNLG+ 2020), https://aclanthology.org/2020.webnlg-1.7.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgbench.study import Study, from_rows

#: The system of human texts, which were not released.
HUMAN = "WebNLG-2020-reference"

#: Name in the release -> dimension; all are from 0 to 100, higher is better.
DIMENSIONS = {
    "Correctness": "correctness",
    "DataCoverage": "data_coverage",
    "Fluency": "fluency",
    "Relevance": "relevance",
    "TextStructure": "text_structure",
}


def read_webnlg(*paths: Path) -> Study:
    """Read the English human evaluation of WebNLG+ 2020 as tidy tables.

    Systems are named after their teams. Human texts are empty, because they were not released.
    ``item_id`` is the release's sample number, the line in a team's output file.
    """
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    outputs, judgments = [], []
    workers: dict[str, str] = {}
    for team in [path.stem for path in paths if path.suffix == ".json"]:
        human = team == HUMAN
        texts = files.get(f"{team}.en", "").split("\n")
        for sample, rated in json.loads(files[f"{team}.json"]).items():
            output_id = f"{sample}-{team}"
            text = "" if human else texts[int(sample) - 1].strip()
            outputs.append((output_id, sample, team, text, human, ""))
            for worker, values in rated.items():
                who = workers.setdefault(worker, f"w{len(workers) + 1:03d}")
                for key, dimension in DIMENSIONS.items():
                    judgments.append((output_id, who, dimension, values[key], ""))
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        settings={"scales": {name: {"min": 0.0, "max": 100.0} for name in DIMENSIONS.values()}},
    )
