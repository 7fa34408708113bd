"""
Two measures of diversity
=========================

Distinct-2 and Self-BLEU-4 of four systems with 100 outputs each.
"""

import nlgbench as nb

systems = ["grammar_t0.7", "leaky_t1.0", "trigram_t1.0", "memorizer_50"]
study = nb.simulate("reviews", systems=systems, n_truth=0)
found = nb.diversity(study, n_resamples=50)
columns = {"estimate": "", "ci_low": "_low", "ci_high": "_high"}
wide = found.pivot(index="system", columns="evaluator", values=list(columns))
wide.columns = [name + columns[end] for end, name in wide.columns]
labels = {"xlabel": "Distinct-2", "ylabel": "Self-BLEU-4"}
drawing = nb.plot_scatter_systems(wide.reset_index(), "distinct_2", "self_bleu_4", **labels)
