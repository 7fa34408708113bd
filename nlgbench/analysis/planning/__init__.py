"""Planning: how many judgments a question needs, and when enough have been bought."""

from nlgbench.analysis.planning.components import variance_components

__all__ = ["variance_components"]
