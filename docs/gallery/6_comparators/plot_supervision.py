"""
What a comparator learns from
=============================

Correlations over systems, marked by what the evaluator learned from.
"""

import nlgbench as nb
from nlgbench.analysis.trials import correlate_systems, split_studies

study = nb.simulate(
    "reviews",
    systems=["grammar_t1.0", "bigram_t1.0", "trigram_t1.0", "grammar_t0.7", "leaky_t1.0"],
    n_truth=0,
)
study = study.replace(outputs=study.outputs.assign(context=""))
splits = split_studies({"reviews": study}, n_splits=2, n_written=5, units=4)
variants = {"reviews": ["full model", "w/o comparison", "human alone"]}
found = nb.run_trials(splits, variants=variants, n_games=50)
systems, _ = correlate_systems(found)
drawing = nb.plot_supervision(systems)
