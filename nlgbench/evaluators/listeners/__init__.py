"""Listeners, which infer what a text refers to. `neural` trains them, and needs torch."""
