"""Comparisons of the distributions of systems' and human texts, without judgments."""

from nlgbench.analysis.distributions.comparing import compare_distributions as compare_distributions
