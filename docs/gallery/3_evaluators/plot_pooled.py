"""
One evaluator in many studies
=============================

Correlations in eight simulated studies, their mean, and a prediction interval for a further study.
"""

import nlgbench as nb
from nlgbench.analysis.correlation import correlate_studies

studies = {f"study {n}": nb.simulate("own", n_items=6 + 6 * n, seed=n) for n in range(1, 9)}
found = correlate_studies(studies, evaluators=["rouge_l"])
drawing = nb.plot_pooled(nb.pool_correlations(found))
