"""
How well evaluators agree with human judgments
==============================================

Correlations over twelve simulated systems: three statistics with their intervals.
"""

import nlgbench as nb

means = [1.1 - 0.2 * n for n in range(12)]
errors = {"fine": 1.5, "medium": 1.7, "coarse": 3.0, "noise": 8.0}
study = nb.simulate("own", means=means, errors=errors, n_items=100, seed=1)

drawing = nb.plot_atlas(nb.correlate(study))
