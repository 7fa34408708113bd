"""
How many texts a measure needs
==============================

How often a permutation test finds a system's texts different, in simulated studies of three sizes.
"""

import numpy as np
import pandas as pd

import nlgbench as nb

rows = []
for n in (20, 40, 80):
    found = []
    for seed in range(12):
        study = nb.simulate("reviews", systems=["leaky_t0.7"], n_outputs=n, n_truth=0, seed=seed)
        found.append(nb.compare_distributions(study, n_resamples=50, seed=seed))
    tests = pd.concat(found).dropna(subset=["p_value"])
    for measure, p_values in tests.groupby("measure")["p_value"]:
        power = float((p_values <= 0.05).mean())
        se = float(np.sqrt(power * (1 - power) / len(p_values)))
        rows.append({"measure": measure, "n": n, "power": power, "se": se})
drawing = nb.plot_power(pd.DataFrame(rows))
