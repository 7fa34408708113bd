"""Figures: one function each, (data, *, ax=None, ...) -> Axes. They draw what they are handed."""
