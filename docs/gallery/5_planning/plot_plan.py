"""
How many judgments do you need?
===============================

The power to detect a difference between two systems, with variances from a simulated pilot study.
"""

import nlgbench as nb

pilot = nb.simulate("judgments", n_items=60, seed=1)
prices = {"judgment": 0.1, "item": 1, "annotator": 5}
plan = nb.plan_study(
    pilot, difference=0.3, design="blocked", n_items=(50, 100, 200, 400), prices=prices, power=0.8
)
drawing = nb.plot_plan(plan)
