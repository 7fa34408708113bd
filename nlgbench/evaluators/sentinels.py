"""Sentinels: trivial evaluators, which any useful evaluator should outperform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.text import count_tokens

LENGTH, CONSTANT, SYSTEM_MEAN = SENTINELS = (
    "length@sentinel",
    "constant@sentinel",
    "system_mean@sentinel",
)


def score_sentinels(
    study: Study, names: Sequence[str], *, options: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Score outputs by their length in words, a constant, or the mean judgment of their system.

    The mean is over the system's other items, in one dimension of the judgments (``dimension`` of
    `options`; default: the quality dimension). NaN where a system has no other judged item.
    """
    frames = []
    for name in names:
        score: Any = 0.0
        signature = "the same for all outputs"
        if name == LENGTH:
            score = count_tokens(study.outputs["text"]).astype(np.float64)
            signature = "words of the text"
        elif name == SYSTEM_MEAN:
            dimension = study.dimension(options[name]["dimension"])
            score = _mean_of_others(study, dimension)
            signature = f"mean {dimension} of the system's other items"
        scores = study.outputs[["output_id"]].assign(evaluator=name, score=score)
        frames.append(scores.assign(signature=signature))
    return pd.concat(frames, ignore_index=True)


def _mean_of_others(study: Study, dimension: str) -> pd.Series:
    if len(study.systems) < 2:
        raise Unsupported(
            "one_system",
            f"{SYSTEM_MEAN} needs at least two systems, but {study.name} has "
            f"{len(study.systems)}. Remove it from the evaluators.",
        )
    judgment = study.judged(dimension).groupby("output_id")["value"].mean()
    rows = study.outputs.assign(value=study.outputs["output_id"].map(judgment))
    of_system, of_item = (rows.groupby(keys)["value"] for keys in ("system", ["system", "item_id"]))
    n_others = of_system.transform("count") - of_item.transform("count")
    above = of_system.transform("sum") - of_item.transform("sum")
    return above / n_others.where(n_others > 0)
