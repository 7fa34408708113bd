"""
Does the text communicate?
==========================

Scores of listeners and metrics for captions of three qualities.
"""

import nlgbench as nb

study = nb.simulate("colors", n_contexts=60, seed=0)
study = nb.score(study, ["bleu_1@coco", "rouge_l"])
drawing = nb.plot_violins(study)
