"""Listeners, which infer what a text refers to. The module `neural` trains them with torch."""
