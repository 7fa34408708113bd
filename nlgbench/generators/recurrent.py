"""A small recurrent language model, trained, and kept at even fractions of its training."""

import copy
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.recurrent_model import (
    NONE,
    Network,
    RecurrentModel,
    context_indexes,
    text_indexes,
)
from nlgbench.text import check_texts, tokenize
from nlgbench.training import Batch, fit, seeded, torch

_MAX_NORM = 5.0


def _words(texts: Sequence[str], name: str) -> list[list[str]]:
    split = [tokenize(text) for text in check_texts(texts, name)]
    if not all(split):
        raise ValueError(
            f"{name}[{split.index([])}] has no word: there must be words in each. Drop empty texts."
        )
    return split


def _vocabulary(texts: Sequence[Sequence[str]], min_count: int) -> tuple[str, ...]:
    found = Counter(word for words in texts for word in set(words))
    return tuple(sorted(word for word in found if found[word] >= min_count))


def _loss(network: Network, batch: Batch) -> torch.Tensor:
    """Return nats per target: rows are weighted by one over the mean number of targets."""
    source, tokens, targets, weight = batch
    longest = int((tokens != network.end).sum(dim=1).max()) + 1
    places = targets[:, :longest] != NONE
    logits = network.forced(source, tokens[:, :longest], places)
    nats = torch.nn.functional.cross_entropy(logits, targets[:, :longest][places], reduction="none")
    return nats @ weight[places.nonzero()[:, 0]] / len(weight)


def _data(
    texts: Sequence[Sequence[str]],
    contexts: Sequence[str] | None,
    words: Sequence[str],
    context_words: Sequence[str] | None,
) -> Batch:
    """Return what `_loss` wants, as many rows in each."""
    tokens, targets = text_indexes(texts, {word: at for at, word in enumerate(words)})
    source = context_indexes([""] * len(texts) if contexts is None else contexts, context_words)
    n_targets = (targets != NONE).sum() / len(texts)
    return source, tokens, targets, torch.full((len(texts),), 1 / float(n_targets))


def fit_recurrent(
    texts: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    dev: Sequence[str] | None = None,
    epochs: int = 20,
    n_checkpoints: int = 1,
    min_count: int = 1,
    units: int = 128,
    dropout: float = 0.2,
    batch_size: int = 32,
    learning_rate: float = 2e-3,
    seed: int | np.random.Generator,
) -> tuple[dict[float, RecurrentModel], pd.DataFrame]:
    """Train a recurrent language model, and keep it at even fractions of its training.

    One LSTM layer; a context is read by another, whose last state is where the first begins
    (Sutskever, Vinyals and Le 2014, arXiv:1409.3215). Trained by Adam with the gradient's norm
    cut at 5. A word outside the vocabulary is read, as one and the same, but never predicted, nor
    counted in the losses: ``exp(dev_loss)`` is a perplexity over known words, comparable only
    between models of one vocabulary.
    """
    split = _words(texts, "texts")
    words = _vocabulary(split, min_count)
    if not words:
        raise ValueError(f"no word stands in {min_count} of {len(split)} texts: lower min_count.")
    context_words = None
    if contexts is not None:
        context_words = _vocabulary([tokenize(context) for context in contexts], min_count)
    data = _data(split, contexts, words, context_words)
    held_out = None if dev is None else _data(_words(dev, "dev"), None, words, None)
    longest = max(map(len, split))
    number = int(np.random.default_rng(seed).integers(2**31))
    with seeded(number):
        n_context_words = None if context_words is None else len(context_words)
        network = Network(len(words), n_context_words, units, dropout)
    models: dict[float, RecurrentModel] = {}

    def keep(row: dict[str, float]) -> None:
        passed = row["epoch"] * n_checkpoints
        if passed % epochs == 0:
            frozen = copy.deepcopy(network).double().eval()
            models[passed / epochs / n_checkpoints] = RecurrentModel(
                words, context_words, frozen, 2 * longest
            )

    history = fit(
        network,
        data,
        loss=_loss,
        dev=held_out,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        max_norm=_MAX_NORM,
        seed=number,
        progress=keep,
    )
    epoch = history["epoch"] / epochs
    return models, history.drop(columns="is_kept").assign(
        checkpoint=epoch.where(epoch.isin(models))
    )
