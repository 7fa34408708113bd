"""Texts as unit vectors, and their similarities."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from nlgbench.arrays import Floats
from nlgbench.text import tokenize

Features = Literal["tfidf", "embeddings"]
#: Maps texts to one row each.
Embed = Callable[[Sequence[str]], sparse.csr_array]

#: Decimals of a similarity; smaller differences are rounding errors, which must not break ties.
_DECIMALS = 12


def embedding(kind: Features) -> tuple[Embed, str]:
    """Return a function that maps texts to unit vectors, and its description."""
    if kind == "tfidf":
        return tfidf, "tfidf of tokens at white space, fitted on both"
    from nlgbench.evaluators.comparator.encoder import embed, load_encoder

    encoder = load_encoder()

    def embedded(texts: Sequence[str]) -> sparse.csr_array:
        return _with_blanks(sparse.csr_array(normalize(embed(encoder, texts).astype(np.float64))))

    return embedded, f"embeddings, {encoder.signature}"


def tfidf(texts: Sequence[str]) -> sparse.csr_array:
    """Weight tokens by TF-IDF, fitted on the same texts."""
    if not any(text.strip() for text in texts):
        return sparse.csr_array(np.ones((len(texts), 1)))
    return _with_blanks(sparse.csr_array(TfidfVectorizer(analyzer=tokenize).fit_transform(texts)))


def _with_blanks(rows: sparse.csr_array) -> sparse.csr_array:
    """Add a dimension for texts without tokens, so that these equal one another."""
    blank = (np.diff(rows.indptr) == 0).astype(np.float64)[:, None]
    if not blank.any():
        return rows
    return sparse.csr_array(sparse.hstack([rows, sparse.csr_array(blank)]))


def similarities(rows: sparse.csr_array) -> Floats:
    """Compute the cosines of all pairs of unit vectors."""
    cosines = (rows @ rows.T).toarray()
    cosines = np.round((cosines + cosines.T) / 2, _DECIMALS)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def distances(similarity: Floats) -> Floats:
    """Compute Euclidean distances of unit vectors from their cosines."""
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))
