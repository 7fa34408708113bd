"""
Decision boundary
=================

Outputs by log-probability and mean judgment; shading shows the predictions of HUSE's classifier.
"""

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0"], n_outputs=100, seed=0)

drawing = nb.plot_boundary([nb.boundary(study, system=name) for name in study.systems])
