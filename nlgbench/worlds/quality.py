"""How good texts of the world of reviews are, and a comparator whose accuracy is known."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds.annotators import INVALID_NATS, Floats, n_tokens

#: What a text outside the grammar counts for, nats per token.
OUTSIDE = INVALID_NATS


def true_quality(texts: Sequence[str]) -> Floats:
    """Say how good texts are: their log-probability per token (nats) under the reference.

    A text that the grammar cannot write counts as -2.85, at which annotators find it invalid: its
    log-probability is minus infinity, and one such text would drown all others of its system in a
    mean.
    """
    listed = list(texts)
    if not listed:
        return np.empty(0)
    logprob = review_grammar().logprob(listed)
    inside = np.isfinite(logprob)
    return np.where(inside, np.where(inside, logprob, 0) / n_tokens(listed), OUTSIDE)


def true_comparisons(
    pairs: pd.DataFrame, quality: pd.Series, *, accuracy: float = 0.8
) -> pd.DataFrame:
    """Compare outputs as a comparator does that prefers the better text with a known probability.

    ``comparisons`` by comparator ``truth@ACCURACY``. Texts of equal quality tie.
    """
    if not 0.5 < accuracy <= 1:
        raise ValueError(f"accuracy must lie above .5, and be at most 1. Got {accuracy}.")
    gap = quality.loc[pairs["output_a"]].to_numpy() - quality.loc[pairs["output_b"]].to_numpy()
    prob_a = np.where(gap > 0, accuracy, 1 - accuracy)
    tie = gap == 0
    return pairs[["output_a", "output_b"]].assign(
        comparator=f"truth@{accuracy:g}",
        prob_a=np.where(tie, 0.0, prob_a),
        prob_tie=tie.astype(float),
        prob_b=np.where(tie, 0.0, 1 - prob_a),
    )
