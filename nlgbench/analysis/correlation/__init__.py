"""Meta-evaluation: how well evaluators agree with people, and which one agrees better.

`meta_evaluation` is `correlate` from top to bottom; `comparing` holds tests between evaluators.
"""

from nlgbench.analysis.correlation.aggregations import compare_aggregations
from nlgbench.analysis.correlation.comparing import (
    compare_evaluators,
    partial_correlations,
    permutation_tests,
    significance_clusters,
    williams,
    williams_tests,
)
from nlgbench.analysis.correlation.meta_evaluation import correlate

__all__ = [
    "compare_aggregations",
    "compare_evaluators",
    "correlate",
    "partial_correlations",
    "permutation_tests",
    "significance_clusters",
    "williams",
    "williams_tests",
]
