"""
Which system beats which
========================

Win rates of all pairs of systems, in percent; ties count half.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=1)
rates = nb.win_rates(study)
drawing = nb.plot_win_rates(rates)
