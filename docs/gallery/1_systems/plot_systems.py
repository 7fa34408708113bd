"""
Systems ranked by human judgments
=================================

Adjusted mean judgments with 95% intervals, and the ranges of possible ranks.
"""

import nlgbench as nb

study = nb.simulate("judgments", means=[0, 0.2, 0.7, 1.5], n_items=60, seed=1)
compared = nb.compare_systems(study)
drawing = nb.plot_systems(compared)
