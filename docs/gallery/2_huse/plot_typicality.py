"""
Likely texts and judgments
==========================

Judgments with intervals, over the log-frequency of the text.
"""

import nlgbench as nb
from nlgbench.worlds import typicality_table

drawing = nb.plot_typicality(typicality_table(n_sentences=40, seed=0))
