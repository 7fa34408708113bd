"""HUSE: how well a system's outputs can be distinguished from human ones, with intervals."""

from nlgbench.analysis.huse.diagnosis import Boundary as Boundary
from nlgbench.analysis.huse.diagnosis import impossible_outputs as impossible_outputs
from nlgbench.analysis.huse.diagnosis import outputs_changed_by_ties as outputs_changed_by_ties
from nlgbench.analysis.huse.score import SCORES as SCORES
from nlgbench.analysis.huse.uncertainty import annotator_difference as annotator_difference
from nlgbench.analysis.huse.uncertainty import interval_widths as interval_widths
from nlgbench.analysis.huse.uncertainty import length_difference as length_difference
