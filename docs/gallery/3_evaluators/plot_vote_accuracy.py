"""
Evaluators that predict votes
=============================

The share of votes that each evaluator, or another annotator ("Human"), predicts correctly.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=0)
found = nb.vote_accuracy(study)
rows = found.query("against == 'votes' and measure == 'accuracy_decided'")
drawing = nb.plot_forest(rows, xlabel="Share of votes predicted", xlim=(0, 1), line=0.5)
