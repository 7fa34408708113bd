"""HUSE: how well a system's outputs can be distinguished from human ones, with intervals."""

from nlgbench.analysis.huse.diagnosis import (
    Boundary,
    boundary,
    failures,
    impossible_outputs,
    moved_votes,
    multiverse,
)
from nlgbench.analysis.huse.score import SCORES, huse
from nlgbench.analysis.huse.uncertainty import (
    annotator_difference,
    interval_widths,
    length_difference,
    permutation_test,
    stability,
)

__all__ = [
    "SCORES",
    "Boundary",
    "annotator_difference",
    "boundary",
    "failures",
    "huse",
    "impossible_outputs",
    "interval_widths",
    "length_difference",
    "moved_votes",
    "multiverse",
    "permutation_test",
    "stability",
]
