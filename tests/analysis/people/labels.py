"""Outputs that have a true class, and annotators whose chances of naming it are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgbench.study import Study, from_rows
from nlgbench.worlds.tables import (
    check_numbers,
    drawn,
    judgment_rows,
    numbered,
    output_rows,
    pick,
)

#: System -> chances of its outputs' classes 0, 1.
SHARES = {"sys_a": (0.8, 0.2), "sys_b": (0.65, 0.35), "sys_c": (0.5, 0.5), "sys_d": (0.35, 0.65)}


def label_world(
    *,
    systems: Mapping[str, Sequence[float]] = SHARES,
    n_items: int = 100,
    n_annotators: int = 30,
    n_votes: int = 5,
    accuracy: tuple[float, float] = (0.6, 0.95),
    spammers: float = 0.2,
    misleading: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Study:
    """Draw true classes and votes: of every output by `n_votes` annotators.

    A careful annotator names the true class with a probability drawn evenly from `accuracy`, and
    else any other alike; a spammer draws from chances of their own that look at no output. Of the
    outputs a share `misleading` shows everybody the same wrong class, so that errors are not
    independent.

    ``truth["outputs"]``: the true class. ``truth["annotators"]``: the chance of a right vote on an
    output drawn at random, and who is a spammer. ``truth["systems"]``: the share of each class.
    """
    check_numbers(n_items=n_items, n_votes=(n_votes, n_annotators))
    names, shares = list(systems), np.array([list(one) for one in systems.values()], dtype=float)
    n, n_classes = n_items * len(names), shares.shape[1]
    if n_classes < 2 or (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1):
        raise ValueError(
            f"each system has the chances of at least 2 classes, which sum to 1. Got {systems}."
        )
    rng = np.random.default_rng(seed)
    system = np.tile(np.arange(len(names)), n_items)
    truth = pick(shares[system], rng)
    careful = rng.random(n_annotators) >= spammers
    skill = rng.uniform(*accuracy, n_annotators)
    whims = rng.dirichlet(np.ones(n_classes), n_annotators)
    # annotators x shown class x vote
    right = np.eye(n_classes)
    confusion = skill[:, None, None] * right
    confusion = confusion + (1 - skill)[:, None, None] * (1 - right) / (n_classes - 1)
    confusion = np.where(careful[:, None, None], confusion, whims[:, None, :])
    misled = rng.random(n) < misleading
    wrong = (truth + rng.integers(1, n_classes, n)) % n_classes
    seen = np.where(misled, wrong, truth)
    who = drawn(n, n_annotators, n_votes, rng).ravel()
    which = np.repeat(np.arange(n), n_votes)
    vote = pick(confusion[who, seen[which]], rng)

    items = np.repeat(numbered("i", n_items), len(names))
    ids = items + "-" + np.array(names, dtype=object)[system]
    people = numbered("w", n_annotators)
    of_all = shares.mean(axis=0)
    hits = np.einsum("k,akk->a", of_all, confusion)
    misses = np.einsum("k,ajk->a", of_all, confusion * (1 - right)) / (n_classes - 1)
    systems_truth = pd.DataFrame(shares, columns=[str(one) for one in range(n_classes)])
    return from_rows(
        outputs=output_rows(ids, items, np.array(names)[system]),
        judgments=judgment_rows(ids[which], people[who], vote * 1.0, "label"),
        name="labels",
        source="simulated",
        truth={
            "outputs": pd.DataFrame({"output_id": ids, "label": truth * 1.0}),
            "annotators": pd.DataFrame(
                {
                    "annotator_id": people,
                    "accuracy": (1 - misleading) * hits + misleading * misses,
                    "spammer": ~careful,
                }
            ),
            "systems": systems_truth.assign(system=names),
        },
    )
