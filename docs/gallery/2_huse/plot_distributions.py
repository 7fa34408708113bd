"""
Texts beside people's texts
===========================

Measures of systems' texts beside human texts, as sampling grows cooler; no judgments are needed.
"""

import nlgbench as nb

levels = {"leaky_t0.5": 0.5, "leaky_t0.7": 0.7, "leaky_t1.0": 1.0}
study = nb.simulate("reviews", systems=list(levels), n_outputs=60, n_truth=0, seed=0)
found = nb.compare_distributions(study, n_resamples=50, seed=0)
drawing = nb.plot_distributions(found, levels=levels, xlabel="temperature")
