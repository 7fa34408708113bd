"""Listeners: whether a text communicates. `neural` trains them, and needs torch."""
