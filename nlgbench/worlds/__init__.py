"""Simulated studies with known truth."""

from nlgbench.worlds.annotators import typicality_correlation as typicality_correlation
from nlgbench.worlds.annotators import typicality_table as typicality_table
from nlgbench.worlds.reviews import annotator_samples as annotator_samples
from nlgbench.worlds.reviews import theorem_1 as theorem_1
from nlgbench.worlds.sweep import greedy_systems as greedy_systems
from nlgbench.worlds.sweep import sweep_systems as sweep_systems
