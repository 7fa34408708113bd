"""Meta-evaluation: how well evaluators agree with people, and which one agrees better.

`correlations` is `correlate` from top to bottom; `comparing` holds tests between evaluators;
`pooling` asks many studies at once.
"""

from nlgbench.analysis.correlation.comparing import (
    compare_evaluators,
    partial_correlations,
    williams,
    williams_tests,
)
from nlgbench.analysis.correlation.correlations import correlate
from nlgbench.analysis.correlation.pooling import (
    PooledCorrelations,
    compare_with_length,
    correlate_studies,
    pool_correlations,
)

__all__ = [
    "PooledCorrelations",
    "compare_evaluators",
    "compare_with_length",
    "correlate",
    "correlate_studies",
    "partial_correlations",
    "pool_correlations",
    "williams",
    "williams_tests",
]
