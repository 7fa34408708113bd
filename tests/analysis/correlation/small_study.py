"""A small simulated study, and tables of system scores, for the tests of meta-evaluation."""

import numpy as np
import pandas as pd

from nlgbench.study import Study


def study(n_systems=6, n_items=30, *, shared=True, n_evaluators=2, n_annotators=3, seed=0):
    """Systems of growing quality, whole judgments from 1 to 5, and noisy evaluators: tables."""
    rng = np.random.default_rng(seed)
    system = np.repeat(np.arange(n_systems), n_items)
    item = np.tile(np.arange(n_items), n_systems)
    quality = 2 + 2 * system / n_systems + rng.normal(size=n_items)[item] * shared
    n, numbers = len(system), list(zip(system, item, strict=True))
    outputs = pd.DataFrame(
        {
            "output_id": [f"o{number}" for number in range(n)],
            "item_id": [f"i{one}" if shared else f"i{s}_{one}" for s, one in numbers],
            "system": [f"s{one}" for one in system],
            "text": "",
            "is_human": False,
            "context": [f"c{one // 3}" for one in item],
        }
    )
    keys = outputs[["output_id"]]
    judgments = pd.concat(
        keys.assign(
            annotator_id=f"w{number}",
            dimension="quality",
            value=np.clip(np.round(quality + rng.normal(size=n)), 1, 5),
            group_id=[f"h{one // 10}" for one in range(n)],
        )
        for number in range(n_annotators)
    )
    scores = pd.concat(
        keys.assign(
            evaluator=f"e{number}",
            score=quality + rng.normal(size=n) * (1 + number),
            signature="",
        )
        for number in range(n_evaluators)
    )
    return outputs, scores.reset_index(drop=True), judgments.reset_index(drop=True)


def made(outputs, scores, judgments, **parts):
    """Make a Study of such tables."""
    return Study(outputs, judgments, scores=scores, **parts)


def table(name, scores, systems=None):
    """Build a table system_scores of one evaluator."""
    systems = systems or [f"s{number}" for number in range(len(scores))]
    rows = {"system": systems, "evaluator": name, "score": scores, "signature": ""}
    return pd.DataFrame(rows)


def alone(system_scores):
    """Make a Study of which scores of systems are all there is."""
    systems = system_scores["system"].unique()
    outputs = pd.DataFrame({"output_id": systems, "item_id": "i", "system": systems})
    return Study(outputs, system_scores=system_scores)
