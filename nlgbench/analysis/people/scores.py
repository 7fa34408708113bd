"""Scores in the place of judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.study import is_reversed, with_tables


def scores_as_judgments(study: Study, evaluator: str | Sequence[str]) -> tuple[Study, pd.DataFrame]:
    """Let evaluators' scores, averaged over each system's outputs of an item, be judgments.

    Also return the variance (var) and number (size) of these outputs' scores. The scale of 0/1
    scores is 0 to 1.
    """
    names = [evaluator] if isinstance(evaluator, str) else evaluator
    study.scored(names)  # refuses unknown names
    assert study.scores is not None
    scores = study.scores[study.scores["evaluator"].isin(names)].dropna(subset="score")
    if scores.empty:
        raise Unsupported("no_scores", f"{study.name} has no score by {' or '.join(names)}.")
    cells = scores.merge(study.outputs[["output_id", "item_id", "system"]], on="output_id")
    outputs = cells.groupby(["evaluator", "item_id", "system"], sort=False)
    by_item = outputs.agg(
        output_id=("output_id", "first"),
        value=("score", "mean"),
        var=("score", "var"),
        size=("score", "size"),
    ).reset_index()
    judged = by_item.assign(dimension=by_item["evaluator"], annotator_id=by_item["evaluator"])
    settings = {name: value for name, value in study.settings.items() if name == "clusters"}
    graded = {*scores.loc[~scores["score"].isin([0, 1]), "evaluator"]}
    scales: dict[str, Any] = {name: {"min": 0, "max": 1} for name in {*names} - graded}
    declared = study.settings.get("scales", {})
    settings["scales"] = scales | {name: declared[name] for name in names if name in declared}
    settings["lower_is_better"] = scores["evaluator"][is_reversed(scores)].unique().tolist()
    judgments = judged[["output_id", "value", "dimension", "annotator_id"]].assign(group_id="")
    changes: dict[str, Any] = {"judgments": judgments, "preferences": None, "settings": settings}
    return with_tables(study, **changes), by_item
