"""Shallow discriminators on n-grams: linear, Bayesian, and of trees."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, StratifiedGroupKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

SHALLOW = ("svm", "naive_bayes", "random_forest", "xgboost", "logistic_regression")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_N_FEATURES = 20_000
_INNER_FOLDS = 3


def ngram_presence(texts: Sequence[Sequence[str]]) -> csr_matrix:
    """Say which unigrams, bigrams and trigrams a text has.

    Parameters
    ----------
    texts : sequence of sequences of str
        Words of each text.

    Returns
    -------
    csr_matrix of shape (n of texts, n of n-grams)
        1 where it is there; columns in alphabetical order.

    Examples
    --------
    >>> ngram_presence([["a", "b"], ["a", "a"]]).toarray().tolist()
    [[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    counter = CountVectorizer(analyzer=_ngrams, binary=True, dtype=np.float64)
    return counter.fit_transform(texts).tocsr()


def _ngrams(words: list[str]) -> list[str]:
    return [" ".join(words[at : at + n]) for n in (1, 2, 3) for at in range(len(words) - n + 1)]


def score_shallow(
    model: str,
    presence: csr_matrix,
    labels: ArrayLike,
    unseen: csr_matrix,
    *,
    groups: ArrayLike,
    search: int = 0,
    seed: int,
) -> Floats:
    """Train a shallow discriminator on texts, and score others.

    Parameters
    ----------
    model : str
        One of `SHALLOW`.
    presence : csr_matrix of shape (n, n of n-grams)
        Of the training texts, as `ngram_presence` gives it.
    labels : array-like of shape (n,)
        1 for human, 0 for machine.
    unseen : csr_matrix
        As `presence`, of the texts to score, with the same columns.
    groups : array-like of shape (n,)
        Equal for equal texts: a search's folds do not part them.
    search : int
        Draws of hyper-parameters; 0 for the libraries' defaults.
    seed : int
        Where the random numbers come from.

    Returns
    -------
    ndarray of shape (n of unseen,)
        Probability that each is human, not calibrated; the SVM's is the logistic function of its
        margin. NaN where no n-gram is in two training texts.

    Notes
    -----
    Features are chosen from the training texts alone; those found only elsewhere play no part.

    Examples
    --------
    >>> texts = ngram_presence([["good"], ["good"], ["bad"], ["bad"]])
    >>> labels = [1, 1, 0, 0]
    >>> score_shallow("naive_bayes", texts, labels, texts[[0, 2]], groups=labels, seed=0)
    array([0.75, 0.25])
    """
    label, group = np.asarray(labels, dtype=np.int64), np.asarray(groups)
    n_texts = np.asarray(presence.sum(axis=0)).ravel()
    frequent = np.argsort(-n_texts, kind="stable")[:_N_FEATURES]
    chosen = np.sort(frequent[n_texts[frequent] >= 2])
    if not len(chosen):
        return np.full(unseen.shape[0], np.nan)
    estimator, drawn = _estimator(model, seed)
    last = estimator.steps[-1][0]
    if search and min(len(set(group[label == one])) for one in (0, 1)) >= 2 * _INNER_FOLDS:
        splitter = StratifiedGroupKFold(_INNER_FOLDS, shuffle=True, random_state=seed)
        estimator = RandomizedSearchCV(
            estimator,
            {f"{last}__{name}": values for name, values in drawn.items()},
            n_iter=search,
            scoring="balanced_accuracy",
            cv=list(splitter.split(label, label, group)),
            random_state=seed,
            error_score="raise",
        )
    weight = {f"{last}__sample_weight": compute_sample_weight("balanced", label)}
    estimator.fit(presence[:, chosen], label, **weight)
    if model == "svm":
        return np.asarray(expit(estimator.decision_function(unseen[:, chosen])), dtype=np.float64)
    return np.asarray(estimator.predict_proba(unseen[:, chosen])[:, 1], dtype=np.float64)


def _estimator(model: str, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return a pipeline, and what a search draws its classifier's settings from."""
    drawn: dict[str, Any]
    if model == "svm":
        drawn = {"C": loguniform(0.01, 10)}
        svm = LinearSVC(max_iter=10_000, random_state=seed)
        return make_pipeline(TfidfTransformer(), svm), drawn
    if model == "logistic_regression":
        drawn = {"C": loguniform(0.01, 100)}
        logistic = LogisticRegression(max_iter=1000)
        return make_pipeline(TfidfTransformer(), logistic), drawn
    if model == "naive_bayes":
        return make_pipeline(MultinomialNB()), {"alpha": loguniform(0.01, 10)}
    if model == "random_forest":
        drawn = {"min_samples_leaf": randint(1, 6), "max_features": loguniform(0.002, 0.05)}
        forest = RandomForestClassifier(random_state=seed)
        return make_pipeline(forest), drawn
    booster = boosted(seed)
    drawn = {
        "n_estimators": randint(50, 201),
        "learning_rate": loguniform(0.03, 0.5),
        "max_depth": randint(2, 9),
        "subsample": uniform(0.5, 0.5),
        "colsample_bytree": uniform(0.2, 0.8),
    }
    return make_pipeline(booster), drawn


def boosted(seed: int) -> Any:
    """Make an XGBoost classifier.

    Parameters
    ----------
    seed : int
        Where the random numbers come from.

    Returns
    -------
    XGBClassifier
        On one thread.

    Raises
    ------
    ImportError
        Without xgboost; it names the extra.
    """
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise ImportError(
            "the model xgboost needs a package that is not installed: "
            "pip install 'nlgbench[boosting]', or leave it out of models."
        ) from error
    return XGBClassifier(
        n_jobs=1, max_bin=4, random_state=seed
    )  # n-grams are there or not: few bins


def describe(model: str, *, search: int) -> str:
    """Say in a signature how a shallow discriminator is made.

    Parameters
    ----------
    model : str
        One of `SHALLOW`.
    search : int
        As in `score_shallow`.

    Returns
    -------
    str
        Features, search, balance, and what the score is.
    """
    features = "TF-IDF of presence" if model in ("svm", "logistic_regression") else "presence"
    score = "logistic function of the margin" if model == "svm" else "probability of human"
    return (
        f"{features} of 1-3-grams, at most {_N_FEATURES} by document frequency; random search of "
        f"{search} draws; balanced by weights; {score}, not calibrated"
    )
