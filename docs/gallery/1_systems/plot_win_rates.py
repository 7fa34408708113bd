"""
Who beats whom
==============

Win rates of all pairs of systems.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=1)
rates = nb.win_rates(study, of="preferences", annotators="random")
drawing = nb.plot_win_rates(rates)
