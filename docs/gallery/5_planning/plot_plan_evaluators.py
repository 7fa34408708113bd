"""
How many systems do you need?
=============================

The power to distinguish two evaluators by their correlations with human judgments over systems.
"""

import nlgbench as nb

# Correlations of two evaluators with human judgments, and with each other.
plan = nb.plan_correlations(
    (0.9, 0.6, 0.6), n_systems=(8, 12, 20, 40), n_simulations=200, power=0.9
)
drawing = nb.plot_plan(plan)
