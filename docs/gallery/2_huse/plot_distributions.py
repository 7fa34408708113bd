"""
Which measures detect a lower temperature
=========================================

Slopes of four measures on the true score L*, over systems with decreasing temperatures.
"""

import nlgbench as nb

names = ["grammar_t1.0", "grammar_t0.7", "grammar_t0.5"]
study = nb.simulate("reviews", systems=names, n_outputs=60, n_truth=200, seed=0)
measures = ["mmd_gaussian", "precision", "recall", "vendi"]
found = nb.compare_distributions(study, measures=measures, n_resamples=50, seed=0)
trends = nb.measure_trends(found, study.truth["systems"], against=["l_star"])
drawing = nb.plot_distributions(trends.assign(change="temperature"))
