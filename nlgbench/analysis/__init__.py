"""Analyses of study tables: a folder for each question."""
