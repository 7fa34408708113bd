"""The comparative evaluator: which of two texts is better, or is it a tie.

`splits` holds texts out, `pairs` says which texts meet, `comparators` learns and compares,
`encoder` is what it may read texts with, and `regressor` predicts judgments beside it.
"""

from nlgbench.evaluators.comparator.comparators import Comparator, compare_texts, train_comparator
from nlgbench.evaluators.comparator.pairs import supervise
from nlgbench.evaluators.comparator.splits import split

__all__ = [
    "Comparator",
    "compare_texts",
    "split",
    "supervise",
    "train_comparator",
]
