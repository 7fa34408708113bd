"""
Few labels and a judge
======================

Means by labels alone, by the judge alone, and corrected.
"""

import nlgbench as nb

study = nb.simulate("judges", n_items=200, judged=0.2, seed=1)
judge = study.scores["evaluator"].iloc[0]
drawing = nb.plot_corrected(nb.corrected_quality(study, evaluator=judge, sampling="random"))
