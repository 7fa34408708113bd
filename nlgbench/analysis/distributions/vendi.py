"""The Vendi score: how many texts that share nothing would be as diverse."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.special import entr

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def vendi_of_subsets(similarity: Floats, members: Bools) -> Floats:
    """Compute the Vendi score of subsets (n_subsets, n) of texts; NaN of none.

    The exponential of the entropy of the eigenvalues of the similarities over n (Friedman and Dieng
    2023, definition 3.1). Similarities of a text with itself are 1.
    """
    found = np.full(len(members), np.nan)
    for row, held in enumerate(members):
        rows = np.flatnonzero(held)
        if len(rows):
            values = eigvalsh(similarity[np.ix_(rows, rows)] / len(rows))
            found[row] = np.exp(entr(np.maximum(values, 0)).sum())
    return found
