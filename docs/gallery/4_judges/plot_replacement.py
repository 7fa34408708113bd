"""
May it replace annotators?
==========================

For how many annotators an evaluator does as well, by the price of a human.
"""

import nlgbench as nb

study = nb.simulate("own", n_annotators=4, seed=1)
drawing = nb.plot_replacement(nb.replaces_annotators(study, epsilon=0.1, agreement="rmse"))
