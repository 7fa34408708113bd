"""
Text frequency and human judgments
==================================

Mean judged typicality of 40 texts against their log-frequency per token, with 90% intervals.
"""

import nlgbench as nb
from nlgbench.worlds import typicality_table

drawing = nb.plot_typicality(typicality_table(n_sentences=40, seed=0))
