"""Meta-evaluation: how well evaluators agree with human judgments, and which agrees better.

`correlations` contains `correlate`, `comparing` the tests between evaluators, and `pooling` the
analyses of many studies.
"""

from nlgbench.analysis.correlation.comparing import compare_evaluators as compare_evaluators
from nlgbench.analysis.correlation.comparing import partial_correlations as partial_correlations
from nlgbench.analysis.correlation.comparing import williams as williams
from nlgbench.analysis.correlation.comparing import williams_tests as williams_tests
from nlgbench.analysis.correlation.correlations import correlate as correlate
from nlgbench.analysis.correlation.correlations import (
    correlate_with_scores as correlate_with_scores,
)
from nlgbench.analysis.correlation.pooling import PooledCorrelations as PooledCorrelations
from nlgbench.analysis.correlation.pooling import compare_with_length as compare_with_length
from nlgbench.analysis.correlation.pooling import correlate_studies as correlate_studies
