"""True quality of reviews, and a comparator that is right with a known probability."""

import numpy as np
import pandas as pd

from nlgbench.evaluators.comparator.pairs import system_pairs
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds.annotators import INVALID_NATS, typicality
from nlgbench.worlds.quality import true_comparisons, true_quality
from nlgbench.worlds.reviews import review_world

WORLD = review_world(systems=["grammar_t0.5", "bigram_t1.0"], n_outputs=60, n_truth=0, seed=1)


def test_quality_is_typicality_in_nats():
    texts = WORLD.outputs["text"].tolist()
    found = true_quality(texts)
    per_token = review_grammar().logprob(texts) / [len(text.split()) for text in texts]
    np.testing.assert_allclose(typicality(found), typicality(per_token), atol=1e-9)
    assert (found == INVALID_NATS).any() and (found > INVALID_NATS).any()
    assert true_quality([]).shape == (0,)


def test_a_known_comparator_is_right_as_often_as_it_says():
    outputs = WORLD.outputs
    pairs = system_pairs(outputs, n_per_pair=200, seed=0)
    quality = pd.Series(true_quality(outputs["text"]), index=outputs["output_id"])
    found = true_comparisons(pairs, quality, accuracy=0.7)
    gap = found["output_a"].map(quality) - found["output_b"].map(quality)
    assert (found.loc[gap > 0, "prob_a"] == 0.7).all()
    assert np.allclose(found.loc[gap < 0, "prob_b"], 0.7)
    assert (found.loc[gap == 0, "prob_tie"] == 1).all()
    swapped = pairs.rename(columns={"output_a": "output_b", "output_b": "output_a"})
    again = true_comparisons(swapped, quality, accuracy=0.7)
    np.testing.assert_allclose(again["prob_a"], found["prob_b"])
