"""ScratchPlot: stories of five systems with ratings, and votes on story endings.

Jin and Le (2022), Plot Writing From Pre-Trained Language Models, arXiv:2206.03021.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_rows

DIMENSIONS = ("naturalness", "interestingness", "coherence")
#: Batch -> the name of its files; the batches share no story.
BATCHES = {"1": "full-annotation-result.tsv", "2": "full-annotation-result-new.tsv"}
RAW_FILES = [f"scratchplot/{name}/{file}" for name in DIMENSIONS for file in BATCHES.values()]
ENDING_FILES = [f"scratchplot/ending/{file}" for file in BATCHES.values()]

_CHOICES = {"1": "a", "2": "b"}


def read_scratchplot(*paths: Path) -> Study:
    """Read ScratchPlot's ratings of stories as tidy tables.

    Three ratings from 1 to 5 in each of three dimensions. ``group_id`` is the batch: 1 has 50
    stories of each of four systems, 2 has 50 of ``plan-and-write`` and 50 others of
    ``scratchplot``. Batches share no story and, within a dimension, no annotator, so compare
    systems within a batch; ``plan-and-write`` meets the others only through ``scratchplot``. Each
    story is an item, because not all systems wrote from the same inputs.
    """
    frame = _read_batches(paths).rename(
        columns={"INPUT:system": "system", "OUTPUT:category": "value"}
    )
    plan = "-" + frame["INPUT:content_plan_id"].str.zfill(2)
    frame["output_id"] = "batch" + frame["group_id"] + "-" + frame["system"] + plan
    frame["text"] = frame["INPUT:story"].map(_decoded)
    outputs = frame.drop_duplicates("output_id").assign(is_human=False)
    outputs["item_id"] = outputs["output_id"]
    return from_rows(
        outputs=outputs[["output_id", "item_id", "system", "text", "is_human"]],
        judgments=frame[["output_id", "annotator_id", "dimension", "value", "group_id"]],
        settings={"scales": {name: {"min": 1.0, "max": 5.0} for name in DIMENSIONS}},
    )


def read_scratchplot_endings(*paths: Path) -> Study:
    """Read votes on 300 pairs of stories with endings; a system is a way to choose the ending."""
    frame = _read_batches(paths)
    frame["item_id"] = "batch" + frame["group_id"] + "-plan-" + frame["INPUT:content_plan_id"]
    sides = []
    for side in "ab":
        text = (frame[f"INPUT:story_{side}"] + " " + frame[f"INPUT:ending_{side}"]).map(_decoded)
        sides.append(frame[["item_id"]].assign(system=frame[f"INPUT:system_{side}"], text=text))
    outputs = pd.concat(sides, ignore_index=True)
    number = outputs.groupby(["item_id", "system", "text"], sort=False).ngroup() + 1
    outputs["output_id"] = number.map("ending{:03d}".format)
    frame["output_a"], frame["output_b"] = outputs["output_id"].to_numpy().reshape(2, -1)
    frame["choice"] = frame["OUTPUT:category"].map(_CHOICES)
    return from_rows(
        outputs=outputs.drop_duplicates("output_id").assign(is_human=False),
        preferences=frame[["output_a", "output_b", "annotator_id", "group_id", "choice"]],
    )


def _read_batches(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Read files of all batches: their columns, dimension, group_id (batch) and annotator_id."""
    tables = []
    for path in paths:
        (batch,) = (number for number, name in BATCHES.items() if name == path.name)
        table, _ = csv_files.parse(path, delimiter="\t")
        tables.append(table.assign(dimension=path.parent.name, group_id=batch))
    frame = pd.concat(tables, ignore_index=True)
    worker = pd.factorize(frame["ASSIGNMENT:worker_id"])[0] + 1
    return frame.assign(annotator_id=[f"w{n:03d}" for n in worker])


def _decoded(text: str) -> str:
    """Decode a bytes literal, as which the stories of ``progen`` were released."""
    text = text.strip()
    if text.startswith(("b'", 'b"')):
        text = ast.literal_eval(text).decode("utf-8")
    return " ".join(text.split())
