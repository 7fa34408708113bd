"""
Regret of choosing a checkpoint
===============================

Regret is the quality lost by keeping an evaluator's favorite checkpoint instead of the best one.
"""

import numpy as np

import nlgbench as nb
from nlgbench.analysis import trials
from nlgbench.worlds import searches

rng = np.random.default_rng(0)
models = searches.simulate_searches(
    n_groups=3, n_choices=4, n_sentences=100, n_checkpoints=8, n_judged=30, n_truth=60, seed=rng
)
choosers = trials.train_choosers(
    models, threshold=0.25, n_pairs=400, backend="tfidf", seed=0, pair_seed=rng
)
scores = trials.score_models(models, choosers)
kept, rates = trials.stop_training(models, choosers, scores, patience=3, n_comparisons=60, seed=rng)
found = trials.judge_choices(models, {"early_stopping": kept})
drawing = nb.plot_choices(found[found["variant"] == "tolerance=2 se"])
