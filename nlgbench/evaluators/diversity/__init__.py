"""How diverse a system's outputs are, and how much they copy.

What is handed out here is in `scores`. Self-BLEU on plain lists is in `self_bleu`, overlap with a
training corpus in `training_overlap`.
"""

from nlgbench.evaluators.diversity.scores import (
    diversity_of_subsets,
    draw_equal,
    score_diversity,
    score_self_bleu,
    signature,
)

__all__ = ["diversity_of_subsets", "draw_equal", "score_diversity", "score_self_bleu", "signature"]
