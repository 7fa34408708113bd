"""HANNA: human stories and those of ten systems, rated by three annotators in six dimensions.

Chhun et al. (2022), Of Human Criteria and Automatic Metrics: A Benchmark of the Evaluation of Story
Generation, https://aclanthology.org/2022.coling-1.509. The release is that of Chhun, Suchanek and
Clavel (2024), Do Language Models Enjoy Their Own Stories?, doi:10.1162/tacl_a_00689.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench.study import Study, csv_files, from_rows, schema

RAW_FILE = "hanna/hanna_metric_scores_llm.csv"
STORIES_FILE = "hanna/hanna_llm_stories.csv"

#: Column of the mean -> the criterion's code in other columns; 1 to 5, higher is better.
DIMENSIONS = {
    "Relevance": "RE",
    "Coherence": "CH",
    "Empathy": "EM",
    "Surprise": "SU",
    "Engagement": "EG",
    "Complexity": "CX",
}
_RATERS = (1, 2, 3)
# Columns of human ratings: single ones, and means of two of the three.
_RATINGS = re.compile(r"Human (Avg )?[123] ")
# Columns of scores by language models.
_JUDGES = re.compile(r"(RE|CH|EM|SU|EG|CX|AVG) [1-4]$")
# A suffix of metric names: two symbols for the metric's kind.
_MARK = re.compile(r" [\u039e\u00a4]\S$")


def read_hanna(path: Path, *, ratings: bool = False) -> Study:
    """Read HANNA's judgments and scores of stories as tidy tables, without texts.

    Judgments are means of three annotators, stored under annotator ``mean``. With `ratings`, they
    are the three ratings, each under its own annotator_id, because the file does not identify
    annotators. The release does not document the directions of its 72 metrics.
    """
    frame, _ = csv_files.parse(path)
    columns = [str(name) for name in frame if name != "Model"]
    values = {name: np.array([json.loads(cell) for cell in frame[name]]) for name in columns}
    systems = [_slug(name) for name in frame["Model"]]
    n = values[columns[0]].shape[1]
    items = [f"p{item:02d}" for item in range(1, n + 1)]
    outputs = pd.DataFrame({"item_id": items * len(systems), "system": np.repeat(systems, n)})
    ids = outputs["item_id"] + "-" + outputs["system"]
    outputs = outputs.assign(output_id=ids, is_human=outputs["system"] == "human")
    tables = []
    for name, letters in DIMENSIONS.items():
        rated = {f"Human {n} {letters}": ids + f"-{n}" for n in _RATERS}
        for column, who in rated.items() if ratings else [(name, "mean")]:
            judgments = {"output_id": ids, "annotator_id": who, "dimension": name.lower()}
            tables.append(pd.DataFrame({**judgments, "value": values[column].ravel()}))
    metrics = [
        name
        for name in columns
        if name not in DIMENSIONS and not _RATINGS.match(name) and not _JUDGES.search(name)
    ]
    scores = pd.DataFrame({"output_id": ids})
    scores = scores.assign(**{_slug(_MARK.sub("", name)): values[name].ravel() for name in metrics})
    return from_rows(
        outputs=outputs,
        judgments=pd.concat(tables),
        scores=scores.melt("output_id", var_name="evaluator", value_name="score"),
        settings={
            "scales": {name.lower(): {"min": 1.0, "max": 5.0} for name in DIMENSIONS},
            **({"annotators": "positions"} if ratings else {}),
        },
    )


def read_hanna_stories(path: Path) -> Study:
    """Read the stories of humans and of six language models on 96 prompts, their contexts."""
    frame, _ = csv_files.parse(path)
    frame["item_id"] = [f"p{n:02d}" for n in pd.factorize(frame["Prompt"])[0] + 1]
    human = frame.drop_duplicates("item_id")
    human = human.assign(Story=human["Human"], Model="human")
    stories = pd.concat([human, frame]).rename(columns={"Prompt": "context"})
    stories["system"] = stories["Model"].map(_slug)
    stories["output_id"] = stories["item_id"] + "-" + stories["system"]
    stories["text"] = stories["Story"].str.split().str.join(" ")
    stories["is_human"] = stories["Model"] == "human"
    return from_rows(outputs=stories[list(schema.COLUMNS["outputs"])])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "_", name.lower()).strip("_")
