"""People: what they are asked, how far they agree, which system they find better, and votes."""

from nlgbench.analysis.people.annotator_models import AggregatedJudgments, aggregate_judgments
from nlgbench.analysis.people.comparing import SystemComparison, compare_systems
from nlgbench.analysis.people.real_or_fake import accuracy
from nlgbench.analysis.people.reliability import agreement, split_half
from nlgbench.analysis.people.shared_tasks import rank_systems
from nlgbench.analysis.people.votes import vote_accuracy, vote_agreement

__all__ = [
    "AggregatedJudgments",
    "SystemComparison",
    "accuracy",
    "aggregate_judgments",
    "agreement",
    "compare_systems",
    "rank_systems",
    "split_half",
    "vote_accuracy",
    "vote_agreement",
]
