"""Judges: what an evaluator's scores and verdicts are worth where people's word is what counts."""
