"""What a comparator is made of: features of texts, a classifier of pairs, and stages of training.

A backend is a function that is given training rows and returns one that gives probabilities.
Rows have columns context_a, text_a and, where two texts are compared, context_b, text_b.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Predict = Callable[[pd.DataFrame], Floats]

#: Columns of a row, and those of the same row swapped.
SIDES = ["context_a", "text_a", "context_b", "text_b"]
SWAPPED = ["context_b", "text_b", "context_a", "text_a"]

#: Classes of a pair.
BETTER, TIE, WORSE = range(3)

BACKENDS = ("frozen", "cross_encoder", "tfidf")

_N_FEATURES = 20_000
_WORD = r"(?u)\w+(?:'\w+)*|[^\w\s]"


def curriculum(pairs: pd.DataFrame, *, n_widths: int = 3) -> list[Ints]:
    """Lay out the stages of training: from wide margins to narrow ones, then human judgments.

    Parameters
    ----------
    pairs : DataFrame
        Columns supervision and margin (NaN where there is none).
    n_widths : int
        In how many stages pairs with a margin come in, the widest first.

    Returns
    -------
    list of ndarray
        Rows of each stage. Pairs without a margin are in all of the first; where human pairs come
        with others, they alone are the last stage.

    Notes
    -----
    Zhou and Xu (2020, section 3.1) tell the order, and neither how many stages nor how long.

    Examples
    --------
    >>> pairs = pd.DataFrame({"supervision": [*["weak"] * 3, "human"]})
    >>> stages = curriculum(pairs.assign(margin=[0.1, 0.5, 0.9, np.nan]))
    >>> [rows.tolist() for rows in stages]
    [[2, 3], [1, 2, 3], [0, 1, 2, 3], [3]]
    """
    margin = pairs["margin"].to_numpy(dtype=np.float64)
    stages = [np.arange(len(pairs))]
    if not np.isnan(margin).all():
        ranks = np.arange(n_widths - 1, -1, -1) / n_widths
        least = np.nanquantile(margin, ranks)
        stages = [np.flatnonzero(np.isnan(margin) | (margin >= each)) for each in least]
    human = pairs["supervision"].eq("human").to_numpy()
    if human.any() and not human.all():
        stages.append(np.flatnonzero(human))
    return stages


def sides(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[Ints]]:
    """List the texts of rows once each.

    Parameters
    ----------
    rows : DataFrame
        Columns context_a, text_a; perhaps context_b, text_b.

    Returns
    -------
    tuple of (DataFrame, list of ndarray)
        The distinct context and text, sorted; for each side the place in it of each row.

    Examples
    --------
    >>> row = {"context_a": "", "text_a": "y", "context_b": "", "text_b": "x"}
    >>> texts, (a, b) = sides(pd.DataFrame([row]))
    >>> texts["text"].tolist(), a.tolist(), b.tolist()
    (['x', 'y'], [1], [0])
    """
    names = [side for side in ("a", "b") if f"text_{side}" in rows]
    both = pd.concat(
        rows[[f"context_{side}", f"text_{side}"]].set_axis(["context", "text"], axis=1)
        for side in names
    )
    group = both.groupby(["context", "text"], sort=True)
    found = group.ngroup().to_numpy().reshape(len(names), len(rows))
    texts = both.drop_duplicates().sort_values(["context", "text"], ignore_index=True)
    return texts, list(found)


def fit_vectorizer(texts: Iterable[str]) -> TfidfVectorizer:
    """Choose the words of TF-IDF, and their weights.

    Parameters
    ----------
    texts : iterable of str
        Training texts, each once.

    Returns
    -------
    TfidfVectorizer
        Of words, punctuation marks and their bigrams in lower case; logarithmic counts; unit
        length; at most 20,000.

    Examples
    --------
    >>> sorted(fit_vectorizer(["It's it.", "it ."]).vocabulary_)
    ['.', 'it', 'it .', "it's", "it's it"]
    """
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=_WORD, sublinear_tf=True, max_features=_N_FEATURES
    )
    return vectorizer.fit(texts)


def fit_tfidf(rows: pd.DataFrame, labels: Ints, *, seed: int) -> Predict:
    """Train multinomial logistic regression on TF-IDF.

    Parameters
    ----------
    rows : DataFrame
        Texts, or pairs of them.
    labels : ndarray of shape (n,)
        Classes 0, 1, ... without gaps.
    seed : int
        Of no effect: the fit is deterministic, and its loss convex, so that neither seed nor order
        of pairs matter.

    Returns
    -------
    callable
        From rows to the probability of each class, shape (n, n of classes).

    Notes
    -----
    A text is its TF-IDF (`fit_vectorizer`, on the training texts alone), and the product of that
    with its context's. A pair is the difference of its two texts, and the absolute difference,
    without which a tie could not be told. Ridge penalty with scikit-learn's default.

    Examples
    --------
    >>> rows = pd.DataFrame({"context_a": "", "text_a": ["good"] * 9 + ["bad"] * 9})
    >>> labels = np.repeat([1, 0], 9)
    >>> fit_tfidf(rows, labels, seed=0)(rows)[[0, -1], 1] > 0.5
    array([ True, False])
    """
    texts, _ = sides(rows)
    vectorizer = fit_vectorizer(texts["text"].unique())

    def features(rows: pd.DataFrame) -> Any:
        texts, places = sides(rows)
        own = vectorizer.transform(texts["text"])
        shared = own.multiply(vectorizer.transform(texts["context"]))
        each = sparse.hstack([own, shared], format="csr")
        if len(places) == 1:
            return each[places[0]]
        gap = each[places[0]] - each[places[1]]
        return sparse.hstack([gap, abs(gap)], format="csr")

    model = LogisticRegression(max_iter=2_000).fit(features(rows), labels)
    return lambda rows: np.asarray(model.predict_proba(features(rows)), dtype=np.float64)
