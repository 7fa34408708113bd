"""Judges: what an evaluator's scores and verdicts are worth where people's word is what counts."""

from nlgbench.analysis.judges.auditing import Audit, audit

__all__ = ["Audit", "audit"]
