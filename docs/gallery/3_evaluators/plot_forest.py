"""
One statistic for every evaluator
=================================

Spearman's correlation with human judgments over the outputs of twelve simulated systems.
"""

import nlgbench as nb

means = [1.1 - 0.2 * n for n in range(12)]
errors = {"fine": 1.5, "medium": 1.7, "coarse": 3.0, "noise": 8.0}
study = nb.simulate("own", means=means, errors=errors, n_items=100, seed=1)

found = nb.correlate(study, granularity="output", statistics=["spearman"])
drawing = nb.plot_forest(found)
