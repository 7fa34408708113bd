"""Listeners: whether a text communicates. `neural` trains them, and needs torch."""

from nlgbench.evaluators.listeners.listeners import (
    Calibration,
    EnsembleListener,
    Listener,
    beliefs,
    calibration,
)

__all__ = ["Calibration", "EnsembleListener", "Listener", "beliefs", "calibration"]
