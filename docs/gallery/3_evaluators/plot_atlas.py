"""
Evaluators against people
=========================

Correlations with people at every granularity, with intervals.
"""

import nlgbench as nb

study = nb.simulate("own", n_items=60, errors={"close": 0.5, "far": 2.0, "noise": 20.0}, seed=1)

drawing = nb.plot_atlas(nb.correlate(study))
