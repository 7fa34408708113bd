"""How good texts of the world of reviews are, and a comparator whose accuracy is known."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench import schema
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds.annotators import INVALID_NATS, Floats, n_tokens

#: What a text outside the grammar counts for, nats per token.
OUTSIDE = INVALID_NATS


def true_quality(texts: Sequence[str]) -> Floats:
    """Say how good texts are: their log-probability per token under the reference.

    Parameters
    ----------
    texts : sequence of str
        Of the world of reviews, or outside of it.

    Returns
    -------
    ndarray of shape (n,)
        Nats per token, higher is better. A text that the grammar cannot write counts as -2.85, at
        which annotators find it invalid: its log-probability is minus infinity, and one such text
        would drown all others of its system in a mean.

    Examples
    --------
    >>> from nlgbench.generators.reviews import review_grammar
    >>> good = review_grammar().sample(100, seed=0)
    >>> true_quality([*good, "zip zip"]).round(2)[[0, -1]].tolist()
    [-1.94, -2.85]
    """
    listed = list(texts)
    if not listed:
        return np.empty(0)
    logprob = review_grammar().logprob(listed)
    inside = np.isfinite(logprob)
    return np.where(inside, np.where(inside, logprob, 0) / n_tokens(listed), OUTSIDE)


def true_comparisons(
    outputs: pd.DataFrame, pairs: pd.DataFrame, *, accuracy: float = 0.8
) -> pd.DataFrame:
    """Compare outputs as a comparator does that is right with a known probability.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of a world of reviews.
    pairs : DataFrame
        Columns dataset, item_id, output_a, output_b, as from `comparator.draws.system_pairs`.
    accuracy : float
        Probability that it prefers the better text; above .5, at most 1.

    Returns
    -------
    DataFrame
        A ``comparisons`` table of comparator ``truth@ACCURACY``. Texts of equal quality tie.

    Raises
    ------
    ValueError
        When accuracy is out of range, or an output is unknown.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False, "system": "m"}
    >>> texts = review_grammar().sample(1, seed=0) + ["zip zip"]
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": t} for n, t in zip("ab", texts)])
    >>> pairs = pd.DataFrame({"dataset": "d", "item_id": "1", "output_a": ["a"], "output_b": "b"})
    >>> true_comparisons(outputs, pairs)[["comparator", "prob_a", "prob_b"]].round(2).values
    array([['truth@0.8', 0.8, 0.2]], dtype=object)
    """
    if not 0.5 < accuracy <= 1:
        raise ValueError(f"accuracy must lie above .5, and be at most 1. Got {accuracy}.")
    quality = pd.Series(true_quality(outputs["text"].tolist()), index=outputs["output_id"])
    for side in ("output_a", "output_b"):
        unknown = ~pairs[side].isin(quality.index)
        if unknown.any():
            row = int(unknown.to_numpy().argmax())
            raise ValueError(
                f"pairs, row {row + 1}: {side} {pairs[side].iloc[row]!r} is not in outputs. Draw "
                "pairs from these outputs."
            )
    gap = quality.loc[pairs["output_a"]].to_numpy() - quality.loc[pairs["output_b"]].to_numpy()
    prob_a = np.where(gap > 0, accuracy, 1 - accuracy)
    tie = gap == 0
    found = pairs[["dataset", "item_id", "output_a", "output_b"]].assign(
        comparator=f"truth@{accuracy:g}",
        prob_a=np.where(tie, 0.0, prob_a),
        prob_tie=tie.astype(float),
        prob_b=np.where(tie, 0.0, 1 - prob_a),
    )
    return schema.check(found, "comparisons")
