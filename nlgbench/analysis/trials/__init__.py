"""Trials of evaluators: what they say of held-out outputs and systems, and what they choose.

`running` trains and scores, `correlating` sets systems beside people, `choosing` lets evaluators
choose models.
"""

from nlgbench.analysis.trials.choosing import (
    choices,
    choose,
    count_stops,
    finalists,
    judge_choices,
    one_training,
    rate_searches,
    score_models,
    stop_training,
    train_choosers,
    win_and_loss,
)
from nlgbench.analysis.trials.correlating import (
    compare_outputs,
    correlate_outputs,
    correlate_systems,
    correlate_trials,
    system_quality,
)
from nlgbench.analysis.trials.running import (
    Trials,
    checkpoints,
    leave_one_out,
    run_trials,
    split_by,
)
from nlgbench.analysis.trials.truth import true_checkpoints, true_order

__all__ = [
    "Trials",
    "checkpoints",
    "choices",
    "choose",
    "compare_outputs",
    "correlate_outputs",
    "correlate_systems",
    "correlate_trials",
    "count_stops",
    "finalists",
    "judge_choices",
    "leave_one_out",
    "one_training",
    "rate_searches",
    "run_trials",
    "score_models",
    "split_by",
    "stop_training",
    "system_quality",
    "train_choosers",
    "true_checkpoints",
    "true_order",
    "win_and_loss",
]
