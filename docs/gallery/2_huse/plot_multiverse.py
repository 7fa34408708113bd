"""
HUSE under other analysis choices
=================================

Scores for all combinations of the number of neighbors, tie rules, scaling and length normalization.
"""

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0"], n_outputs=100, seed=0)

choices = nb.multiverse(study, systems="leaky_t1.0", n_neighbors=[8, 16, 32])
drawing = nb.plot_multiverse(choices)
