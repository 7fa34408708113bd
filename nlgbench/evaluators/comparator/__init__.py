"""The comparative evaluator, which predicts the better of two texts, or a tie.

`splits` holds out texts, `pairs` draws pairs, `comparators` trains and compares, `encoder` embeds
texts, and `regressor` is a baseline that predicts judgments.
"""
