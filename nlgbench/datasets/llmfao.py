"""LLMFAO: human votes on pairs of outputs of 59 language models.

Ustalov (2023), LLMFAO: Large Language Model Feedback Analysis and Optimization. The file is from
the package evalica, which also releases results computed from it: Ustalov (2025), Reliable,
Reproducible, and Really Fast Leaderboards with Evalica, arXiv:2412.11314.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench.study import Study, csv_files, from_rows

RAW_FILE = "llmfao/llmfao.csv"

_CHOICES = {"left": "a", "right": "b", "tie": "tie"}


def read_llmfao(path: Path) -> Study:
    """Read LLMFAO's votes as preferences (the left output was shown first), without texts."""
    votes, _ = csv_files.parse(path)
    item, number = "p" + votes["prompt"], pd.factorize(votes["worker"])[0] + 1
    preferences = pd.DataFrame(
        {
            "output_a": item + "-" + votes["left"],
            "output_b": item + "-" + votes["right"],
            "annotator_id": [f"w{n:03d}" for n in number],
            "choice": votes["winner"].map(_CHOICES),
        }
    )
    sides = {"left": preferences["output_a"], "right": preferences["output_b"]}
    outputs = pd.concat(
        pd.DataFrame({"output_id": ids, "item_id": item, "system": votes[side]})
        for side, ids in sides.items()
    )
    outputs = outputs.drop_duplicates("output_id").assign(is_human=False)
    return from_rows(outputs=outputs, preferences=preferences)
