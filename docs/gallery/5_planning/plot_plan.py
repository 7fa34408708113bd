"""
How many judgments
==================

The power of planned studies.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_items=60, seed=1)
plan = nb.plan_study(study, difference=0.3)
drawing = nb.plot_plan(plan)
