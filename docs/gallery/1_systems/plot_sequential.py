"""
Stop when it is decided
=======================

Evidence against equality after each block of votes, valid at every look.
"""

import nlgbench as nb

study = nb.simulate("votes", systems={"new": 1.0, "old": 0.0}, n_pairs=1, seed=0)
drawing = nb.plot_sequential(nb.sequential(study, block="item"))
