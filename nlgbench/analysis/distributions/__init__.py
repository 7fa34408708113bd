"""Distributions of texts: how systems' texts lie beside people's, without any judgment."""

from nlgbench.analysis.distributions.comparing import compare_distributions as compare_distributions
