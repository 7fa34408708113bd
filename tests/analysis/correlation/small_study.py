"""A small simulated study, and tables of system scores, for the tests of meta-evaluation."""

import numpy as np
import pandas as pd
from scipy import stats

from nlgbench.study import Study

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


def study(n_systems=6, n_items=30, *, shared=True, n_evaluators=2, n_annotators=3, seed=0):
    """Systems of growing quality, whole judgments from 1 to 5, and noisy evaluators: tables."""
    rng = np.random.default_rng(seed)
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    quality = 2 + 2 * system / n_systems + rng.normal(size=n_items)[item] * shared
    n, keys = len(system), pd.DataFrame({"output_id": [f"o{one}" for one in range(len(system))]})
    items = [f"i{one}" if shared else f"i{s}_{one}" for s, one in zip(system, item, strict=True)]
    outputs = keys.assign(
        item_id=items,
        system=[f"s{one}" for one in system],
        text="",
        is_human=False,
        context=[f"c{one // 3}" for one in item],
    )
    own = keys.assign(dimension="quality", group_id=[f"h{one // 10}" for one in range(n)])
    judgments = [
        own.assign(annotator_id=f"w{one}", value=np.clip(np.round(quality + noise), 1, 5))
        for one, noise in enumerate(rng.normal(size=(n_annotators, n)))
    ]
    scores = [
        keys.assign(evaluator=f"e{one}", score=quality + noise * (1 + one), signature="")
        for one, noise in enumerate(rng.normal(size=(n_evaluators, n)))
    ]
    return outputs, *(pd.concat(one, ignore_index=True) for one in (scores, judgments))


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
