"""
Which systems a classifier detects
==================================

The share of each system's outputs that an SVM classifies correctly as human or machine.
"""

import nlgbench as nb

study = nb.simulate("crowd", n_outputs=50, n_truth=0)
scored = nb.score(study, ["svm_meta"], options={"svm_meta": {"n_folds": 5}}, seed=0)
found = nb.discriminator_accuracy(scored)
rows = found.assign(evaluator=found["system"])
drawing = nb.plot_forest(rows, xlabel="Accuracy of the SVM", xlim=(0, 1), line=0.5)
