"""
One evaluator in many studies
=============================

Correlations with people in eight simulated studies, and what they say together.
"""

import nlgbench as nb
from nlgbench.analysis.correlation import correlate_studies

worlds = {f"world {n}": nb.simulate("own", n_items=12 + 6 * n, seed=n) for n in range(8)}
found = correlate_studies(worlds, evaluators=["rouge_l"])
drawing = nb.plot_pooled(nb.pool_correlations(found))
