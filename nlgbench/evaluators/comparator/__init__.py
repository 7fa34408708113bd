"""The comparative evaluator: which of two texts is better, or is it a tie.

What is handed out here is in `training`. Pairs to learn from are in `pairs` and `draws`, texts held
out in `splits`, an encoder in `encoder`; a trained one is asked in `comparisons`.
"""

from nlgbench.evaluators.comparator.training import Comparator, train_comparator

__all__ = ["Comparator", "train_comparator"]
