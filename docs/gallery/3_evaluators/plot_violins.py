"""
Do captions communicate?
========================

Scores of a listener and of BLEU-1 for captions of three quality levels.
"""

import nlgbench as nb

rounds = {"train": 1000, "dev": 200, "test": 200}
study = nb.simulate("colors", n_contexts=60, n_rounds=rounds, seed=0)
listeners = nb.train_listeners(study, ["literal"], epochs=4, seed=0)
scored = nb.score(study, [*listeners.values(), "bleu_1@coco"])
drawing = nb.plot_violins(scored)
