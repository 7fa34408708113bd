"""
One coefficient, every evaluator
================================

The same as a forest plot.
"""

import nlgbench as nb

study = nb.simulate("own", n_items=60, errors={"close": 0.5, "far": 2.0, "noise": 20.0}, seed=1)

found = nb.correlate(study, granularity="output", statistics=["spearman"])
drawing = nb.plot_forest(found)
