"""
Variance components of judgments
================================

How much items, annotators and their interactions with systems contribute to the variance.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_items=60, seed=1)
drawing = nb.plot_components(nb.variance_components(study))
