"""Simulated studies whose truth is known."""

from nlgbench.worlds.annotators import typicality_correlation, typicality_table

__all__ = ["typicality_correlation", "typicality_table"]
