"""Metrics: how much of an output's wording its references share.

What is handed out here is in `scores`. Each metric on plain lists is in its own room; references
are made in `references`.
"""

from nlgbench.evaluators.overlap.scores import (
    BLEUS,
    DEFAULT,
    METRICS,
    mean_of,
    score_overlap,
    score_systems,
)

__all__ = ["BLEUS", "DEFAULT", "METRICS", "mean_of", "score_overlap", "score_systems"]
