"""Listeners: whether a text communicates.

`train_listeners` and what it trains need torch (the extra ``neural``); the rest does not.
"""

from typing import TYPE_CHECKING, Any

from nlgbench.evaluators.listeners.listeners import (
    Calibration,
    EnsembleListener,
    Listener,
    beliefs,
    calibration,
)

if TYPE_CHECKING:
    from nlgbench.evaluators.listeners.neural import (
        ContextListener,
        LiteralListener,
        PragmaticListener,
        train_listeners,
    )

__all__ = [
    "Calibration",
    "ContextListener",
    "EnsembleListener",
    "Listener",
    "LiteralListener",
    "PragmaticListener",
    "beliefs",
    "calibration",
    "train_listeners",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.neural"), name)
