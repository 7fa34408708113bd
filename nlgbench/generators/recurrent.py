"""A small recurrent language model, trained, and kept at even fractions of its training."""

import copy
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.recurrent_model import (
    NONE,
    Network,
    RecurrentModel,
    context_indexes,
    text_indexes,
)
from nlgbench.text import check_n, check_texts, tokenize
from nlgbench.training import Batch, fit, seeded, torch

_MAX_NORM = 5.0


def _words(texts: Sequence[str], name: str) -> list[list[str]]:
    listed = check_texts(texts, name)
    for row, text in enumerate(listed):
        if not text or " ".join(tokenize(text)) != text:
            raise ValueError(
                f"{name}[{row}] is {text!r}: there must be words, with single spaces between them. "
                "Drop empty texts, and write ' '.join(text.split())."
            )
    if not listed:
        raise ValueError(f"{name} must hold at least one text. Got none.")
    return [text.split(" ") for text in listed]


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
    name: str,
) -> Batch:
    """Return what `_loss` wants, as many rows in each."""
    n_contexts = 0 if contexts is None else len(contexts)
    if n_contexts != (0 if context_words is None else len(texts)):
        raise ValueError(
            f"{name} must hold a context for each of {len(texts)} texts. Got {n_contexts}."
        )
    tokens, targets = text_indexes(texts, {word: at for at, word in enumerate(words)})
    source = context_indexes([""] * len(texts) if contexts is None else contexts, context_words)
    n_targets = (targets != NONE).sum() / len(texts)
    return source, tokens, targets, torch.full((len(texts),), 1 / float(n_targets))


def fit_recurrent(
    texts: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    dev: Sequence[str] | None = None,
    dev_contexts: Sequence[str] | None = None,
    epochs: int = 20,
    n_checkpoints: int = 1,
    min_count: int = 1,
    max_length: int | None = None,
    units: int = 128,
    dropout: float = 0.2,
    batch_size: int = 32,
    learning_rate: float = 2e-3,
    seed: int | np.random.Generator,
    progress: Callable[[dict[str, float]], object] | None = None,
) -> tuple[dict[float, RecurrentModel], pd.DataFrame]:
    """Train a recurrent language model, and keep it at even fractions of its training.

    One LSTM layer; a context is read by another, whose last state is where the first begins
    (Sutskever, Vinyals and Le 2014, arXiv:1409.3215). Trained by Adam with the gradient's norm
    cut at 5. Sizes are conventional ones, not tuned.

    There is no unknown word to write: a word outside the vocabulary is read, as one and the
    same, but never predicted, nor counted in the losses. So what is trained is what is sampled,
    and ``exp(dev_loss)`` is a perplexity over known words; compare it only between models of one
    vocabulary. As no text is empty, the first word is never the end.
    """
    counts = {"epochs": epochs, "n_checkpoints": n_checkpoints, "min_count": min_count}
    for name, value in (counts | {"units": units}).items():
        check_n(value, name)
    if epochs % n_checkpoints:
        raise ValueError(
            f"epochs must be a multiple of n_checkpoints. Got {epochs} and {n_checkpoints}: take "
            f"epochs={-(-epochs // n_checkpoints) * n_checkpoints}."
        )
    split = _words(texts, "texts")
    words = _vocabulary(split, min_count)
    if not words:
        raise ValueError(f"no word stands in {min_count} of {len(split)} texts: lower min_count.")
    context_words = None
    if contexts is not None:
        read = [tokenize(context) for context in check_texts(contexts, "contexts")]
        context_words = _vocabulary(read, min_count)
    elif dev_contexts is not None:
        raise ValueError("dev_contexts without contexts: give contexts of the texts, too.")
    data = _data(split, contexts, words, context_words, "contexts")
    held_out = None
    if dev is not None:
        held_out = _data(_words(dev, "dev"), dev_contexts, words, context_words, "dev_contexts")
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
                words, context_words, frozen, 2 * longest if max_length is None else max_length
            )
        if progress is not None:
            progress(row)

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
