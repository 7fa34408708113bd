"""True quality of simulated reviews, and a comparator of known accuracy."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds.annotators import INVALID_NATS, n_tokens


def true_quality(texts: Sequence[str]) -> Floats:
    """Return the quality of texts: their log-probability per token (nats) under the reference.

    A text outside the grammar counts as -2.85, which corresponds to an invalid text's typicality.
    """
    listed = list(texts)
    logprob = review_grammar().logprob(listed)
    return np.where(np.isfinite(logprob), logprob / n_tokens(listed), INVALID_NATS)


def true_comparisons(
    pairs: pd.DataFrame, quality: pd.Series, *, accuracy: float = 0.8
) -> pd.DataFrame:
    """Simulate a comparator that prefers the better text with a known probability."""
    gap = quality.loc[pairs["output_a"]].to_numpy() - quality.loc[pairs["output_b"]].to_numpy()
    comparisons = pairs[["output_a", "output_b"]].assign(comparator=f"truth@{accuracy:g}")
    comparisons["prob_tie"] = (gap == 0).astype(float)
    for side, lead in (("a", gap), ("b", -gap)):
        comparisons[f"prob_{side}"] = np.select([lead > 0, lead < 0], [accuracy, 1 - accuracy], 0.0)
    return comparisons
