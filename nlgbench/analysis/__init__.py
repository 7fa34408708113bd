"""Analyses of study tables; each module is imported by name."""
