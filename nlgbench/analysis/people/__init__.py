"""People: what they are asked, how far they agree, which system they find better, and votes."""

from nlgbench.analysis.people.annotator_models import AggregatedJudgments, aggregate_judgments
from nlgbench.analysis.people.comparing import SystemComparison, compare_systems
from nlgbench.analysis.people.real_or_fake import (
    accuracy,
    annotator_accuracy,
    outputs_needed,
)
from nlgbench.analysis.people.reliability import agreement, split_half
from nlgbench.analysis.people.shared_tasks import rank_systems
from nlgbench.analysis.people.votes import vote_accuracy, vote_agreement, vote_position

__all__ = [
    "AggregatedJudgments",
    "SystemComparison",
    "accuracy",
    "aggregate_judgments",
    "agreement",
    "annotator_accuracy",
    "compare_systems",
    "outputs_needed",
    "rank_systems",
    "split_half",
    "vote_accuracy",
    "vote_agreement",
    "vote_position",
]
