"""
Few labels and a judge
======================

Mean judgments of systems, estimated from human labels, from a judge's scores, and from both.
"""

import nlgbench as nb

study = nb.simulate("judges", n_items=200, judged=0.2, seed=1)
found = nb.corrected_quality(study, evaluator="fair@score", sampling="random")
drawing = nb.plot_corrected(found)
