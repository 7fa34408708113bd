"""
Can an evaluator replace annotators?
====================================

The least margin epsilon at which each evaluator could replace half of the annotators.
"""

import nlgbench as nb

study = nb.simulate("own", n_annotators=4, seed=1)
drawing = nb.plot_replacement(nb.replaces_annotators(study, epsilon=0.1, agreement="rmse"))
