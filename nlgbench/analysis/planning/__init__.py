"""Planning: how many judgments a question needs, and when enough have been bought."""

from nlgbench.analysis.planning.components import variance_components
from nlgbench.analysis.planning.own_design import coverage

__all__ = ["coverage", "variance_components"]
