"""Judges with planted biases: whether the alternative annotator test and the audit notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgbench.analysis.judges.auditing import audit
from nlgbench.analysis.judges.replacing import replaces_annotators
from nlgbench.analysis.judges.verdicts import SENTINELS, read_verdicts, sign
from nlgbench.study import Study, from_rows
from nlgbench.study.checks import checked
from nlgbench.worlds.judges import judge_world

#: Planted biases in nats: for a text twice as long, or for the judge's own system.
LEVELS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
_WORLD: dict[str, Any] = {"n_annotators": 10, "n_votes": 5, "wrote": 2}


@checked
def sweep_biases(
    *,
    n_studies: int = 8,
    n_items: int = 250,
    epsilon: float = 0.1,
    margin: float = 0.05,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Plant biases in simulated judges, and test and audit the same verdicts.

    Parameters
    ----------
    n_studies : int
        Simulated studies of `n_items` items each, with a judge for each bias and level.
    epsilon, margin
        As in `nlgbench.replaces_annotators` and `nlgbench.audit`.

    Returns
    -------
    DataFrame
        A row per study, bias (``length`` or ``own``) and level: study, bias, planted (nats), omega,
        test (its verdict), and the audit's estimate (share of verdicts), ci_low, ci_high, verdict.

    Notes
    -----
    An annotation of the test is a choice between two outputs: one of them, or a tie. A judge whose
    verdict changes with the order of the two outputs says that they tie.
    """
    rng = np.random.default_rng(seed)
    planted = [(bias, level) for bias in ("length", "own") for level in LEVELS]
    judges = {f"{bias} {level}": {bias: level} for bias, level in planted}
    tables = []
    for number in range(n_studies):
        study = judge_world(n_items=n_items, judges=judges, seed=rng, **_WORLD)
        assert study.truth is not None
        wrote = dict(study.truth["judges"][["judge", "system"]].to_numpy().tolist())
        found = audit(study, authors=wrote, margin=margin, seed=rng).findings
        pairs = _as_pairs(study, rng)
        tested = replaces_annotators(pairs, epsilon=epsilon, agreement="accuracy").evaluators
        tested = tested.rename(columns={"verdict": "test"})[["evaluator", "omega", "test"]]
        rows = pd.DataFrame(planted, columns=["bias", "planted"]).assign(evaluator=list(judges))
        rows = rows.merge(tested, on="evaluator", validate="1:1")
        audited = found.rename(columns={"test": "bias"})
        columns = ["evaluator", "bias", "estimate", "ci_low", "ci_high", "verdict"]
        rows = rows.merge(audited[columns], on=["evaluator", "bias"], validate="1:1")
        tables.append(rows.drop(columns="evaluator").assign(study=number + 1))
    whole = pd.concat(tables, ignore_index=True)
    return whole[["study", *whole.columns.drop("study")]]


def _as_pairs(study: Study, rng: np.random.Generator) -> Study:
    """Make a study whose outputs are pairs, judged by votes and scored by verdicts."""
    data = read_verdicts(study, None, rng)
    pairs = np.array([f"pair {n}" for n in range(len(data.item))], dtype=object)
    votes = {"output_id": pairs[data.pair], "annotator_id": data.annotator.astype(str)}
    scores = [
        pd.DataFrame({"output_id": pairs, "evaluator": name, "score": sign(said.mean(axis=1))})
        for name, said in data.said.items()
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
