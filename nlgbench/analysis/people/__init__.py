"""People: how often they are right (`real_or_fake`), and how far they agree (`reliability`)."""

from nlgbench.analysis.people.real_or_fake import (
    TESTS,
    accuracy,
    annotator_accuracy,
    outputs_needed,
)
from nlgbench.analysis.people.reliability import agreement, split_half

__all__ = [
    "TESTS",
    "accuracy",
    "agreement",
    "annotator_accuracy",
    "outputs_needed",
    "split_half",
]
