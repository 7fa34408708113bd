"""
Which system beats which
========================

Win rates of all pairs of systems, in percent; a tie counts as half a win.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=1)
rates = nb.win_rates(study)
drawing = nb.plot_win_rates(rates)
