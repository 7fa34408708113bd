"""Folds of texts: no discriminator scores a text that it, or an equal one, was trained on."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.model_selection import StratifiedGroupKFold

from nlgbench.evaluators.discriminators.shallow import (
    SHALLOW,
    Floats,
    Ints,
    ngram_presence,
    score_shallow,
)

DEEP = ("lstm", "cnn", "cnn_lstm")

_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_HUMAN = ""  # the stratum of human texts, whatever their system is called


@dataclass(frozen=True, eq=False)
class Texts:
    """Outputs as discriminators see them, in their order.

    Attributes
    ----------
    words : list of list of str
        Words and punctuation marks, in lower case.
    presence : csr_matrix
        Which n-grams each text has.
    label : ndarray
        1 for human, 0 for machine, NaN for unknown.
    group : ndarray
        Equal for equal texts.
    stratum : ndarray
        The system; "" for every human text.
    fold : ndarray
        Number of the fold, from 0.
    """

    words: list[list[str]]
    presence: csr_matrix
    label: Floats
    group: Ints
    stratum: NDArray[Any]
    fold: Ints


def deal(outputs: pd.DataFrame, label: Floats, n_folds: int, seed: int) -> Texts:
    """Tokenize and count texts, and deal them to folds.

    Parameters
    ----------
    outputs : DataFrame
        A checked ``outputs`` table.
    label : ndarray of shape (n of outputs,)
        1 for human, 0 for machine, NaN for unknown.
    n_folds : int
        Folds.
    seed : int
        Where the random numbers come from.

    Returns
    -------
    Texts
        Folds are stratified by system, human texts being one; equal texts share a fold.

    Raises
    ------
    ValueError
        When a class has fewer distinct texts than there are folds.
    """
    group = pd.factorize(outputs["text"])[0]
    is_human = outputs["is_human"].to_numpy()
    n_distinct = min(len(np.unique(group[is_human == human])) for human in (True, False))
    if n_distinct < n_folds:
        raise ValueError(
            f"n_folds = {n_folds}, but there are only {n_distinct} distinct human, or machine, "
            "texts: ask for fewer folds, or give more outputs."
        )
    stratum = np.where(is_human, _HUMAN, outputs["system"])
    fold = np.empty(len(group), dtype=np.int64)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A system with fewer texts than folds is in some of them only, and that is well.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for number, (_, held_out) in enumerate(splitter.split(group, stratum, group)):
            fold[held_out] = number
    words = [_WORD.findall(text.lower()) for text in outputs["text"]]
    return Texts(words, ngram_presence(words), label, group, stratum, fold)


def score_fold(
    texts: Texts, fold: int, models: tuple[str, ...], scope: str, search: int, base: int
) -> Floats:
    """Train on the labeled texts of the other folds, and score those of one.

    Parameters
    ----------
    texts : Texts
        As `deal` returns them.
    fold : int
        Which one is scored.
    models : tuple of str
        Of `SHALLOW` and `DEEP`.
    scope : {"meta", "individual"}
        One discriminator for all systems, or one for each.
    search : int
        Draws of hyper-parameters.
    base : int
        Seed.

    Returns
    -------
    ndarray of shape (n of models, n of outputs in the fold)
        Scores; of a human text, where scope is individual, the mean of those that are defined.
    """
    train, test = (texts.fold != fold) & ~np.isnan(texts.label), texts.fold == fold
    everything: list[str | None] = [None]
    systems = everything if scope == "meta" else sorted({*texts.stratum} - {_HUMAN})
    scores = np.full((len(systems), len(models), len(test)), np.nan)
    for number, system in enumerate(systems):
        rows, asked = np.flatnonzero(train), test
        if system is not None:
            own, human = texts.stratum == system, texts.stratum == _HUMAN
            rows = _as_many(train & own, train & human, [base, fold, number])
            asked = test & (own | human)
        for at, model in enumerate(models):
            # Of its own, so that a model's scores do not hang on which others are asked for.
            key = [base, fold, number, (*SHALLOW, *DEEP).index(model)]
            seed = int(np.random.default_rng(key).integers(2**31))
            scores[number, at, asked] = _fit_predict(
                model, texts, rows, np.flatnonzero(asked), search, seed
            )
    defined = np.isfinite(scores).sum(axis=0)
    mean = np.where(defined, np.nansum(scores, axis=0) / np.maximum(defined, 1), np.nan)
    return mean[:, test]


def _as_many(own: NDArray[np.bool_], human: NDArray[np.bool_], key: list[int]) -> Ints:
    """Return a system's rows and as many human ones (all, where there are fewer)."""
    others = np.flatnonzero(human)
    n = min(int(own.sum()), len(others))
    drawn = np.random.default_rng(key).choice(others, n, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(own), drawn]))


def _fit_predict(
    model: str, texts: Texts, rows: Ints, asked: Ints, search: int, seed: int
) -> Floats:
    label = texts.label[rows]
    if len(set(label)) < 2:
        return np.full(len(asked), np.nan)
    if model in SHALLOW:
        return score_shallow(
            model,
            texts.presence[rows],
            label,
            texts.presence[asked],
            groups=texts.group[rows],
            search=search,
            seed=seed,
        )
    from nlgbench.evaluators.discriminators.neural import score_neural

    training, unseen = ([texts.words[at] for at in which] for which in (rows, asked))
    return score_neural(model, training, label, unseen, seed=seed)
