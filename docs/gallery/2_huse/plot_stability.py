"""
How many outputs and annotators HUSE needs
==========================================

Scores of subsamples of increasing size, with bands that contain 90% of these scores.
"""

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0"], n_outputs=100, seed=0)

curves = nb.stability(study, systems="leaky_t1.0", n_resamples=50)
drawing = nb.plot_stability(curves)
