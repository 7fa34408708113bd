"""People: how often they are right, and how far they agree.

What is handed out here is in `real_or_fake`. Kappa and alpha are in `reliability`, halves of the
annotators against each other in `split_half`.
"""

from nlgbench.analysis.people.real_or_fake import (
    TESTS,
    accuracy,
    annotator_accuracy,
    outputs_needed,
)

__all__ = ["TESTS", "accuracy", "annotator_accuracy", "outputs_needed"]
