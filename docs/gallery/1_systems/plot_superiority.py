"""
How often one system beats another
==================================

The probability that a judgment of one system is higher than a judgment of another.
"""

import nlgbench as nb

study = nb.simulate("judgments", means=[0, 0.2, 0.7, 1.5], n_items=60, seed=1)
compared = nb.compare_systems(study)
drawing = nb.plot_win_rates(compared)
