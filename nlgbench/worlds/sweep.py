"""Series of review systems: lower temperatures, fewer memorized texts, more corrupted texts."""

from collections.abc import Callable, Mapping
from typing import Any

from nlgbench.arrays import Seed
from nlgbench.generators.grammar import Corrupted
from nlgbench.generators.review_systems import Memorizer, System, review_systems
from nlgbench.generators.reviews import review_grammar
from nlgbench.study.checks import checked

TEMPERATURES = (1.0, 0.7, 0.5)
#: Training sentences of the models of `sweep_systems`.
N_LEARNED = 2_000
NUCLEUS = 0.95
#: Series -> its systems, starting with the human grammar, and their levels. A memorizer's level is
#: its number of texts; the grammar's is ``new``, because all its texts are new. A corrupted
#: grammar's level is the share of texts with a repeated word.
SERIES: dict[str, Mapping[str, float | str]] = {
    "temperature": {f"grammar_t{t}": t for t in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)},
    "memorized texts": {"grammar_t1.0": "new"}
    | {f"memorizer_{n}": n for n in (2_000, 500, 200, 20)},
    "corruption": {"grammar_t1.0": 0.0} | {f"corrupted_{q}": q for q in (0.1, 0.3, 0.9)},
}
_FAST: dict[str, Any] = {"epochs": 8, "units": 64, "batch_size": 64, "learning_rate": 8e-3}


@checked
def sweep_systems(seed: int) -> dict[str, System]:
    """Build systems at decreasing temperatures, with known probabilities.

    These are ``leaky_t*`` (the grammar with misspellings), ``trigram_t*``, ``memorizer_500``, which
    stands for retrieval, and, if torch is installed, ``recurrent_t*`` and ``recurrent_p0.95`` (at t
    = 1, truncated at each step to the most probable words that reach .95 of the probability). Use
    ``simulate("reviews", systems=sweep_systems)`` to train them with the world's seed.
    """
    names = [f"leaky_t{t}" for t in (1.0, 0.9, 0.7, 0.5)]
    names += [*(f"trigram_t{t}" for t in TEMPERATURES), "memorizer_500"]
    systems = review_systems(names, seed=seed)
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
def greedy_systems(_: Seed = 0) -> dict[str, System]:
    """Build the grammar at t = .1, which generates only probable texts, like beam search."""
    return {"grammar_t0.1": review_grammar().annealed(0.1)}


def series_systems(seed: int) -> dict[str, System]:
    """Build the systems of all `SERIES`, each of which departs from the human grammar in one way.

    A lower temperature favors probable texts, a memorizer repeats fewer human texts, and a
    corrupted grammar repeats words more often. For ``simulate("reviews", systems=series_systems)``.
    """
    grammar = review_grammar()
    texts = tuple(grammar.sample(N_LEARNED, seed=seed + 1))
    make: dict[str, Callable[[Any], System]] = {
        "temperature": grammar.annealed,
        "memorized texts": lambda n: Memorizer(texts[:n]),
        "corruption": lambda share: Corrupted(grammar, share),
    }
    systems: dict[str, System] = {}
    for series, levels in SERIES.items():
        for name, level in levels.items():
            if name not in systems:  # all series start with the same system
                systems[name] = make[series](level)
    return systems
