"""Reviews for comparators to learn from and to be judged by, with the truth of ratings beside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgbench.generators.review_systems import review_systems
from nlgbench.study import Study, straight_from, with_tables
from nlgbench.worlds.quality import true_quality
from nlgbench.worlds.simulated import simulate

#: Systems that differ in how good they write, not only in how.
SYSTEMS = (
    *("grammar_t1.0", "grammar_t0.7", "leaky_t1.0", "leaky_t0.7", "corrupted_0.1"),
    *("corrupted_0.3", "corrupted_0.5", "bigram_t1.0", "bigram_t0.7", "trigram_t1.0"),
)


def compared_reviews(*, n_outputs: int = 150, seed: int = 0) -> Study:
    """Simulate reviews of ten systems that five annotators rated, and what comparators need beside.

    Reviews answer to nothing: contexts are empty, so that any two can be compared.
    ``related["human"]`` and ``["human_again"]`` are a thousand more human reviews each, for a small
    language model to learn to write from. ``related["many"]`` are a thousand outputs of each
    system; its ``truth["outputs"]`` is the quality of each (nats per token under the grammar of
    people's reviews). ``truth["systems"]`` is the mean over 4,000 texts of each system;
    ``truth["pairs"]`` (system_a, system_b, wins) the share of such texts in which a is better than
    b's, less the share in which it is worse.
    """
    study = simulate(
        "reviews", systems=SYSTEMS, n_outputs=n_outputs, n_annotators=5, n_truth=0, seed=seed
    )
    chosen = review_systems(list(SYSTEMS), seed=seed)
    drawn = {name: true_quality(one.sample(4_000, seed=seed)) for name, one in chosen.items()}  # type: ignore[union-attr]
    many = _bare("many", systems=chosen, n_outputs=1_000, n_annotators=1, seed=seed)
    quality = true_quality(many.outputs["text"].tolist())
    many = with_tables(
        many,
        truth={"outputs": many.outputs[["output_id"]].assign(quality=quality)},
    )
    writer = review_systems(["grammar_t1.0"], seed=seed)
    human = {
        name: _bare(name, systems=writer, n_outputs=1_000, seed=seed + number).only(is_human=True)
        for number, name in enumerate(("human", "human_again"), start=1)
    }
    pairs = [
        (a, b, np.mean(drawn[a] > drawn[b][::-1]) - np.mean(drawn[a] < drawn[b][::-1]))
        for a in SYSTEMS
        for b in SYSTEMS
    ]
    means = {name: values.mean() for name, values in drawn.items()}
    made = with_tables(
        study,
        outputs=study.outputs.assign(context=""),
        truth={
            "systems": pd.DataFrame({"system": list(means), "quality": list(means.values())}),
            "pairs": pd.DataFrame(pairs, columns=["system_a", "system_b", "wins"]),
        },
        related={**human, "many": many},
    )
    return straight_from(made, study.origin)


def _bare(name: str, **world: Any) -> Study:
    """Simulate reviews, and leave out what is said of them."""
    study = simulate("reviews", n_truth=0, **world)
    outputs = study.outputs.assign(context="")
    return with_tables(
        study, name=name, outputs=outputs, judgments=None, logprobs=None, settings={}
    )
