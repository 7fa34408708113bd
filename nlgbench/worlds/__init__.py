"""Simulated studies with known truth."""

from nlgbench.worlds.annotators import typicality_correlation, typicality_table
from nlgbench.worlds.reviews import annotator_samples, theorem_1
from nlgbench.worlds.sweep import greedy_systems, sweep_systems

__all__ = [
    "annotator_samples",
    "greedy_systems",
    "sweep_systems",
    "theorem_1",
    "typicality_correlation",
    "typicality_table",
]
