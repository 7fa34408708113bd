"""
Calibration of listeners
========================

How often listeners are correct, by the probability that they assign to their answer.
"""

import nlgbench as nb

study = nb.simulate("colors", n_contexts=30, seed=0)
listeners = nb.train_listeners(study, ["literal", "pragmatic"], epochs=8, seed=0)
calibrated = nb.calibration(study.related["test"], list(listeners.values()))
drawing = nb.plot_reliability(calibrated, seed=0)
