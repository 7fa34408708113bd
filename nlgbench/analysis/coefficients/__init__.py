"""Coefficients of agreement: arrays in, numbers out, many samples at once.

What is handed out here is in `unweighted`. `weighted` takes one set of points under many
weightings; `pair_statistics` and `pairwise` hold what follows from comparing pairs.
"""

from nlgbench.analysis.coefficients.unweighted import coefficients, pair_counts

__all__ = ["coefficients", "pair_counts"]
