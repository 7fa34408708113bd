"""
Would intervals hold?
=====================

How often intervals hold the truth in studies simulated on one's own design.
"""

import nlgbench as nb

study = nb.simulate("judgments", means=[0, 0.5, 1], n_items=30, seed=1)
drawing = nb.plot_coverage(nb.coverage(study, n_worlds=20, seed=0))
