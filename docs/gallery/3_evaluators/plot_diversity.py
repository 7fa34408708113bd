"""
Two measures of diversity
=========================

Distinct-2 and Self-BLEU-4 of four systems with 100 outputs each.
"""

import nlgbench as nb

systems = ["grammar_t0.7", "leaky_t1.0", "trigram_t1.0", "memorizer_50"]
study = nb.simulate("reviews", systems=systems, n_truth=0)
measures = {"distinct_2": "Distinct-2", "self_bleu_4": "Self-BLEU-4"}
rows = nb.diversity(study, n_resamples=50).query("evaluator in @measures")
rows = rows.assign(data=rows["evaluator"].map(measures), evaluator=rows["system"])
drawing = nb.plot_forest(rows, xlabel="Score, 0 to 1", xlim=None)
