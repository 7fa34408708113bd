"""
Two answers to one question
===========================

Printed correlations of evaluators with people, before and after labels change.
"""

import nlgbench as nb
from nlgbench.papers import judge_the_judges

drawing = nb.plot_flip(judge_the_judges.flips(), xlabel="Spearman's correlation (printed)")
