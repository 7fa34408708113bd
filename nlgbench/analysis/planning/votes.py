"""What votes on pairs of outputs vary by: items, annotators, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgbench.analysis.ratings.games import votes_of
from nlgbench.inference import Floats, cluster_jackknife
from nlgbench.study import Study


def vote_components(study: Study, *, dimension: str | None = None) -> pd.DataFrame:
    """Measure variances of votes (win 1, tie 0, loss -1) over items and annotators, and ties.

    Within two systems' votes, less their mean: the mean product of two annotators' votes on one
    item is the variance over items, that of one annotator's votes on two items the variance over
    annotators. Intervals are jackknives over items, or annotators, and cut off at 0.
    """
    votes = votes_of(study, dimension)
    turned = (votes["system_a"] > votes["system_b"]).to_numpy()
    score = votes["choice"].map({"a": 1.0, "tie": 0.0, "b": -1.0}).to_numpy()
    a, b = votes["system_a"].astype(str), votes["system_b"].astype(str)
    frame = pd.DataFrame(
        {
            "pair": a.where(~turned, b) + "\0" + b.where(~turned, a),
            "item": votes["item_a"].astype(str),
            "annotator": votes["annotator_id"].astype(str),
            "score": np.where(turned, -score, score),
        }
    ).drop_duplicates(["pair", "item", "annotator"])
    tie = (frame["score"] == 0).to_numpy(dtype=np.float64)
    frame["score"] -= frame.groupby("pair")["score"].transform("mean")
    rows: list[dict[str, Any]] = []
    for name in ("item", "annotator"):
        by = frame.groupby(["pair", name], sort=False)["score"]
        n, total = by.size().to_numpy(), by.sum().to_numpy()
        squares = (frame["score"] ** 2).groupby([frame["pair"], frame[name]], sort=False).sum()
        parts = np.column_stack([total**2 - squares.to_numpy(), n * (n - 1.0)])
        clusters = by.size().index.get_level_values(1)
        rows.append({"component": name, **cluster_jackknife(parts, clusters, _ratio)})
    parts = np.column_stack([tie, np.ones(len(tie))])
    rows.append({"component": "ties", **cluster_jackknife(parts, frame["item"], _ratio)})
    table = pd.DataFrame(rows).rename(columns={"estimate": "variance"})
    ends = ["variance", "ci_low", "ci_high"]
    table[ends] = table[ends].clip(lower=0)
    return table[["component", *ends, "reason"]]


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan))
