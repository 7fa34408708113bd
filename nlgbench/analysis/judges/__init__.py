"""Tests of judges and evaluators against human votes and judgments."""

from nlgbench.analysis.judges.auditing import Audit as Audit
from nlgbench.analysis.judges.corrected import CorrectedQuality as CorrectedQuality
from nlgbench.analysis.judges.planted import sweep_biases as sweep_biases
from nlgbench.analysis.judges.replacing import Replacement as Replacement
