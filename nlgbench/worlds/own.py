"""A study such as one's own: judgments, votes, and scores of evaluators, of the same outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.study import Study, with_tables
from nlgbench.worlds.judgments import judgment_world
from nlgbench.worlds.votes import chances, draw_votes

#: Evaluator -> standard deviation of its error, where an output's own quality has 1.
ERRORS = {"close": 0.5, "coarse": 1.5, "blind": 8.0}
#: Davidson's nu, of ties.
NU = 0.5


def own_world(
    *,
    n_pairs: int = 2,
    errors: Mapping[str, float] = ERRORS,
    seed: int | np.random.Generator,
    **judged: Any,
) -> Study:
    """Simulate judgments (`judgment_world`), and votes and scores of the same outputs.

    Of each item `n_pairs` pairs of outputs are drawn, and three annotators vote on each, by
    Davidson's chances of the outputs' latent values. An evaluator sees those values with a normal
    error. Truth is that of `judgment_world`; outputs' values are in ``truth["outputs"]``.
    """
    rng = np.random.default_rng(seed)
    study = judgment_world(seed=rng, **judged)
    assert study.truth is not None and study.judgments is not None
    true = study.truth["outputs"]["value"].to_numpy()
    scores = [
        pd.DataFrame(
            {
                "output_id": study.outputs["output_id"],
                "evaluator": name,
                "score": true + rng.normal(0, error, len(true)),
                "signature": "",
            }
        )
        for name, error in errors.items()
    ]
    people = study.judgments["annotator_id"].unique()
    return with_tables(
        study,
        scores=pd.concat(scores, ignore_index=True),
        preferences=_votes(study.outputs, true, people, n_pairs, rng),
        name="own",
    )


def _votes(
    outputs: pd.DataFrame, true: np.ndarray, people: np.ndarray, n_pairs: int, rng: Any
) -> pd.DataFrame:
    """Let three annotators vote on pairs of outputs of an item, either shown first."""
    by_item = outputs.groupby("item_id", sort=False).indices.values()
    shown = np.array(
        [rng.choice(rows, 2, replace=False) for rows in by_item for _ in range(n_pairs)]
    )
    shown = np.unique(shown, axis=0)
    n_votes = min(3, len(people))
    who = np.argsort(rng.random((len(shown), len(people))), axis=1)[:, :n_votes].ravel()
    first, second = np.repeat(shown, n_votes, axis=0).T
    chance = chances(true[first] - true[second], NU)
    ids = outputs["output_id"].to_numpy()
    return draw_votes(ids[first], ids[second], people[who], chance, rng)
