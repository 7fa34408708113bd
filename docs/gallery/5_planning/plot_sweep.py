"""
One parameter, many runs
========================

A score against a parameter of the runs that found it, as `plot_sweep` reads it from `sweep.csv`.
"""

import pandas as pd

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0"], n_outputs=100, seed=0)
runs = []
for n_neighbors in (4, 8, 16, 32):
    found = nb.huse(study, n_neighbors=n_neighbors, n_resamples=100, seed=0)
    found = found[found["score"] == "huse"].assign(param_n_neighbors=str(n_neighbors))
    runs.append(found.assign(quantity="simulated/reviews/huse", column="huse", row=found["system"]))
drawing = nb.plot_sweep(pd.concat(runs), "n_neighbors", "huse", hue="row")
