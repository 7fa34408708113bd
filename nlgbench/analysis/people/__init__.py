"""People: how often they are right, how far they agree, and which system they find better."""

from nlgbench.analysis.people.comparing import SystemComparison, compare_systems
from nlgbench.analysis.people.real_or_fake import (
    TESTS,
    accuracy,
    annotator_accuracy,
    outputs_needed,
)
from nlgbench.analysis.people.reliability import agreement, split_half

__all__ = [
    "TESTS",
    "SystemComparison",
    "accuracy",
    "agreement",
    "annotator_accuracy",
    "compare_systems",
    "outputs_needed",
    "split_half",
]
