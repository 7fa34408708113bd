"""Evaluators of texts: overlap metrics, discriminators, listeners, comparators and others."""
