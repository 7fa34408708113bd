"""What holds for all tests, and small studies with names."""

import os

import pandas as pd
import pytest
from hypothesis import settings

import nlgbench as nb

# How long an example takes is the machine's affair: benchmarks measure time.
settings.register_profile("any machine", deadline=None)
# What CI says of a commit is the same tomorrow; new examples are found where people work.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "any machine")


@pytest.fixture
def crowd():
    """Ten annotators judged both systems on each of twelve items, from 1 to 5."""
    rows = [(f"{item}/{system}", f"{item}", system) for item in range(12) for system in "ab"]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    who = pd.DataFrame({"annotator_id": [f"w{number}" for number in range(10)]})
    judgments = outputs.merge(who, how="cross")
    values = 1.0 + (judgments["item_id"].astype(int) + (judgments["system"] == "b")) % 5
    judgments = judgments[["output_id", "annotator_id"]].assign(value=values)
    return nb.Study(outputs, judgments)
