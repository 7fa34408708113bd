"""Figures: one function each, (data, *, ax=None, ...) -> Drawing. Analyses compute the data."""
