"""
What listeners believe
======================

Captions, the colors in their contexts, and the probability that listeners assign to each color.
"""

import nlgbench as nb

study = nb.simulate("colors", n_contexts=30, seed=0)
listeners = nb.train_listeners(study, ["literal", "pragmatic"], epochs=8, seed=0)
believed = nb.beliefs(study, list(listeners.values()))
drawing = nb.plot_contexts(study, believed, outputs=study.outputs["output_id"][:3])
