"""Evaluators: what scores a text."""
