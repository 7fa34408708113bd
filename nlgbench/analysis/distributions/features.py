"""Texts as vectors of length one, and how alike any two of them are."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from nlgbench.inference import Floats
from nlgbench.text import tokenize

Features = Literal["tfidf", "embeddings"]
#: From texts to a row each.
Embed = Callable[[Sequence[str]], sparse.csr_array]

#: Decimals of a similarity. What differs beyond is rounding, and must not break ties.
_DECIMALS = 12


def embedding(kind: Features) -> tuple[Embed, str]:
    """Give what turns texts into rows of length one, and say what it is."""
    if kind == "tfidf":
        return tfidf, "tfidf of tokens at white space, fitted on both"
    from nlgbench.evaluators.comparator.encoder import embed, load_encoder

    encoder = load_encoder()

    def embedded(texts: Sequence[str]) -> sparse.csr_array:
        return _with_blanks(sparse.csr_array(normalize(embed(encoder, texts).astype(np.float64))))

    return embedded, f"embeddings, {encoder.signature}"


def tfidf(texts: Sequence[str]) -> sparse.csr_array:
    """Weigh tokens by TF-IDF fitted on these very texts."""
    if not any(text.strip() for text in texts):
        return sparse.csr_array(np.ones((len(texts), 1)))
    return _with_blanks(sparse.csr_array(TfidfVectorizer(analyzer=tokenize).fit_transform(texts)))


def _with_blanks(rows: sparse.csr_array) -> sparse.csr_array:
    """Give texts without a token a direction of their own, so that they are alike one another."""
    blank = (np.diff(rows.indptr) == 0).astype(np.float64)[:, None]
    if not blank.any():
        return rows
    return sparse.csr_array(sparse.hstack([rows, sparse.csr_array(blank)]))


def similarities(rows: sparse.csr_array) -> Floats:
    """Give the cosine of any two rows of length one."""
    found = (rows @ rows.T).toarray()
    found = np.round((found + found.T) / 2, _DECIMALS)
    np.fill_diagonal(found, 1.0)
    return found


def distances(similarity: Floats) -> Floats:
    """Give Euclidean distances of vectors of length one from their cosines."""
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))
