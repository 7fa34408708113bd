"""Trials of trained evaluators on held-out outputs and systems.

`running` trains evaluators and scores outputs, `correlating` compares scores with human judgments,
and `choosing` uses evaluators to choose models.
"""

from nlgbench.analysis.trials.choosing import (
    count_stops,
    judge_choices,
    one_training,
    rate_searches,
    score_models,
    stop_training,
    train_choosers,
)
from nlgbench.analysis.trials.correlating import (
    compare_outputs,
    correlate_outputs,
    correlate_systems,
)
from nlgbench.analysis.trials.running import split_studies
from nlgbench.analysis.trials.truth import true_checkpoints, true_order

__all__ = [
    "compare_outputs",
    "correlate_outputs",
    "correlate_systems",
    "count_stops",
    "judge_choices",
    "one_training",
    "rate_searches",
    "score_models",
    "split_studies",
    "stop_training",
    "train_choosers",
    "true_checkpoints",
    "true_order",
]
