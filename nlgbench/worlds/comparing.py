"""Simulated reviews to train and test comparators, with the true quality of systems."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nlgbench.generators.review_systems import System, review_systems
from nlgbench.study import Study, from_tables, with_tables
from nlgbench.worlds.quality import true_quality
from nlgbench.worlds.simulated import simulate

#: Systems that differ in quality, not only in style.
SYSTEMS = (
    *("grammar_t1.0", "grammar_t0.7", "leaky_t1.0", "leaky_t0.7", "corrupted_0.1"),
    *("corrupted_0.3", "corrupted_0.5", "bigram_t1.0", "bigram_t0.7", "trigram_t1.0"),
)


def compared_reviews(*, n_outputs: int = 150, of_ratings: bool = True, seed: int = 0) -> Study:
    """Simulate reviews of ten systems, rated by five annotators, with data to train comparators.

    Contexts are empty, so that any two reviews can be compared. ``related["human"]`` has a thousand
    more human reviews, to train a language model. With `of_ratings`, also
    ``related["human_again"]``; ``related["many"]``, a thousand outputs of each system, with their
    quality (nats per token under the grammar) in ``truth["outputs"]``; ``truth["systems"]``, the
    mean over 4,000 texts; and ``truth["pairs"]`` (system_a, system_b, wins: the share of pairs that
    a wins minus that it loses).
    """
    study = simulate(
        "reviews", systems=SYSTEMS, n_outputs=n_outputs, n_annotators=5, n_truth=0, seed=seed
    )
    grammar = review_systems(["grammar_t1.0"], seed=0)
    related = {"human": _only_outputs("human", grammar, seed + 1).only(is_human=True)}
    truth = None
    if of_ratings:
        chosen = review_systems(list(SYSTEMS), seed=seed)
        again = _only_outputs("human_again", grammar, seed + 2)
        related["human_again"] = again.only(is_human=True)
        many = _only_outputs("many", chosen, seed)
        quality = true_quality(many.outputs["text"].tolist())
        outputs = many.outputs[["output_id"]].assign(quality=quality)
        related["many"] = with_tables(many, truth={"outputs": outputs})
        texts = {name: system.sample(4_000, seed=seed) for name, system in chosen.items()}
        qualities = {name: true_quality(written) for name, written in texts.items()}
        means = {name: values.mean() for name, values in qualities.items()}
        pairs = [
            (a, b, np.sign(qualities[a] - qualities[b][::-1]).mean())
            for a in SYSTEMS
            for b in SYSTEMS
        ]
        truth = {
            "systems": pd.DataFrame({"system": list(means), "quality": list(means.values())}),
            "pairs": pd.DataFrame(pairs, columns=["system_a", "system_b", "wins"]),
        }
    outputs = study.outputs.assign(context="")
    return with_tables(study, outputs=outputs, truth=truth, related=related, pristine=True)


def _only_outputs(name: str, systems: Mapping[str, System], seed: int) -> Study:
    """Simulate a thousand human reviews and a thousand of each system, without judgments."""
    size = {"n_outputs": 1_000, "n_annotators": 1, "n_truth": 0}
    study = simulate("reviews", systems=systems, **size, seed=seed)
    return from_tables(study.outputs.assign(context=""), name=name, source="simulated")
