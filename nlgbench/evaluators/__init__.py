"""Evaluators: metrics, discriminators, listeners and comparators that score texts."""
