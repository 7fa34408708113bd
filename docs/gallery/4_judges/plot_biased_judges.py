"""
Passing the alternative annotator test while biased
===================================================

Simulated judges with planted biases: how many annotators each replaces, and what its audit finds.
"""

import nlgbench as nb
from nlgbench.analysis.judges import sweep_biases

drawing = nb.plot_biased_judges(sweep_biases(n_studies=3, seed=1))
