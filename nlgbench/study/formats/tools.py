"""What the annotation tool Potato exports."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nlgbench.study import column_names
from nlgbench.study.guessing import Guess


def potato(frame: pd.DataFrame) -> column_names.Specs:
    """Map Potato's annotated_instances.jsonl, in a folder for each annotator, or its tables."""
    if {"instance_id", "user_id"} <= set(frame):  # from version 2 on
        known = {"output_id": "instance_id", "annotator_id": "user_id"}
        measured = Guess(frame, known).free("number", "list")
        value: Any = measured
        if any(str(name).startswith("labels.") for name in frame):
            value = "labels.{dimension}.{answer}"
        elif _are_choices(frame[measured]):
            value = "{dimension}.{answer}"
        return {"judgments": {"columns": {**known, "value": value}}}
    if "instance_id" in frame:
        user = {"output_id": "instance_id", "annotator_id": "user"}
        return {"judgments": {"columns": {**user, "value": "{dimension}:::{answer}"}}}
    columns: dict[str, Any] = {"output_id": "id", "value": "label_annotations.{dimension}.{answer}"}
    return {"judgments": {"columns": columns, "constants": {"annotator_id": "{folder}"}}}


def _are_choices(frame: pd.DataFrame) -> bool:
    """Say whether columns such as flow.3 and flow.4 are one question's answers."""
    questions = (frame != "").T.groupby([name.split(".")[0] for name in frame.columns]).sum()
    several = len(questions) < len(frame.columns) and all("." in name for name in frame.columns)
    return several and bool((questions <= 1).to_numpy().all())
