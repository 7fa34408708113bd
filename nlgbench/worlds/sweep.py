"""Reviewers at falling temperatures, and one that says likely things alone."""

from typing import Any

import numpy as np

from nlgbench.generators.retrieval import Retrieval
from nlgbench.generators.review_systems import System, review_systems
from nlgbench.generators.reviews import review_grammar

TEMPERATURES = (1.0, 0.7, 0.5)
#: What the models of `sweep_systems` learn from: so many sentences.
N_LEARNED = 2_000
NUCLEUS = 0.95
_FAST: dict[str, Any] = {"epochs": 8, "units": 64, "batch_size": 64, "learning_rate": 8e-3}


def sweep_systems(seed: int) -> dict[str, System | Retrieval]:
    """Give systems at falling temperatures, whose every probability is known.

    ``leaky_t*`` (the grammar that misspells), ``trigram_t*``, and, where torch is installed,
    ``recurrent_t*`` and ``recurrent_p0.95`` (at t = 1, cut at each step to the likeliest words that
    hold .95 of the probability). For ``simulate("reviews", systems=sweep_systems)``: they are then
    trained with the world's seed.
    """
    names = [f"leaky_t{t}" for t in (1.0, 0.9, 0.7, 0.5)]
    systems = review_systems([*names, *(f"trigram_t{t}" for t in TEMPERATURES)], seed=seed)
    try:
        from nlgbench.generators.recurrent import fit_recurrent
    except ImportError:
        return systems
    learned_from = review_grammar().sample(N_LEARNED, seed=seed + 1)
    models, _ = fit_recurrent(learned_from, **_FAST, seed=seed)
    systems |= {f"recurrent_t{t}": models[1.0].annealed(t) for t in TEMPERATURES}
    systems[f"recurrent_p{NUCLEUS}"] = models[1.0].truncated(nucleus=NUCLEUS)
    return systems


def greedy_systems(_: int | np.random.Generator = 0) -> dict[str, System | Retrieval]:
    """Give the grammar at t = .1, which says likely things alone, as a beam search does."""
    return {"grammar_t0.1": review_grammar().annealed(0.1)}
