"""Judges: what an evaluator's scores and verdicts are worth where people's word is what counts."""

from nlgbench.analysis.judges.auditing import Audit, audit
from nlgbench.analysis.judges.corrected import (
    CorrectedQuality,
    corrected_quality,
    draw_labels,
)
from nlgbench.analysis.judges.replacing import Replacement, replaces_annotators

__all__ = [
    "Audit",
    "CorrectedQuality",
    "Replacement",
    "audit",
    "corrected_quality",
    "draw_labels",
    "replaces_annotators",
]
