"""
What a comparator learns from
=============================

Correlations over systems, marked by what the evaluator learned from.
"""

import nlgbench as nb
from nlgbench.analysis.trials import correlate_systems

study = nb.simulate(
    "reviews",
    systems=["grammar_t1.0", "bigram_t1.0", "trigram_t1.0", "grammar_t0.7", "leaky_t1.0"],
    n_truth=0,
)
study = study.replace(outputs=study.outputs.assign(context=""))
found = nb.run_trials(
    {"reviews": study},
    variants={"reviews": ["full model", "w/o comparison", "human alone"]},
    n_splits=2,
    n_games=50,
    n_jobs=1,
    workshop={"n": 5, "units": 4},
)
systems, _ = correlate_systems(found)
drawing = nb.plot_supervision(systems)
