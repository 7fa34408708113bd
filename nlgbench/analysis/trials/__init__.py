"""Trials of trained evaluators on held-out outputs and systems.

`running` trains evaluators and scores outputs, `correlating` compares scores with human judgments,
and `choosing` uses evaluators to choose models.
"""

from nlgbench.analysis.trials.choosing import count_stops as count_stops
from nlgbench.analysis.trials.choosing import judge_choices as judge_choices
from nlgbench.analysis.trials.choosing import one_training as one_training
from nlgbench.analysis.trials.choosing import rate_searches as rate_searches
from nlgbench.analysis.trials.choosing import score_models as score_models
from nlgbench.analysis.trials.choosing import stop_training as stop_training
from nlgbench.analysis.trials.choosing import train_choosers as train_choosers
from nlgbench.analysis.trials.correlating import compare_outputs as compare_outputs
from nlgbench.analysis.trials.correlating import correlate_outputs as correlate_outputs
from nlgbench.analysis.trials.correlating import correlate_systems as correlate_systems
from nlgbench.analysis.trials.labels import label_curve as label_curve
from nlgbench.analysis.trials.running import split_studies as split_studies
from nlgbench.analysis.trials.truth import true_checkpoints as true_checkpoints
from nlgbench.analysis.trials.truth import true_order as true_order
