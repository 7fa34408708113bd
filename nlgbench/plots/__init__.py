"""Figures: one function each, (data, *, ax=None, ...) -> Drawing. They draw what they are given."""
