"""
Which evaluator agrees better with annotators
=============================================

Differences between two evaluators' correlations with human judgments, for pairs named beforehand.
"""

import nlgbench as nb

means = [1.1 - 0.2 * n for n in range(12)]
errors = {"fine": 1.5, "medium": 1.7, "coarse": 3.0, "noise": 8.0}
study = nb.simulate("own", means=means, errors=errors, n_items=100, seed=1)

pairs = [("fine", "medium"), ("fine", "coarse"), ("coarse", "noise")]
found = nb.compare_evaluators(study, evaluators=pairs, granularity="output", statistic="spearman")
found["evaluator"] = found["evaluator_a"] + " minus " + found["evaluator_b"]
drawing = nb.plot_forest(found, xlabel="Difference of Spearman's correlations", xlim=(-0.4, 0.6))
