"""
Systems by two scores
=====================

Systems by the diversity of their words and the likeness of their outputs.
"""

import nlgbench as nb

study = nb.simulate("reviews", systems=["grammar_t0.7", "leaky_t1.0", "trigram_t1.0"], n_truth=0)
found = nb.diversity(study, n_resamples=50)
wide = found.pivot(index="system", columns="evaluator", values="estimate").reset_index()
drawing = nb.plot_scatter_systems(
    wide, "distinct_2", "self_bleu_4", xlabel="Distinct-2", ylabel="Self-BLEU-4"
)
