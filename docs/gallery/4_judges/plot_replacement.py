"""
Can an evaluator replace annotators?
====================================

The share of annotators that each evaluator could replace, as a function of the margin epsilon.
"""

import nlgbench as nb

study = nb.simulate("own", n_annotators=4, seed=1)
drawing = nb.plot_replacement(nb.replaces_annotators(study, epsilon=0.1, agreement="rmse"))
