"""
Quality against diversity
=========================

HUSE-D against HUSE-Q with 95% intervals; small marks are the true scores.
"""

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0"], n_outputs=100, seed=0)

drawing = nb.plot_tradeoff(nb.huse(study), truth=study.truth["systems"])
