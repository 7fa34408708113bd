"""Evaluators: what scores a text. A folder for each kind."""
