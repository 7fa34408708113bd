"""Discriminators: classifiers that tell human from machine texts.

What is handed out here is in `scores`. Folds are in `out_of_fold`, the classifiers in `shallow` and
`neural`.
"""

from nlgbench.evaluators.discriminators.scores import discriminator_accuracy, score_discriminators

__all__ = ["discriminator_accuracy", "score_discriminators"]
