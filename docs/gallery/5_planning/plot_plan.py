"""
How many judgments
==================

The power of planned studies.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_items=60, seed=1)
plan = nb.plan_study(
    study,
    difference=0.3,
    question="means",
    annotators="random",
    design="blocked",
    n_items=[25, 50, 100, 200],
    n_annotators=[10, 20, 40],
    n_votes=3,
    prices={"judgment": 0.1, "item": 1, "annotator": 5},
    power=0.8,
)
drawing = nb.plot_plan(plan)
