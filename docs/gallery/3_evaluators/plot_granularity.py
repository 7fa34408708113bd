"""
The granularity gap
===================

Correlations over outputs, within items and over systems, in eight simulated studies.
"""

import pandas as pd

import nlgbench as nb
from nlgbench.analysis.correlation import correlate_studies

means = [0.05 * n for n in range(12)]
sizes = range(20, 68, 6)
worlds = {f"{n} items": nb.simulate("own", means=means, n_items=n, seed=n) for n in sizes}
levels = ["output", "item", "system"]
found = [correlate_studies(worlds, evaluators=["rouge_l"], granularity=level) for level in levels]
drawing = nb.plot_granularity(nb.pool_correlations(pd.concat(found)))
