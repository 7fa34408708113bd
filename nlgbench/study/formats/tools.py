"""What annotation tools export: Label Studio and Potato."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from nlgbench.study import column_names


def label_studio(frame: pd.DataFrame) -> column_names.Specs:
    """Map Label Studio's export as CSV or JSON-MIN: a row per task and annotator.

    Single choices are written as texts, but ratings and numbers as `[{"rating": 4}]`.
    """
    listed = re.compile(r'\[\{"(?:rating|number)": *(-?[\d.]+)\}\]')
    cells = {name: frame[name][frame[name].str.strip() != ""] for name in frame.columns}
    rated = [
        name for name, own in cells.items() if len(own) and own.map(listed.fullmatch).notna().all()
    ]
    if not rated:
        return column_names.ratings_spec(frame, column_names.recognized(list(frame.columns)))
    plain = frame.assign(
        **{name: frame[name].str.replace(listed, r"\1", regex=True) for name in rated}
    )
    known = column_names.recognized([name for name in frame.columns if name not in rated])
    tables = column_names.ratings_spec(plain, known)
    if "judgments" in tables:
        said = sorted({one for name in rated for one in cells[name]})
        spec = tables["judgments"]
        spec["columns"]["value"] = rated
        spec["lists"] = ["value"]
        spec["values"] = {"value": {one[1:-1]: listed.sub(r"\1", one) for one in said}}
    return tables


def potato(frame: pd.DataFrame) -> column_names.Specs:
    """Map Potato's annotated_instances.jsonl, in a folder for each annotator, or its tables."""
    if {"instance_id", "user_id"} <= set(frame):  # from version 2 on
        known = {"output_id": "instance_id", "annotator_id": "user_id"}
        measured = column_names.measured_columns(frame, known)
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
