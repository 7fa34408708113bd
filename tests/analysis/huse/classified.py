"""Small studies of HUSE, their scores, and what the classifier says of each output."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.huse.score import chosen_systems, compare, outputs_of

RELEASED_FILE = Path(os.environ.get("NLGBENCH_DATA", ""), "huse/summarization_raw_outputs.csv")
RELEASED = pytest.mark.skipif(
    not RELEASED_FILE.is_file(), reason="NLGBENCH_DATA names no folder with the HUSE release"
)


def classified(study, systems=None, **options):
    parts = [outputs_of(compare(study, one, **options)) for one in chosen_systems(study, systems)]
    return pd.concat(parts, ignore_index=True)


def scored(study, **options):
    """The three scores of a system."""
    return nb.huse(study, n_resamples=0, **options).set_index("score")["estimate"]


def study_of(logprob_per_token, values, is_human):
    """One system's outputs of four tokens, `values` holding a row of judgments for each."""
    values = np.asarray(values, dtype=float).reshape(len(is_human), -1)
    n, m = values.shape
    outputs = pd.DataFrame({"output_id": [f"o{k:03d}" for k in range(n)], "is_human": is_human})
    outputs["item_id"] = [f"c{k // 2:03d}" for k in range(n)]
    outputs["system"] = np.where(is_human, "human", "lstm")
    outputs["text"], outputs["context"] = [f"text {k}" for k in range(n)], "context"
    logprobs = outputs[["output_id"]].assign(model="lstm", n_tokens=4)
    logprobs["logprob"] = np.asarray(logprob_per_token, dtype=float) * 4
    judgments = pd.DataFrame({"output_id": np.repeat(outputs["output_id"].to_numpy(), m)})
    judgments["annotator_id"] = np.tile([f"w{k}" for k in range(m)], n)
    judgments = judgments.assign(dimension="typicality", value=values.ravel(), group_id="")
    return nb.Study(outputs, judgments, logprobs=logprobs, name="d")


def random_study(seed, n=40, n_human=20):
    rng = np.random.default_rng(seed)
    is_human = rng.permutation(np.arange(n) < n_human)
    logprob, values = -rng.integers(1, 6, size=n), rng.integers(1, 7, size=(n, 3))
    logprob[:2], values[0], values[1] = [-1, -5], 1, 6  # never constant
    return study_of(logprob, values, is_human)
