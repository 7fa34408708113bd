"""
Comparators on single outputs
=============================

Correlations of a comparator's and metrics' scores of single outputs with people's.
"""

import nlgbench as nb
from nlgbench.analysis.trials import correlate_outputs, split_studies

study = nb.simulate(
    "reviews",
    systems=["grammar_t1.0", "bigram_t1.0", "trigram_t1.0", "grammar_t0.7", "leaky_t1.0"],
    n_truth=0,
)
study = study.replace(outputs=study.outputs.assign(context=""))
splits = split_studies({"reviews": study}, n_splits=2, n_written=5, units=4)
variants = {"reviews": ["full model", "w/o comparison", "human alone"]}
found = nb.run_trials(splits, variants=variants, n_games=50)
drawing = nb.plot_single_outputs(correlate_outputs(found, n_resamples=100, seed=0))
