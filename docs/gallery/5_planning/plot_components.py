"""
Where the variance lies
=======================

Variance components of judgments.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_items=60, seed=1)
drawing = nb.plot_components(nb.variance_components(study))
