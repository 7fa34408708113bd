"""Listeners: whether a text communicates.

What is handed out here is in `scores`. Listeners without a network are in `plain`, those to train
in `neural`; contexts are laid out in `contexts`.
"""

from nlgbench.evaluators.listeners.scores import Listener, beliefs, m_score, score_listener

__all__ = ["Listener", "beliefs", "m_score", "score_listener"]
