"""
How often one system beats another
==================================

The probability that a judgment of the row's system is better than one of the column's system.
"""

import nlgbench as nb

study = nb.simulate("judgments", means=[0, 0.2, 0.7, 1.5], n_items=60, seed=1)
compared = nb.compare_systems(study)
drawing = nb.plot_win_rates(compared)
