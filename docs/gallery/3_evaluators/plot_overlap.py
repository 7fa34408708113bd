"""
Overlap and votes
=================

Corpus BLEU-4 of each system, and the share of votes that call its outputs real.
"""

import nlgbench as nb

study = nb.simulate("crowd", n_outputs=50, n_truth=0)
near = nb.nearest_references(study, n=10)
scores = nb.score(study, ["corpus_bleu_4"], references=near).system_scores
scores["real"] = scores["system"].map(nb.system_quality(study))
drawing = nb.plot_scatter_systems(
    scores, "score", "real", xlabel="Corpus BLEU-4", ylabel='Share of votes "real"'
)
