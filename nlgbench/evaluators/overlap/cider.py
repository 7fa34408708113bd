"""CIDEr and CIDEr-D: the consensus of n-grams, weighted by how rare they are."""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nlgbench.evaluators.overlap.references import usable
from nlgbench.names import did_you_mean
from nlgbench.text import ngram_matrix

Floats = NDArray[np.float64]

VARIANTS = ("cider_d", "cider")


def cider(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    variant: Literal["cider_d", "cider"] = "cider_d",
    group: Sequence[Hashable] | None = None,
) -> Floats:
    """Score texts by CIDEr-D or CIDEr.

    Parameters
    ----------
    hypotheses : sequence of str
        Words are what whitespace separates: lower-case and tokenize before. Nothing is stemmed.
    references : sequence of sequences of str
        Those of each hypothesis, any number.
    variant : {"cider_d", "cider"}
        ``"cider_d"`` clips counts and punishes another length; it is what pycocoevalcap and
        nlg-eval call "CIDEr". ``"cider"`` is the paper's CIDEr: the cosine alone.
    group : sequence, optional
        A label for each hypothesis: document frequencies are counted within each label. By
        default they are pooled.

    Returns
    -------
    ndarray of shape (n,)
        0 to 10, higher is better. NaN where there is no reference, or where a group has only one
        hypothesis with references, so that no n-gram is rarer than another (pycocoevalcap says
        0 there); 0 for an empty hypothesis.

    Raises
    ------
    ValueError
        Where lengths differ, something is not a text, or the variant is unknown.

    Notes
    -----
    Vedantam, Zitnick and Parikh (2015, section 4 and the paragraph on CIDEr-D,
    doi:10.1109/CVPR.2015.7299087). A hypothesis' references are one document; the weight of an
    n-gram is its count times ``ln N - ln max(1, df)``, N the documents of the group. CIDEr-D of one
    reference is ``10 exp(-(difference in words)^2 / (2 * 6^2)) * sum(min(h, r) * r) / (|h| |r|)``,
    CIDEr ``10 sum(h * r) / (|h| |r|)`` (the paper has no factor 10 there; its authors' code does);
    both are means over n-grams of 1 to 4 words, then over references. As in the authors' code and
    pycocoevalcap, weights have raw counts (the paper divides by the text's number of n-grams, which
    matters only to clipping). A text of fewer than 4 words has no n-grams of some length, so even
    its exact match is below 10: two words reach 5.

    Examples
    --------
    >>> references = [["the lid leaks badly", "it leaks"], ["the zipper broke again"]]
    >>> cider(["the lid leaks badly", "a zipper broke"], references).round(2).tolist()
    [5.48, 2.65]
    """
    if variant not in VARIANTS:
        raise ValueError(
            f"variant: {variant!r} is unknown.{did_you_mean(variant, VARIANTS)} "
            f"There are: {', '.join(VARIANTS)}."
        )
    found = usable(hypotheses, references)
    labels = [0] * len(found) if group is None else list(group)
    if len(labels) != len(found):
        raise ValueError(
            f"group must hold a label for each hypothesis. Got {len(labels):,} for {len(found):,}."
        )
    scores = np.full(len(found), np.nan)
    members: dict[Hashable, list[int]] = {}
    for at, label in enumerate(labels):
        if found[at]:
            members.setdefault(label, []).append(at)
    for rows in members.values():
        if len(rows) > 1:
            listed = [hypotheses[at] for at in rows], [found[at] for at in rows]
            scores[rows] = _cider_of_group(*listed, variant)
    return scores


def _cider_of_group(hypotheses: list[str], references: list[list[str]], variant: str) -> Floats:
    n = len(hypotheses)
    n_references = np.array([len(texts) for texts in references])
    counts, order = ngram_matrix([*hypotheses, *chain.from_iterable(references)], max_n=4)
    # A pair is a hypothesis with one of its references; pairs stand in the references' order.
    owner = np.repeat(np.arange(n), n_references)
    pairs = np.arange(len(owner))
    n_words = counts @ (order == 1)

    document = csr_array((np.ones(len(owner)), (owner, pairs)), shape=(n, len(owner))) @ counts[n:]
    df = np.bincount(document.indices, minlength=len(order))
    idf = np.log(n) - np.log(np.maximum(1, df))
    weight = counts.copy()
    weight.data *= idf[weight.indices]

    of_order = (order[:, None] == np.arange(1, 5)).astype(np.float64)
    norm = np.sqrt(weight.multiply(weight) @ of_order)
    hypothesis, reference = weight[:n][owner], weight[n:]
    matched = hypothesis.minimum(reference) if variant == "cider_d" else hypothesis
    dot = matched.multiply(reference) @ of_order
    norms = norm[:n][owner] * norm[n:]
    similar = np.divide(dot, norms, out=np.zeros_like(dot), where=norms > 0)
    if variant == "cider_d":
        difference = n_words[:n][owner] - n_words[n:]
        similar *= np.exp(-(difference**2) / (2 * 6.0**2))[:, None]
    total = np.bincount(owner, weights=similar.mean(axis=1), minlength=n)
    return 10 * total / n_references
