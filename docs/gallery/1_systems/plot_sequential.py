"""
Stop early without false alarms
===============================

E-values and a confidence sequence after each block of votes; both are valid whenever you look.
"""

import nlgbench as nb

study = nb.simulate("votes", systems={"new": 1.0, "old": 0.0}, n_pairs=1, seed=0)
drawing = nb.plot_sequential(nb.sequential(study, block="item"))
