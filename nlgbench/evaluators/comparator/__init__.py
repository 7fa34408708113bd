"""The comparative evaluator: which of two texts is better, or is it a tie.

`splits` holds texts out, `pairs` says which texts meet, `comparators` learns and compares,
`encoder` is what it may read texts with, and `regressor` predicts judgments beside it.
"""
