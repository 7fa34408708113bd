"""ROUGE-N and ROUGE-L: common n-grams, and the longest common subsequence of words."""

from collections.abc import Sequence
from itertools import chain
from operator import truediv
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nlgbench.evaluators.overlap.references import usable
from nlgbench.names import did_you_mean
from nlgbench.text import ngram_matrix

Floats = NDArray[np.float64]


def rouge_n(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    n: int,
    statistic: Literal["f1", "recall"] = "f1",
) -> Floats:
    """Score texts by ROUGE-N: the share of n-grams that is common.

    Parameters
    ----------
    hypotheses, references
        As in `bleu`. Nothing is stemmed, no stop word left out.
    n : int
        Words in an n-gram.
    statistic : {"f1", "recall"}
        ``"recall"``: of the reference's n-grams, Lin's definition, which favors long texts.
        ``"f1"``: the harmonic mean of it and the precision, as most report today.

    Returns
    -------
    ndarray of shape (n texts,)
        0 to 1, higher is better: that of the best reference. NaN where there is none, or none has
        `n` words; 0 for an empty hypothesis.

    Raises
    ------
    ValueError
        Where lengths differ, something is not a text, or an option is unknown.

    Notes
    -----
    Lin (2004, section 2, ACL Anthology W04-1013): the maximum over pairs is that of section 2.1.

    Examples
    --------
    >>> rouge_n(["the lid leaks"], [["the lid leaks badly", "no"]], n=2).tolist()
    [0.8]
    """
    if statistic not in ("f1", "recall"):
        hint = did_you_mean(statistic, ("f1", "recall"))
        raise ValueError(f"statistic: {statistic!r} is unknown.{hint} There are: f1, recall.")
    if n < 1:
        raise ValueError(f"n must be at least 1. Got {n}.")
    found = usable(hypotheses, references)
    counts, order = ngram_matrix([*hypotheses, *chain.from_iterable(found)], max_n=n)
    counts = counts[:, order == n]
    owner = np.repeat(np.arange(len(found)), [len(texts) for texts in found])
    hypothesis, reference = counts[: len(found)][owner], counts[len(found) :]
    common = hypothesis.minimum(reference).sum(axis=1)
    size = reference.sum(axis=1)
    if statistic == "f1":
        score = 2 * common / np.where(size > 0, hypothesis.sum(axis=1) + size, np.nan)
    else:
        score = common / np.where(size > 0, size, np.nan)
    best = np.full(len(found), np.nan)
    np.fmax.at(best, owner, score)
    return best


def rouge_l(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2
) -> Floats:
    """Score texts by ROUGE-L: the longest common subsequence of words.

    Parameters
    ----------
    hypotheses, references
        As in `bleu`. (pycocoevalcap splits at single spaces: two in a row are a word to it.)
    beta : float
        How much more recall counts than precision; 1.2 is pycocoevalcap's.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1, higher is better. NaN where there is no reference, 0 for an empty hypothesis.

    Raises
    ------
    ValueError
        Where lengths differ, or something is not a text.

    Notes
    -----
    Lin (2004, section 3, ACL Anthology W04-1013): ``(1 + beta^2) P R / (R + beta^2 P)``. As in
    pycocoevalcap P and R are the highest over the references, each for itself, so they may come
    from two of them; texts are one sentence.

    Examples
    --------
    >>> rouge_l(["police kill the gunman"], [["police killed the gunman"]]).tolist()
    [0.75]
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    # Those that share references, as the outputs of several systems for an item, go together.
    sharing: dict[tuple[str, ...], list[int]] = {}
    for at, texts in enumerate(usable(hypotheses, references)):
        sharing.setdefault(tuple(texts), []).append(at)
    undefined = sharing.pop((), [])
    precision, recall = [], []
    for shared, rows in sharing.items():
        words = [hypotheses[at].split() for at in rows]
        against = [text.split() for text in shared]
        sizes = [len(listed) for listed in against]
        # rapidfuzz compares words by their 64-bit hashes.
        common = cdist(words, against, scorer=LCSseq.similarity, dtype=np.int64).tolist()
        precision += [max(row) / max(1, len(own)) for row, own in zip(common, words, strict=True)]
        recall += [max(map(truediv, row, sizes)) for row in common]
    p, r = np.array(precision), np.array(recall)
    bottom = r + beta**2 * p
    scores = np.empty(len(hypotheses))
    scores[list(chain.from_iterable(sharing.values()))] = np.where(
        bottom > 0, (1 + beta**2) * p * r / np.where(bottom > 0, bottom, 1), 0.0
    )
    scores[undefined] = np.nan
    return scores
