"""Support questions: two versions of an assistant, judged pass or fail, with some human labels.

Invented by the authors of truescore (Punjwani 2026) as an example.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_tables, schema

RAW_FILE = "judge-logs/truescore/support_segments.csv"


def read_support_segments(path: Path) -> Study:
    """Read outputs of ``v3`` and ``v4`` on 4,000 questions in three segments, without texts.

    ``judge`` scores all outputs 0 or 1. Labels of 1,500 questions are judgments of ``passed``.
    """
    questions, _ = csv_files.parse(path)
    outputs, judgments, scores = [], [], []
    for system in ("v3", "v4"):
        output_ids = questions["example_id"] + "-" + system
        keys = pd.DataFrame({"output_id": output_ids, "item_id": questions["example_id"]})
        outputs.append(keys.assign(system=system, is_human=False))
        judged = questions[f"{system}_judge_passed"]
        scores.append(keys[["output_id"]].assign(evaluator="judge", score=judged))
        labeled = keys[["output_id"]].assign(value=questions[f"{system}_human_passed"])
        judgments.append(labeled[labeled["value"] != ""])
    labels = pd.concat(judgments).assign(annotator_id="human", dimension="passed")
    segments = pd.concat([questions["segment"]] * len(outputs), ignore_index=True)
    return from_tables(
        outputs=schema.typed(pd.concat(outputs), "outputs").assign(segment=segments),
        judgments=schema.typed(labels, "judgments"),
        scores=schema.typed(pd.concat(scores), "scores"),
        settings={"extra": ["segment"]},
    )
