"""
Real or fake?
=============

How often a crowd tells machine reviews from people's.
"""

import nlgbench as nb

study = nb.simulate("crowd", n_outputs=40, n_truth=0, seed=0)
rates = nb.accuracy(study).query("row in ['all', 'human', 'fake']")
rates = rates.rename(columns={"rule": "criterion", "row": "measure"})
rates[["estimate", "ci_low", "ci_high"]] *= 100
drawing = nb.plot_accuracy(rates)
