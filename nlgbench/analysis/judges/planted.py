"""Judges with planted biases: whether the alternative annotator test and the audit detect them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from nlgbench.analysis.judges.auditing import audit
from nlgbench.analysis.judges.replacing import replaces_annotators
from nlgbench.analysis.judges.verdicts import SENTINELS, read_verdicts, sign
from nlgbench.arrays import Seed
from nlgbench.study import Study, from_rows
from nlgbench.study.checks import checked
from nlgbench.worlds.judges import judge_world

#: Planted biases in nats: for a text twice as long, or for the judge's own system.
LEVELS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
_WORLD: dict[str, Any] = {"n_annotators": 10, "n_votes": 5, "wrote": 2}


@checked
def sweep_biases(
    *, n_studies: int = 8, n_items: int = 250, epsilon: float = 0.1, seed: Seed = 0
) -> pd.DataFrame:
    """Plant biases in simulated judges, and record whether a test and an audit detect them.

    Each of `n_studies` simulated studies has ten annotators, and a judge for each bias and level.
    The table has a row per study, bias (``length`` or ``own``), level (``planted``, in nats) and
    method: ``test`` (`nlgbench.replaces_annotators`; its estimate is omega) or ``audit``
    (`nlgbench.audit`; its estimate is a share of verdicts), with the verdict and whether it detects
    the bias (``noticed``). In the test, a verdict that changes with the order counts as a tie.
    """
    rng = np.random.default_rng(seed)
    planted = pd.DataFrame(product(("length", "own"), LEVELS), columns=["bias", "planted"])
    planted["evaluator"] = planted["bias"] + " " + planted["planted"].astype(str)
    judges = {name: {bias: level} for bias, level, name in planted.to_numpy().tolist()}
    tables = []
    for number in range(1, n_studies + 1):
        study = judge_world(n_items=n_items, judges=judges, seed=rng, **_WORLD)
        wrote = dict.fromkeys(judges, str(study.systems[_WORLD["wrote"]]))
        pairs = _as_pairs(study, rng)
        replacement = replaces_annotators(pairs, epsilon=epsilon, agreement="accuracy").evaluators
        # Each judge stands for a study of its own, so there is nothing to adjust over judges.
        passed = replacement["omega"] >= 0.5
        replacement = replacement.assign(estimate=replacement["omega"], noticed=~passed)
        replacement["verdict"] = np.where(passed, "replaces", "not shown")
        findings = audit(study, authors=wrote, seed=rng).findings
        findings = findings.assign(noticed=findings["verdict"].isin(["found", "significant"]))
        columns = ["evaluator", "estimate", "verdict", "noticed"]
        by_audit = findings.rename(columns={"test": "bias"})[["bias", *columns]]
        for method, table in (("test", replacement[columns]), ("audit", by_audit)):
            tables.append(planted.merge(table).assign(method=method, study=number))
    return pd.concat(tables, ignore_index=True).drop(columns="evaluator")


def _as_pairs(study: Study, rng: Generator) -> Study:
    """Make a study whose outputs are pairs, judged by votes and scored by verdicts."""
    data = read_verdicts(study, None, rng)
    pairs = np.array([f"pair {n}" for n in range(len(data.item))], dtype=object)
    votes = {"output_id": pairs[data.pair], "annotator_id": data.annotator.astype(str)}
    scores = [
        pd.DataFrame({"output_id": pairs, "evaluator": name, "score": sign(verdicts.mean(axis=1))})
        for name, verdicts in data.verdicts.items()
        if name not in SENTINELS
    ]
    items = data.item[:, 0].astype(str)
    return from_rows(
        outputs=pd.DataFrame({"output_id": pairs, "item_id": items, "system": "pair", "text": ""}),
        judgments=pd.DataFrame(votes).assign(dimension="choice", group_id="", value=2 * data.vote),
        scores=pd.concat(scores, ignore_index=True),
        name="pairs",
        source=study.source,
        settings={"quality": "choice"},
    )
