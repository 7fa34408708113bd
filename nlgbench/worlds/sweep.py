"""Series of reviewers: at falling temperatures, of smaller memories, of more corrupted texts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nlgbench.generators.grammar import Corrupted
from nlgbench.generators.review_systems import Memorizer, System, review_systems
from nlgbench.generators.reviews import review_grammar
from nlgbench.study.checks import checked

TEMPERATURES = (1.0, 0.7, 0.5)
#: What the models of `sweep_systems` learn from: so many sentences.
N_LEARNED = 2_000
NUCLEUS = 0.95
#: Series -> its systems, from people's own grammar on, and the level of each. A memorizer's is how
#: many texts it repeats, the grammar's ``new``: every text is. A corrupted grammar's is the share
#: of texts that stutter.
SERIES: dict[str, Mapping[str, float | str]] = {
    "temperature": {f"grammar_t{t}": t for t in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)},
    "memorized texts": {"grammar_t1.0": "new"}
    | {f"memorizer_{n}": n for n in (2_000, 500, 200, 20)},
    "corruption": {"grammar_t1.0": 0.0} | {f"corrupted_{q}": q for q in (0.1, 0.3, 0.9)},
}
_FAST: dict[str, Any] = {"epochs": 8, "units": 64, "batch_size": 64, "learning_rate": 8e-3}


@checked
def sweep_systems(seed: int) -> dict[str, System]:
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


@checked
def greedy_systems(_: int | np.random.Generator = 0) -> dict[str, System]:
    """Give the grammar at t = .1, which says likely things alone, as a beam search does."""
    return {"grammar_t0.1": review_grammar().annealed(0.1)}


def series_systems(seed: int) -> dict[str, System]:
    """Give the systems of all `SERIES`, each of which leaves people's grammar in a way of its own.

    A lower temperature says likely things more often, a memorizer repeats fewer texts of people's,
    and a corrupted grammar stutters more. For ``simulate("reviews", systems=series_systems)``.
    """
    grammar = review_grammar()
    texts = tuple(grammar.sample(N_LEARNED, seed=seed + 1))
    make: dict[str, Callable[[Any], System]] = {
        "temperature": grammar.annealed,
        "memorized texts": lambda n: Memorizer(texts[:n]),
        "corruption": lambda q: Corrupted(grammar, q),
    }
    made: dict[str, System] = {}
    for series, levels in SERIES.items():
        for name, level in levels.items():
            if name not in made:  # all series begin with the same system
                made[name] = make[series](level)
    return made
