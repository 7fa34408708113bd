"""
Biased judges can pass the alternative annotator test
=====================================================

Results of the test and of the audit for simulated judges, by the size of the planted bias.
"""

import nlgbench as nb
from nlgbench.analysis.judges import sweep_biases

drawing = nb.plot_biased_judges(sweep_biases(n_studies=3, seed=1))
