"""
Biased judges can pass the alternative annotator test
=====================================================

Simulated judges with planted biases: the share of annotators replaced, and the audit's estimate.
"""

import nlgbench as nb
from nlgbench.analysis.judges import sweep_biases

drawing = nb.plot_biased_judges(sweep_biases(n_studies=3, seed=1))
