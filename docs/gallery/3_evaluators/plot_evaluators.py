"""
Agreement of evaluators with votes
==================================

Correlations of evaluators' scores with annotators' votes, over twelve systems.
"""

import nlgbench as nb

study = nb.simulate("crowd", n_outputs=50, n_truth=0)
names = ["bleu_4", "cider_d", "minus_self_bleu_4", "svm_meta", "svm_meta@majority"]
near = nb.nearest_references(study, n=10)
scored = nb.score(study, [*names, "length@sentinel"], references=near)
found = nb.correlate(scored)
drawing = nb.plot_forest(found.query("statistic == 'spearman'"))
