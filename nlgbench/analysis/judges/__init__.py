"""Judges: what an evaluator's scores and verdicts are worth where people's word is what counts."""

from nlgbench.analysis.judges.auditing import Audit, audit

__all__ = ["Audit", "audit"]
from nlgbench.analysis.judges.corrected import CorrectedQuality, corrected_quality
from nlgbench.analysis.judges.shares import prevalence

__all__ = ["CorrectedQuality", "corrected_quality", "prevalence"]
from nlgbench.analysis.judges.replacing import Replacement, replaces_annotators

__all__ = ["Replacement", "replaces_annotators"]
