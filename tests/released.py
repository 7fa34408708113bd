"""Marks tests that need released files, which are fetched and never part of the project."""

import os

import pytest

from nlgbench.datasets import cache


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip where ``NLGBENCH_DATA`` names no folder with these data sets or files."""
    there = bool(os.environ.get("NLGBENCH_DATA")) and cache.available(names)
    return pytest.mark.skipif(not there, reason=f"NLGBENCH_DATA has no {', '.join(names)}")
