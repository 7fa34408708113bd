"""Self-BLEU: how much the texts of one system repeat each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.text import ngram_counts, text_lengths

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: What a numerator of 0 counts as.
EPSILON = 0.1


def self_bleu(texts: Sequence[str], *, max_n: int = 4) -> Floats:
    """Score every text with all the others as its references.

    Parameters
    ----------
    texts : sequence of str
        One system's outputs. Tokens are what white space separates, case and punctuation kept.
    max_n : int
        Highest order of n-grams, each with the weight 1 / `max_n`.

    Returns
    -------
    ndarray of shape (n,)
        BLEU, 0 to 1; **higher is less diverse**. 0 where a text shares no token with the others,
        and for an empty text; NaN for a text that is alone.

    Raises
    ------
    ValueError
        When `texts` is one string or holds what is no string, or `max_n` is not at least 1.

    Notes
    -----
    Zhu et al. (2018, *Texygen*, doi:10.1145/3209978.3210080) take the mean over texts. It is
    sentence BLEU (Papineni et al. 2002, doi:10.3115/1073083.1073135) as NLTK computes it:

    ``BP * exp(mean over n of log(p_n))``, where ``p_n = sum over n-grams of min(count, largest
    count in any other text) / max(1, n-grams in the text)``; a numerator of 0 counts as .1
    (method 1 of Chen and Cherry 2014, doi:10.3115/v1/W14-3346), so that a text too short for an
    n-gram has ``p_n = .1``. BP is ``exp(min(0, 1 - r / c))`` with c tokens and r those of the
    other text nearest in length, the shorter of two.

    The largest count in *any other* text is the largest of all, or the second largest for the one
    text that alone has the largest. The two are found once per n-gram, so that time grows as
    m log m with m tokens, not as the square of the texts. The value grows with the number of texts:
    compare equal numbers only. Texygen's own program takes the first 500 texts, 3-grams and NLTK's
    word tokenizer, unless told otherwise.

    Examples
    --------
    >>> self_bleu(["it leaks a lot .", "it leaks a lot .", "great blender"]).round(3).tolist()
    [1.0, 1.0, 0.0]
    """
    counts = ngram_counts(texts, max_n=max_n)
    return self_bleu_of_subsets(counts, np.ones((1, len(texts)), dtype=bool))[0]


def self_bleu_of_subsets(counts: list[pd.DataFrame], members: Bools) -> Floats:
    """Compute Self-BLEU within subsets of counted texts.

    Parameters
    ----------
    counts : list of DataFrame
        From `text.ngram_counts`.
    members : ndarray of bool, shape (n_subsets, n_texts)
        Which texts each subset holds.

    Returns
    -------
    ndarray of shape (n_subsets, n_texts)
        As `self_bleu` of the subset; NaN for texts outside it.

    Examples
    --------
    >>> counts = ngram_counts(["a b c d", "a b c d", "x"], max_n=4)
    >>> self_bleu_of_subsets(counts, np.array([[True, True, False], [True, False, True]]))
    array([[ 1.,  1., nan],
           [ 0., nan,  0.]])
    """
    n_texts = members.shape[1]
    n_tokens = text_lengths(counts, n_texts)
    matches = np.stack([_matches(order, members) for order in counts])
    bleu = smoothed_bleu(matches, n_tokens, _nearest_other_length(n_tokens, members))
    return np.where(members & (members.sum(axis=1, keepdims=True) > 1), bleu, np.nan)


def smoothed_bleu(matches: Floats, n_tokens: Floats, nearest_length: Floats) -> Floats:
    """Put BLEU together from counts, as NLTK does with smoothing method 1.

    Parameters
    ----------
    matches : ndarray of shape (max_n, ..., n)
        Clipped counts of n-grams, from n = 1, of each text.
    n_tokens : ndarray of shape (n,)
        Length of each text.
    nearest_length : ndarray of shape (..., n)
        Length of the reference nearest to it.

    Returns
    -------
    ndarray of shape (..., n)
        BLEU, 0 to 1; 0 where there is no match.

    Notes
    -----
    The formula is that of `self_bleu`.

    Examples
    --------
    >>> smoothed_bleu(np.array([[2.0], [0.0]]), np.array([2.0]), np.array([2.0])).round(3)
    array([0.316])
    """
    log_precision = np.zeros(matches.shape[1:])
    for n, matched in enumerate(matches, start=1):
        possible = np.maximum(n_tokens - n + 1, 1)
        log_precision += np.log(np.where(matched > 0, matched, EPSILON) / possible)
    log_penalty = np.minimum(0, 1 - nearest_length / np.maximum(n_tokens, 1))
    # Without a token in common there is no longer n-gram in common: NLTK says 0, smoothing or not.
    return np.where(matches[0] > 0, np.exp(log_precision / len(matches) + log_penalty), 0.0)


def _matches(order: pd.DataFrame, members: Bools) -> Floats:
    """Sum min(count, largest count in any other member) over each text's n-grams of one order."""
    ngram, text = order["ngram"].to_numpy(), order["text"].to_numpy()
    if not len(order):
        return np.zeros(members.shape)
    first = np.flatnonzero(np.diff(ngram, prepend=-1))
    count = order["count"].to_numpy() * members[:, text]
    largest = count == np.maximum.reduceat(count, first, axis=1)[:, ngram]
    alone = np.add.reduceat(largest, first, axis=1, dtype=np.int64)[:, ngram] == 1
    second = np.maximum.reduceat(np.where(largest, 0, count), first, axis=1)[:, ngram]
    clipped = np.where(largest & alone, second, count)
    n_texts = members.shape[1]
    return np.stack([np.bincount(text, weights=row, minlength=n_texts) for row in clipped])


def _nearest_other_length(n_tokens: Floats, members: Bools) -> Floats:
    """Find the length nearest to each text's among the other members, the shorter of two."""
    length, place = np.unique(n_tokens, return_inverse=True)
    n_with = np.stack([np.bincount(place[row], minlength=len(length)) for row in members])
    below, above = np.full((2, len(members), len(length)), [[[-np.inf]], [[np.inf]]])
    below[:, 1:] = np.maximum.accumulate(np.where(n_with > 0, length, -np.inf), axis=1)[:, :-1]
    above[:, :-1] = np.minimum.accumulate(np.where(n_with > 0, length, np.inf)[:, ::-1], axis=1)[
        :, -2::-1
    ]
    other = np.where(length - below <= above - length, below, above)
    return np.where(n_with > 1, length, other)[:, place]
